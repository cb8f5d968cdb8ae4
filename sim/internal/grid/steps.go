package grid

import (
	"slices"

	"bellows"
	"bellows/core/handoff"
	"bellows/link/wire"
)

// Subject is what a change is about, as far as its steps ask.
type Subject struct {
	Ref   bellows.PartitionRef // that moves
	Split bellows.SplitID      // that moves
	Node  bellows.NodeID       // that leaves or joins, or that gets the split
	Term  bellows.Term         // of the controller that follows
}

// Step is a part of a change: some messages that go together.
type Step struct {
	Change Change
	Name   string
	Says   bool // the controller says the first: it can be lost before that has left, and in the midst of what it says
	single bool // it is one message

	// of reports whether a message belongs to the step. The step ends when all that were posted have been taken, the last of them being one that ends it
	// (nil: any); or, where until is there, when a message is posted that begins something else.
	of    func(s *Subject, e wire.Envelope) bool
	ends  func(e wire.Envelope) bool
	until func(s *Subject, e wire.Envelope) bool
}

// Steps are all steps of all changes, in their order.
var Steps = [...]Step{
	{Change: Move, Name: "asked", Says: true, single: true, of: isHandoff(false)},
	{Change: Move, Name: "offered", of: isOffer, ends: isTaken},
	{Change: Move, Name: "copied", of: isCopy, until: isReady},
	{Change: Move, Name: "ready", single: true, of: isReady},
	{Change: Move, Name: "recorded", Says: true, of: recorded(movesRef)},
	{Change: Move, Name: "adopted", single: true, of: isPiece(handoff.Last)},
	{Change: Move, Name: "told", Says: true, of: told(movesRef)},

	{Change: Undo, Name: "cancelled", Says: true, single: true, of: isHandoff(true)},
	{Change: Undo, Name: "forgotten", single: true, of: isPiece(handoff.Void)},

	{Change: Split, Name: "recalled", Says: true, single: true, of: isRecall},
	{Change: Split, Name: "given back", single: true, of: isRecalled},
	{Change: Split, Name: "recorded", Says: true, of: recorded(movesSplit)},
	{Change: Split, Name: "told", Says: true, of: told(movesSplit)},
	{Change: Split, Name: "dispatched", Says: true, single: true, of: isDispatch},

	{Change: Leave, Name: "emptied", of: isOfLeaver, until: recorded(removes)},
	{Change: Leave, Name: "recorded", Says: true, of: recorded(removes)},
	{Change: Leave, Name: "told", Says: true, of: told(removes)},
	{Change: Leave, Name: "passed by", of: isPassedBy},
	{Change: Leave, Name: "bequeathed", single: true, of: isBequest},
	{Change: Leave, Name: "inherited", single: true, of: isAdopted},

	{Change: Join, Name: "called"}, // which is below the messages of actors: whoever plays it says when (Watch.Pass)
	{Change: Join, Name: "ready", single: true, of: isGuestReady},
	{Change: Join, Name: "recorded", Says: true, of: recorded(adds)},
	{Change: Join, Name: "welcomed", Says: true, of: isWelcome},
	{Change: Join, Name: "dispatched", Says: true, single: true, of: isDispatch},

	{Change: Cut, Name: "armed", Says: true, of: isArming},
	{Change: Cut, Name: "promised", of: isArmed, until: recorded(cuts)},
	{Change: Cut, Name: "recorded", Says: true, of: recorded(cuts)},
	{Change: Cut, Name: "stored", of: isStored, until: isKept},
	{Change: Cut, Name: "kept", Says: true, of: isKept},

	{Change: Follow, Name: "asked", of: isQuery},
	{Change: Follow, Name: "answered", of: isHolding, until: isReading},
	{Change: Follow, Name: "read", single: true, of: isTail},
	{Change: Follow, Name: "made up for", of: recordsOf},
	{Change: Follow, Name: "told", of: isRouteOf},
	{Change: Follow, Name: "dispatched", of: isDispatchOf},
}

// recorded is records by which something comes about, on their way to lanes.
func recorded(is func(s *Subject, c *bellows.Control) bool) func(s *Subject, e wire.Envelope) bool {
	return func(s *Subject, e wire.Envelope) bool {
		m, ok := e.Message.(*wire.Records)
		return ok && e.From == wire.ControllerAt() && slices.ContainsFunc(m.List, func(r wire.Record) bool { return is(s, &r.Control) })
	}
}

// told is that clients hear of it.
func told(is func(s *Subject, c *bellows.Control) bool) func(s *Subject, e wire.Envelope) bool {
	return func(s *Subject, e wire.Envelope) bool {
		m, ok := e.Message.(*wire.Route)
		return ok && m.Begin == nil && slices.ContainsFunc(m.Changes, func(c bellows.Control) bool { return is(s, &c) })
	}
}

func movesRef(s *Subject, c *bellows.Control) bool {
	return c.Kind == bellows.MovePartition && c.Table == s.Ref.Table && c.Partition == s.Ref.Partition
}

func movesSplit(s *Subject, c *bellows.Control) bool {
	return c.Kind == bellows.MoveSplit && c.Split == s.Split
}

func removes(s *Subject, c *bellows.Control) bool {
	return (c.Kind == bellows.RemoveLane || c.Kind == bellows.RemoveClient) && c.Node == s.Node
}

func adds(s *Subject, c *bellows.Control) bool {
	return (c.Kind == bellows.AddLane || c.Kind == bellows.AddClient) && c.Node == s.Node
}

