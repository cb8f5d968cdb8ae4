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

	// Opens and Ends report whether a record makes a part of the split's clock count, with deltas for a BSP table, and
	// whether it makes the last of the clock count.
	Opens, Ends func(r *wire.Record) bool
	// HalfAt reports whether units of a clock that is not complete count at a record.
	HalfAt func(bellows.CommitNumber) bool
}

// Step is a part of a change: some messages that go together. The changes are
//   - move: a partition goes to another lane;
//   - undo: such a move is given up;
//   - split: a split goes to another node;
//   - leave: a node with a lane and a client is drained, and leaves;
//   - join: a node joins, with a lane and a client;
//   - cut: a cut of the job is taken;
//   - follow: another controller follows one that is gone;
//   - half: a clock of a split is divided, and its first units count;
//   - half cut: a cut of the job is taken while such a clock is open.
type Step struct {
	Change string
	Name   string
	Says   bool // the controller says the first: it can be lost before that has left, and in the midst of what it says
	single bool // it is one message

	// of reports whether a message belongs to the step. If until is nil, the step ends when all that were posted have been
	// taken, the last of them one that ends it (nil: any). Else it ends when a message is posted that begins another.
	of, ends, until test
}

// test reports whether a message is of a kind, and about the subject.
type test func(s *Subject, e wire.Envelope) bool

// is returns the test of messages of a type that say something; nil: anything.
func is[M wire.Message](says func(s *Subject, m M) bool) test {
	return func(s *Subject, e wire.Envelope) bool {
		m, ok := e.Message.(M)
		return ok && (says == nil || says(s, m))
	}
}

func (t test) and(more test) test {
	return func(s *Subject, e wire.Envelope) bool { return t(s, e) && more(s, e) }
}

func (t test) or(more test) test {
	return func(s *Subject, e wire.Envelope) bool { return t(s, e) || more(s, e) }
}

// Steps are all steps of all changes, in their order.
var Steps = [...]Step{
	{Change: "move", Name: "asked", Says: true, single: true, of: isHandoff(false)},
	{Change: "move", Name: "offered", of: isOffer, ends: isTaken},
	{Change: "move", Name: "copied", of: isCopy, until: isReady},
	{Change: "move", Name: "ready", single: true, of: isReady},
	{Change: "move", Name: "recorded", Says: true, of: recorded(movesRef)},
	{Change: "move", Name: "adopted", single: true, of: isPiece(handoff.Last)},
	{Change: "move", Name: "told", Says: true, of: announced(movesRef)},

	{Change: "undo", Name: "cancelled", Says: true, single: true, of: isHandoff(true)},
	{Change: "undo", Name: "forgotten", single: true, of: isPiece(handoff.Void)},

	{Change: "split", Name: "recalled", Says: true, single: true, of: isRecall},
	{Change: "split", Name: "given back", single: true, of: isRecalled},
	{Change: "split", Name: "recorded", Says: true, of: recorded(movesSplit)},
	{Change: "split", Name: "told", Says: true, of: announced(movesSplit)},
	{Change: "split", Name: "dispatched", Says: true, single: true, of: isDispatch},

	{Change: "leave", Name: "emptied", of: isOfLeaver, until: recorded(removes)},
	{Change: "leave", Name: "recorded", Says: true, of: recorded(removes)},
	{Change: "leave", Name: "told", Says: true, of: announced(removes)},
	{Change: "leave", Name: "passed by", of: isPassedBy},
	{Change: "leave", Name: "bequeathed", single: true, of: isBequest},
	{Change: "leave", Name: "inherited", single: true, of: isAdopted},

	{Change: "join", Name: "called"}, // below the messages of actors: its caller reports its moment (Watch.Pass)
	{Change: "join", Name: "ready", single: true, of: isGuestReady},
	{Change: "join", Name: "recorded", Says: true, of: recorded(adds)},
	{Change: "join", Name: "welcomed", Says: true, of: isWelcome},
	{Change: "join", Name: "dispatched", Says: true, single: true, of: isDispatch},

	{Change: "cut", Name: "armed", Says: true, of: isArming},
	{Change: "cut", Name: "promised", of: isArmed, until: recorded(cuts)},
	{Change: "cut", Name: "recorded", Says: true, of: recorded(cuts)},
	{Change: "cut", Name: "stored", of: isStored, until: isKept},
	{Change: "cut", Name: "kept", Says: true, of: isKept},

	{Change: "follow", Name: "asked", of: isQuery},
	{Change: "follow", Name: "answered", of: isHolding, until: isReading},
	{Change: "follow", Name: "read", single: true, of: isTail},
	{Change: "follow", Name: "made up for", of: recordsOf},
	{Change: "follow", Name: "told", of: isRouteOf},
	{Change: "follow", Name: "dispatched", of: isDispatchOf},

	{Change: "half", Name: "counted", Says: true, of: opensClock},
	{Change: "half", Name: "gathered", of: opensClock, until: endsClock},
	{Change: "half", Name: "completed", Says: true, of: endsClock},

	{Change: "half cut", Name: "recorded", Says: true, of: recordsHalf},
	{Change: "half cut", Name: "stored", of: storesHalf, until: isKept},
}

// change reports whether a change of the route is about the subject.
type change func(s *Subject, c *bellows.Control) bool

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

// recorded returns the test that records with a change are on their way to lanes.
func recorded(c change) test {
	return fromController.and(is(func(s *Subject, m *wire.Records) bool {
		return slices.ContainsFunc(m.List, func(r wire.Record) bool { return c(s, &r.Control) })
	}))
}

