package clitest

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/rogpeppe/go-internal/testscript"
)

// schemas are those of a program, as it prints them.
type schemas struct {
	program string
	known   sync.Map // *jsonschema.Resolved by name
}

// valid implements `valid SCHEMA FILE`: every line of the file is valid under the schema of that name.
func (s *schemas) valid(ts *testscript.TestScript, _ bool, args []string) {
	schema, known := s.known.Load(args[0])
	if !known {
		text, err := command(ts, []string{s.program, "schema", args[0]}).Output()
		ts.Check(err)
		schema, err = parse(text)
		ts.Check(err)
		s.known.Store(args[0], schema)
	}
	lines := strings.TrimSuffix(ts.ReadFile(args[1]), "\n")
	if lines == "" {
		ts.Fatalf("%s is empty", args[1])
	}
	for line := range strings.SplitSeq(lines, "\n") {
		if err := validate(schema.(*jsonschema.Resolved), line); err != nil {
			ts.Fatalf("%v\n%s", err, line)
		}
	}
}

// parse reads a schema.
func parse(text []byte) (*jsonschema.Resolved, error) {
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return schema.Resolve(nil)
}

// validate holds a line of JSON against a schema.
func validate(schema *jsonschema.Resolved, line string) error {
	var value any
	if err := json.Unmarshal([]byte(line), &value); err != nil {
		return fmt.Errorf("the line is not JSON: %w", err)
	}
	return schema.Validate(value)
}
