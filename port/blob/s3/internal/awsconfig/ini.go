package awsconfig

import (
	"fmt"
	"strings"
)

// sections are the settings of one file, by section and key. A key below another one is named "outer.inner".
type sections map[string]map[string]string

// parse reads the text of a file such as ~/.aws/config: sections in brackets, keys with values, and indented keys below a key without a value.
// Comments begin with # or ;, at the beginning of a line or after a space.
func parse(text string) (sections, error) {
	found := sections{}
	var section map[string]string
	outer := ""
	for i, line := range strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n") {
		indented := strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if line[0] == '[' {
			name, _, closed := strings.Cut(line[1:], "]")
			if name = strings.TrimSpace(name); !closed || name == "" {
				return nil, fmt.Errorf("line %d: a section is written as [name]", i+1)
			}
			if section = found[name]; section == nil {
				section = map[string]string{}
				found[name] = section
			}
			outer = ""
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		key = strings.ToLower(strings.TrimSpace(key))
		if !ok && indented && outer != "" {
			continue // a value over several lines, which no setting that is used here has
		}
		if !ok || key == "" {
			return nil, fmt.Errorf("line %d: a setting is written as key = value", i+1)
		}
		if section == nil {
			return nil, fmt.Errorf("line %d: a setting stands before the first [section]", i+1)
		}
		value = uncommented(value)
		if indented && outer != "" {
			section[outer+"."+key] = value
			continue
		}
		section[key] = value
		if outer = ""; value == "" {
			outer = key
		}
	}
	return found, nil
}

// uncommented returns a value without the spaces around it and the comment after it.
func uncommented(value string) string {
	for _, mark := range []string{" #", " ;", "\t#", "\t;"} {
		value, _, _ = strings.Cut(value, mark)
	}
	return strings.TrimSpace(value)
}
