package verbs

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"bellows"
	"bellows/app"
	"bellows/cli/internal/line"
	"bellows/model"

	"github.com/spf13/cobra"
)

// verb is one that applications add, with the answers of those that have it. Applications that add a verb of one name must agree about its
// arguments and columns, since it is one command with one schema; the model says whose answer it is (TestVerbsOfApplications).
type verb struct {
	app.Verb
	apps    []string
	answers map[string]func(*model.Model, []string) ([][]any, error)
}

// added are the verbs of the applications, in their order. Two that do not agree about one are an error.
func added(apps []app.Application) (list []*verb, err error) {
	for _, a := range apps {
		asker, ok := a.(app.Asker)
		if !ok {
			continue
		}
		name := a.Describe().Name
		for _, v := range asker.Verbs() {
			at := slices.IndexFunc(list, func(w *verb) bool { return w.Name == v.Name })
			if at < 0 {
				at = len(list)
				list = append(list, &verb{Verb: v, answers: map[string]func(*model.Model, []string) ([][]any, error){}})
			}
			w := list[at]
			if !slices.Equal(w.Args, v.Args) || !slices.Equal(w.Columns, v.Columns) || w.answers[name] != nil {
				return nil, fmt.Errorf("the verb %s of %s is not that of %s", v.Name, name, w.apps[0])
			}
			w.apps, w.answers[name] = append(w.apps, name), v.Answer
		}
	}
	return list, nil
}

// askCommand is the command of such a verb.
func (c *Tool) askCommand(v *verb) *cobra.Command {
	args := append([]string{"MODEL"}, v.Args...)
	return &cobra.Command{
		Use:     v.Name + " " + strings.Join(args, " "),
		Short:   v.Short,
		Example: strings.TrimSpace(v.Name + " runs/" + v.apps[0] + "-1 " + v.Example),
		Args:    line.Exactly(args...),
		RunE: func(_ *cobra.Command, args []string) error {
			m, err := model.Open(args[0])
			if err != nil {
				return err
			}
			answer := v.answers[m.App]
			if answer == nil {
				return bellows.Errorf(bellows.Usage, v.Name, args[0], "it is a model of %s, and %s is for those of %s", m.App, v.Name, strings.Join(v.apps, ", "))
			}
			rows, err := answer(m, args[1:])
			if err != nil {
				return err
			}
			return c.rows(v, rows)
		},
	}
}

// rows writes an answer: a table, or a JSON line for each row.
func (c *Tool) rows(v *verb, rows [][]any) error {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, strings.Join(v.Columns, "\t"))
	for _, row := range rows {
		if len(row) != len(v.Columns) {
			return bellows.Errorf(bellows.Bug, "answer", v.Name, "a row has %d values for %d columns", len(row), len(v.Columns))
		}
		object, cells := map[string]any{}, make([]string, len(row))
		for i, value := range row {
			object[v.Columns[i]], cells[i] = value, cell(value)
		}
		if err := c.Object(object); err != nil {
			return err
		}
		fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	table.Flush() // into memory
	c.Printf("%s", text.String())
	return nil
}

// cell is a value as people read it.
func cell(value any) string {
	switch v := value.(type) {
	case float32:
		return strconv.FormatFloat(float64(v), 'g', 6, 32)
	case float64:
		return strconv.FormatFloat(v, 'g', 6, 64)
	}
	return fmt.Sprint(value)
}

// schema is that of the lines with --json.
func (v *verb) schema() ([]byte, error) {
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
