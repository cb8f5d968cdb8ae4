package sim

import (
	"errors"
	"fmt"
	"strings"

	"bellows"
	"bellows/client"
	"bellows/wire"
)

// worker is the shell of a client: it delivers what arrives, and runs tasks as scripts.
type worker struct {
	w       *world
	node    *node
	client  *client.Client
	fx      client.Effects
	scripts []*script             // per split; nil: not here, or nothing runs
	seen    [splitsMax]watermarks // what each split's tasks have read
}

func (w *world) addWorker(a wire.Address) {
	k := &worker{w: w, node: w.nodes[a.Node], scripts: make([]*script, w.job.splits)}
	k.client = client.New(client.Config{Self: a, Controller: controllerAddress, Tables: w.job.schemas, Route: w.route})
	k.node.worker = k
	w.workers = append(w.workers, k)
	w.addActor(a, func(batch []wire.Envelope) {
		for _, e := range batch {
			k.client.Deliver(e, &k.fx)
		}
		k.obey()
	})
	w.after(w.rng.Int64N(beatEvery), k.node, k.tick)
}

func (k *worker) tick() {
	if k.client.Ended() != nil {
		return
	}
	k.client.Tick(k.w.now, &k.fx)
	k.obey()
	k.w.after(beatEvery, k.node, k.tick)
}

// obey carries out what the client wants.
func (k *worker) obey() {
	k.w.post(k.node, &k.fx.Outbox)
	for _, t := range k.fx.Run {
		k.start(t)
	}
	for _, t := range k.fx.Wake {
		s := k.scripts[t.Unit.Split]
		k.w.after(int64(k.w.rng.IntN(3)), k.node, s.resume)
	}
	for _, n := range k.fx.Notices {
		k.notice(n)
	}
	k.fx.Reset()
}

func (k *worker) notice(sentence string) {
	for _, s := range k.scripts {
		if s != nil && strings.HasPrefix(sentence, s.unit.String()) {
			s.named = true
			k.w.happened[waitNamed] = true
		}
	}
	k.w.note("notice: %s", sentence)
}

func (k *worker) start(t *client.Task) {
	if s := k.scripts[t.Unit.Split]; s != nil {
		k.w.violated("the client runs %v beside %v", t.Unit, s.unit)
		return
	}
	if want := [2]float64{float64(t.Unit.Split), float64(t.Unit.Clock)}; len(t.Args) != 2 || [2]float64(t.Args) != want {
		k.w.violated("%v was dispatched with %v; the executor gets %v", t.Unit, want, t.Args)
	}
	s := k.w.newScript(k, t)
	k.scripts[t.Unit.Split] = s
	k.w.after(int64(k.w.rng.IntN(3)), k.node, s.run)
}

var errKilled = errors.New("killed by the schedule")

// finish ends a task, with its result or with an error.
func (k *worker) finish(s *script, err error) {
	k.scripts[s.unit.Split] = nil
	for range s.slabs {
		k.w.leave(k.node.id, leaseHeld)
	}
	r := k.w.job.result(s.unit.Split, s.unit.Clock)
	k.w.trace(3, uint64(s.unit.Split)<<32|uint64(s.unit.Clock), uint64(s.sum))
	k.client.Finish(s.task, r[:], err, &k.fx)
	k.obey()
}

// victim is a task that runs and could fail, or nil.
func (k *worker) victim() *script {
	if k.client.Ended() != nil || k.node.pausedUntil > k.w.now {
		return nil
	}
	for _, s := range k.scripts {
		if s != nil && !s.waiting {
			return s
		}
	}
	return nil
}

// kill ends a task in an error.
func (k *worker) kill(s *script) {
	k.w.mayEnd("%v on node %d failed: %v", s.unit, k.node.id, errKilled)
	k.finish(s, errKilled)
}

// script is one task as the executor runs it: steps, one after the other.
type script struct {
	w       *world
	k       *worker
	task    *client.Task
	unit    bellows.Unit
	steps   []step
	at      int
	waiting bool
	since   int64 // when the wait began
	named   bool  // the wait was named
	drawn   bool  // what the step is about has been drawn: first and end, or list
	first   int
	end     int
	list    []bellows.RowID
	own     float32
	other   float32      // what the task read in its two cells of sums
	added   [tables]bool // which tables it has changed
	slabs   []slab
	sum     digest // of what it has read
}

// slab is a lease of the task and what it saw there.
type slab struct {
	leaseOf
	values []float32
	copy   []float32
}

// step does one thing and reports whether it could; if not, it is tried again when the task is woken.
type step func(s *script) bool

func (w *world) newScript(k *worker, t *client.Task) *script {
	s := &script{w: w, k: k, task: t, unit: t.Unit}
	groups := [][]step{
		{readCells, pushSums, readSums},
		{readWeights, pushWeights, readWeights},
		{readColumns(counts), pushColumns(counts), readColumns(counts)},
		{readColumns(free), pushColumns(free), readColumns(free)},
		{readState, pushState, readState},
	}
	for i := range groups {
		if w.chance(300) {
			groups[i] = groups[i][:2]
		}
		if i > 0 && w.chance(300) {
			groups[i] = groups[i][1:]
		}
	}
	for len(groups) > 0 {
		i := w.rng.IntN(len(groups))
		s.steps = append(s.steps, groups[i][0])
		if groups[i] = groups[i][1:]; len(groups[i]) == 0 {
			groups = append(groups[:i], groups[i+1:]...)
		}
	}
	for _, l := range w.job.leases(s.unit.Split, s.unit.Clock) {
		s.steps = append(s.steps, lease(l))
	}
	return s
}

// resume goes on after a wait.
func (s *script) resume() {
	if s.k.scripts[s.unit.Split] != s {
		return
	}
	s.waiting = false
	if waited := s.w.now - s.since; waited > noticeMax && !s.named && s.k.client.Ended() == nil && s.k.node.pausedUntil < s.since {
		s.w.violated("P8: %v has waited for %d ms and nobody said so", s.unit, waited)
	}
	s.run()
}

// noticeMax is when a wait must have been named: after 2 s and two ticks.
const noticeMax = 2000 + 2*beatEvery + 10

// run takes steps until one must wait, the task pauses, or it is over.
func (s *script) run() {
	if s.k.scripts[s.unit.Split] != s {
		return // killed meanwhile
	}
	for s.k.client.Ended() == nil && s.w.violation == "" {
		if s.at == len(s.steps) {
			s.checkSlabs()
			s.k.finish(s, nil)
			return
		}
		if !s.steps[s.at](s) {
			s.waiting, s.since, s.named = true, s.w.now, false
			s.k.obey()
			return
		}
		s.at, s.drawn = s.at+1, false
		if s.w.rng.IntN(4) == 0 {
			s.k.obey()
			s.w.after(1+s.w.rng.Int64N(12), s.k.node, s.run)
			return
		}
	}
}

func (s *script) String() string { return fmt.Sprintf("%v on node %d", s.unit, s.k.node.id) }
