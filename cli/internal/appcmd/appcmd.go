// Package appcmd lists the commands that applications add to the command line, with their flags and the applications
// that answer them.
//
// The caller makes a command of each, and lets the application of the model answer. The package refuses a command about
// which two applications do not agree.
package appcmd

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bellows/app"
	"bellows/cli/internal/line"

	"github.com/spf13/pflag"
)

// Verb is one that applications add, with those that have it. Applications that add a verb of one name must agree about its
// arguments and columns, and about the flags that they share, since it is one command with one schema; the model says whose answer it is
// (TestVerbsOfApplications).
type Verb struct {
	app.Verb // of the first application, with the flags of all
	Apps     []string
	Own      map[string]app.Verb // by application
}

// Added returns the verbs of the applications, in their order. Two that do not agree about one are an error.
func Added(apps []app.Application) (list []*Verb, err error) {
	for _, a := range apps {
		asker, ok := a.(app.Asker)
		if !ok {
			continue
		}
		name := a.Describe().Name
		for _, v := range asker.Verbs() {
			at := slices.IndexFunc(list, func(w *Verb) bool { return w.Name == v.Name })
			if at < 0 {
				at = len(list)
				w := &Verb{Verb: v, Own: map[string]app.Verb{}}
				w.Flags = nil
				list = append(list, w)
			}
			w := list[at]
			_, twice := w.Own[name]
			if !slices.Equal(w.Args, v.Args) || !slices.Equal(w.Columns, v.Columns) || twice || !w.share(v.Flags) {
				return nil, fmt.Errorf("the verb %s of %s is not that of %s", v.Name, name, w.Apps[0])
			}
			w.Apps, w.Own[name] = append(w.Apps, name), v
		}
	}
	return list, nil
}

// share adds the flags of an application, and says whether they agree with those of the others.
func (v *Verb) share(flags []app.Flag) bool {
	for _, f := range flags {
		at := slices.IndexFunc(v.Flags, func(g app.Flag) bool { return g.Name == f.Name })
		if at >= 0 && v.Flags[at] != f {
			return false
		}
		if at < 0 {
			v.Flags = append(v.Flags, f)
		}
	}
	return true
}

// Examples returns a line of each application that has one.
func (v *Verb) Examples() string {
	var lines []string
	for _, name := range v.Apps {
		if example := v.Own[name].Example; example != "" || len(lines) == 0 {
			lines = append(lines, strings.TrimSpace(v.Name+" runs/"+name+"-1 "+example))
		}
	}
	return strings.Join(lines, "\n")
}

// Values returns the values of the flags that an application has. A flag that only other applications have is refused.
func (v *Verb) Values(set *pflag.FlagSet, name string) (map[string][]string, error) {
	out, own := map[string][]string{}, v.Own[name]
	for _, f := range v.Flags {
		given := set.Lookup(f.Name)
		switch {
		case slices.Contains(own.Flags, f):
		case given.Changed:
			return nil, line.BadFlag(f.Name, given.Value.String(), "this is a model of %s: %s", name, v.instead(own, f))
		default:
			continue
		}
		if list, ok := given.Value.(pflag.SliceValue); ok {
			out[f.Name] = list.GetSlice()
		} else if text := given.Value.String(); text != "" {
			out[f.Name] = []string{text}
		}
	}
	return out, nil
}

// instead returns what to give instead of a flag of other applications: those flags that the application does not share with them, else any.
func (v *Verb) instead(own app.Verb, not app.Flag) string {
	var all, only []string
	for _, f := range own.Flags {
		all = append(all, "--"+f.Name)
		if !slices.ContainsFunc(v.Apps, func(other string) bool {
			flags := v.Own[other].Flags
			return slices.Contains(flags, not) && slices.Contains(flags, f)
		}) {
			only = append(only, "--"+f.Name)
		}
	}
	if len(only) == 0 {
		only = all
	}
	if len(only) == 0 {
		return "leave it out"
	}
	return "use " + strings.Join(only, ", ")
}

// Cell returns a value as people read it.
func Cell(value any) string {
	switch v := value.(type) {
	case float32:
		return strconv.FormatFloat(float64(v), 'g', 6, 32)
	case float64:
		return strconv.FormatFloat(v, 'g', 6, 64)
	}
	return fmt.Sprint(value)
}

// Schema returns the JSON schema of the lines with --json.
func (v *Verb) Schema() ([]byte, error) {
	properties := map[string]any{}
	for _, name := range v.Columns {
		properties[name] = map[string]any{"type": []string{"string", "number", "boolean"}}
	}
	text, err := json.MarshalIndent(map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": v.Name + ": a line for each row of the answer",
		"type": "object", "properties": properties, "required": v.Columns, "additionalProperties": false,
	}, "", "  ")
	return append(text, '\n'), err
}
