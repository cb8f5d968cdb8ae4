package verbs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bellows"
	"bellows/app"
	"bellows/cli/internal/line"
	"bellows/cli/internal/page"
	"bellows/cli/internal/run"
	"bellows/cli/internal/screen"
	"bellows/vec"

	"github.com/spf13/cobra"
)

// pageWritten is what `report --json` prints.
type pageWritten struct {
	Run    string   `json:"run"`
	Report string   `json:"report"` // the file
	Bytes  int      `json:"bytes"`
	Next   []string `json:"next"` // commands that go on from the run
}

func (c *Tool) reportCommand() *cobra.Command {
	one := c.sample(0).model()
	var out string
	cmd := &cobra.Command{
		Use:   "report RUN",
		Short: "Write one HTML page of a run: curves, time, settings, audit",
		Long: "Write one HTML page of a run: its curves, where its time went, its input, settings, audit and model, and how to\n" +
			"go on. The page needs nothing but itself and can be sent around. RUN is a run folder, of an unfinished run too.",
		Example: "report " + one + "\nreport " + one + " --out page.html",
		Args:    line.Exactly("RUN"),
		RunE:    func(_ *cobra.Command, args []string) error { return c.writeReport(args[0], out) },
	}
	cmd.Flags().StringVar(&out, "out", "", "`file` to write (default "+run.PageFile+" in RUN)")
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
		r.Steps = c.steps(r)
	}
	r.Program, r.Made = c.Name+" "+currentVersion().Bellows, time.Now()
	var text bytes.Buffer
	if err := r.Write(&text); err != nil {
		return bellows.Errorf(bellows.Bug, "write page of", dir, "%w", err)
	}
	if err := writePage(out, text.Bytes()); err != nil {
		return err
	}
	c.Printf("%s\n", out)
	next := []string{}
	for _, s := range r.Steps {
		next = append(next, s.Command)
	}
	return c.Object(pageWritten{dir, out, text.Len(), next})
}

// writePage writes the file whole or not at all. One that is there and is no page of ours stays.
func writePage(name string, text []byte) error {
	refuse := func(kind bellows.Kind, err error, hint string) error {
		return &bellows.Error{Kind: kind, Op: "write page", Subject: name, Err: bellows.Pathless(err), Hint: hint}
	}
	old, err := os.Open(name)
	switch {
	case err == nil:
		head, err := io.ReadAll(io.LimitReader(old, 1<<10))
		old.Close()
		if err != nil || !bytes.Contains(head, []byte(page.Mark)) {
			return refuse(bellows.Refused, errors.New("there is something else of that name"), "give --out another name")
		}
	case !errors.Is(err, fs.ErrNotExist):
		return refuse(bellows.CannotWrite, err, "give --out another name")
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".page-*")
	if err == nil {
		_, err = f.Write(text)
		if err = errors.Join(err, f.Chmod(0o644), f.Close()); err == nil {
			err = os.Rename(f.Name(), name)
		}
		if err != nil {
			os.Remove(f.Name())
		}
	}
	if err != nil {
		return refuse(bellows.CannotWrite, err, "give --out a place that can be written")
	}
	return nil
}

// steps are commands that work as they stand where the run's command was called.
func (c *Tool) steps(r *page.Run) (list []page.Step) {
	add := func(says string, words ...string) {
		for i, w := range words {
			words[i] = screen.ShellWord(w)
		}
		list = append(list, page.Step{Command: c.Program() + " " + strings.Join(words, " "), Says: says})
	}
	again := c.again(r)
	switch {
	case r.Busy:
		add("how far it is", "status")
	case r.Kept:
		add("go on where it was interrupted", again...)
	case !r.Finished:
		add("start over: it left nothing to go on from", again...)
	}
	if r.Model == nil {
		return list
	}
	add("what is in the model, and that every byte of it is as it was saved", "model", "show", r.Dir)
	if files := r.Config.Data; len(files) > 0 && !slices.Contains(files, "-") {
		add("what the model says of each row", slices.Concat([]string{"predict", r.Dir}, files, inputWords(r))...)
		if len(r.Config.Test) > 0 {
			files = r.Config.Test
		}
		add("how good it is on labelled rows", slices.Concat([]string{"eval", r.Dir}, files, inputWords(r))...)
	}
	if r.Finished {
		add("the same once more, into another folder", again...)
	}
	return list
}

// inputWords is the flags by which the run's data were read.
func inputWords(r *page.Run) (words []string) {
	for _, name := range slices.Sorted(maps.Keys(r.Config.Reading)) {
		words = append(words, "--"+name, r.Config.Reading[name])
	}
	return words
}

// again is the words of a command that has the run's configuration: all that it has beyond what is chosen without being named.
func (c *Tool) again(r *page.Run) []string {
	config := &r.Config
	words := []string{"train", config.App}
	if len(config.Data) == 0 {
		words[0] = "demo"
	}
	words = append(words, config.Data...)
	for _, file := range config.Test {
		words = append(words, "--test", file)
	}
	words = append(words, inputWords(r)...)
	flag := func(name, value, otherwise string) {
		if value != otherwise {
			words = append(words, "--"+name, value)
		}
	}
	flag("epochs", fmt.Sprint(config.Epochs), "0")
	flag("until", config.Until, "")
	flag("holdout", config.Holdout, "")
	flag("time", config.Time, "")
	if config.TimeFeature {
		words = append(words, "--time-feature")
	}
	flag("seed", fmt.Sprint(config.Seed), "1")
	flag("staleness", config.Staleness, "")
	flag("kernels", config.Kernels, vec.Kernels())
	defaults := map[string]string{}
	for _, s := range r.About.Settings {
		defaults[s.Name] = s.Default
	}
	var settings []string
	for _, name := range slices.Sorted(maps.Keys(config.Settings)) {
		if value := config.Settings[name]; value != defaults[name] {
			settings = append(settings, name+"="+value)
		}
	}
	if len(settings) > 0 {
		words = append(words, "--set", strings.Join(settings, ","))
	}
	if folder := filepath.Clean(r.Dir); !r.Finished && !(filepath.Dir(folder) == "runs" && strings.HasPrefix(filepath.Base(folder), config.App+"-")) {
		words = append(words, "--out", r.Dir)
	}
	return words
}
