package page

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

	"bellows"
	"bellows/port/blob/file"
	"bellows/run"
	"bellows/vec"
)

// WriteFile writes the file whole or not at all. One that is there and is no page of ours stays.
func WriteFile(name string, text []byte) error {
	refuse := func(kind bellows.Kind, err error, hint string) error {
		return &bellows.Error{Kind: kind, Op: "write page", Subject: name, Err: bellows.Pathless(err), Hint: hint}
	}
	old, err := os.Open(name)
	switch {
	case err == nil:
		head, err := io.ReadAll(io.LimitReader(old, 1<<10))
		old.Close()
		if err != nil || !bytes.Contains(head, []byte(Mark)) {
			return refuse(bellows.Refused, errors.New("the name is taken by something else"), "give --out another name")
		}
	case !errors.Is(err, fs.ErrNotExist):
		return refuse(bellows.CannotWrite, err, "give --out another name")
	}
	err = file.Replace(name, func(w io.Writer) error { _, err := w.Write(text); return err })
	if err != nil {
		return refuse(bellows.CannotWrite, err, "give --out a place that can be written")
	}
	return nil
}

// Next returns commands that continue from the run, and work where its own command was called. program is how they
// begin, and quote writes a word as a shell reads it.
func (r *Run) Next(program string, quote func(word string) string) (list []Step) {
	add := func(says string, words ...string) {
		for i, w := range words {
			words[i] = quote(w)
		}
		list = append(list, Step{Command: program + " " + strings.Join(words, " "), Says: says})
	}
	again := r.again()
	switch {
	case r.Busy:
		add("show the progress", "status")
	case r.Kept:
		add("resume the interrupted run", again...)
	case !r.Finished:
		add("start over: nothing was saved to resume from", again...)
	}
	if r.Model == nil {
		return list
	}
	add("show the model and verify its files", "model", "show", r.Dir)
	if files := r.Config.Data; len(files) > 0 && !slices.Contains(files, "-") {
		add("predict each row", slices.Concat([]string{"predict", r.Dir}, files, r.inputWords())...)
		if len(r.Config.Test) > 0 {
			files = r.Config.Test
		}
		add("evaluate on labelled rows", slices.Concat([]string{"eval", r.Dir}, files, r.inputWords())...)
	}
	if r.Finished {
		add("train again with the same settings, into a new folder", again...)
	}
	return list
}

// inputWords returns the flags by which the run's data were read.
func (r *Run) inputWords() (words []string) {
	for _, name := range slices.Sorted(maps.Keys(r.Config.Reading)) {
		words = append(words, "--"+name, r.Config.Reading[name])
	}
	return words
}

// again returns the words of a command that has the run's configuration: all that it has beyond what is chosen
// without being named.
func (r *Run) again() []string {
	config := &r.Config
	words := []string{"train", config.App}
	if len(config.Data) == 0 {
		words[0] = "demo"
	}
	words = append(words, config.Data...)
	for _, file := range config.Test {
		words = append(words, "--test", file)
	}
	words = append(words, r.inputWords()...)
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
	if folder := filepath.Clean(r.Dir); !r.Finished && !(filepath.Dir(folder) == "runs" && strings.HasPrefix(filepath.Base(folder), run.Prefix(config.App, config.Data)+"-")) {
		words = append(words, "--out", r.Dir)
	}
	return words
}
