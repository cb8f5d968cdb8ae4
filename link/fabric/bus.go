// Package fabric delivers messages to actors: in a process over a bus, between nodes over connections that it opens,
// writes, reads and redials. The connections are a mesh, which reconnects after a break.
//
// The caller's duties, in order:
//
//  1. Connect joins a node to the others of its cluster. A single node has no mesh and begins with the bus.
//  2. NewMesh takes the connections, NewBus the mesh. Add every actor to the bus, and Start the mesh.
//  3. Send, or Enqueue under the lock that orders a sender's steps and Drain or Leave without it.
//  4. Call Tick a few times a second. Heard returns how much each node has sent; the caller judges when silence means loss.
//  5. After the last message is sent, close the mesh, then the bus.
//
// The package does not look into messages: an Admission decides what is accepted, and package session decides what a
// connection must resend.
package fabric

import (
	"sync"
	"time"

	"bellows"
	"bellows/link/wire"
)

// Bus carries messages between the actors of one process, and hands those for other nodes to the mesh. Every actor has
// a queue. Sending takes two steps. Enqueue puts a message into its receiver's queue and the receiver into the run
// line. Drain takes actors from that line and runs each with all the mail it has by then. Every sender drains, so that
// no message waits for a scheduler: the goroutine of a task that ends a clock runs the lanes and the controller.
//
// An actor is idle, in the line, or running; busy means one of the latter two. Its first message makes it busy. After
// it ran, it is idle again if no mail arrived meanwhile; otherwise it goes to the end of the line.
//
// Invariants:
//   - One goroutine at a time steps an actor. The goroutine that makes it busy puts it into the line, once; the one that
//     takes it out runs it (TestExchangeKeepsOrderAndLosesNothing, under the race detector).
//   - Messages from one sender to one receiver arrive in the order in which they were enqueued (the same test). An actor's
//     answers are enqueued before it is idle, so that the answers of its next step, which another goroutine may run,
//     cannot pass them.
//   - No sender runs actors without end: after drainSteps steps the drainer, a goroutine of the bus that sleeps while
//     the line is empty, takes over. Posted messages leave every shipSteps steps (TestSenderReturnsAfterSomeSteps).
//   - Timer goroutines run no actor: a stuck actor must not stop the clock that detects it. They call Leave instead of
//     Drain (TestTimerRunsNoActor).
//
// Locks: every actor has one for its queue, and the bus has one for the line. They are never held together, and neither
// is held while an actor is stepped, because a step enqueues.
//
// Rejected: a goroutine for each actor, woken by its mail. A flush within a process (push, vote, done, record,
// acknowledgement) would wait for the scheduler five times. record and acknowledgement, would wait for the scheduler
// five times.
type Bus struct {
	self   bellows.NodeID
	era    bellows.Era                   // of what Send says
	post   func(wire.Envelope)           // to another node; called in the order of enqueueing
	ship   func()                        // sends what was posted
	actors [wire.Controller + 1][]*actor // by role and index; they do not change any more when there are messages
	outs   sync.Pool                     // of *wire.Outbox: a drain takes one for all that it runs

	mu    sync.Mutex
	ready line[actor]

	wake  chan struct{} // has room for one: the drainer is to look
	quit  chan struct{}
	ended sync.WaitGroup
}

// actor is one state machine's mailbox. It has two lists of envelopes: one fills while the other is stepped, and then
// they change places, so that mail takes no new memory. spare is nil while it is stepped.
type actor struct {
	mu    sync.Mutex
	inbox []wire.Envelope
	spare []wire.Envelope
	busy  bool // in the line, or being run
	step  func(batch []wire.Envelope, out *wire.Outbox)
}

// NewBus starts the bus of a node in an era of its job; Close ends it. Messages for other nodes go to the mesh; nil:
// the job has one node.
func NewBus(self bellows.NodeID, era bellows.Era, m *Mesh) *Bus {
	post, ship := func(wire.Envelope) {}, func() {}
	if m != nil {
		m.era, post, ship = era, m.post, m.ship
	}
	b := newBus(self, post, ship)
	b.era = era
	return b
}

