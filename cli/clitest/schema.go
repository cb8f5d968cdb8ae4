package clitest

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// schemas are those of a program, as it prints them.
type schemas struct {
	program string
	known   sync.Map // texts by name
}

// valid is `valid SCHEMA FILE`: every line of the file is valid under the schema of that name.
func (s *schemas) valid(ts *testscript.TestScript, _ bool, args []string) {
	text, known := s.known.Load(args[0])
	if !known {
		out, err := command(ts, []string{s.program, "schema", args[0]}).Output()
		ts.Check(err)
		text = out
		s.known.Store(args[0], out)
	}
	lines := strings.TrimSuffix(ts.ReadFile(args[1]), "\n")
	if lines == "" {
		ts.Fatalf("%s is empty", args[1])
	}
	for line := range strings.SplitSeq(lines, "\n") {
		if err := validate(text.([]byte), line); err != nil {
			ts.Fatalf("%v\n%s", err, line)
		}
	}
}

// validate holds a line of JSON against a schema.
func validate(schema []byte, line string) error {
	var root map[string]any
	if err := json.Unmarshal(schema, &root); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	var value any
	if err := json.Unmarshal([]byte(line), &value); err != nil {
		return fmt.Errorf("the line is not JSON: %w", err)
	}
	return validator{root}.check("$", root, value)
}

// validator knows the words of JSON schema that our schemas use, and refuses all others.
type validator struct{ root map[string]any }

var schemaWords = []string{
	"$schema", "$defs", "$ref", "title", "description", "type", "properties", "required",
	"additionalProperties", "items", "enum", "const", "oneOf", "minimum", "pattern",
}

func (v validator) check(at string, schema map[string]any, value any) error {
	for word := range schema {
		if !slices.Contains(schemaWords, word) {
			return fmt.Errorf("%s: the schema uses %q, which this check does not know", at, word)
		}
	}
	if ref, ok := schema["$ref"].(string); ok {
		name := strings.TrimPrefix(ref, "#/$defs/")
		def, ok := v.root["$defs"].(map[string]any)[name].(map[string]any)
		if !ok {
			return fmt.Errorf("%s: the schema refers to %s, which is not there", at, ref)
		}
		return v.check(at, def, value)
	}
	if branches, ok := schema["oneOf"].([]any); ok {
		return v.oneOf(at, branches, value)
	}
	if err := checkPlain(at, schema, value); err != nil {
		return err
	}
	switch value := value.(type) {
	case map[string]any:
		return v.object(at, schema, value)
	case []any:
		items, ok := schema["items"].(map[string]any)
		for i := 0; ok && i < len(value); i++ {
			if err := v.check(fmt.Sprintf("%s[%d]", at, i), items, value[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (v validator) oneOf(at string, branches []any, value any) error {
	var matches int
	var faults []string
	for _, b := range branches {
		if err := v.check(at, b.(map[string]any), value); err != nil {
			faults = append(faults, err.Error())
			continue
		}
		matches++
	}
	if matches != 1 {
		return fmt.Errorf("%s matches %d of its forms, not one:\n%s", at, matches, strings.Join(faults, "\n"))
	}
	return nil
}

// checkPlain checks what does not descend into the value.
func checkPlain(at string, schema map[string]any, value any) error {
	if types, ok := schema["type"]; ok {
		allowed, _ := types.([]any)
		if one, ok := types.(string); ok {
			allowed = []any{one}
		}
		if !slices.ContainsFunc(allowed, func(t any) bool { return hasType(t.(string), value) }) {
			return fmt.Errorf("%s is %v, not %v", at, value, types)
		}
	}
	if want, ok := schema["const"]; ok && want != value {
		return fmt.Errorf("%s is %v, not %v", at, value, want)
	}
	if allowed, ok := schema["enum"].([]any); ok && !slices.Contains(allowed, value) {
		return fmt.Errorf("%s is %v, not one of %v", at, value, allowed)
	}
	if low, ok := schema["minimum"].(float64); ok && value.(float64) < low {
		return fmt.Errorf("%s is %v, below %v", at, value, low)
	}
	if p, ok := schema["pattern"].(string); ok && !regexp.MustCompile(p).MatchString(value.(string)) {
		return fmt.Errorf("%s is %q, which does not match %s", at, value, p)
	}
	return nil
}

func hasType(name string, value any) bool {
	switch value := value.(type) {
	case string:
		return name == "string"
	case bool:
		return name == "boolean"
	case nil:
		return name == "null"
	case []any:
		return name == "array"
	case map[string]any:
		return name == "object"
	case float64:
		return name == "number" || name == "integer" && value == math.Trunc(value)
	}
	return false
}

func (v validator) object(at string, schema, value map[string]any) error {
	required, _ := schema["required"].([]any)
	for _, name := range required {
		if _, ok := value[name.(string)]; !ok {
			return fmt.Errorf("%s lacks %v", at, name)
		}
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, member := range value {
		below := at + "." + name
		if p, ok := properties[name].(map[string]any); ok {
			if err := v.check(below, p, member); err != nil {
				return err
			}
			continue
		}
		switch extra := schema["additionalProperties"].(type) {
		case bool:
			if !extra {
				return fmt.Errorf("%s is not in the schema", below)
			}
		case map[string]any:
			if err := v.check(below, extra, member); err != nil {
				return err
			}
		}
	}
	return nil
}
