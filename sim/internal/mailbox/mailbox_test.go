package mailbox

import (
	"math/rand/v2"
	"strings"
	"testing"

	"bellows"
	"bellows/link/wire"
	"bellows/sim/internal/msgcopy"
	"bellows/sim/internal/observe"
	"bellows/sim/internal/trace"
	"bellows/sim/internal/virtual"
)

type testNode struct{ done bool }

func (n *testNode) ID() bellows.NodeID { return 1 }
func (n *testNode) Done() bool         { return n.done }

// counter counts messages that were delivered.
type counter struct{ n *int }

func (c counter) Delivered(wire.Envelope) { *c.n++ }

// newBox returns the mailbox of a lane at node 1, the batches that it takes, and how many messages observers have seen.
func newBox() (b *Box[*testNode], batches *[]int, seen *int) {
	q := new(virtual.Queue[*testNode])
	w := &World[*testNode]{Trace: &trace.Trace{Clock: &q.Now}, Queue: q, Rng: rand.New(rand.NewPCG(1, 1)), Observers: new(observe.List)}
	batches, seen = new([]int), new(int)
	w.Observers.Add(counter{seen})
	b = New(w, wire.LaneAt(1, 0), new(testNode), func(batch []wire.Envelope) { *batches = append(*batches, len(batch)) })
	return b, batches, seen
}

func (b *Box[N]) run() {
	for e, ok := b.w.Queue.Next(); ok; e, ok = b.w.Queue.Next() {
		e.Do()
	}
}

func letter(from bellows.NodeID) Letter {
	m := &wire.Beat{}
	return Letter{Envelope: wire.Envelope{From: wire.ClientAt(from), To: wire.LaneAt(1, 0), Message: m}, Digest: msgcopy.Digest(m)}
}

func TestMailIsTakenTogether(t *testing.T) {
	t.Parallel()
	b, batches, seen := newBox()
	b.Put(letter(1))
	forged := letter(2)
	forged.Forged = true
	b.Put(forged)
	b.run()
	if len(*batches) != 1 || (*batches)[0] != 2 || *seen != 1 {
		t.Errorf("batches of %v messages, %d were observed", *batches, *seen)
	}
	b.Put(letter(2))
	if b.run(); len(*batches) != 2 {
		t.Errorf("batches of %v messages", *batches)
	}
}

func TestNodeThatIsDoneGetsNoMail(t *testing.T) {
	t.Parallel()
	b, batches, _ := newBox()
	b.Node.done = true
	b.Put(letter(1))
	if b.run(); len(*batches) != 0 {
		t.Errorf("batches of %v messages", *batches)
	}
}

func TestChangedMessageShows(t *testing.T) {
	t.Parallel()
	b, _, _ := newBox()
	l := letter(1) // of its own node: all of those are compared
	l.Digest++
	b.Put(l)
	if b.run(); !strings.HasPrefix(b.w.Violation, "a message changed") {
		t.Errorf("%q", b.w.Violation)
	}
}
