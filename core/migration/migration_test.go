package migration_test

import (
	"strings"
	"testing"

	"bellows"
	"bellows/core/checkpoint"
	"bellows/core/handoff"
	"bellows/core/lanestate"
	"bellows/core/migration"
	"bellows/core/partition"
	"bellows/core/route"
	"bellows/internal/require"
	"bellows/link/wire"
	"bellows/table"
)

// end is one lane of a job of two lanes, with a partition each.
type end struct {
	self  wire.Address
	moves *migration.Migrations
	state *lanestate.State
	fx    partition.Effects
	out   wire.Outbox
}

var (
	controller  = wire.Address{Role: wire.Controller}
	first, next = wire.LaneAt(0, 0), wire.LaneAt(1, 0)
)

func newEnd(t *testing.T, self wire.Address) *end {
	t.Helper()
	tables := []table.Schema{{Name: "rows", Rows: 8, Width: 2, Partitions: 2, Consistency: table.Async}}
	r := route.Spread(tables, 1, []wire.Address{first, next}, []bellows.NodeID{1})
	e := &end{self: self, moves: migration.New(self, controller, handoff.Limits{Slab: 2, Window: 1000, Behind: 1000})}
	e.state = lanestate.New(lanestate.Config{Self: self, Tables: tables, Route: r, Cuts: &checkpoint.Giver{},
		Items: func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{End: 1} }})
	for ref := range r.Each() {
		if r.Owner(ref).Lane == self {
			require.NoError(t, e.state.Create(ref))
		}
	}
	return e
}

// ask asks for a move of the lane's partition to another lane.
func (e *end) ask(number uint64, to wire.Address) *wire.Handoff {
	return &wire.Handoff{Term: 1, Number: number, Pair: e.state.Owned()[0].Pair(), Node: to.Node, Lane: to.Index}
}

// handoff takes a message of the controller.
func (e *end) handoff(m *wire.Handoff) { e.moves.TakeHandoff(m, e.state, &e.fx, &e.out) }

// sent returns what was sent since the last call.
func (e *end) sent() []wire.Envelope {
	list := e.out.Envelopes
	e.out.Envelopes = nil
	return list
}

// prepared returns the last report to the controller of a list of messages; nil: there is none.
func prepared(list []wire.Envelope) (last *wire.Prepared) {
	for _, e := range list {
		if m, ok := e.Message.(*wire.Prepared); ok {
			last = m
		}
	}
	return last
}

// pieces counts the pieces of a kind.
func pieces(list []wire.Envelope, kind uint8) (n int) {
	for _, e := range list {
		if m, ok := e.Message.(*wire.Piece); ok && m.Kind == kind {
			n++
		}
	}
	return n
}

// carry makes two lanes exchange messages until nothing is left, and returns the last report to the controller.
func carry(t *testing.T, a, b *end) (last *wire.Prepared) {
	t.Helper()
	for range 100 {
		for _, p := range a.moves.Outgoing() {
			if !p.Gone() && a.moves.Stream(p, &a.fx, &a.out) {
				for range p.Grants(a.state.Frontier(), a.self.Node, func(bellows.NodeID) bool { return false }) {
					t.Error("a lease is granted")
				}
				a.moves.Stop(p, &a.fx, &a.out)
			}
		}
		_, err := b.moves.TakeOffers(b.state, false, &b.out)
		require.NoError(t, err)
		b.moves.TellOwners(&b.out)
		there, back := a.sent(), b.sent()
		if len(there)+len(back) == 0 {
			return last
		}
		if m := prepared(there); m != nil {
			last = m
		}
		for _, e := range there {
			if m, ok := e.Message.(*wire.Piece); ok {
				_, _, err := b.moves.TakePiece(a.self, m, &b.fx, &b.out)
				require.NoError(t, err)
			}
		}
		for _, e := range back {
			if m, ok := e.Message.(*wire.Taken); ok {
				_, err := a.moves.TakeTaken(b.self, m, &a.fx, &a.out)
				require.NoError(t, err)
			}
		}
	}
	t.Fatal("it comes to no end")
	return nil
}

