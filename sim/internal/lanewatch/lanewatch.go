// Package lanewatch records what the lanes of a simulated job were sent, and checks that they serve no node that was
// declared lost (P11).
//
// Add a lane to the Watch when it is made. Other observers look up what a lane knows. The package refuses to ask a lane what it
// believes, but for the number of records that it has applied.
package lanewatch

import (
	"slices"

	"bellows"
	"bellows/core/migration"
	"bellows/core/server"
	"bellows/link/wire"
	"bellows/sim/internal/trace"
)

// Lane is a server lane and what it has been sent.
type Lane struct {
	*server.Lane
	Address wire.Address
	Term    bellows.Term         // the newest that it has heard
	Told    bool                 // the controller has sent it the end of the job
	Closed  bool                 // it has sent its last message
	Stuck   bool                 // it was to close without the Ends of clients, and none was on its way
	GaveAt  int64                // when it had sent all of its state to node 0; 0: not yet
	Lied    bool                 // a message was forged in its name
	Kept    bellows.CommitNumber // the commit that its images show; 0: it has none
	Look    bool                 // its images are to be compared after the step
	Deaf    bool                 // it knows that it has not heard node 0 for a lease
	Lost    []bellows.NodeID     // nodes that are lost, as it was sent
	ends    int                  // of clients, on their way
	fenced  []bellows.NodeID     // nodes with lost clients, as it was sent
	parted  int                  // of these, before the batch that it takes
}

// Due returns the part of a batch that a node gives to its lane: without progress reports of copies that a later report supersedes.
func (l *Lane) Due(batch []wire.Envelope) []wire.Envelope {
	superseded := func(e wire.Envelope) bool {
		m, ok := e.Message.(*wire.Taken)
		return ok && l.CopyOf(e.From, m) == migration.CopyUnderWay
	}
	if !slices.ContainsFunc(batch, superseded) {
		return batch
	}
	return slices.DeleteFunc(slices.Clone(batch), superseded)
}

// Watch is all lanes of a life of a job.
type Watch struct {
	*trace.Trace
	Controller func() bellows.Term // the newest
	All        []*Lane             // in the order in which they were added

	byNode [][]*Lane
}

// Add adds a lane.
func (w *Watch) Add(l *Lane) {
	for len(w.byNode) <= int(l.Address.Node) {
		w.byNode = append(w.byNode, nil)
	}
	list := &w.byNode[l.Address.Node]
	for len(*list) <= int(l.Address.Index) {
		*list = append(*list, nil)
	}
	(*list)[l.Address.Index] = l
	w.All = append(w.All, l)
}

// Lookup returns the lane at an address, or nil for an address without one.
func (w *Watch) Lookup(a wire.Address) *Lane {
	if a.Role != wire.Lane || int(a.Node) >= len(w.byNode) || int(a.Index) >= len(w.byNode[a.Node]) {
		return nil
	}
	return w.byNode[a.Node][a.Index]
}

// Posted counts the Ends of clients that are on their way to a lane. Only these may excuse a lane that is asked to close
// without them.
func (w *Watch) Posted(e wire.Envelope) {
	m, end := e.Message.(*wire.End)
	switch l := w.Lookup(e.To); {
	case !end || l == nil:
	case e.From.Role == wire.Client:
		l.ends++
	case m.Parts:
		l.Stuck = l.Told && !l.Closed && l.ends == 0
	}
}

// Delivered notes when a lane has sent all of its state to the controller of the newest term.
func (w *Watch) Delivered(e wire.Envelope) {
	if m, ok := e.Message.(*wire.Collected); ok {
		if l := w.Lookup(e.From); l != nil && m.Term == w.Controller() {
			l.GaveAt = *w.Clock
		}
	}
}

// Before notes what a lane is about to learn.
func (w *Watch) Before(e wire.Envelope) {
	l := w.Lookup(e.To)
	if l == nil {
		return
	}
	if t := e.Term(); t > l.Term && e.From == wire.ControllerAt() {
		l.Term = t
	}
	switch m := e.Message.(type) {
	case *wire.Records:
		for k := range m.List {
			c := &m.List[k].Control
			if c.Kind == bellows.KeepTables {
				l.Kept, l.Look = m.List[k].Number-1, true
			}
			l.part(c)
		}
	case *wire.Route:
		for k := range m.Changes {
			l.part(&m.Changes[k])
		}
	case *wire.End:
		l.Told = l.Told || e.From == wire.ControllerAt()
		if e.From.Role == wire.Client {
			l.ends--
		}
		l.Lost = append(l.Lost, m.Gone...)
	case *wire.Fence:
		l.Lost = append(l.Lost, m.Node)
		l.fence(m.Node)
	case *wire.Release:
		if !slices.Contains(l.fenced, e.From.Node) {
			l.Look = l.Kept > 0
		}
	}
}

// part notes a record that removes a lost client.
func (l *Lane) part(c *bellows.Control) {
	if c.Kind == bellows.LoseClient && !l.Removed() {
		l.fence(c.Node)
	}
}

func (l *Lane) fence(n bellows.NodeID) {
	if !slices.Contains(l.fenced, n) {
		l.fenced = append(l.fenced, n)
	}
}

// After checks what a lane sends: nothing to a client that was declared lost, and no answer while it cannot hear the controller.
func (w *Watch) After(from wire.Address, out []wire.Envelope) {
	l := w.Lookup(from)
	if l == nil {
		return
	}
	for i := range out {
		w.check(l, &out[i])
		if _, last := out[i].Message.(*wire.Closed); last {
			l.Closed = true
		}
	}
	l.parted = len(l.fenced)
}

func (w *Watch) check(l *Lane, e *wire.Envelope) {
	client := e.To.Node
	switch m := e.Message.(type) {
	case *wire.Rows:
		if l.Deaf && m.Request > 0 {
			w.Violated("P11: %v serves node %d and has not heard node 0 for a lease", l.Address, client)
		}
	case *wire.Done:
		client = m.Flush.Client
	case *wire.Held, *wire.Full, *wire.Room, *wire.Granted:
	default:
		return
	}
	if slices.Contains(l.fenced[:l.parted], client) {
		w.Violated("P11: %v answers node %d with %T, which was declared gone", l.Address, client, e.Message)
	}
}
