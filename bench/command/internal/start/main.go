// Package start measures what a newcomer waits for: the start of `bellows`, the size of the binary, and the build of a
// fresh clone. The first is the time to the first byte; the last is the time from a clone to the first line of a loss
// table with an empty build cache.
//
// It needs Go and git, and the modules of go.mod in Go's module cache or a proxy to get them from. It clones the
// repository that it is run in: changes that are not committed are not measured. The clone is part of --full alone.
package start

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"bellows/bench/internal/pair"
)

const (
	firstByteMillis = 100
	sizeMax         = 40e6
	cloneSeconds    = 60
	startMillis     = 12 // of CPU time, of a command that does nothing
	startBytes      = 20e6
)

// Program is the measurement.
var Program = pair.Program{Name: "start", Turns: [2]int{5, 11}, Run: run}

func run(b *pair.Bench) {
	b.Header("start: from nothing to the first line")
	scratch := pair.Must(os.MkdirTemp("", "bellows-start-"))
	// Go's module cache is elsewhere; what is here is ours and writable.
	defer os.RemoveAll(scratch)
	program := filepath.Join(scratch, "bellows")
	pair.Build(program)
	b.AddFact(pair.Fact{Figure: "binary", Unit: "B", Ours: float64(pair.Must(os.Stat(program)).Size()), Peer: "limit", Bound: sizeMax})
	startUp(b, program)
	for _, args := range [][]string{{"help"}, {"version"}, {"demo", "mf"}} {
		firstBytes(b, program, scratch, args)
	}
	if b.Full {
		clone(b, scratch)
	} else {
		b.Note("--full also clones and builds with an empty build cache")
	}
}

// startUp shows what a command costs that does nothing: CPU time and peak of memory of `bellows version`.
func startUp(b *pair.Bench, program string) {
	var peak int64
	series := b.Interleave(pair.Side{Name: "version", Run: func() pair.Turn {
		_, turn := pair.RunProgram("bellows version", program, nil, "version")
		peak = max(peak, turn.Peak)
		return turn
	}})
	b.AddFact(pair.Fact{Figure: "CPU time of bellows version", Unit: "s", Ours: series[0].Costs(pair.CPU).Median, Peer: "limit", Bound: startMillis / 1e3})
	b.AddFact(pair.Fact{Figure: "its peak of memory", Unit: "B", Ours: float64(peak), Peer: "limit", Bound: startBytes})
}

// firstBytes shows the time from starting the program to its first byte, whether talk or data.
func firstBytes(b *pair.Bench, program, scratch string, args []string) {
	folder := 0
	series := b.Interleave(pair.Side{Name: args[0], Run: func() pair.Turn {
		folder++
		took, _ := waitFor(filepath.Join(scratch, fmt.Sprintf("run-%s-%d", args[0], folder)), nil, anything, program, args...)
		return pair.Turn{Work: 1, Wall: took}
	}})
	b.AddFact(pair.Fact{Figure: "first byte of bellows " + strings.Join(args, " "), Unit: "s", Ours: series[0].Costs(pair.Wall).Median,
		Peer: "limit", Bound: firstByteMillis / 1e3})
}

// clone follows the README's steps for a newcomer, with a build cache of its own.
func clone(b *pair.Bench, scratch string) {
	tree := filepath.Join(scratch, "clone")
	start := time.Now()
	root, _ := pair.RunProgram("git rev-parse", "git", nil, "rev-parse", "--show-toplevel") // the repository that this runs in
	pair.RunProgram("git clone", "git", nil, "clone", "-q", strings.TrimSpace(string(root)), tree)
	_, cpu := waitFor(tree, []string{"GOCACHE=" + filepath.Join(scratch, "cache")}, firstEpoch, "go", "run", "./cmd/bellows", "demo", "mf")
	b.AddFact(pair.Fact{Figure: "clone to first loss line", Unit: "s", Ours: time.Since(start).Seconds(), Peer: "limit", Bound: cloneSeconds})
	b.Note("%.0f s of CPU time, compilers included: on a machine with other load, %d cores to itself would need at least %.0f s",
		cpu.Seconds(), runtime.NumCPU(), cpu.Seconds()/float64(runtime.NumCPU()))
}

func anything(string) bool { return true }

// firstEpoch recognises the row of the first epoch, which begins with its number.
func firstEpoch(line string) bool {
	fields := strings.Fields(line)
	return len(fields) > 2 && fields[0] == "1" && strings.Contains(fields[1], ".")
}

// waitFor starts a program in a folder, which is made when it is missing, and returns the time to the first wanted line;
// for anything, to the first byte. The program then runs to its end; cpu is what it and its children took.
func waitFor(dir string, env []string, wanted func(line string) bool, program string, args ...string) (took, cpu time.Duration) {
	pair.Check(os.MkdirAll(dir, 0o755))
	w := &watcher{wanted: wanted}
	command := exec.Command(program, args...)
	command.Dir, command.Env = dir, append(os.Environ(), env...)
	command.Stdout, command.Stderr = w, w
	w.start = time.Now()
	err := command.Run()
	if err == nil && w.took == 0 {
		err = errors.New("it ended without the line that was waited for")
	}
	if err != nil {
		pair.Check(fmt.Errorf("%s %s: %w; %s", program, strings.Join(args, " "), err, w.last))
	}
	return w.took, command.ProcessState.UserTime() + command.ProcessState.SystemTime()
}

// watcher takes the time of the first wanted line in what is written to it, whole or as far as it has come, and keeps the last line.
type watcher struct {
	wanted func(line string) bool
	start  time.Time
	took   time.Duration // 0: it has not come
	rest   string        // of a line that has not ended
	last   string
}

func (w *watcher) Write(b []byte) (int, error) {
	for line := range strings.Lines(w.rest + string(b)) {
		if w.took == 0 && w.wanted(line) {
			w.took = time.Since(w.start)
		}
		if w.last, w.rest = strings.TrimSpace(line), line; strings.HasSuffix(line, "\n") {
			w.rest = ""
		}
	}
	return len(b), nil
}
