// Package run manages the folder of a training run: its configuration, its progress, its events, and what it needs to
// resume.
//
// The caller's duties, in order:
//
//  1. Fill in a Config: the application, the data, and every setting with its resolved value.
//  2. Claim returns the folder and locks it. If it holds an unfinished run of the same Config, that run resumes: GoOn
//     then returns the cut from which it resumes, if there is one.
//  3. Folder.Log records events (package event), and Folder.Output the output of the run's processes.
//  4. Begin, when the job has started. Before it nothing in the folder changes.
//  5. Measured stores the measurements of the run, when its training is over.
//  6. Interrupted keeps the runtime's image as the last cut, for the next Claim; Done drops all cuts. Without either the
//     run stays unfinished, and the next Claim resumes from the newest whole cut, or starts over without one.
//  7. Close unlocks the folder.
//
// Callers that only read use Look.
//
// A folder holds run.json (the Config and the state), events.jsonl, and metrics.json. It also holds figures.json if
// several nodes measured enough, output.log if processes wrote output, and, while a run is not finished, its cuts in checkpoint/ (package archive), unless they are kept elsewhere. The model
// that package model saves is in the same folder.
//
// The package does not touch the folder of a run that another process trains. It refuses the folder of an unfinished run
// or of a model of another command, and a folder with files that belong to no run, unless Request.Fresh is set. It never
// removes or replaces a file that belongs to no run.
package run

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bellows"
	"bellows/core/audit"
	"bellows/data"
	"bellows/port/blob/file"
	"bellows/run/datafiles"
)

// Config is a run's resolved configuration. Two runs are the same when these are equal: the number
// of compute slots and the like, which do not change what is computed, are not in it.
type Config struct {
	App       string            `json:"app"`
	Data      []string          `json:"data"` // as the command line names it; empty for a demo
	Test      []string          `json:"test,omitempty"`
	Seed      uint64            `json:"seed"`
	Epochs    int               `json:"epochs,omitempty"` // 0: the application's choice
	Until     string            `json:"until,omitempty"`
	Staleness string            `json:"staleness,omitempty"`
	Settings  map[string]string `json:"settings"` // all hyperparameters
	Reading   map[string]string `json:"reading,omitempty"`
	Kernels   string            `json:"kernels"`
	From      string            `json:"from,omitempty"` // the model that it begins with
	Holdout   string            `json:"holdout,omitempty"`
	Time      string            `json:"time,omitempty"` // the column by which rows are held out, where it was named
	// TimeFeature says that it is also a feature.
	TimeFeature bool `json:"time_feature,omitempty"`
	// Inputs are the files as they were, so that a changed file is another run.
	Inputs []Input `json:"inputs,omitempty"`
}

// Input is one file of a run's data as it was when the run began.
type Input struct {
	Path     string    `json:"path"`
	Bytes    int64     `json:"bytes"`
	Modified time.Time `json:"modified"`          // of a blob the beginning of time
	Version  string    `json:"version,omitempty"` // of a blob
}

// Inputs inspects the files that the names stand for; globs are expanded. A file that is not regular, such as standard
// input, cannot be read again: its time is the present, and so is that of a blob that cannot be inspected.
func Inputs(ctx context.Context, names []string) []Input {
	var out []Input
	for _, path := range datafiles.Expand(names) {
		blobs, found, err := data.Files(ctx, path, Stores)
		if found && err == nil {
			for _, b := range blobs {
				out = append(out, Input{Path: b.Name, Bytes: b.Bytes, Version: b.Version})
			}
			continue
		}
		if info := regular(path); info != nil {
			out = append(out, Input{Path: path, Bytes: info.Size(), Modified: info.ModTime().UTC()})
		} else {
			out = append(out, Input{Path: path, Modified: time.Now().UTC()})
		}
	}
	return out
}

// Repeatable reports whether all that the names stand for can be read again.
func Repeatable(names []string) bool {
	return !slices.ContainsFunc(datafiles.Expand(names), func(path string) bool {
		return regular(path) == nil && !data.IsBlob(path, Stores) && !data.IsFolder(path)
	})
}

// regular describes the file of that path, nil when it is not one, or not there.
func regular(path string) fs.FileInfo {
	info, err := os.Stat(path)
	if path == "-" || err != nil || !info.Mode().IsRegular() {
		return nil
	}
	return info
}

// same compares configurations by what run.json stores of them.
func (c *Config) same(o *Config) bool {
	a, errA := json.Marshal(c)
	b, errB := json.Marshal(o)
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// state is how far a run came.
type state string

const (
	running     state = "running"
	interrupted state = "interrupted"
	done        state = "done"
)

const (
	recordFile   = "run.json"
	metricsFile  = "metrics.json"
	figuresFile  = "figures.json"
	imageFile    = "resume.image" // of older versions
	recordFormat = "bellows run 1"
)

// Progress is what a run has cost until it was interrupted, so that the end can tell of the whole.
type Progress struct {
	Seconds float64 `json:"seconds"` // of training
	audit.Account
	// Stages are the seconds of the stages of the last command, by the names of the last line of train --json.
	Stages map[string]float64 `json:"stage_seconds,omitempty"`
}

// runFile is run.json.
type runFile struct {
	Format   string            `json:"format"`
	State    state             `json:"state"`
	Config   Config            `json:"config"`
	Versions map[string]string `json:"versions"`
	Progress Progress          `json:"progress"` // up to the interruption; of a finished run, to its end
	// Checkpoint is where the run's cuts are; "": in its folder.
	Checkpoint string `json:"checkpoint,omitempty"`
	// Name is the random name by which the run claims the place of its checkpoints.
	Name string `json:"name,omitempty"`
	// Order is the job of a cluster that the run is; "": none.
	Order string `json:"order,omitempty"`
	// End is what a finished run has to tell; nil: an older version has not kept it.
	End *End `json:"end,omitempty"`
	// Era is the last that has begun: none has its number again, whether or not it came to a cut.
	Era bellows.Era `json:"era,omitempty"`
}

// readRecord returns the record in dir, or nil when there is none that can be read: a folder whose
// run.json is damaged has no run to go on with.
func readRecord(dir string) *runFile {
	text, err := os.ReadFile(filepath.Join(dir, recordFile))
	if err != nil {
		return nil
	}
	r := &runFile{}
	if json.Unmarshal(text, r) != nil || r.Format != recordFormat {
		return nil
	}
	return r
}

func (r *runFile) write(dir string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return file.Replace(filepath.Join(dir, recordFile), bytesOf(append(text, '\n')))
}

// Content writes what a file is to have.
type Content func(w io.Writer) error

// bytesOf returns content that is there.
func bytesOf(b []byte) Content { return func(w io.Writer) error { _, err := w.Write(b); return err } }

// Prefix returns the name of a run's default folder without the number: the application, with "demo-" before it without
// DATA. A demo must not use runs/APP-1; otherwise people who then train on a file would evaluate the demo.
func Prefix(app string, files []string) string {
	if len(files) == 0 {
		return "demo-" + app
	}
	return app
}

// folderNumber returns the N of a folder called PREFIX-N, or 0.
func folderNumber(prefix, dir string) int {
	text, ok := strings.CutPrefix(filepath.Base(dir), prefix+"-")
	n := 0
	if _, err := fmt.Sscanf(text, "%d", &n); !ok || err != nil || n < 1 || fmt.Sprint(n) != text {
		return 0
	}
	return n
}
