// Package traintest has helpers for tests of drivers: CanBeSaved checks that another controller can continue with a
// driver after any record.
//
// It plays a job with the real controller, without clients and lanes: tasks are completed in random order, each with a
// result that the caller makes up. The package does not run executors.
package traintest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bellows"
	"bellows/core"
	"bellows/core/coord"
	"bellows/core/route"
	"bellows/link/wire"
	"bellows/train"
)

// A Job is a job whose driver is tested. Its tables, splits and items are used; its driver and executors are not.
type Job struct {
	train.Job
	// Fresh makes the driver in its state before anything has run.
	Fresh func() train.Driver
	// Result returns the signal of the executor of a unit. It is a function of the unit alone.
	Result func(u bellows.Unit) []float64
}

// seeds is the number of orders of completion that are tried, singles about the number of single moments of each.
const (
	seeds   = 3
	singles = 40
)

// CanBeSaved plays a job to its end in a few orders of completion, and again with the driver replaced, after its first
// dispatches or after a completion, by one restored from its numbers: at every such moment in one play, and at a single
// moment in others (every one, if the job has few). The controller must receive the same in every play: the same tasks
// with the same arguments after the same commits, the same epochs, Keep, SetStaleness and Finish.
func CanBeSaved(t *testing.T, job Job) {
	t.Helper()
	for seed := range uint64(seeds) {
		straight := job.play(t, seed, never)
		if straight.moments < 3 {
			t.Fatalf("seed %d: the driver has %d moments; a job of no tasks says nothing", seed, straight.moments)
		}
		stride := max(1, straight.moments/singles)
		moments := []int{always}
		for at := int(seed) % stride; at < straight.moments; at += stride {
			moments = append(moments, at)
		}
		for _, at := range moments {
			again := job.play(t, seed, at)
			if again.failed != "" {
				t.Fatalf("seed %d, %v: %s", seed, moment(at), again.failed)
			}
			for i := range max(len(straight.log), len(again.log)) {
				if want, got := straight.line(i), again.line(i); got != want {
					t.Fatalf("seed %d, %v: what the controller is told differs in line %d\n  %s\n  %s, without", seed,
						moment(at), i+1, got, want)
				}
			}
		}
	}
}

// Moments at which drivers are replaced: after a number of completions, or one of these.
const (
	never  = -2
	always = -1
)

// moment is a moment at which the driver is replaced.
type moment int

func (m moment) String() string {
	if m == always {
		return "saved and restored after every record"
	}
	return fmt.Sprintf("saved and restored after record %d", int(m))
}

// play is one play of a job.
type play struct {
	job        *Job
	random     *rand.Rand
	driver     train.Driver
	at         int // when the driver is replaced
	moments    int // completions so far, plus one before the first
	controller *coord.Controller
	fx         coord.Effects
	flush      uint64
	out        [][]bellows.Unit // by split: dispatched and not completed
	log        []string
	failed     string
	over       bool
}

var (
	leader = wire.ControllerAt()
	lane   = wire.LaneAt(0, 0)
	worker = wire.ClientAt(0)
)

// play plays the job to its end.
func (j *Job) play(t *testing.T, seed uint64, at int) *play {
	t.Helper()
	p := &play{job: j, random: rand.New(rand.NewPCG(seed, 0)), driver: j.Fresh(), at: at,
		out: make([][]bellows.Unit, j.Splits)}
	p.controller = coord.New(core.Job{Controller: leader, Lanes: []wire.Address{lane}, Clients: []wire.Address{worker},
		Route: route.Spread(j.Tables, j.Splits, []wire.Address{lane}, []bellows.NodeID{0}), Items: j.Items,
		Units: j.Units}, coord.Options{Driver: p})
	p.controller.Start(&p.fx)
	for p.obey(); !p.over && p.failed == ""; p.obey() {
		p.complete()
	}
	return p
}

// DispatchInitialTasks implements train.Driver, for the driver under test.
func (p *play) DispatchInitialTasks(d *train.Dispatcher) {
	p.driver.DispatchInitialTasks(d)
	p.recorded()
}

// HandleTaskCompletion implements train.Driver.
func (p *play) HandleTaskCompletion(c train.Completion, d *train.Dispatcher) {
	p.driver.HandleTaskCompletion(c, d)
	p.recorded()
}

// Save implements train.Driver.
func (p *play) Save() []float64 { return p.driver.Save() }

// Restore implements train.Driver. A play starts at the beginning.
func (p *play) Restore([]float64) error { return nil }

// recorded replaces the driver if the moment has come. It overwrites the old driver and the numbers: neither may be
// needed.
func (p *play) recorded() {
	p.moments++
	if p.at != always && p.at != p.moments-1 || p.failed != "" {
		return
	}
	saved := p.driver.Save()
	want := slices.Clone(saved)
	fresh := p.job.Fresh()
	if err := fresh.Restore(saved); err != nil {
		p.failed = fmt.Sprintf("its own numbers are refused: %v", err)
		return
	}
	for i := range saved {
		saved[i] = math.NaN()
	}
	sameBits := func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }
	if got := fresh.Save(); !slices.EqualFunc(got, want, sameBits) {
		p.failed = fmt.Sprintf("the restored driver saves %v, not %v", got, want)
	}
	p.driver = fresh
}

// complete sends the controller one flush, of one to three dispatched tasks of different splits.
func (p *play) complete() {
	done := wire.New[wire.Done]()
	p.flush++
	done.Flush = bellows.FlushID{Client: worker.Node, Incarnation: 1, Seq: p.flush}
	wanted := 1 + p.random.IntN(3)
	for _, s := range p.random.Perm(len(p.out)) {
		if len(p.out[s]) > 0 && len(done.Results) < wanted {
			u := p.out[s][0]
			p.out[s] = p.out[s][1:]
			done.Append(u, p.job.Result(u))
		}
	}
	p.controller.Step([]wire.Envelope{{From: worker, To: leader, Message: done}}, &p.fx)
}

// obey notes what the controller wants.
func (p *play) obey() {
	for _, e := range p.fx.Epochs {
		p.note("epoch %+v", e)
	}
	for _, e := range p.fx.Envelopes {
		switch m := e.Message.(type) {
		case *wire.Dispatch:
			for _, t := range m.Tasks {
				p.out[t.Unit.Split] = append(p.out[t.Unit.Split], t.Unit)
				p.note("%v with %v after commit %d", t.Unit, t.Args, m.Commit)
			}
		case *wire.Records:
			for i := range m.List {
				if m.List[i].Control.Kind == bellows.KeepTables {
					p.note("keep as record %d", m.List[i].Number)
				}
			}
		case *wire.Staleness:
			if e.To == worker {
				p.note("staleness %+v", *m)
			}
		case *wire.End:
			p.over = true
			p.note("end after commit %d %q", m.Commit, m.Reason)
		}
	}
	p.fx.Reset()
}

func (p *play) note(format string, args ...any) { p.log = append(p.log, fmt.Sprintf(format, args...)) }

// line returns a line of the log.
func (p *play) line(i int) string {
	if i < len(p.log) {
		return p.log[i]
	}
	return "nothing"
}