// TestAPartitionMoves copies a partition to another lane, up to its last piece.
func TestAPartitionMoves(t *testing.T) {
	t.Parallel()
	a, b := newEnd(t, first), newEnd(t, next)
	p := a.state.Owned()[0]
	a.handoff(a.ask(1, next))
	if m := carry(t, a, b); m == nil || !m.Whole || m.Number != 1 {
		t.Fatalf("the controller hears %+v", m)
	}
	copied := b.moves.Copy(p.Ref)
	if copied == nil || !a.moves.Handing() || b.moves.Incoming() != 1 {
		t.Fatal("the partition was not copied")
	}
	for _, e := range []*end{a, b} {
		r, err := e.state.Route().Next(e.state.Route().MovePartition(p.Ref, next))
		require.NoError(t, err)
		e.state.SetRoute(r)
		e.state.Number(1)
	}
	b.state.Gain(copied)
	require.NoError(t, p.HandOver(next, a.state.Frontier(), &a.fx))
	a.fx.SendAll(a.self, &a.out)
	a.state.Leave(p)
	var arrival migration.Arrival
	for _, e := range a.sent() {
		var whole *partition.Partition
		var err error
		if whole, arrival, err = b.moves.TakePiece(first, e.Message.(*wire.Piece), &b.fx, &b.out); err != nil {
			t.Fatal(err)
		}
		if arrival == migration.Complete && whole != copied {
			t.Errorf("%v is complete", whole.Ref)
		}
	}
	if arrival != migration.Complete {
		t.Fatalf("the last piece is %v", arrival)
	}
	require.NoError(t, copied.Serve())
	b.moves.TellOwners(&b.out)
	if b.moves.Incoming() != 0 || b.moves.Copy(p.Ref) != nil {
		t.Error("the copy is kept after it is served")
	}
	arrived := false
	for _, e := range b.sent() {
		whole, err := a.moves.TakeTaken(next, e.Message.(*wire.Taken), &a.fx, &a.out)
		require.NoError(t, err)
		arrived = arrived || whole
	}
	if !arrived || a.moves.Handing() || p.Out.Source() != nil {
		t.Error("it does not learn that all has arrived, or keeps its memory")
	}
}

// TestBeginGivesUpTheCopyBefore asks twice for a move, cancels it, and has a controller that follows give up all.
func TestBeginGivesUpTheCopyBefore(t *testing.T) {
	t.Parallel()
	a := newEnd(t, first)
	a.handoff(a.ask(1, next))
	if got := a.sent(); pieces(got, handoff.Offer) != 1 {
		t.Errorf("it sends %v", got)
	}
	a.handoff(a.ask(2, next))
	got := a.sent()
	if pieces(got, handoff.Void) != 1 || pieces(got, handoff.Offer) != 1 || len(a.moves.Outgoing()) != 1 {
		t.Errorf("asked again it sends %v", got)
	}
	cancel := a.ask(1, next)
	cancel.Cancel = true
	if a.handoff(cancel); len(a.sent()) != 0 {
		t.Error("it gives up a move by the number of another")
	}
	cancel.Number = 2
	if a.handoff(cancel); pieces(a.sent(), handoff.Void) != 1 || a.moves.Handing() {
		t.Error("it does not give up a move that is cancelled")
	}
	a.handoff(a.ask(3, next))
	a.sent()
	if a.handoff(&wire.Handoff{}); pieces(a.sent(), handoff.Void) != 1 || a.moves.Handing() {
		t.Error("it does not give up what has no record")
	}
}

// TestMovesThatCannotBeAreRefused asks for a move to the lane itself, to none of the job, and of another's partition.
func TestMovesThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	a := newEnd(t, first)
	stale := a.ask(3, next)
	stale.Pair.Generation = 9
	for _, m := range []*wire.Handoff{a.ask(1, first), a.ask(2, wire.LaneAt(5, 0)), stale} {
		a.handoff(m)
		got := a.sent()
		p := prepared(got)
		if len(got) != 1 || p == nil || p.Number != m.Number || p.Reason == "" || got[0].To != controller {
			t.Errorf("move %d: it sends %+v", m.Number, got)
		}
	}
	if a.moves.Handing() {
		t.Error("a move begins")
	}
}