// announced returns the test that clients are sent a change.
func announced(c change) test {
	return is(func(s *Subject, m *wire.Route) bool {
		return m.Begin == nil && slices.ContainsFunc(m.Changes, func(one bellows.Control) bool { return c(s, &one) })
	})
}

// records returns the test that records which a test finds are on their way to lanes.
func records(find func(s *Subject, list []wire.Record) bool) test {
	return fromController.and(is(func(s *Subject, m *wire.Records) bool { return s.Opens != nil && find(s, m.List) }))
}

func indexOf(list []wire.Record, is func(r *wire.Record) bool) int {
	return slices.IndexFunc(list, func(r wire.Record) bool { return is(&r) })
}

// The records of a clock that is divided: the first part of it counts and the rest does not; and the rest does.
var (
	opensClock = records(func(s *Subject, list []wire.Record) bool {
		return indexOf(list, s.Opens) >= 0 && indexOf(list, s.Ends) < 0
	})
	endsClock = records(func(s *Subject, list []wire.Record) bool { return indexOf(list, s.Ends) >= 0 })
)

// The messages of a cut that is taken while a clock is half gathered.
var (
	recordsHalf = fromController.and(is(func(s *Subject, m *wire.Records) bool {
		return slices.ContainsFunc(m.List, func(r wire.Record) bool { return cuts(s, &r.Control) && s.HalfAt(r.Number) })
	}))
	storesHalf = is(func(s *Subject, m *wire.Shard) bool { return m.Commit > 0 && s.HalfAt(m.Commit) })
)

func isHandoff(cancel bool) test {
	return is(func(s *Subject, m *wire.Handoff) bool {
		return m.Number > 0 && m.Cancel == cancel && m.Pair.Ref == s.Ref
	})
}

func isPiece(kind uint8) test {
	return is(func(s *Subject, m *wire.Piece) bool { return m.Kind == kind && m.Pair.Ref == s.Ref })
}

// Tests of the sender or the receiver of a message.
var (
	fromController test = func(_ *Subject, e wire.Envelope) bool { return e.From == wire.ControllerAt() }
	fromLane       test = func(_ *Subject, e wire.Envelope) bool { return e.From.Role == wire.Lane }
	toLane         test = func(_ *Subject, e wire.Envelope) bool { return e.To.Role == wire.Lane }
	fromNode       test = func(s *Subject, e wire.Envelope) bool { return e.From.Node == s.Node }
	toNode         test = func(s *Subject, e wire.Envelope) bool { return e.To.Node == s.Node }
)

// The messages of moves, and of nodes that leave or join.
var (
	isTaken  = is[*wire.Taken](nil)
	offered  = is(func(s *Subject, m *wire.Taken) bool { return m.Number == 0 && m.Pair.Ref == s.Ref })
	isOffer  = isPiece(handoff.Offer).or(offered)
	copied   = is(func(s *Subject, m *wire.Taken) bool { return m.Number > 0 && m.Pair.Ref == s.Ref })
	isCopy   = isPiece(handoff.Rows).or(isPiece(handoff.Image)).or(copied)
	isReady  = is(func(s *Subject, m *wire.Prepared) bool { return m.Whole && m.Pair.Ref == s.Ref })
	isRecall = is(func(s *Subject, m *wire.Recall) bool { return m.Split == s.Split })

	isRecalled   = is(func(s *Subject, m *wire.Recalled) bool { return m.Split == s.Split })
	isDispatch   = toNode.and(is[*wire.Dispatch](nil)) // to the node that gets a split, or that has joined
	isOfLeaver   = is[*wire.Piece](nil).or(isTaken).and(fromNode.or(toNode))
	isPassedBy   = toNode.and(is(func(_ *Subject, m *wire.End) bool { return m.Parts }))
	isBequest    = fromNode.and(toLane).and(is[*wire.Closed](nil))
	isGuestReady = fromNode.and(is[*wire.Ready](nil))
	isWelcome    = toNode.and(is(func(_ *Subject, m *wire.Route) bool { return m.Begin != nil }))

	isAdopted = is(func(s *Subject, m *wire.Adopted) bool {
		return slices.ContainsFunc(m.List, func(c bellows.Control) bool { return removes(s, &c) })
	})
)

// The messages of cuts, and of controllers that follow another. Such a controller asks for a tail, or needs none.
var (
	isArming = is(func(_ *Subject, m *wire.Cut) bool { return m.Attempt > 0 && m.Commit == 0 })
	isArmed  = is(func(_ *Subject, m *wire.Shard) bool { return m.Commit == 0 && m.Reason == "" })
	isStored = is(func(_ *Subject, m *wire.Shard) bool { return m.Commit > 0 })
	isKept   = is(func(_ *Subject, m *wire.Cut) bool { return m.Whole })

	isQuery      = is(func(s *Subject, m *wire.Query) bool { return m.Term == s.Term && m.From == 0 })
	isHolding    = is(func(s *Subject, m *wire.Holding) bool { return m.Term == s.Term })
	asksTail     = is(func(s *Subject, m *wire.Query) bool { return m.Term == s.Term && m.From > 0 })
	isReading    = asksTail.or(recordsOf).or(isRouteOf)
	isTail       = fromLane.and(is[*wire.Records](nil))
	recordsOf    = fromController.and(is(func(s *Subject, m *wire.Records) bool { return m.Term == s.Term }))
	isRouteOf    = is(func(s *Subject, m *wire.Route) bool { return m.Begin != nil && m.Term == s.Term })
	isDispatchOf = is(func(s *Subject, m *wire.Dispatch) bool { return m.Term == s.Term })
)
