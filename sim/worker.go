package sim

import (
	"errors"
	"slices"
	"strings"

	"bellows"
	"bellows/core/client"
	"bellows/core/slots"
	"bellows/link/wire"
	"bellows/sim/internal/account"
	"bellows/sim/internal/schedule"
)

// worker is the shell of a client: it delivers what arrives, and runs tasks as scripts, in slots that the production scheduler
// gives.
type worker struct {
	w       *world
	node    *node
	client  *client.Client
	fx      client.Effects
	scripts []*script      // per split; nil: not here, or nothing runs
	places  account.Places // where tasks compute
}

func (w *world) addWorker(a wire.Address, slots int) {
	k := &worker{w: w, node: w.nodes[a.Node], scripts: make([]*script, w.Job.Splits), places: account.NewPlaces(slots, w.Job.Splits)}
	k.client = client.New(w.common, a, client.Options{Limits: w.Limits.Client, Borrow: w.hooks.Borrow})
	k.node.worker = k
	w.workers = append(w.workers, k)
	w.flushes.AddClient(&k.node.Node, k.client)
	w.addActor(a, func(batch []wire.Envelope) {
		for _, e := range batch {
			w.before(e)
			k.client.Deliver(e, &k.fx)
		}
		k.obey()
	})
}

// era returns that of this life.
func (w *world) era() bellows.Era { return bellows.Era(w.number) }

// incarnation returns that of the clients in this life.
func (w *world) incarnation() uint32 { return uint32(w.number) + 1 }

func (k *worker) tick(now int64) {
	if s, millis, any := k.places.Longest(k.client.Tick(now, &k.fx)); any {
		k.client.Computes(s, millis, &k.fx)
	}
	k.obey()
	k.w.flushes.Tick(k.node.Number)
}

// obey carries out what the client wants.
func (k *worker) obey() {
	k.w.post(k.node, &k.fx.Outbox)
	for _, t := range k.fx.Run {
		k.start(t)
	}
	for _, t := range k.fx.Wake {
		k.scripts[t.Unit.Split].answered()
		k.give(k.places.Wake(t.Unit.Split))
	}
	if k.fx.Ended != nil {
		k.w.After(int64(k.w.Rng.IntN(3)), k.node, k.places.Close)
	}
	for _, n := range k.fx.Notices {
		k.notice(n)
	}
	k.fx.Reset()
}

// notice records which tasks a notice names. Several tasks that wait for long share a sentence.
func (k *worker) notice(sentence string) {
	k.w.Note("notice: %s", sentence)
	if k.w.flushes.Name(k.node.Number, sentence) {
		return
	}
	for _, s := range k.scripts {
		if s != nil && (strings.HasPrefix(sentence, s.unit.String()) || s.waiting && strings.HasSuffix(sentence, " wait too")) {
			s.named = true
			k.w.coverage.Hit("wait-named")
		}
	}
}

func (k *worker) start(t *client.Task) {
	if s := k.scripts[t.Unit.Split]; s != nil {
		k.w.Violated("the client runs %v beside %v", t.Unit, s.unit)
		return
	}
	if want := k.w.driver.Args(t.Unit); !slices.Equal(t.Args, want) {
		k.w.Violated("%v was dispatched with %v; the executor gets %v", t.Unit, want, t.Args)
	}
	s := k.w.newScript(k, t)
	k.scripts[t.Unit.Split] = s
	k.give(k.places.Begin(t.Unit.Split))
}

// give lets a task compute that has got a slot.
func (k *worker) give(turn slots.Turn, err error) {
	switch {
	case err != nil:
		k.w.Violated("compute slots of node %d: %v", k.node.Number, err)
	case turn.Do != slots.Nothing:
		k.w.After(int64(k.w.Rng.IntN(3)), k.node, k.scripts[turn.Split].goOn)
	}
}

// drop forgets a script that is over.
func (k *worker) drop(s *script) {
	k.scripts[s.unit.Split] = nil
	k.places.Finish(s.unit.Split)
}

var errKilled = errors.New("killed by the schedule")

// finish ends a task, with its result or with an error.
func (k *worker) finish(s *script, err error) {
	k.drop(s)
	for range s.Leases() {
		k.w.stages.Leave(k.node.Number, schedule.LeaseHeld)
	}
	r := k.w.Job.Result(s.unit)
	k.w.Event(3, uint64(s.unit.Split)<<32|uint64(s.unit.Clock), s.Sum())
	k.client.Finish(s.task, r[:], err, &k.fx)
	k.obey()
	k.give(k.places.End(s.unit.Split))
}

// victim returns a task that runs and could fail, or nil.
func (k *worker) victim() *script {
	if k.client.Ended() != nil || k.node.stopped() {
		return nil
	}
	for _, s := range k.scripts {
		if s != nil && k.places.Computes(s.unit.Split) {
			return s
		}
	}
	return nil
}

// kill ends a task in an error.
func (k *worker) kill(s *script) {
	k.w.faults.ends.Expect("%v on node %d failed: %v", s.unit, k.node.Number, errKilled)
	k.finish(s, errKilled)
}
