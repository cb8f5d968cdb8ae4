// Package inputs sweeps the readers of bellows with random small files and the commands that a user would run on them.
// An input is a small file, or two with the same rows, and these commands. A seed draws values, format, use and application: labels, ids and categories
// that a float does not tell apart, numbers far from 0, words for missing values, numbers in other notations, and rows
// for a model that is served.
//
// The package computes the expected result of each input without bellows: by exact decimal arithmetic, by least squares in closed form, or from the
// way in which the rows were made. It calls no reader and no application; it runs the command and reads the files and the text that it writes.
// An input ends as exact, as refused with the place or the name of what is wrong, or as warned of. Anything else with exit code 0 is a finding.
//
// Callers give the command line of bellows to a Sweep, call Draw for each number, and print the Report that it returns. The package refuses to judge
// speed, and inputs that are too large for a few milliseconds of training.
package inputs

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// A Sweep draws inputs by a seed and runs bellows on them.
type Sweep struct {
	Seed    uint64
	Folder  string   // where files and models are written, one folder for each input
	Command []string // starts bellows; the arguments are added
	Environ []string // added to the environment of bellows
}

// A Report says how one input ended.
type Report struct {
	Number   int
	Kind     string   // the row of the table of kinds
	Cell     string   // value, format, use and application
	Outcome  string   // exact, refused or warned
	Message  string   // of the refusal or the warning
	Findings []string // one sentence for each wrong result
	Commands []string // as a shell would run them
}

// String returns the report as lines of text: one for the input, and one for each finding and command if there are findings.
func (r Report) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "input %d: %s: %s: %s", r.Number, r.Kind, r.Cell, r.Outcome)
	if r.Message != "" {
		fmt.Fprintf(&out, " (%s)", r.Message)
	}
	for _, f := range r.Findings {
		fmt.Fprintf(&out, "\n  FINDING %s", f)
	}
	if len(r.Findings) > 0 {
		for _, c := range r.Commands {
			fmt.Fprintf(&out, "\n  $ %s", c)
		}
	}
	return out.String()
}

// kinds are the rows of the table; an input's number chooses its kind, so that any run of len(kinds) inputs has each of them.
var kinds = []struct {
	name string
	draw func(*input)
}{
	{"label", labels},
	{"id", ids},
	{"category", categories},
	{"feature", features},
	{"target", targets},
	{"rating", ratings},
	{"weight", weights},
	{"time", times},
	{"missing number", missingNumbers},
	{"missing word", missingWords},
	{"notation", notations},
	{"served row", served},
	{"feature of classes", classFeatures},
	{"label in codes", codes},
	{"sparse name", sparseNames},
	{"calibration", calibrations},
}

// Draw draws the input of a number, runs the commands of its kind, and returns how it ended. It returns an error if a file cannot be written.
func (s *Sweep) Draw(n int) (Report, error) {
	k := kinds[n%len(kinds)]
	in := &input{
		Sweep:  s,
		rand:   rand.New(rand.NewPCG(s.Seed, uint64(n))),
		folder: filepath.Join(s.Folder, fmt.Sprintf("%d-%d", s.Seed, n)),
		report: Report{Number: n, Kind: k.name},
	}
	if err := os.MkdirAll(in.folder, 0o777); err != nil {
		return in.report, err
	}
	k.draw(in)
	if in.report.Outcome == "" {
		in.report.Outcome = "exact"
	}
	in.report.Cell = strings.Join(in.cell, " · ")
	return in.report, in.err
}
