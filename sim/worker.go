package sim

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"bellows"
	"bellows/core/client"
	"bellows/core/slots"
	"bellows/link/wire"
	"bellows/sim/internal/account"
	"bellows/sim/internal/await"
	"bellows/sim/internal/schedule"
)

// worker is the shell of a client: it delivers what arrives, and runs tasks as scripts, in slots that the scheduler gives that ships.
//
// Of what its client waits for it keeps an account of its own, from the messages alone: a part of a flush that has left is not held (unheld) until the
// lane's word comes, or its commit. What lasts there must be said, with whom it is for and until when (P8); that a notice names the part, and not
// that there is one, is what is checked.
type worker struct {
	w       *world
	node    *node
	client  *client.Client
	fx      client.Effects
	scripts []*script      // per split; nil: not here, or nothing runs
	places  account.Places // where tasks compute
	begun   bool           // it has been given tasks
	told    bool           // of the end, by the controller
	failed  bool           // it has ended the job for a loss, and says no more
	unheld  await.Parts[account.PartAt]
}

func (w *world) addWorker(a wire.Address, slots int) {
	k := &worker{w: w, node: w.nodes[a.Node], scripts: make([]*script, w.Job.Splits), places: account.NewPlaces(slots, w.Job.Splits)}
	k.client = client.New(w.common, a, client.Options{Limits: w.Limits.Client})
	k.node.worker = k
	w.workers = append(w.workers, k)
	w.addActor(a, func(batch []wire.Envelope) {
		for _, e := range batch {
			if m, held := e.Message.(*wire.Held); held {
				at := account.PartAt{Lane: e.From, Flush: m.Flush}
				k.unheld.Holds(at, w.ledger.Rests(at), w.ledger.Heard(at, m.Pairs), k.checkNamed)
			}
			if m, stale := e.Message.(*wire.Stale); stale && m.Request == 0 {
				at := account.PartAt{Lane: e.From, Flush: m.Flush}
				k.unheld.Refused(at, w.ledger.Rests(at), w.Now, k.checkNamed)
			}
			if m, committed := e.Message.(*wire.Committed); committed && e.In(w.era()) {
				for i := range m.List {
					w.witness.Committed(m.List[i].Commit)
					for _, l := range w.lanes { // all of it is held
						k.unheld.Holds(account.PartAt{Lane: l.address, Flush: m.List[i].Flush}, false, w.Now, k.checkNamed)
					}
				}
			}
			k.client.Deliver(e, &k.fx)
		}
		k.obey()
	})
}

// era is that of this life.
func (w *world) era() bellows.Era { return bellows.Era(w.life) }

// incarnation is that of the clients in this life.
func (w *world) incarnation() uint32 { return uint32(w.life) + 1 }

func (k *worker) tick(now int64) {
	if s, millis, any := k.places.Longest(k.client.Tick(now, &k.fx)); any {
		k.client.Computes(s, millis, &k.fx)
	}
	k.obey()
	k.unheld.ForgetHeld(func(at account.PartAt) bool { return k.w.ledger.Parts[at].AllHeld() })
	k.unheld.Each(k.checkNamed)
}

// checkNamed sees that a lane that does not hold its part for long is named (P8), unless it has left, or all of that is another's by now. Who has ended the job for a loss says no more.
func (k *worker) checkNamed(u await.Part[account.PartAt]) {
	if waited := k.w.Now - u.Since; waited > noticeMax && !u.Named && !k.w.Loss.Done && k.client.Ended() == nil && k.node.pausedUntil < u.Since && k.w.ledger.Stays(u.At, k.w.route) {
		k.w.Violated("P8: %v has waited for %d ms for %v and nobody said so", u.At.Flush, waited, u.At.Lane)
	}
}

// pushes takes note of a part of a flush that leaves, for the first time or again.
func (k *worker) pushes(at account.PartAt, kind await.Wait) {
	if !k.w.ledger.Parts[at].AllHeld() {
		k.unheld.Leaves(at, kind, k.w.Now)
	}
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

// notice takes note of who is named. Several tasks that wait for long share a sentence.
func (k *worker) notice(sentence string) {
	k.w.Note("notice: %s", sentence)
	if !strings.Contains(sentence, await.Until) {
		k.w.Violated("P8: a wait is named without until when: %q", sentence)
	}
	if strings.HasPrefix(sentence, "flush ") {
		k.w.coverage.Hit("flush-named")
		k.unheld.Name(func(at account.PartAt) bool {
			return strings.HasPrefix(sentence, fmt.Sprintf("%v has waited ", at.Flush)) && strings.Contains(sentence, fmt.Sprintf(" s for %v to hold", at.Lane)) ||
				strings.Contains(sentence, " s for route ") // for which others may wait, too
		})
		return
	}
	if !strings.Contains(sentence, " at lane ") && !strings.Contains(sentence, " for route ") { // that is node 0's
		k.w.Violated("P8: a wait is named without whom it is for: %q", sentence)
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
		k.w.Violated("compute slots of node %d: %v", k.node.id, err)
	case turn.Do != slots.Nothing:
		k.w.After(int64(k.w.Rng.IntN(3)), k.node, k.scripts[turn.Split].goOn)
	}
}

// drop forgets a script that is over.
func (k *worker) drop(s *script) {
	k.scripts[s.unit.Split] = nil
	k.places.Over(s.unit.Split)
}

var errKilled = errors.New("killed by the schedule")

// finish ends a task, with its result or with an error.
func (k *worker) finish(s *script, err error) {
	k.drop(s)
	for range s.Leases() {
		k.w.leave(k.node.id, schedule.LeaseHeld)
	}
	r := k.w.Job.Result(s.unit)
	k.w.Event(3, uint64(s.unit.Split)<<32|uint64(s.unit.Clock), s.Sum())
	k.client.Finish(s.task, r[:], err, &k.fx)
	k.obey()
	k.give(k.places.End(s.unit.Split))
}

// victim is a task that runs and could fail, or nil.
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
	k.w.faults.ends.May("%v on node %d failed: %v", s.unit, k.node.id, errKilled)
	k.finish(s, errKilled)
}
