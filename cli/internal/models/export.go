package models

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bellows"
	"bellows/app"
	"bellows/app/export"
	"bellows/cli/internal/line"
	"bellows/figures"
	"bellows/model"
	"bellows/port/blob/file"

	"github.com/spf13/cobra"
)

// exported is what `model export --json` prints.
type exported struct {
	Model  string   `json:"model"`
	App    string   `json:"app"`
	Format string   `json:"format"`
	File   string   `json:"file"`
	Bytes  int64    `json:"bytes"`
	Notes  []string `json:"notes"` // sentences of what a reader of the file must know
}

// exporting is one call of that command.
type exporting struct {
	*tool
	format, out string
	force       bool
}

func (t *tool) exportCommand() *cobra.Command {
	e := &exporting{tool: t}
	cmd := &cobra.Command{
		Use:   "export MODEL",
		Short: "Export a model to a format of other programs",
		Annotations: line.Details("Other programs then predict like `predict`. Formats:\n\n" +
			"  npz        all tensors and names, for NumPy: any model\n" +
			"  liblinear  text for LIBLINEAR's predict: linear and mlr\n" +
			"  libmf      text for LIBMF's mf-predict: mf\n" +
			"  onnx       a graph of core operators: linear, mlr and mf\n\n" +
			"The exported model takes features without scaling: scaling is in the weights. The command prints what a reader of the file must know, such " +
			"as the number of each label."),
		Example: "model export " + t.sample + " --format onnx\nmodel export " + t.sample + " --out model.npz",
		Args:    line.Exactly("MODEL"),
		RunE:    func(_ *cobra.Command, args []string) error { return e.run(args[0]) },
	}
	cmd.Flags().StringVar(&e.format, "format", "", "`FORMAT`: "+strings.Join(export.All, ", ")+" (default: by the name of --out)")
	cmd.Flags().StringVar(&e.out, "out", "", "`FILE` to write (default: model's name and format, in this folder)")
	cmd.Flags().BoolVar(&e.force, "force", false, "overwrite an existing file")
	return cmd
}

func (e *exporting) run(dir string) error {
	if err := e.settle(dir); err != nil {
		return err
	}
	m, _, err := e.open(dir)
	if err != nil {
		return err
	}
	f, err := export.New(m, e.format)
	if err != nil {
		return err
	}
	if err := e.free(dir); err != nil {
		return err
	}
	if err := file.Replace(e.out, f.Write); err != nil {
		return &bellows.Error{Kind: bellows.CannotWrite, Op: "export to", Subject: e.out, Err: bellows.Pathless(err), Hint: "give --out a place that can be written"}
	}
	info, err := os.Stat(e.out)
	if err != nil {
		return bellows.Errorf(bellows.IO, "export to", e.out, "%w", bellows.Pathless(err))
	}
	e.Printf("%s: %s of %s, %s\n", e.out, e.format, dir, figures.Bytes(uint64(info.Size())))
	notes := []string{}
	for _, note := range f.Notes {
		e.Talk("note: %s", note)
		notes = append(notes, note)
	}
	return e.Object(exported{dir, m.App, e.format, e.out, info.Size(), notes})
}

// settle decides the format and the file.
func (e *exporting) settle(dir string) error {
	if e.format != "" && !slices.Contains(export.All, e.format) {
		err := line.BadFlag("format", e.format, "there is no such format")
		if near := app.Nearest(e.format, export.All); near != "" {
			return err.Hinted("did you mean " + near + "?")
		}
		return err.Hinted("there are " + strings.Join(export.All, ", "))
	}
	ending := export.ByName(e.out)
	switch {
	case e.out == "" && e.format == "":
		return bellows.Errorf(bellows.Usage, "export", dir, "nothing says in which format").Hinted("add --format with one of " + strings.Join(export.All, ", ") + ", or --out with a name that ends in one")
	case e.out == "":
		path, err := filepath.Abs(dir)
		if err != nil {
			return bellows.Errorf(bellows.NoInput, "export", dir, "%w", err)
		}
		e.out = filepath.Base(path) + "." + e.format
	case e.format == "" && ending == "":
		return line.BadFlag("out", e.out, "its ending says no format").Hinted("add --format with one of " + strings.Join(export.All, ", "))
	case e.format == "":
		e.format = ending
	case ending != "" && ending != e.format:
		return line.BadFlag("out", e.out, "its ending says %s, and --format %s", ending, e.format).Hinted("leave one of them out, or make them agree")
	}
	return nil
}

// free refuses to write over what is there, and with --force over what is no file or the model's own.
func (e *exporting) free(dir string) error {
	refused := func(kind bellows.Kind, hint, format string, args ...any) error {
		return refuse(kind, "export to", e.out, format, args...).Hinted(hint)
	}
	info, err := os.Stat(e.out)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return &bellows.Error{Kind: bellows.CannotWrite, Op: "export to", Subject: e.out, Err: bellows.Pathless(err), Hint: "give --out another name"}
	case !info.Mode().IsRegular():
		return refused(bellows.CannotWrite, "give --out the name of a file", "it is there and is no file")
	}
	for _, own := range model.FilesIn(dir) {
		if mine, err := os.Stat(filepath.Join(dir, own)); err == nil && os.SameFile(mine, info) {
			return refused(bellows.Refused, "give --out another name", "it is a file of the model itself")
		}
	}
	if !e.force {
		return refused(bellows.Refused, "give --out another name, or add --force to write over it", "the file is there")
	}
	return nil
}
