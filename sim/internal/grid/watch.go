package grid

import (
	"slices"

	"bellows/core/partition"
	"bellows/link/wire"
)

// A Watch recognises the begin and the end of a step by its messages.
type Watch struct {
	Step    *Step
	Subject Subject
	// reports a moment of the step; at "midst" a single message has only been posted, and leaves a little later
	Comes func(moment string)

	posted, taken int
}

// Begins reports whether the messages that a controller is about to send begin the step.
func (w *Watch) Begins(list []wire.Envelope) bool {
	return w.posted == 0 && w.Step.of != nil && slices.ContainsFunc(list, func(e wire.Envelope) bool { return w.Step.of(&w.Subject, e) })
}

// Posted sees a message that an actor posts.
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

// Taken sees a message that an actor is about to take.
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

// Pass reports a moment of a step that has no messages.
func (w *Watch) Pass(moment string) {
	if w.Step.of == nil {
		w.Comes(moment)
	}
}

// Single reports whether the step is one message, which is on its way a little after Midst.
func (p *Step) Single() bool { return p.single }

// UnderWay reports whether a message of the step is on its way.
func (w *Watch) UnderWay() bool { return w.posted > w.taken }

// Reset makes the Watch wait for the step again.
func (w *Watch) Reset() { w.posted, w.taken = 0, 0 }

// Hooks observe an attempt of a job without taking part in it. A nil hook sees nothing.
type Hooks struct {
	OnPosted, OnDelivered func(e wire.Envelope)
	OnSays                func(list []wire.Envelope) // the controller is about to send all of it
	OnPartition           func(*partition.Partition) // a lane has made a partition, also after a restart of the job
	Borrow                int                        // client.Options.Borrow
}

// AfterRestart returns the hooks that stay when the job restarts.
func (h *Hooks) AfterRestart() Hooks { return Hooks{OnPartition: h.OnPartition, Borrow: h.Borrow} }

// Posted passes a message that an actor posts to its hook.
func (h *Hooks) Posted(e wire.Envelope) {
	if h.OnPosted != nil {
		h.OnPosted(e)
	}
}

// Delivered passes a message that has reached its actor to its hook.
func (h *Hooks) Delivered(e wire.Envelope) {
	if h.OnDelivered != nil {
		h.OnDelivered(e)
	}
}

// Sending passes the messages that the controller is about to send to its hook, before any of them leaves.
func (h *Hooks) Sending(list []wire.Envelope) {
	if h.OnSays != nil {
		h.OnSays(list)
	}
}
