package verbs

import (
	"bytes"
	"path/filepath"
	"time"

	"bellows"
	"bellows/app"
	"bellows/cli/internal/line"
	"bellows/cli/internal/screen"
	"bellows/node/machine"
	"bellows/run"
	"bellows/run/page"

	"github.com/spf13/cobra"
)

// pageWritten is what `report --json` prints.
type pageWritten struct {
	Run    string   `json:"run"`
	Report string   `json:"report"` // the file
	Bytes  int      `json:"bytes"`
	Next   []string `json:"next"` // commands for after the run
}

func (c *Tool) reportCommand() *cobra.Command {
	one := c.sample(0).model()
	var out string
	cmd := &cobra.Command{
		Use:   "report RUN",
		Short: "Write an HTML page about a run: curves, time, settings, audit",
		Annotations: line.Details("The page shows the curves of a run, where its time went, predicted times of other shapes, its input, settings, audit and model, and the next commands. " +
			"It is a single file without links to other files. RUN is a run folder; the run may be unfinished."),
		Example: "report " + one + "\nreport " + one + " --out page.html",
		Args:    line.Exactly("RUN"),
		RunE:    func(_ *cobra.Command, args []string) error { return c.writeReport(args[0], out) },
	}
	cmd.Flags().StringVar(&out, "out", "", "`FILE` to write (default: "+run.PageFile+" in RUN)")
	return cmd
}

func (c *Tool) writeReport(dir, out string) error {
	r, err := page.Read(dir)
	if err != nil {
		return err
	}
	if out == "" {
		out = filepath.Join(dir, run.PageFile)
	}
	r.About = app.Description{Name: r.Config.App}
	if a := c.application(r.Config.App); a != nil {
		r.About = a.Describe()
		r.Steps = r.Next(c.Program(), screen.ShellWord)
	}
	r.Explain = c.Program() + " plan shape --job " + screen.ShellWord(dir)
	r.Program, r.Made = c.Name+" "+machine.CurrentBuild().Bellows, time.Now()
	var text bytes.Buffer
	if err := r.Write(&text); err != nil {
		return bellows.Errorf(bellows.Bug, "write page of", dir, "%w", err)
	}
	if err := page.WriteFile(out, text.Bytes()); err != nil {
		return err
	}
	c.Printf("%s\n", out)
	next := []string{}
	for _, s := range r.Steps {
		next = append(next, s.Command)
	}
	return c.Object(pageWritten{dir, out, text.Len(), next})
}
