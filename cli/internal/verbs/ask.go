package verbs

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"bellows"
	"bellows/app"
	"bellows/cli/internal/line"
	"bellows/data"
	"bellows/model"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// verb is one that applications add, with those that have it. Applications that add a verb of one name must agree about its
// arguments and columns, and about the flags that they share, since it is one command with one schema; the model says whose answer it is
// (TestVerbsOfApplications).
type verb struct {
	app.Verb // of the first application, with the flags of all
	apps     []string
	own      map[string]app.Verb // by application
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
				w := &verb{Verb: v, own: map[string]app.Verb{}}
				w.Flags = nil
				list = append(list, w)
			}
			w := list[at]
			_, twice := w.own[name]
			if !slices.Equal(w.Args, v.Args) || !slices.Equal(w.Columns, v.Columns) || twice || !w.share(v.Flags) {
				return nil, fmt.Errorf("the verb %s of %s is not that of %s", v.Name, name, w.apps[0])
			}
			w.apps, w.own[name] = append(w.apps, name), v
		}
	}
	return list, nil
}

// share adds the flags of an application, and says whether they agree with those of the others.
func (v *verb) share(flags []app.Flag) bool {
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

// examples are a line of each application that has one.
func (v *verb) examples() string {
	var lines []string
	for _, name := range v.apps {
		if example := v.own[name].Example; example != "" || len(lines) == 0 {
			lines = append(lines, strings.TrimSpace(v.Name+" runs/"+name+"-1 "+example))
		}
	}
	return strings.Join(lines, "\n")
}

// askCommand is the command of such a verb.
func (c *Tool) askCommand(v *verb) *cobra.Command {
	args := append([]string{"MODEL"}, v.Args...)
	cmd := &cobra.Command{
		Use:     v.Name + " " + strings.Join(args, " "),
		Short:   v.Short,
		Long:    v.Long,
		Example: v.examples(),
		Args:    line.Exactly(args...),
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := model.Open(args[0])
			if err != nil {
				return err
			}
			own, ok := v.own[m.App]
			if !ok {
				return bellows.Errorf(bellows.Usage, v.Name, args[0], "it is a model of %s, and %s is for those of %s", m.App, v.Name, strings.Join(v.apps, ", "))
			}
			q := &app.Question{Model: m, Args: args[1:], Note: c.Talk, Open: c.open, Read: func(file string, kind data.Kind) (*data.Set, error) {
				return c.readLoose(cmd.Context(), file, kind)
			}}
			if q.Flags, err = v.flags(cmd.Flags(), own); err != nil {
				return err
			}
			rows, err := own.Answer(q)
			if err != nil {
				return err
			}
			return c.rows(v, rows)
		},
	}
	for _, f := range v.Flags {
		usage := strings.Replace(f.Usage, f.Value, "`"+f.Value+"`", 1)
		switch {
		case f.Many:
			cmd.Flags().StringArray(f.Name, nil, usage+"; may be given again")
		default:
			cmd.Flags().String(f.Name, f.Default, usage)
		}
	}
	return cmd
}

// flags are the values of an application's flags. Those that other applications alone have are refused where they were given.
func (v *verb) flags(set *pflag.FlagSet, own app.Verb) (map[string][]string, error) {
	out := map[string][]string{}
	for _, f := range v.Flags {
		given := set.Lookup(f.Name)
		switch {
		case slices.Contains(own.Flags, f):
		case given.Changed:
			var has []string
			for _, f := range own.Flags {
				has = append(has, "--"+f.Name)
			}
			return nil, line.BadFlag(f.Name, given.Value.String(), "the model is of an application whose %s has %s", v.Name, strings.Join(has, ", "))
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

// open opens a file that a flag names, "-" for standard input.
func (c *Tool) open(file string) (io.ReadCloser, error) {
	if file == "-" {
		return io.NopCloser(c.In), nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, &bellows.Error{Kind: bellows.NoInput, Op: "open", Subject: file, Err: err}
	}
	return f, nil
}

// readLoose reads a file whose rows may lack what is predicted.
func (c *Tool) readLoose(ctx context.Context, file string, kind data.Kind) (*data.Set, error) {
	set, err := data.Read(ctx, []string{file}, kind, data.Options{Unlabelled: true, Stdin: c.In})
	if err != nil {
		return nil, interruptedWhile(ctx, "reading", err)
	}
	return set, nil
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