func newBus(self bellows.NodeID, post func(wire.Envelope), ship func()) *Bus {
	b := &Bus{self: self, post: post, ship: ship, wake: make(chan struct{}, 1), quit: make(chan struct{})}
	b.outs.New = func() any { return new(wire.Outbox) }
	b.ended.Go(b.drainer)
	return b
}

// Close ends the drainer, and what After has begun.
func (b *Bus) Close() {
	close(b.quit)
	b.ended.Wait()
}

// drainer runs the actors that no sender has time for. Like senders it works in turns of drainSteps, since each turn
// ends by shipping what was posted.
func (b *Bus) drainer() {
	for {
		select {
		case <-b.wake:
			for more := true; more; {
				more = b.drain(drainSteps)
			}
		case <-b.quit:
			return
		}
	}
}

// Add makes an actor known: of each role, index 0 first. All actors are added before the first message, so that looking
// one up takes no lock.
func (b *Bus) Add(a wire.Address, step func(batch []wire.Envelope, out *wire.Outbox)) {
	b.actors[a.Role] = append(b.actors[a.Role], &actor{step: step})
}

// Enqueue puts messages into their receivers' queues and runs no actor. A sender calls it under the lock that orders
// its steps, so that its messages are queued in that order. Afterwards it calls Drain without that lock, since a
// receiver may need it.
func (b *Bus) Enqueue(out *wire.Outbox) {
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
			b.lineUp(a)
		}
	}
}

// Send enqueues one message and drains.
func (b *Bus) Send(from, to wire.Address, m wire.Message) {
	out := wire.Outbox{Era: b.era}
	out.Send(from, to, m)
	b.Enqueue(&out)
	b.Drain()
}

// After sends e when d has passed, unless the bus is closed before. Only actors call it.
func (b *Bus) After(d time.Duration, e wire.Envelope) {
	b.ended.Go(func() { // Close waits for every goroutine that runs an actor
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			b.Send(e.From, e.To, e.Message)
		case <-b.quit:
		}
	})
}

// Bounds on the steps of one drain: until posted messages leave although the line is not empty, and until the drainer
// takes over. The first is several, since messages that leave together cost one write. Both are small enough that no
// caller notices a pause.
const (
	shipSteps  = 16
	drainSteps = 64
)

// Drain runs actors that have mail until none has or another goroutine takes over. A sender calls it without any lock.
// Messages for another node leave at the end, so that they travel together: a record's dispatch and the rows that it
// changed.
func (b *Bus) Drain() {
	if b.drain(drainSteps) {
		b.rouse()
	}
}

// Leave sends what was posted, and has the actors that have mail run by the drainer. Shipping never waits, so that this
// returns at once whatever others do.
func (b *Bus) Leave() {
	b.ship()
	b.rouse()
}

func (b *Bus) rouse() {
	select {
	case b.wake <- struct{}{}:
	default: // it will look anyhow
	}
}

// drain runs at most so many actors, and reports whether there may be more.
func (b *Bus) drain(steps int) (more bool) {
	a := b.next()
	if a == nil {
		b.ship()
		return false
	}
	out := b.outs.Get().(*wire.Outbox)
	for n := 1; a != nil; n++ {
		b.run(a, out)
		if more = n == steps; more {
			break
		}
		if n%shipSteps == 0 {
			b.ship()
		}
		a = b.next()
	}
	b.outs.Put(out)
	b.ship()
	return more
}

// lineUp puts an actor that has mail at the end of the line.
func (b *Bus) lineUp(a *actor) {
	b.mu.Lock()
	b.ready.join(a)
	b.mu.Unlock()
}

// next takes the first actor out of the line; nil: the line is empty.
func (b *Bus) next() *actor {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ready.next()
}

// run steps an actor once with all its mail. Its answers are enqueued before it is idle, so that the answers of a later
// step cannot overtake them. The mail is cleared before its lists change places: a freed message may already be in use
// again.
func (b *Bus) run(a *actor, out *wire.Outbox) {
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
		b.lineUp(a)
	}
}
