// Package memory measures the memory of `bellows train --processes 4` over all processes, compared with one process. It
// trains each application from parsed inputs that are stored already, on data of a size that matters.
//
// It builds the command and makes the data from a seed. While a job runs, what each of its processes has in memory is
// read from /proc every few milliseconds, all of them one after the other. A page that several processes share, of a
// program or of stored inputs mapped into memory, counts for each in equal parts (proportional set size, PSS), so that
// the sum of processes is what they take of the machine. What counts is the largest sum at one moment. The table shows
// each process's own largest PSS next to the largest resident set that the system kept of it (VmHWM), in which shared
// pages count in full. Linux alone tells that.
//
// The part estimate holds what train estimates before training against its own peak.
package memory

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"bellows/bench/internal/pair"
	"bellows/bench/internal/sets"
)

// most is what several processes may need, in times of what one does.
const most = 1.3

// Program is the measurement.
var Program = pair.Program{Name: "memory", Turns: [2]int{3, 5}, Define: define}

func define(flags *flag.FlagSet) func(b *pair.Bench) {
	processes := flags.Int("processes", 4, "processes that are held against one")
	program := flags.String("program", "", "path of another build of bellows to measure instead")
	return func(b *pair.Bench) {
		b.Header("memory: what %d processes need together beside one", *processes)
		shelf := sets.Open("")
		defer shelf.Close()
		m := &measure{b, shelf, *program, *processes}
		if m.program == "" {
			m.program = shelf.Bellows()
		}
		size := func(quick, full int) int {
			if b.Full {
				return full
			}
			return quick
		}
		b.Parts(b.Part,
			m.part("mf", "mf", func() sets.Pair {
				return shelf.Ratings(size(70_000, 140_000), size(10_000, 20_000), size(10_000_000, 20_000_000))
			}),
			m.part("likes", "mf", func() sets.Pair {
				return shelf.Ratings(size(70_000, 140_000), size(10_000, 20_000), size(5_000_000, 20_000_000))
			}, "--set", "loss=weighted", "--set", "rank=8"),
			m.part("mlr", "mlr", func() sets.Pair { return shelf.Images(size(60_000, 240_000), 1000, 28) }),
			m.part("text", "mlr", func() sets.Pair { return shelf.Documents(size(100_000, 400_000), 1000, 50_000) }),
			m.part("lda", "lda", func() sets.Pair { return shelf.Bags(size(40_000, 160_000), 10_000, 200) }),
			m.estimate())
	}
}

type measure struct {
	*pair.Bench
	shelf     *sets.Shelf
	program   string
	processes int
}

// part measures an application on a set.
func (m *measure) part(name, app string, set func() sets.Pair, more ...string) pair.Part {
	return pair.Part{Name: name, Run: func() {
		p := set()
		m.Section(name + ", " + p.Origin)
		words := append([]string{"train", app, p.Train, "--epochs", "3", "--set", "early_stop=false"}, more...)
		m.run(words, 0) // the inputs are parsed, and stored
		var one, all []float64
		var last *watched
		for range m.Turns {
			one = append(one, float64(m.run(words, 0).peak))
			last = m.run(words, m.processes)
			all = append(all, float64(last.peak))
		}
		pair.Check(os.Remove(p.Train))
		for _, q := range last.processes {
			m.Note("%s: at most %s, of it %s its own; resident at most %s", q.name, bytesOf(q.peak), bytesOf(q.own), bytesOf(q.resident))
		}
		m.Note("at the moment of the largest sum: %s", strings.Join(last.then, ", "))
		single := pair.SpreadOf(one).Median
		m.AddFact(pair.Fact{Figure: name + ", one process", Unit: "B", Ours: single})
		m.AddFact(pair.Fact{Figure: fmt.Sprintf("%s, %d processes and the leader", name, m.processes), Unit: "B", Ours: pair.SpreadOf(all).Median, Peer: "limit", Bound: most * single})
		m.AddFact(pair.Fact{Figure: name + ", in times of one", Ours: pair.SpreadOf(all).Median / single, Peer: "limit", Bound: most})
	}}
}

func bytesOf(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// run trains once.
func (m *measure) run(words []string, processes int) *watched {
	out := m.shelf.Path("model")
	pair.Check(os.RemoveAll(out))
	words = append(slices.Clone(words), "--cache", m.shelf.Path("cache"), "--out", out, "--json")
	if processes > 0 {
		words = append(words, "--processes", strconv.Itoa(processes))
	}
	return pair.Must(watch(m.program, words))
}

// watched is what a command and all that it has started had in memory, in bytes.
type watched struct {
	peak      int64    // the largest sum at one moment
	then      []string // what each had at that moment
	processes []*process
}

// process is one of them.
type process struct {
	name                string
	peak, own, resident int64 // the largest PSS, the private part of it, and the system's VmHWM
}

// step is the pause between two looks.
const step = 3 * time.Millisecond

// watch runs a command and looks at its memory until it ends.
func watch(program string, words []string) (*watched, error) {
	command := exec.Command(program, words...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	if err := command.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	w, known := &watched{}, map[int]*process{}
	for {
		sum, now := int64(0), []string(nil)
		for _, id := range family(command.Process.Pid) {
			p := known[id]
			if p == nil {
				p = &process{name: fmt.Sprintf("node %d", len(known))}
				known[id] = p
				w.processes = append(w.processes, p)
			}
			pss, files := p.look(id)
			sum += pss
			now = append(now, fmt.Sprintf("%s %s (%s of files)", p.name, bytesOf(pss), bytesOf(files)))
		}
		if sum > w.peak {
			w.peak, w.then = sum, now
		}
		select {
		case err := <-ended:
			if err != nil {
				return nil, fmt.Errorf("%v ended with %w: %s", words, err, strings.TrimSpace(stderr.String()))
			}
			if w.peak == 0 {
				return nil, errors.New("this system does not tell the memory of a process (/proc/PID/smaps_rollup)")
			}
			return w, nil
		case <-time.After(step):
		}
	}
}

// look takes the memory of a process into account, and returns its PSS and the part of it that is pages of files; 0 when it has ended.
func (p *process) look(id int) (pss, files int64) {
	rollup := fields(filepath.Join("/proc", strconv.Itoa(id), "smaps_rollup"))
	p.peak = max(p.peak, rollup["Pss"])
	p.own = max(p.own, rollup["Private_Dirty"]+rollup["Private_Clean"])
	p.resident = max(p.resident, fields(filepath.Join("/proc", strconv.Itoa(id), "status"))["VmHWM"])
	return rollup["Pss"], rollup["Pss_File"]
}

// fields returns the numbers of a file of /proc that are given in kB, in bytes. Of a process that has ended there are
// none.
func fields(path string) map[string]int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	out := map[string]int64{}
	for line := range strings.Lines(string(text)) {
		name, rest, _ := strings.Cut(line, ":")
		words := strings.Fields(rest)
		if len(words) == 2 && words[1] == "kB" {
			if n, err := strconv.ParseInt(words[0], 10, 64); err == nil {
				out[name] = n << 10
			}
		}
	}
	return out
}

// family returns a process and those that it has started, in the order of their numbers.
func family(id int) []int {
	all := []int{id}
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return all
	}
	for _, folder := range folders {
		text, err := os.ReadFile(filepath.Join(folder, "stat"))
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(text), ") ") // after the program's name: its state, and its parent
		child, failed := strconv.Atoi(filepath.Base(folder))
		if words := strings.Fields(rest); failed == nil && len(words) > 1 && words[1] == strconv.Itoa(id) {
			all = append(all, child)
		}
	}
	slices.Sort(all[1:])
	return all
}
