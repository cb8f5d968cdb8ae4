package grid

import (
	"slices"

	"bellows/core/partition"
	"bellows/link/wire"
)

// Watch sees a step come and go, by its messages.
type Watch struct {
	Step    *Step
	Subject Subject
	Comes   func(moment string) // a moment of the step has come: in the midst a single message has only been posted, and leaves a little later

	posted, taken int
}

// Says reports whether what a controller is about to say begins the step.
func (w *Watch) Says(list []wire.Envelope) bool {
	return w.posted == 0 && w.Step.of != nil && slices.ContainsFunc(list, func(e wire.Envelope) bool { return w.Step.of(&w.Subject, e) })
}

// Posted takes note of a message that an actor posts.
func (w *Watch) Posted(e wire.Envelope) {
	p := w.Step
	if p.of == nil {
		return
	}
	if p.until != nil && w.posted > 0 && p.until(&w.Subject, e) {
		w.Reset()
		w.Comes("after")
		return
	}
	if !p.of(&w.Subject, e) {
		return
	}
	if w.posted++; w.posted == 1 {
		w.Comes("before")
		if p.single {
			w.Comes("midst")
		}
	}
}

// Taken takes note of a message that an actor is about to take.
func (w *Watch) Taken(e wire.Envelope) {
	p := w.Step
	if p.of == nil || w.posted == 0 || !p.of(&w.Subject, e) {
		return
	}
	w.taken++
	last := p.until == nil && w.taken >= w.posted && (p.ends == nil || p.ends(&w.Subject, e))
	switch {
	case last:
		w.Reset()
		w.Comes("after")
	case !p.single && w.taken < w.posted || w.taken == 1 && (p.ends != nil || p.until != nil):
		w.Comes("midst")
	}
}

// Pass takes note of a moment of a step that has no messages.
func (w *Watch) Pass(moment string) {
	if w.Step.of == nil {
		w.Comes(moment)
	}
}

// Single reports whether the step is one message, which is on its way a little after Midst.
func (p *Step) Single() bool { return p.single }

// Out reports whether a message of the step is on its way.
func (w *Watch) Out() bool { return w.posted > w.taken }

// Reset has the Watch wait for the step anew.
func (w *Watch) Reset() { w.posted, w.taken = 0, 0 }

// Hooks are what looks at a life of a job without being a part of it. Those that are nil see nothing.
type Hooks struct {
	OnPosted, OnDelivered func(e wire.Envelope)
	OnSays                func(list []wire.Envelope) // the controller is about to say all of it
	OnPartition           func(*partition.Partition) // a lane has made a partition, also after a restart of the job
	Borrow                bool                       // clients read tables with a barrier in the memory of their node's lanes
}

// AfterRestart returns the hooks that stay when the job restarts.
func (h *Hooks) AfterRestart() Hooks { return Hooks{OnPartition: h.OnPartition, Borrow: h.Borrow} }

// Posted is told of a message that an actor posts.
func (h *Hooks) Posted(e wire.Envelope) {
	if h.OnPosted != nil {
		h.OnPosted(e)
	}
}

// Delivered passes on a message that has reached its actor.
func (h *Hooks) Delivered(e wire.Envelope) {
	if h.OnDelivered != nil {
		h.OnDelivered(e)
	}
}

// Says is told of what the controller wants said, before any of it leaves.
func (h *Hooks) Says(list []wire.Envelope) {
	if h.OnSays != nil {
		h.OnSays(list)
	}
}
