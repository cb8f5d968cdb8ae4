package hostile

import (
	"math/rand/v2"
	"slices"

	"bellows"
	"bellows/core/gate"
	"bellows/core/route"
	"bellows/link/wire"
	"bellows/sim/internal/blame"
	"bellows/sim/internal/coverage"
)

// firstTerm is the term of a controller before that of every life: nothing of it was ever sent.
const firstTerm = 1

// Forger sends messages in the name of others: of an earlier controller, an earlier life, or a broken lane, and again what was sent
// before.
type Forger struct {
	*coverage.Coverage
	Past    *Past // of this life
	Earlier *Past // of the life before
	Rng     *rand.Rand
	Chances *rand.Rand
	Era     bellows.Era
	Route   *route.Route // that the life began with
	Items   gate.Items
	Clients []wire.Address // of the beginning
	Ends    *blame.Reasons
	Job     View

	Send func(wire.Envelope)                      // leaves a forged message with its receiver
	Push func(e wire.Envelope, again func() bool) // has a lane take a push in a separate step, if again returns true then
}

// View is what a Forger sees of the job.
type View struct {
	There   func(wire.Address) bool    // the job has the actor
	Heard   func() []wire.Address      // clients and lanes that have heard the controller and wait for more
	Counts  func(bellows.FlushID) bool // the flush is recorded
	Done    func(bellows.FlushID) bool // the flush was reported done to the controller
	Expects func(wire.Envelope) bool   // the lane takes the push as a new one
}

// Replay sends a push for the second time, or with another generation; or a lane's message that it holds a part.
func (f *Forger) Replay() {
	if f.Era > 0 && f.Rng.IntN(2) == 0 {
		f.ReplayEarlier()
		return
	}
	if e, ok := f.Past.Vote(); ok && f.Rng.IntN(3) == 0 {
		f.Send(e)
		return
	}
	if f.Rng.IntN(3) == 0 && f.sendOldTerm() {
		return
	}
	e, ok := f.Past.Push()
	if !ok {
		return
	}
	if f.Rng.IntN(2) == 0 {
		OfStranger(&e, f.otherGeneration(), f.Rng)
		f.Send(e)
		return
	}
	// In a separate step, so that the ledger still holds. A lane that has asked for the part again would take the copy in its
	// place, and the client's memory, free with the commit, would still be on its way.
	f.Push(e, func() bool {
		again := !f.Job.Expects(e)
		f.HitIf("push-again", again)
		return again
	})
}

// sendOldTerm sends an actor, which has heard the controller, a message of the controller before: that the job is over, a task, or
// that a node is lost. It reports whether it has found an actor.
func (f *Forger) sendOldTerm() bool {
	to := f.Job.Heard()
	if len(to) == 0 {
		return false
	}
	f.Hit("earlier-term")
	at := to[f.Rng.IntN(len(to))]
	gone := func() bellows.NodeID { return f.Clients[f.Rng.IntN(len(f.Clients))].Node }
	m := OldTerm(f.Rng, at, firstTerm, gone, f.Route, f.Items)
	f.Send(wire.Envelope{From: wire.ControllerAt(), To: at, Era: f.Era, Message: m})
	return true
}

// ReplayEarlier sends a message of the life before: a push, of its era or of a process that has ended, with the number of a push to
// come; a done, or a vote.
func (f *Forger) ReplayEarlier() {
	past := f.Earlier
	if e, ok := past.Done(); ok && f.Rng.IntN(3) == 0 {
		f.Send(e)
	}
	if e, ok := past.Vote(); ok && f.Rng.IntN(3) == 0 && f.Job.There(e.To) {
		f.Send(e)
	}
	if e, ok := past.PastLife(f.Route); ok && slices.Contains(f.Clients, e.From) {
		f.Hit("push-of-the-life-before")
		f.HitAt("fault", "messages")
		if f.Rng.IntN(2) == 0 {
			e.Era = f.Era
		}
		f.Send(e)
	}
}

// otherGeneration returns how far a forged generation is from the current one: mostly older.
func (f *Forger) otherGeneration() bellows.Generation {
	if f.Rng.IntN(3) == 0 {
		f.Hit("newer-generation")
		return 1
	}
	older := bellows.Generation(0)
	return older - 1
}

// ForgeDone sends a done for the second time, or with another generation.
func (f *Forger) ForgeDone() {
	e, ok := f.Past.Done()
	if !ok {
		return
	}
	m := e.Message.(*wire.Done)
	switch {
	case f.Job.Counts(m.Flush) && f.Chances.IntN(2) == 0: // its units again, in a flush that never was
		m.Flush.Seq += 1 << 32
	case !f.Job.Done(m.Flush) || f.Rng.IntN(2) == 0:
		if len(m.Pairs) == 0 {
			return
		}
		by := f.otherGeneration()
		for i := range m.Pairs {
			m.Pairs[i].Generation += by
		}
	}
	f.Ends.Expect("refused")
	f.Send(e)
}

// ForgeState sends node 0 a piece of state that no sound lane sends, in the name of a lane that owns some partitions. The job loses
// the lane for it.
func (f *Forger) ForgeState(from wire.Address, owned []bellows.PartitionRef, key bellows.Key) {
	ref := owned[f.Rng.IntN(len(owned))]
	m := State(f.Rng, ref, key, f.Route.Cut(ref.Table).Most())
	f.Ends.Expect(NoState)
	f.Ends.Expect("%v sent ", from)
	f.Ends.Expect("%v ended before it had sent all of ", from)
	f.Send(wire.Envelope{From: from, To: wire.ControllerAt(), Message: m, Era: f.Era})
}
