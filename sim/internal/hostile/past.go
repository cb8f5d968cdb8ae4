package hostile

import (
	"math/rand/v2"
	"slices"

	"bellows"
	"bellows/core/gate"
	"bellows/core/route"
	"bellows/link/wire"
	"bellows/sim/internal/msgcopy"
)

// Stranger is the number of a node that does not, or no longer, take part in the job.
const Stranger = 99

// Past keeps a copy of one message of each kind that may come again, as it was or as an older owner or process would
// have sent it.
type Past struct{ push, done, held wire.Envelope }

// Remember keeps a copy of a push, of a done, and of an answer that a part is held.
func (m *Past) Remember(e wire.Envelope, rng *rand.Rand) {
	keep := &m.push
	switch p := e.Message.(type) {
	case *wire.Push:
		if p.Again || len(p.Chunks)+len(p.Leases) == 0 {
			return // a second push of a part, or one without partitions, which has no earlier owner
		}
	case *wire.Done:
		if e.To.Role != wire.Controller {
			return // it is forwarded
		}
		keep = &m.done
	case *wire.Held:
		keep = &m.held
	}
	if keep.Message == nil || rng.IntN(8) == 0 {
		wire.Free(keep.Message)
		*keep = e
		keep.Message = msgcopy.Clone(e.Message)
	}
}

// Push returns the push that is remembered; false: none is.
func (m *Past) Push() (wire.Envelope, bool) { return again(m.push) }

// Done returns the done that is remembered.
func (m *Past) Done() (wire.Envelope, bool) { return again(m.done) }

// Vote returns the lane's answer that is remembered.
func (m *Past) Vote() (wire.Envelope, bool) { return again(m.held) }

func again(e wire.Envelope) (wire.Envelope, bool) {
	if e.Message == nil {
		return e, false
	}
	e.Message = msgcopy.Clone(e.Message)
	return e, true
}

// OfStranger makes a push come from an unknown node, and raises the generations of its chunks, its leases, or both.
func OfStranger(e *wire.Envelope, by bellows.Generation, rng *rand.Rand) {
	m := e.Message.(*wire.Push)
	e.From.Node = Stranger
	m.Flush.Client, m.Route = Stranger, 0 // such a node receives no route
	which := rng.IntN(3)
	for i := range m.Chunks {
		if which != 1 || len(m.Leases) == 0 {
			m.Chunks[i].Generation += by
		}
	}
	for i := range m.Leases {
		if which != 0 || len(m.Chunks) == 0 {
			m.Leases[i].Generation += by
		}
	}
}

// PastLife returns a push of an earlier attempt as it would come late to the lane that now owns its first partition:
// part of it, without its done. False: none is remembered.
func (m *Past) PastLife(r *route.Route) (e wire.Envelope, ok bool) {
	if e, ok = m.Push(); !ok {
		return e, false
	}
	p := e.Message.(*wire.Push)
	if len(p.Chunks) == 0 {
		return e, false
	}
	e.To = r.Owner(p.Chunks[0].Ref).Lane
	p.Chunks = slices.DeleteFunc(p.Chunks, func(c wire.Chunk) bool { return r.Owner(c.Ref).Lane != e.To })
	p.Leases, p.Done = nil, nil
	return e, true
}

// OldTerm returns a message of the controller of an earlier term to a lane or a client: the job is over, a node is
// gone, or a task for each of the client's splits.
func OldTerm(rng *rand.Rand, to wire.Address, term bellows.Term, gone func() bellows.NodeID, r *route.Route, items gate.Items) wire.Message {
	switch what := rng.IntN(2); {
	case what == 0:
		return &wire.End{Term: term, Commit: 1, Reason: "of the controller before"}
	case to.Role == wire.Lane:
		return &wire.Fence{Term: term, Node: gone()}
	}
	m := &wire.Dispatch{Term: term}
	for s := range bellows.SplitID(r.Splits()) {
		if r.Node(s) == to.Node {
			m.Append(bellows.Unit{Split: s, Items: items(s, 0)}, nil)
		}
	}
	return m
}

// Recorder keeps messages of each kind for a Past.
type Recorder struct {
	*Past
	Rng *rand.Rand
}

// Posted keeps dones and votes when they leave.
func (r Recorder) Posted(e wire.Envelope) {
	switch e.Message.(type) {
	case *wire.Done, *wire.Held:
		r.Remember(e, r.Rng)
	}
}

// Delivered keeps pushes when they have arrived.
func (r Recorder) Delivered(e wire.Envelope) {
	if _, push := e.Message.(*wire.Push); push {
		r.Remember(e, r.Rng)
	}
}
