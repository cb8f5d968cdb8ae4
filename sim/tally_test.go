package sim

import (
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"bellows/sim/internal/coverage"
	"bellows/sim/internal/model"
	"bellows/sim/internal/msgcopy"
	"bellows/sim/internal/schedule"
)

// tally has the sums over many schedules.
type tally struct {
	schedules, finished, failures, streams, lives int
	millis, commits                               int64
	hash                                          msgcopy.Hash                // of all schedules, in order
	bits                                          [2 * model.AllShapes]uint64 // by model.Job.Index
	ended                                         [model.AllShapes]int        // how often a job of the shape finished with all its tables
	covered                                       map[coverage.Event]int      // in how many schedules it came about
	known                                         map[coverage.Event]bool     // those that are judged
	began                                         time.Duration               // processor time of this process before
	messages, clocks, splits                      []int                       // of each schedule
}

// add counts a schedule. A job that finishes leaves the same tables as every other of its shape and division (P7).
func (a *tally) add(t *testing.T, r *Result) {
	a.schedules++
	a.millis += r.Millis
	a.commits += int64(r.Commits)
	a.hash.Word(r.Hash)
	a.finished += count(r.Reason == "")
	a.streams += count(r.streams)
	a.lives += r.Lives
	a.messages, a.clocks, a.splits = append(a.messages, r.messages), append(a.clocks, r.clocks), append(a.splits, r.splits)
	for e := range r.coverage.Seen() {
		a.covered[e]++
	}
	if r.Violation != "" {
		if a.failures++; a.failures <= 10 {
			complain(t, *r)
		}
		return
	}
	if r.Reason != "" || r.bits == 0 {
		return
	}
	a.ended[r.shape]++
	if before := &a.bits[r.job]; *before == 0 {
		*before = r.bits
	} else if r.bits != *before {
		t.Errorf("seed %d: the tables of shape %d end with other bits than before", r.Seed, r.shape)
	}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// judge checks the schedules together. Each fault must be injected in each stage, and each rare event must happen, in 1 % of the schedules, less two
// standard deviations, since a count of 30 varies by 5.5; of fewer than 3,000 schedules, once.
func (a *tally) judge(t *testing.T) {
	enough := a.schedules >= 3000
	least := 1
	if enough {
		mean := float64(a.schedules) / 100
		least = int(mean - 2*math.Sqrt(mean))
	}
	if a.finished < a.schedules/5 || a.finished > 9*a.schedules/10 {
		t.Errorf("%d of %d schedules finished: the faults that end jobs are drawn too often or too seldom", a.finished, a.schedules)
	}
	finished := 1 // of each shape; where there are many, an eighth of what would be even
	if enough {
		finished = a.schedules / model.Shapes / 8
	}
	for shape, n := range a.ended[:model.Shapes] {
		if n < finished {
			t.Errorf("shape %d finished in %d of %d schedules", shape, n, a.schedules)
		}
	}
	a.judgeFaults(t, enough, least)
	for _, name := range events(t) {
		if n := a.schedulesWith(name, ""); enough && n < least {
			t.Errorf("%s: in %d of %d schedules", name, n, a.schedules)
		}
	}
	for _, step := range schedule.Phases {
		if n := a.schedulesWith("meddled with", step); enough && n < least {
			t.Errorf("a move was meddled with when it was %s in %d of %d schedules", step, n, a.schedules)
		}
	}
	a.judgeGrid(t, enough)
	for e := range a.covered {
		if !a.known[e] {
			t.Errorf("%q came about at %q, and is no event of the simulation", e.Name, e.Place)
		}
	}
	t.Log(a.String())
}

// schedulesWith returns in how many schedules an event happened at a place, and marks it as known.
func (a *tally) schedulesWith(name, place string) int {
	e := coverage.Event{Name: name, Place: place}
	a.known[e] = true
	return a.covered[e]
}

// judgeFaults wants each fault in each stage where it is possible, those of whole nodes at nodes of each kind, and those of
// each family in three schedules of ten.
func (a *tally) judgeFaults(t *testing.T, enough bool, least int) {
	for _, f := range schedule.Faults {
		total := 0
		for p := range schedule.Stages {
			n := a.schedulesWith(string(f.Name), p.String())
			total += n
			if enough && n < least && schedule.Possible(f.Name, p) {
				t.Errorf("%v was injected in %v in %d of %d schedules", f.Name, p, n, a.schedules)
			}
		}
		if total == 0 {
			t.Errorf("%v was injected in none of %d schedules", f.Name, a.schedules)
		}
		if n := a.schedulesWith("fault", f.Family); enough && 10*n < 3*a.schedules {
			t.Errorf("faults of %s were injected in %d of %d schedules: fewer than three in ten", f.Family, n, a.schedules)
		}
	}
	for _, f := range nodeFaults {
		for _, p := range parties {
			if n := a.schedulesWith(f, p); n < least {
				t.Errorf("%s hit %s in %d of %d schedules", f, p, n, a.schedules)
			}
		}
	}
}

// The faults that hit whole nodes, and what these nodes may have in the job.
var (
	nodeFaults = []string{"pause", "crash", "stop"}
	parties    = []string{"node 0", "client", "lanes", "client and lanes"}
)

// eventSite is where an event comes about: a literal name, so that the source is the list.
var eventSite = regexp.MustCompile(`\.Hit(?:If)?\(([^,)]*)`)

// events returns the names of the events in the source of the simulation, sorted.
func events(t *testing.T) (names []string) {
	t.Helper()
	eachSource(t, ".", func(path string, text []byte) {
		if path == "internal/coverage/coverage.go" {
			return
		}
		for _, site := range eventSite.FindAllSubmatch(text, -1) {
			name, err := strconv.Unquote(string(site[1]))
			if err != nil || !kebab.MatchString(name) {
				t.Errorf("%s: Hit(%s): an event is named by a literal in kebab-case", path, site[1])
			}
			names = append(names, name)
		}
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// kebab is how events and planted bugs are named.
var kebab = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// eachSource reads the Go files below a folder that are not tests.
func eachSource(t *testing.T, root string, do func(path string, text []byte)) {
	t.Helper()
	tree := os.DirFS(root)
	err := fs.WalkDir(tree, ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := fs.ReadFile(tree, path)
		do(path, text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// judgeGrid sees that messages of every kind came while a move was at each of its steps, but where it is said why none can.
func (a *tally) judgeGrid(t *testing.T, enough bool) {
	for _, name := range coverage.Messages() {
		for _, step := range schedule.Phases {
			switch n, why := a.schedulesWith(name, step), nowhere[name]; {
			case n > 0 && why != "":
				t.Errorf("%s came while a move was %s in %d schedules, and cannot: %s", name, step, n, why)
			case n == 0 && why == "" && enough && !seldom(step, name):
				t.Errorf("%s came while a move was %s in none of %d schedules", name, step, a.schedules)
			}
		}
	}
}

// nowhere are the kinds of messages that come to no actor of the simulation, whatever moves, and why.
var nowhere = map[string]string{
	"refused": "it is for a node of the past, which the job has not",
	"report":  "it is for people, and of a process",
	"bye":     "it is a connection's own", "ack": "it is a connection's own", "resume": "it is a connection's own",
}

// seldom reports whether a kind of message need not come during a step of a move, though it may. A task reports after
// seconds that it still computes, and a move takes as many milliseconds. State is asked for when all lanes have closed,
// and a lane closes after all that comes to it; but a lane that has not heard of the end is not waited for for ever
// (seed 228561).
func seldom(step, kind string) bool {
	switch kind {
	case "computing":
		return true
	case "collect", "collected", "slab":
		return step == "recorded"
	}
	return false
}

// TestReasonsAreOfKinds sees that whatever cannot come is a kind of message, so that no cell of the grid is excused by a name that nothing has.
func TestReasonsAreOfKinds(t *testing.T) {
	for name := range nowhere {
		if !slices.Contains(coverage.Messages(), name) {
			t.Errorf("there are no messages of kind %s", name)
		}
	}
}

func (a *tally) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%d schedules, %d on streams, %d lives, %d finished; %d s of their time, %d commits, hash %016x\n",
		a.schedules, a.streams, a.lives, a.finished, a.millis/1000, a.commits, uint64(a.hash))
	fmt.Fprintf(&s, "those in which a fault was injected in a stage:\n%-10s", "")
	for p := range schedule.Stages {
		fmt.Fprintf(&s, " %16v", p)
	}
	for _, f := range schedule.Faults {
		fmt.Fprintf(&s, "\n%-10v", f.Name)
		for p := range schedule.Stages {
			if n := a.schedulesWith(string(f.Name), p.String()); n > 0 || schedule.Possible(f.Name, p) {
				fmt.Fprintf(&s, " %16d", n)
			} else {
				fmt.Fprintf(&s, " %16s", "-")
			}
		}
	}
	s.WriteString("\nthose in which a whole node was hit:")
	for _, f := range nodeFaults {
		fmt.Fprintf(&s, "\n%-10v", f)
		for _, p := range parties {
			fmt.Fprintf(&s, " %s %d", p, a.schedulesWith(f, p))
		}
	}
	rest := map[string]int{}
	for e, n := range a.covered {
		switch {
		case e.Name == "fault":
			rest["fault of "+e.Place] = n
		case e.Place == "" || e.Name == "meddled with":
			rest[strings.TrimSpace(e.Name+" "+e.Place)] = n
		}
	}
	fmt.Fprintf(&s, "\na schedule at the median: %d messages, %d clocks, %d splits; %v of processor time in the mean", median(a.messages), median(a.clocks),
		median(a.splits), ((processorTime() - a.began) / time.Duration(a.schedules)).Round(10*time.Microsecond))
	s.WriteString("\nthose in which it came about:")
	for _, name := range slices.Sorted(maps.Keys(rest)) {
		fmt.Fprintf(&s, "\n%-27v %d", name, rest[name])
	}
	s.WriteString("\nthose in which a message came while a move was")
	for _, kind := range coverage.Messages() {
		fmt.Fprintf(&s, "\n%-12s", kind)
		for _, step := range schedule.Phases {
			fmt.Fprintf(&s, " %v %d", step, a.schedulesWith(kind, step))
		}
	}
	return s.String()
}

// median returns the middle of some numbers.
func median(list []int) int {
	if len(list) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(list))[len(list)/2]
}