// TestOffersAreTakenFromOwners offers copies by a newer route, of a partition of another owner, and at the end.
func TestOffersAreTakenFromOwners(t *testing.T) {
	t.Parallel()
	a, b := newEnd(t, first), newEnd(t, next)
	offer := func(v bellows.RouteVersion, pair wire.Pair) *wire.Piece {
		s := handoff.NewSource(&wire.Handoff{Number: 1, Pair: pair, Node: 1}, 1, handoff.Limits{Slab: 2})
		return s.Offer(v)
	}
	mine := a.state.Owned()[0].Pair()
	taken := func(m *wire.Piece, closing bool) (refused []bool) {
		_, _, err := b.moves.TakePiece(first, m, &b.fx, &b.out)
		require.NoError(t, err)
		_, err = b.moves.TakeOffers(b.state, closing, &b.out)
		require.NoError(t, err)
		for _, e := range b.sent() {
			refused = append(refused, e.Message.(*wire.Taken).Refused)
		}
		return refused
	}
	if got := taken(offer(1, mine), false); len(got) != 0 {
		t.Errorf("by a newer route: %v", got)
	}
	if got := taken(offer(0, mine), false); len(got) != 1 || got[0] || b.moves.Incoming() != 1 {
		t.Errorf("by the current route: %v", got)
	}
	if got := taken(offer(0, b.state.Owned()[0].Pair()), false); len(got) != 1 || !got[0] {
		t.Errorf("of its own partition: %v", got)
	}
	if got := taken(offer(1, mine), true); len(got) != 1 || !got[0] {
		t.Errorf("at the end: %v", got)
	}
}

// TestLostNodesAreNotWaitedFor loses the node of a copy: a lane of the same node lives as long as this one.
func TestLostNodesAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	a, b := newEnd(t, first), newEnd(t, next)
	p := a.state.Owned()[0]
	a.handoff(a.ask(1, next))
	carry(t, a, b)
	copied := b.moves.Copy(p.Ref)
	if b.moves.Lose(next.Node); copied.In.Lost != "" {
		t.Errorf("its own node: %s", copied.In.Lost)
	}
	if b.moves.Lose(first.Node); !strings.Contains(copied.In.Lost, "node 0") {
		t.Errorf("the sender: %q", copied.In.Lost)
	}
	a.moves.End(&a.out)
	got := a.sent()
	if pieces(got, handoff.Ended) != 1 {
		t.Fatalf("at the end it sends %v", got)
	}
	_, arrival, err := b.moves.TakePiece(first, got[0].Message.(*wire.Piece), &b.fx, &b.out)
	if require.NoError(t, err); arrival != migration.Ended || !strings.Contains(copied.In.Lost, "the job ended") {
		t.Errorf("the piece is %v, and it has lost %q", arrival, copied.In.Lost)
	}
}

// TestReportsOfNoCopyAreBreaches takes reports of copies that were given up, refused, and never sent.
func TestReportsOfNoCopyAreBreaches(t *testing.T) {
	t.Parallel()
	a := newEnd(t, first)
	if _, err := a.moves.TakeTaken(next, &wire.Taken{Copy: 9}, &a.fx, &a.out); err != nil {
		t.Error(err)
	}
	a.handoff(a.ask(1, next))
	if got := a.moves.StateOf(next, &wire.Taken{Copy: 1}); got != migration.CopyBegins {
		t.Errorf("its first report is %v", got)
	}
	_, err := a.moves.TakeTaken(next, &wire.Taken{Copy: 1}, &a.fx, &a.out)
	require.NoError(t, err)
	arrived, err := a.moves.TakeTaken(next, &wire.Taken{Copy: 1, Number: 99}, &a.fx, &a.out)
	if err == nil || arrived {
		t.Errorf("it has taken what it was not sent: arrived is %v, %v", arrived, err)
	}
	a.sent()
	_, err = a.moves.TakeTaken(next, &wire.Taken{Copy: 1, Refused: true}, &a.fx, &a.out)
	require.NoError(t, err)
	got := a.sent()
	if m := prepared(got); m == nil || !strings.Contains(m.Reason, "did not take it") || a.moves.Handing() {
		t.Errorf("a refused copy: it sends %+v", got)
	}
}

