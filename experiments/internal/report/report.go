// Package report writes the results of an experiment: a file of figures, pictures, and lines for people while it runs.
//
// The caller's duties, in order: Play the role of a process that the experiment started, if it starts any; define the
// experiment's own flags, and let Main run it with its Run; Say what happens; return the figures and pictures, which
// Main writes.
//
// The package does not judge: the goal of a figure is printed next to it, and a page of docs/results has the
// conclusion.
package report

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"bellows/chart"
)

// Run is one run of an experiment.
type Run struct {
	Out   io.Writer // for people
	Quick bool      // small sizes, so that it is seen to work: its figures say nothing
}

// Outcome is what an experiment has found. The figures are encoded as JSON.
type Outcome struct {
	Figures  any
	Pictures []Picture
}

// Picture is a chart with what its file's name ends in, if there are several.
type Picture struct {
	Name string
	*chart.Lines
}

// Say prints a line.
func (r *Run) Say(format string, args ...any) { fmt.Fprintf(r.Out, format+"\n", args...) }

// Play runs the role that an experiment started this process for, which its first argument names, with the arguments after it, and then ends the process. Without a
// role it returns.
func Play(roles map[string]func(args []string) error) {
	if len(os.Args) < 2 || roles[os.Args[1]] == nil {
		return
	}
	if err := roles[os.Args[1]](os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Main implements an experiment's main function. It ends the program if there is an error.
func Main(name string, experiment func(r *Run) (*Outcome, error)) {
	r := &Run{Out: os.Stdout}
	flag.BoolVar(&r.Quick, "quick", false, "small sizes, to see that it works: the figures say nothing")
	folder := flag.String("out", ".", "`folder` for the figures, "+name+".json, and pictures")
	flag.Parse()
	err := fmt.Errorf("argument %q is not a flag: every setting here is one, see --help", flag.Arg(0))
	if flag.NArg() == 0 {
		err = r.conduct(name, *folder, experiment)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

func (r *Run) conduct(name, folder string, experiment func(r *Run) (*Outcome, error)) error {
	r.Say("%s: %s", name, machine())
	o, err := experiment(r)
	if err != nil {
		return err
	}
	return r.Write(name, folder, o)
}

// The size of a picture, in pixels.
const (
	wide = 760
	high = 380
)

// record is the file of figures.
type record struct {
	Experiment string `json:"experiment"`
	Machine    string `json:"machine"`
	Quick      bool   `json:"quick"`
	Figures    any    `json:"figures"`
}

// Write writes the files of an experiment, and says where.
func (r *Run) Write(name, folder string, o *Outcome) error {
	text, err := json.MarshalIndent(record{name, machine(), r.Quick, o.Figures}, "", "  ")
	if err != nil {
		return err
	}
	at := filepath.Join(folder, name)
	if err := os.WriteFile(at+".json", append(text, '\n'), 0o666); err != nil {
		return err
	}
	r.Say("figures are in %s.json", at)
	for _, p := range o.Pictures {
		file := at + ".svg"
		if p.Name != "" {
			file = at + "-" + p.Name + ".svg"
		}
		if err := os.WriteFile(file, []byte(p.File(wide, high)), 0o666); err != nil {
			return err
		}
		r.Say("a picture is in %s", file)
	}
	return nil
}

// machine returns what figures belong to.
func machine() string {
	words := []string{runtime.GOARCH, fmt.Sprintf("%d cores", runtime.NumCPU()), runtime.Version()}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if _, rest, ok := strings.Cut(string(text), "model name\t: "); ok {
			words[0], _, _ = strings.Cut(rest, "\n")
		}
	}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		one, _, _ := strings.Cut(string(text), " ")
		words = append(words, "load "+one)
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 12 {
				words = append(words, "commit "+s.Value[:12])
			}
		}
	}
	return strings.Join(words, ", ")
}

// Interval is a median with an interval that holds the true one in 95 of 100 cases, whatever the distribution: between two of the
// sorted figures, by the binomial distribution of how many lie below. Fewer than six figures give no such interval: then it is all of them.
type Interval struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Count  int     `json:"count"`
}

// IntervalOf sorts a copy of the figures, of which there is at least one.
func IntervalOf(figures []float64) Interval {
	s := slices.Sorted(slices.Values(figures))
	n := len(s)
	cut := 0 // figures outside on each side
	for below := 0.0; cut < n/2; cut++ {
		if below += choose(n, cut) / math.Pow(2, float64(n)); 2*below > 0.05 {
			break
		}
	}
	cut = max(0, cut-1)
	return Interval{Median: (s[(n-1)/2] + s[n/2]) / 2, Low: s[cut], High: s[n-1-cut], Count: n}
}

// choose returns the number of ways to take k of n.
func choose(n, k int) float64 {
	ways := 1.0
	for i := range k {
		ways = ways * float64(n-i) / float64(i+1)
	}
	return ways
}

// String implements fmt.Stringer.
func (i Interval) String() string { return fmt.Sprintf("%.3f (%.3f to %.3f)", i.Median, i.Low, i.High) }

// CPUTime returns the time of all processors that this process has used.
func CPUTime() (time.Duration, error) {
	var u unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &u)
	return time.Duration(u.Nano()), err
}
