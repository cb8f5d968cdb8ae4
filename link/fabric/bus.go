// Package fabric carries messages between actors: those of this process by a bus, and those of other nodes by a mesh of connections, which it makes
// and makes again when they break.
//
// The caller's duties, in order:
//
//  1. Connect joins a node to the others of its cluster. Somebody who is alone has no mesh, and begins with the bus.
//  2. NewMesh takes the connections, NewBus the mesh. Add every actor to the bus, and Start the mesh.
//  3. Send, or Enqueue under the lock that orders a sender's steps and Drain or Leave without it.
//  4. Call Tick a few times a second. Ask Heard how much has come of whom: whether a node is lost for its silence is the caller's to judge.
//  5. Close the mesh, behind all that was sent, and then the bus.
//
// The package refuses to look into messages: what may come is decided by an Admission, and what a connection owes by package session.
package fabric

import (
	"sync"
	"time"

	"bellows"
	"bellows/link/wire"
)

// Bus carries messages between the actors of one process, and hands those for other nodes to the mesh. Every actor has
// a queue. Sending is two steps: Enqueue puts a message into its receiver's queue, and the receiver into a line of those
// who have mail; Drain runs that line, each actor with all the mail it has by then. Whoever sends drains, so that no
// message waits for a scheduler: the goroutine of a task that ends a clock runs the lanes and the controller itself.
//
// An actor is idle, in the line, or being run; busy says that it is one of the latter two. Its first message makes it
// busy. It is idle again when it has been run and nothing has come meanwhile; else it goes to the end of the line.
//
// Invariants:
//   - One goroutine at a time steps an actor: who makes it busy puts it into the line, once, and who takes it out of
//     there runs it (TestAnExchangeKeepsOrderAndLosesNothing, under the race detector).
//   - What one sender enqueues for one receiver arrives in that order (the same test). An actor's answers are enqueued
//     before it is idle, so that the answers of its next step, which another goroutine may run, cannot pass them.
//   - Nobody runs others without end: after drainSteps steps the rest is the drainer's, a goroutine of the bus that
//     sleeps while there is none. What was posted leaves meanwhile, each shipSteps steps (TestWhoSendsIsNotKept).
//   - Who keeps the time runs nobody: an actor that is stuck must not stop the clock that finds it so. Leave is for
//     them (TestWhoKeepsTheTimeRunsNobody).
//
// Locks: every actor has one for its queue, and the bus one for the line. They are never held together, and neither is
// held while an actor is stepped: a step enqueues.
//
// Turned down: a goroutine for each actor, which its mail wakes. A flush within a process, from push to vote, done,
// record and acknowledgement, would wait for the scheduler five times.
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

// NewBus starts a bus, which Close ends, for a node of an era of its job. What is for other nodes goes to the mesh; nil: there are none.
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

// drainer runs actors that nobody else has the time for. It goes on in turns of drainSteps, as others do, since each
// turn ends with what was posted.
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

// Enqueue puts messages into their receivers' queues and runs nobody. A sender calls it under the lock that orders its
// steps, so that its messages are queued in the order of those, and after it Drain without that lock, since a receiver
// may be who needs it.
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

// After is Send when a time has passed, unless the bus is closed before. Only actors call it.
func (b *Bus) After(d time.Duration, e wire.Envelope) {
	b.ended.Go(func() { // an actor is run by somebody for whom Close waits, or who has ended before it
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			b.Send(e.From, e.To, e.Message)
		case <-b.quit:
		}
	})
}

// How many actors whoever drains runs: until what was posted leaves though there are more, and until the drainer goes
// on. The first is several, since what leaves together costs one write; both are few enough that nobody sees a pause.
const (
	shipSteps  = 16
	drainSteps = 64
)

// Drain runs actors that have mail until nobody does, or somebody else goes on. A sender calls it without any lock. What
// they send to another node leaves at the end, so that it travels together: a record's dispatch and the rows that it
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

// lineUp puts an actor that has mail behind the others.
func (b *Bus) lineUp(a *actor) {
	b.mu.Lock()
	b.ready.join(a)
	b.mu.Unlock()
}

// next takes the first actor out of the line; nil: there is none.
func (b *Bus) next() *actor {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ready.next()
}

// run steps an actor once with all its mail. Its answers are enqueued before it is idle, so that they cannot be
// overtaken by those of a later step. What it was given is forgotten before its lists change places: a message that was
// freed may be somebody else's already.
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