// TestCancelDueMove asks for a move of a partition that is still on its way here. The move is due after that. It is
// cancelled by its number, and by a controller that takes over.
func TestCancelDueMove(t *testing.T) {
	t.Parallel()
	a, b := newEnd(t, first), newEnd(t, next)
	ref := a.state.Owned()[0].Ref
	r, err := b.state.Route().Next(b.state.Route().MovePartition(ref, next))
	require.NoError(t, err)
	b.state.SetRoute(r)
	b.state.Number(1)
	require.NoError(t, b.state.Await(ref))
	p := b.state.Lookup(ref)
	ask := func(number uint64, cancel bool) {
		b.handoff(&wire.Handoff{Term: 1, Number: number, Pair: p.Pair(), Node: first.Node, Cancel: cancel})
	}
	for _, followed := range []bool{false, true} {
		ask(5, false)
		if p.In.Due == nil || p.In.Due.Number != 5 {
			t.Fatalf("the move that is due is %+v", p.In.Due)
		}
		if ask(4, true); p.In.Due == nil {
			t.Error("it is cancelled by the number of another")
		}
		if followed {
			b.handoff(&wire.Handoff{})
		} else {
			ask(5, true)
		}
		if p.In.Due != nil {
			t.Errorf("cancelled, by another controller: %v, it is due still", followed)
		}
	}
	ask(6, true) // of none
	if got := b.sent(); len(got) > 0 || b.moves.Handing() {
		t.Errorf("it sends %v", got)
	}
}

// TestVoidWithdrawsOffer gives up one of three copies that were offered by a newer route: those of other lanes, and
// of other partitions, are offered still.
func TestVoidWithdrawsOffer(t *testing.T) {
	t.Parallel()
	a, b := newEnd(t, first), newEnd(t, next)
	third := wire.LaneAt(5, 0)
	offer := func(from wire.Address, copies uint64, pair wire.Pair) *handoff.Source {
		s := handoff.NewSource(&wire.Handoff{Number: 1, Pair: pair, Node: 1}, copies, handoff.Limits{Slab: 2})
		_, _, err := b.moves.TakePiece(from, s.Offer(7), &b.fx, &b.out)
		require.NoError(t, err)
		return s
	}
	one, two := a.state.Owned()[0].Pair(), b.state.Owned()[0].Pair()
	given := offer(first, 1, one)
	offer(first, 2, two)
	offer(third, 1, one)
	_, _, err := b.moves.TakePiece(first, given.Void(), &b.fx, &b.out)
	require.NoError(t, err)
	_, err = b.moves.TakeOffers(b.state, true, &b.out)
	require.NoError(t, err)
	got := b.sent()
	if len(got) != 2 {
		t.Fatalf("%d offers are left, want 2", len(got))
	}
	for i, want := range []struct {
		to   wire.Address
		copy uint64
	}{{first, 2}, {third, 1}} {
		if m := got[i].Message.(*wire.Taken); got[i].To != want.to || m.Copy != want.copy {
			t.Errorf("offer %d is copy %d of %v, want %+v", i, m.Copy, got[i].To, want)
		}
	}
}

// TestGiveUpOverrunCopy changes a partition while the lane that is to own it takes nothing: above a limit the move
// is given up, and the controller learns why.
func TestGiveUpOverrunCopy(t *testing.T) {
	t.Parallel()
	a := newEnd(t, first)
	p := a.state.Owned()[0]
	a.handoff(a.ask(4, next))
	_, err := a.moves.TakeTaken(next, &wire.Taken{Copy: 1}, &a.fx, &a.out)
	require.NoError(t, err)
	stream := func() { a.moves.Stream(p, &a.fx, &a.out) }
	stream()
	for n := range bellows.CommitNumber(100) {
		a.state.Number(n + 1)
		c := &wire.Chunk{Pair: p.Pair(), Rows: []uint32{0}, Values: []float32{1, 1}}
		p.Accept(partition.Entry{Flush: flush{}, Chunk: c, Number: n + 1}, &a.fx)
	}
	a.fx.SendAll(first, &a.out)
	a.sent()
	stream()
	got := a.sent()
	m := prepared(got)
	if pieces(got, handoff.Void) != 1 || m == nil || m.Number != 4 || !strings.Contains(m.Reason, "more has changed") {
		t.Errorf("it sends %v, and reports %+v", got, m)
	}
	if a.moves.Handing() || p.Out.Source() != nil {
		t.Error("it is copied still")
	}
}

// flush is a flush of no name.
type flush struct{}

func (flush) ID() bellows.FlushID { return bellows.FlushID{} }