func cuts(_ *Subject, c *bellows.Control) bool { return c.Kind == bellows.CutTables }

func isHandoff(cancel bool) func(s *Subject, e wire.Envelope) bool {
	return func(s *Subject, e wire.Envelope) bool {
		m, ok := e.Message.(*wire.Handoff)
		return ok && m.Number > 0 && m.Cancel == cancel && m.Pair.Ref == s.Ref
	}
}

func isPiece(kind uint8) func(s *Subject, e wire.Envelope) bool {
	return func(s *Subject, e wire.Envelope) bool {
		m, ok := e.Message.(*wire.Piece)
		return ok && m.Kind == kind && m.Pair.Ref == s.Ref
	}
}

func isTaken(e wire.Envelope) bool {
	_, ok := e.Message.(*wire.Taken)
	return ok
}

func isOffer(s *Subject, e wire.Envelope) bool {
	if m, ok := e.Message.(*wire.Taken); ok {
		return m.Number == 0 && m.Pair.Ref == s.Ref
	}
	return isPiece(handoff.Offer)(s, e)
}

func isCopy(s *Subject, e wire.Envelope) bool {
	if m, ok := e.Message.(*wire.Taken); ok {
		return m.Number > 0 && m.Pair.Ref == s.Ref
	}
	return isPiece(handoff.Rows)(s, e) || isPiece(handoff.Image)(s, e)
}

func isReady(s *Subject, e wire.Envelope) bool {
	m, ok := e.Message.(*wire.Prepared)
	return ok && m.Whole && m.Pair.Ref == s.Ref
}

func isRecall(s *Subject, e wire.Envelope) bool {
	m, ok := e.Message.(*wire.Recall)
	return ok && m.Split == s.Split
}

func isRecalled(s *Subject, e wire.Envelope) bool {
	m, ok := e.Message.(*wire.Recalled)
	return ok && m.Split == s.Split
}

// isDispatch is work for the node that gets a split, or that has joined.
func isDispatch(s *Subject, e wire.Envelope) bool {
	_, ok := e.Message.(*wire.Dispatch)
	return ok && e.To.Node == s.Node
}

// isOfLeaver is what is copied to or from the lanes of who leaves.
func isOfLeaver(s *Subject, e wire.Envelope) bool {
	switch e.Message.(type) {
	case *wire.Piece, *wire.Taken:
		return e.From.Node == s.Node || e.To.Node == s.Node
	}
	return false
}

func isPassedBy(s *Subject, e wire.Envelope) bool {
	m, ok := e.Message.(*wire.End)
	return ok && m.Parts && e.To.Node == s.Node
}

func isBequest(s *Subject, e wire.Envelope) bool {
	_, ok := e.Message.(*wire.Closed)
	return ok && e.From.Node == s.Node && e.To.Role == wire.Lane
}

func isAdopted(s *Subject, e wire.Envelope) bool {
	m, ok := e.Message.(*wire.Adopted)
	return ok && slices.ContainsFunc(m.List, func(c bellows.Control) bool { return removes(s, &c) })
}

func isGuestReady(s *Subject, e wire.Envelope) bool {
	_, ok := e.Message.(*wire.Ready)
	return ok && e.From.Node == s.Node
}

func isWelcome(s *Subject, e wire.Envelope) bool {
	m, ok := e.Message.(*wire.Route)
	return ok && m.Begin != nil && e.To.Node == s.Node
}

func isArming(_ *Subject, e wire.Envelope) bool {
	m, ok := e.Message.(*wire.Cut)
	return ok && m.Attempt > 0 && m.Commit == 0
}

func isArmed(_ *Subject, e wire.Envelope) bool {
	m, ok := e.Message.(*wire.Shard)
	return ok && m.Commit == 0 && m.Reason == ""
}

func isStored(_ *Subject, e wire.Envelope) bool {
	m, ok := e.Message.(*wire.Shard)
	return ok && m.Commit > 0
}

func isKept(_ *Subject, e wire.Envelope) bool {
	m, ok := e.Message.(*wire.Cut)
	return ok && m.Whole
}

func isQuery(s *Subject, e wire.Envelope) bool {
	m, ok := e.Message.(*wire.Query)
	return ok && m.Term == s.Term && m.From == 0
}

func isHolding(s *Subject, e wire.Envelope) bool {
	m, ok := e.Message.(*wire.Holding)
	return ok && m.Term == s.Term
}

// isReading is that a controller that follows asks for a tail, or needs none.
func isReading(s *Subject, e wire.Envelope) bool {
	m, ok := e.Message.(*wire.Query)
	return ok && m.Term == s.Term && m.From > 0 || recordsOf(s, e) || isRouteOf(s, e)
}

func isTail(_ *Subject, e wire.Envelope) bool {
	_, ok := e.Message.(*wire.Records)
	return ok && e.From.Role == wire.Lane
}

func recordsOf(s *Subject, e wire.Envelope) bool {
	m, ok := e.Message.(*wire.Records)
	return ok && e.From == wire.ControllerAt() && m.Term == s.Term
}

func isRouteOf(s *Subject, e wire.Envelope) bool {
	m, ok := e.Message.(*wire.Route)
	return ok && m.Begin != nil && m.Term == s.Term
}

func isDispatchOf(s *Subject, e wire.Envelope) bool {
	m, ok := e.Message.(*wire.Dispatch)
	return ok && m.Term == s.Term
}
