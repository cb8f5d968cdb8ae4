package sim

import (
	"errors"
	"strings"

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

	seenWords [splitsMax][wordRows][splitsMax]int32 // likewise
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
