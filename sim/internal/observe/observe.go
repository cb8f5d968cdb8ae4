// Package observe passes the events of a simulated job to observers: to each of them only those for which it has a
// method.
//
// Add all observers to a List before the job begins, in the order in which they are to be called. The job then calls the List for
// every event. An observer learns of the job by these events alone, and it may ask other observers that it was made with. The
// package refuses to know what is observed.
//
// Rejected: one interface with all methods, which observers embed to leave some out. Every message would then go to all of them.
package observe

import "bellows/link/wire"

// Posted sees every message when its actor posts it, before it leaves.
type Posted interface{ Posted(e wire.Envelope) }

// Delivered sees every message when it reaches the mailbox of its actor, which takes it next. It sees no forged message.
type Delivered interface{ Delivered(e wire.Envelope) }

// Before sees every message of a batch, before its lane or client takes it. It sees forged messages too, but none of a controller of an
// earlier term, which actors must ignore.
type Before interface{ Before(e wire.Envelope) }

// After sees what a lane wants to send when it has stepped, before any of it is posted.
type After interface {
	After(from wire.Address, out []wire.Envelope)
}

// Final is called once when the job is over.
type Final interface{ Final() }

// List is all observers of a job. The zero List is empty.
type List struct {
	posted    []Posted
	delivered []Delivered
	before    []Before
	after     []After
	final     []Final
}

// Add adds observers after those that are there. It panics if one of them observes nothing.
func (l *List) Add(observers ...any) {
	for _, o := range observers {
		some := add(&l.posted, o)
		some = add(&l.delivered, o) || some
		some = add(&l.before, o) || some
		some = add(&l.after, o) || some
		if some = add(&l.final, o) || some; !some {
			panic("observe: an observer without a method that is called")
		}
	}
}

func add[T any](list *[]T, o any) bool {
	x, ok := o.(T)
	if ok {
		*list = append(*list, x)
	}
	return ok
}

// Posted tells the observers that an actor posts a message.
func (l *List) Posted(e wire.Envelope) {
	for _, o := range l.posted {
		o.Posted(e)
	}
}

// Delivered tells the observers that a message has come to its actor.
func (l *List) Delivered(e wire.Envelope) {
	for _, o := range l.delivered {
		o.Delivered(e)
	}
}

// Before tells the observers that a lane or a client takes a message in its next step.
func (l *List) Before(e wire.Envelope) {
	for _, o := range l.before {
		o.Before(e)
	}
}

// After tells the observers that a lane has stepped, and what it wants to send.
func (l *List) After(from wire.Address, out []wire.Envelope) {
	for _, o := range l.after {
		o.After(from, out)
	}
}

// Final tells the observers that the job is over.
func (l *List) Final() {
	for _, o := range l.final {
		o.Final()
	}
}
