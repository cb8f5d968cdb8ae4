package verbs

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"bellows"
	"bellows/app"
	"bellows/cli/internal/appcmd"
	"bellows/cli/internal/line"
	"bellows/data"
	"bellows/model"
	"bellows/run"

	"github.com/spf13/cobra"
)

// askCommand returns the command of such a verb.
func (c *Tool) askCommand(v *appcmd.Verb) *cobra.Command {
	args := append([]string{"MODEL"}, v.Args...)
	cmd := &cobra.Command{
		Use:         v.Name + " " + strings.Join(args, " "),
		Short:       v.Short,
		Annotations: line.Details(v.Long),
		Example:     v.Examples(),
		Args:        line.Exactly(args...),
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := model.Open(args[0])
			if err != nil {
				return err
			}
			own, ok := v.Own[m.App]
			if !ok {
				return bellows.Errorf(bellows.Usage, v.Name, args[0], "it is a model of %s, and %s is for those of %s", m.App, v.Name, strings.Join(v.Apps, ", "))
			}
			q := &app.Question{Model: m, Args: args[1:], Note: c.Talk, Open: c.open, Read: func(file string, kind data.Kind) (*data.Set, error) {
				return c.readLoose(cmd.Context(), file, kind)
			}}
			if q.Flags, err = v.Values(cmd.Flags(), m.App); err != nil {
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
			cmd.Flags().StringArray(f.Name, nil, usage+"; may be repeated")
		default:
			cmd.Flags().String(f.Name, f.Default, usage)
		}
	}
	return cmd
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

// readLoose reads a file whose rows may lack the target.
func (c *Tool) readLoose(ctx context.Context, file string, kind data.Kind) (*data.Set, error) {
	set, err := data.Read(ctx, []string{file}, kind, data.Options{Unlabelled: true, Stdin: c.In, Stores: run.Stores})
	if err != nil {
		return nil, interruptedWhile(ctx, "reading", err)
	}
	return set, nil
}

// rows writes an answer: a table, or a JSON line for each row.
func (c *Tool) rows(v *appcmd.Verb, rows [][]any) error {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, strings.Join(v.Columns, "\t"))
	for _, row := range rows {
		if len(row) != len(v.Columns) {
			return bellows.Errorf(bellows.Bug, "answer", v.Name, "a row has %d values for %d columns", len(row), len(v.Columns))
		}
		object, cells := map[string]any{}, make([]string, len(row))
		for i, value := range row {
			object[v.Columns[i]], cells[i] = value, appcmd.Cell(value)
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
