// Package mailbox holds the messages for an actor of the simulation until the actor takes them.
//
// An actor takes all its mail at once, a moment after the first message has arrived, so that batches have one message or many, as
// in production; messages of one sender keep their order. Every message has a digest from when it was posted. Some digests are
// compared when it is taken: a message that an actor changes after it has sent it shows. The package refuses to know what an actor
// does.
package mailbox

import (
	"math/rand/v2"

	"bellows"
	"bellows/link/wire"
	"bellows/sim/internal/msgcopy"
	"bellows/sim/internal/observe"
	"bellows/sim/internal/trace"
	"bellows/sim/internal/virtual"
)

// Node is the node of an actor.
type Node interface {
	// ID is the node's number.
	ID() bellows.NodeID
	// Done reports whether nothing happens at the node any more.
	Done() bool
}

// Letter is mail, with the digest that it had when it was posted; 0: it has none. Forged mail is in no account.
type Letter struct {
	Envelope wire.Envelope
	Digest   uint64
	Forged   bool
}

// World is what all mailboxes of a life have in common.
type World[N Node] struct {
	*trace.Trace
	Queue     *virtual.Queue[N]
	Rng       *rand.Rand
	Observers *observe.List
}

// Box is the mailbox of one actor.
type Box[N Node] struct {
	Address wire.Address
	Node    N
	Step    func(batch []wire.Envelope)
	Inbox   []Letter

	w     *World[N]
	batch []wire.Envelope
	awake bool
	woken func() // wake
}

// New makes the mailbox of an actor at a node.
func New[N Node](w *World[N], a wire.Address, n N, step func([]wire.Envelope)) *Box[N] {
	b := &Box[N]{Address: a, Node: n, Step: step, w: w}
	b.woken = b.wake
	return b
}

// Put leaves mail for the actor, which takes all it has at once, soon.
func (b *Box[N]) Put(l Letter) {
	if b.Node.Done() {
		return
	}
	b.Inbox = append(b.Inbox, l)
	if !b.awake {
		b.awake = true
		b.w.Queue.After(int64(b.w.Rng.IntN(4))/2, b.Node, b.woken)
	}
}

// Clear forgets all mail, of a process that is no more.
func (b *Box[N]) Clear() {
	clear(b.Inbox)
	b.Inbox = b.Inbox[:0]
}

func (b *Box[N]) wake() {
	b.awake = false
	batch, w, node := b.batch[:0], b.w, b.Node.ID()
	for _, l := range b.Inbox {
		e := l.Envelope
		// Only its receiver has what came from another node: some of that is compared. Of what came from here, all that has a digest.
		if here := e.From.Node == node; l.Digest != 0 && (here || l.Digest%8 == 0) && msgcopy.Digest(e.Message) != l.Digest {
			w.Violated("a message changed between its sender and its receiver: %T from %v to %v", e.Message, e.From, e.To)
		}
		w.Event(1, uint64(e.From.Node)<<32|uint64(e.To.Node), l.Digest)
		if w.Log != nil {
			w.Print("%v to %v: %s", e.From, e.To, msgcopy.Describe(e.Message))
		}
		if !l.Forged {
			w.Observers.Delivered(e)
		}
		batch = append(batch, e)
	}
	b.Clear()
	b.batch = batch
	b.Step(batch)
	clear(batch)
}
