package node

import (
	"sync"

	"bellows"
	"bellows/wire"
)

// bus carries messages between the actors of one process, and hands those for other nodes to the mesh. An
// actor has a lock and a queue: whoever drains the bus runs the actors that have mail, so that no message
// waits for a scheduler. Messages from one sender to one receiver arrive in order if the sender enqueues
// them in order.
type bus struct {
	self   bellows.NodeID
	post   func(wire.Envelope) // to another node; called in the order of enqueueing
	ship   func()              // sends what was posted
	actors [3][]*actor         // by role and index
	mu     sync.Mutex
	ready  []*actor // have mail and are run by nobody, in order
	head   int
	outs   sync.Pool
}

// actor is one state machine's mailbox.
type actor struct {
	mu    sync.Mutex
	inbox []wire.Envelope
	spare []wire.Envelope
	busy  bool // in ready, or being run
	step  func(batch []wire.Envelope, out *wire.Outbox)
}

func newBus(self bellows.NodeID, post func(wire.Envelope), ship func()) *bus {
	b := &bus{self: self, post: post, ship: ship}
	b.outs.New = func() any { return new(wire.Outbox) }
	return b
}

// add makes an actor known: of each role, index 0 first. All actors are added before the first message.
func (b *bus) add(a wire.Address, step func(batch []wire.Envelope, out *wire.Outbox)) {
	b.actors[a.Role] = append(b.actors[a.Role], &actor{step: step})
}

// Enqueue puts messages into their receivers' queues and runs nobody. A sender calls it under the
// lock that orders its steps, and after it Drain without that lock.
func (b *bus) Enqueue(out *wire.Outbox) {
	for _, e := range out.Envelopes {
		if e.To.Node != b.self {
			b.post(e)
			continue
		}
		a := b.actors[e.To.Role][e.To.Index]
		a.mu.Lock()
		a.inbox = append(a.inbox, e)
		wake := !a.busy
		a.busy = true
		a.mu.Unlock()
		if wake {
			b.mu.Lock()
			b.ready = append(b.ready, a)
			b.mu.Unlock()
		}
	}
}

// send enqueues one message and drains.
func (b *bus) send(from, to wire.Address, m wire.Message) {
	var out wire.Outbox
	out.Send(from, to, m)
	b.Enqueue(&out)
	b.Drain()
}

// shipAfter is after how many steps what was posted leaves, even if there are more.
const shipAfter = 16

// Drain runs actors that have mail until nobody does. A sender calls it without any lock. What they send to
// another node leaves at the end, so that it travels together: a record's dispatch and the rows that it changed.
func (b *bus) Drain() {
	out := b.outs.Get().(*wire.Outbox)
	steps := 0
	for a := b.next(); a != nil; a = b.next() {
		b.run(a, out)
		if steps++; steps%shipAfter == 0 {
			b.ship()
		}
	}
	b.outs.Put(out)
	b.ship()
}

func (b *bus) next() *actor {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.head == len(b.ready) {
		return nil
	}
	a := b.ready[b.head]
	if b.head++; b.head == len(b.ready) {
		b.ready, b.head = b.ready[:0], 0
	}
	return a
}

// run steps an actor once with all its mail. Its answers are enqueued before it is free, so that
// they cannot be overtaken by those of a later step.
func (b *bus) run(a *actor, out *wire.Outbox) {
	a.mu.Lock()
	batch := a.inbox
	a.inbox, a.spare = a.spare[:0], nil
	a.mu.Unlock()

	a.step(batch, out)
	b.Enqueue(out)
	clear(out.Envelopes)
	out.Envelopes = out.Envelopes[:0]
	clear(batch)

	a.mu.Lock()
	a.spare = batch[:0]
	a.busy = len(a.inbox) > 0
	again := a.busy
	a.mu.Unlock()
	if again {
		b.mu.Lock()
		b.ready = append(b.ready, a)
		b.mu.Unlock()
	}
}
