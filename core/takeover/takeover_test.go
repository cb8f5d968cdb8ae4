package takeover_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core"
	"bellows/core/journal"
	"bellows/core/liveness"
	"bellows/core/membership"
	"bellows/core/route"
	"bellows/core/takeover"
	"bellows/internal/require"
	"bellows/link/wire"
	"bellows/table"
)

var (
	self    = wire.Address{Role: wire.Controller}
	lanes   = []wire.Address{wire.LaneAt(1, 0), wire.LaneAt(2, 0)}
	clients = []wire.Address{wire.ClientAt(1), wire.ClientAt(2), wire.ClientAt(3)}
	added   = wire.LaneAt(4, 0)
	keep    = bellows.Control{Kind: bellows.KeepTables}
)

// search is a takeover, the membership that it works with, and the messages that it has sent.
type search struct {
	*takeover.Takeover
	membership *membership.Group
	out        wire.Outbox
}

// newSearch returns a takeover of a job that was saved after a record, whose nodes 1 to 3 are not ready.
func newSearch(saved bellows.CommitNumber) *search {
	tables := []table.Schema{{Name: "w", Rows: 4, Width: 1, Partitions: 2}}
	job := core.Job{Controller: self, Lanes: lanes, Clients: clients, Tables: tables,
		Times: liveness.Times{Lease: 1000},
		Route: route.Spread(tables, 3, lanes, []bellows.NodeID{1, 2, 3})}
	r := membership.New(job, membership.Options{Term: 3})
	r.Expect()
	return &search{Takeover: takeover.New(self, 3, saved, len(lanes)), membership: r}
}

// newReady returns newSearch with nodes that are ready, whose lanes were asked.
func newReady(saved bellows.CommitNumber) *search {
	s := newSearch(saved)
	s.ready(1, 2, 3)
	s.Ask(s.membership, false, &s.out)
	s.out = wire.Outbox{}
	return s
}

func (s *search) ready(nodes ...bellows.NodeID) {
	for _, n := range nodes {
		s.membership.Ready(n)
	}
}

// sent returns the messages since the last call, a line each.
func (s *search) sent() (lines []string) {
	for _, e := range s.out.Envelopes {
		line := fmt.Sprintf("%v: %T", e.To, e.Message)
		switch m := e.Message.(type) {
		case *wire.Query:
			line = fmt.Sprintf("%v: query from %d, term %d", e.To, m.From, m.Term)
		case *wire.Records:
			var list []string
			for _, r := range m.List {
				list = append(list, fmt.Sprintf("%d of client %d, %d results, control %d", r.Number, r.Flush.Client,
					len(r.Results), r.Control.Kind))
			}
			line = fmt.Sprintf("%v: records %v, term %d", e.To, list, m.Term)
		}
		if e.From != self {
			line += " from another"
		}
		lines = append(lines, line)
	}
	s.out = wire.Outbox{}
	return lines
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// expectError wants the error of a job that cannot be recovered.
func expectError(t *testing.T, err error, want string) {
	t.Helper()
	expectBreach(t, err, "the job cannot be recovered: "+want)
}

func expectBreach(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %q", err, want)
	}
}

// holding returns the answer of a lane that has the records up to last, and has kept those from tail on.
func holding(tail, last bellows.CommitNumber) *wire.Holding {
	return &wire.Holding{Term: 3, Tail: tail, Last: last}
}

// choose chooses the tail and asks for the first of it.
func (s *search) choose(t *testing.T, wantChosen bool) {
	t.Helper()
	chosen, err := s.ChooseTail(s.membership)
	require.NoError(t, err)
	if chosen != wantChosen {
		t.Errorf("chosen %v", chosen)
	}
}

func (s *search) ask(t *testing.T, wantComplete bool) {
	t.Helper()
	complete, err := s.AskTail(s.membership, &s.out)
	require.NoError(t, err)
	if complete != wantComplete {
		t.Errorf("complete %v", complete)
	}
}

// records returns the message of the records from one to another: those of even numbers are of control.
func records(from, to bellows.CommitNumber) *wire.Records {
	m := wire.New[wire.Records]()
	for n := from; n <= to; n++ {
		if n%2 == 0 {
			m.AppendControl(n, keep)
			continue
		}
		d := &wire.Done{Flush: flush(1, int(n))}
		d.Append(bellows.Unit{Clock: bellows.Clock(n), Items: bellows.Range{End: 1}}, nil)
		m.Append(n, d)
	}
	return m
}

func (s *search) take(t *testing.T, lane int, m *wire.Records, wantRead bool) {
	t.Helper()
	if !s.Awaits(lanes[lane], s.membership) || s.Awaits(lanes[1-lane], s.membership) {
		t.Errorf("%v is not the lane that was asked", lanes[lane])
	}
	read, err := s.TakeTail(lanes[lane], m)
	require.NoError(t, err)
	if read != wantRead {
		t.Errorf("read %v", read)
	}
}

func flush(client, seq int) bellows.FlushID {
	return bellows.FlushID{Client: bellows.NodeID(client), Incarnation: 1, Seq: uint64(seq)}
}

// TestLanesOfReadyNodesAreAskedOnce asks while nodes get ready, and one that was added.
func TestLanesOfReadyNodesAreAskedOnce(t *testing.T) {
	s := newSearch(0)
	s.Ask(s.membership, false, &s.out)
	expect(t, s.sent())
	s.ready(2)
	s.Ask(s.membership, false, &s.out)
	expect(t, s.sent(), "lane 0 of node 2: query from 0, term 3")
	expect(t, names(s.Awaited(s.membership)), "lane 0 of node 1", "lane 0 of node 2")
	s.TakeHolding(1, holding(1, 0))
	expect(t, names(s.Awaited(s.membership)), "lane 0 of node 1")
	s.ready(1)
	s.Ask(s.membership, false, &s.out)
	s.Ask(s.membership, true, &s.out)
	expect(t, s.sent(), "lane 0 of node 1: query from 0, term 3")

	m := &wire.Holding{Added: []bellows.Control{{Kind: bellows.AddLane, Node: 4}, {Kind: bellows.AddClient, Node: 4},
		{Kind: bellows.AddClient, Node: 3}}}
	expect(t, names(s.EnrolAdded(m, s.membership)), "node 4")
	if !s.membership.Runs(4) || !slices.Contains(s.membership.Lanes(), added) {
		t.Error("those who were added are not enrolled")
	}
	met := s.Ask(s.membership, false, &s.out)
	expect(t, names(met), "lane 0 of node 4")
	expect(t, s.sent(), "lane 0 of node 4: query from 0, term 3")

	s = newSearch(0)
	expect(t, names(s.Ask(s.membership, true, &s.out)))
	expect(t, s.sent(), "lane 0 of node 1: query from 0, term 3", "lane 0 of node 2: query from 0, term 3")
}

func names(list []wire.Address) (names []string) {
	for _, a := range list {
		names = append(names, a.String())
	}
	return names
}

// TestChooseTailNeedsEveryAnswer lets nodes get ready and lanes answer, in both orders.
func TestChooseTailNeedsEveryAnswer(t *testing.T) {
	s := newReady(0)
	s.choose(t, false)
	s.TakeHolding(0, holding(1, 0))
	s.choose(t, false)
	s.TakeHolding(1, holding(1, 0))
	s.choose(t, true)
	s.choose(t, false) // once
	s.ask(t, true)
	expect(t, s.sent())

	s = newSearch(0)
	s.Ask(s.membership, true, &s.out)
	s.TakeHolding(0, holding(1, 0))
	s.TakeHolding(1, holding(1, 0))
	s.ready(1, 2)
	s.choose(t, false)
	s.ready(3)
	s.choose(t, true)
}

// TestTailsAreJoined reads the tail of the lane that has come furthest of those that have kept the first record,
// and then that of another one.
func TestTailsAreJoined(t *testing.T) {
	s := newReady(2)
	s.TakeHolding(0, holding(2, 4))
	s.TakeHolding(1, holding(4, 6))
	s.choose(t, true)
	if s.Next() != 3 || s.UpTo() != 6 || s.Last() != 6 {
		t.Errorf("from %d to %d, last %d", s.Next(), s.UpTo(), s.Last())
	}
	s.ask(t, false)
	expect(t, s.sent(), "lane 0 of node 1: query from 3, term 3")
	expect(t, names(s.Awaited(s.membership)), "lane 0 of node 1")
	s.take(t, 0, records(2, 3), false) // 2 is known
	s.take(t, 0, records(4, 4), true)
	s.ask(t, false)
	expect(t, s.sent(), "lane 0 of node 2: query from 5, term 3")
	s.take(t, 1, records(4, 6), true)
	s.ask(t, true)
	expect(t, s.sent())
	if s.Next() != 7 || len(s.Tail()) != 4 || s.Record(2) != nil || s.Record(7) != nil || s.Record(3).Number != 3 ||
		s.Record(6).Number != 6 {
		t.Errorf("%d records, next %d", len(s.Tail()), s.Next())
	}
	s.Free()
}

// TestFurthestLaneIsAsked lets both lanes keep all records.
func TestFurthestLaneIsAsked(t *testing.T) {
	for _, c := range []struct{ first, second bellows.CommitNumber }{{4, 6}, {6, 4}, {6, 6}} {
		s := newReady(2)
		s.TakeHolding(0, holding(1, c.first))
		s.TakeHolding(1, holding(1, c.second))
		s.choose(t, true)
		s.ask(t, false)
		want := lanes[0]
		if c.second > c.first {
			want = lanes[1]
		}
		if got := s.out.Envelopes[0].To; got != want {
			t.Errorf("%+v: %v is asked", c, got)
		}
	}
}

// TestTailReachesTheSlowestLane needs records from before the saved state for a lane that lacks them.
func TestTailReachesTheSlowestLane(t *testing.T) {
	s := newReady(5)
	s.TakeHolding(0, holding(1, 3))
	s.TakeHolding(1, holding(2, 6))
	s.choose(t, true)
	if s.Next() != 4 {
		t.Errorf("from %d on", s.Next())
	}
}

// TestAGapIsABreach gets a record that does not follow.
func TestAGapIsABreach(t *testing.T) {
	s := newReady(2)
	s.TakeHolding(0, holding(1, 9))
	s.TakeHolding(1, holding(1, 2))
	s.choose(t, true)
	s.ask(t, false)
	_, err := s.TakeTail(lanes[0], records(4, 5))
	expectBreach(t, err, "lane 0 of node 1 has kept record 4 behind record 2")
}

// TestUnrecoverable lacks records that nobody has.
func TestUnrecoverable(t *testing.T) {
	s := newReady(7)
	s.TakeHolding(0, holding(1, 5))
	s.TakeHolding(1, holding(1, 6))
	chosen, err := s.ChooseTail(s.membership)
	expectError(t, err, "its controller was saved after record 7, and no lane has more than 6")
	if chosen {
		t.Error("a tail is chosen that no lane has")
	}

	s = newReady(2)
	s.TakeHolding(0, holding(7, 9))
	s.TakeHolding(1, holding(5, 9))
	s.choose(t, true)
	_, err = s.AskTail(s.membership, &s.out)
	expectError(t, err, "records from 3 on are needed, and lanes have kept those from 5 on")

	s = newReady(2)
	s.TakeHolding(0, holding(1, 2)) // it has nothing that is needed
	s.TakeHolding(1, holding(5, 9))
	s.choose(t, true)
	_, err = s.AskTail(s.membership, &s.out)
	expectError(t, err, "records from 3 on are needed, and lanes have kept those from 5 on")
	expect(t, s.sent())
}

// TestAdvance takes the steps of a takeover, each as soon as nothing is waited for: a lane is asked once for its tail,
// and the next when that has come.
func TestAdvance(t *testing.T) {
	s := newReady(2)
	advance := func(wantComplete bool, want ...string) {
		t.Helper()
		complete, err := s.Advance(s.membership, &s.out)
		require.NoError(t, err)
		if complete != wantComplete {
			t.Errorf("complete %v", complete)
		}
		expect(t, s.sent(), want...)
	}
	s.TakeHolding(0, holding(2, 4))
	advance(false)
	s.TakeHolding(1, holding(4, 6))
	advance(false, "lane 0 of node 1: query from 3, term 3")
	advance(false)
	s.take(t, 0, records(3, 3), false)
	advance(false)
	s.take(t, 0, records(4, 4), true)
	advance(false, "lane 0 of node 2: query from 5, term 3")
	advance(false)
	s.take(t, 1, records(5, 6), true)
	advance(true)

	s = newReady(7)
	s.TakeHolding(0, holding(1, 5))
	s.TakeHolding(1, holding(1, 6))
	_, err := s.Advance(s.membership, &s.out)
	expectError(t, err, "its controller was saved after record 7, and no lane has more than 6")
}

// TestExcusedLaneNeedsNoRecords excuses a lane that has not answered: the records that others lack are read, and no
// earlier ones for its sake.
func TestExcusedLaneNeedsNoRecords(t *testing.T) {
	s := newReady(3)
	s.TakeHolding(0, holding(1, 4))
	s.Excuse([]bellows.Control{s.membership.Route().RemoveLane(lanes[1], lanes[0])}, s.membership)
	s.choose(t, true)
	if s.Next() != 4 || s.UpTo() != 4 {
		t.Errorf("from %d to %d, want 4 to 4", s.Next(), s.UpTo())
	}
}

// TestFreshLane adds a lane that has not begun: it is neither behind nor asked.
func TestFreshLane(t *testing.T) {
	s := newReady(2)
	s.membership.Enrol(added)
	s.Ask(s.membership, true, &s.out)
	s.sent()
	s.TakeHolding(0, holding(1, 3))
	s.TakeHolding(1, holding(1, 2))
	s.choose(t, false)
	s.TakeHolding(2, holding(0, 0))
	s.choose(t, true)
	if !s.Fresh(2, s.membership) || s.Fresh(1, s.membership) || s.Next() != 3 {
		t.Errorf("from %d on", s.Next())
	}
	s.TakeHolding(0, holding(1, 0))
	if s.Fresh(0, s.membership) {
		t.Error("a lane with which the job began has begun")
	}
	s.TakeHolding(2, holding(3, 3))
	if s.Fresh(2, s.membership) {
		t.Error("a lane that has a record has begun")
	}
}

// TestLeftLaneNeedsNoRecords includes a lane that left before the state was saved.
func TestLeftLaneNeedsNoRecords(t *testing.T) {
	s := newReady(8)
	for ref := range s.membership.Route().Each() {
		require.NoError(t, s.membership.Change(s.membership.Route().MovePartition(ref, lanes[0])))
	}
	_, err := s.membership.RemoveActor(lanes[1])
	require.NoError(t, err)
	s.TakeHolding(0, holding(9, 9))
	s.TakeHolding(1, holding(1, 3))
	s.choose(t, true)
	if s.Next() != 9 {
		t.Errorf("from %d on", s.Next())
	}
}

// TestTheRemovedAreExcused excuses a lane and a client whose counts another lane has: they need not answer, and
// their node may be gone.
func TestTheRemovedAreExcused(t *testing.T) {
	s := newReady(0)
	s.TakeHolding(0, holding(1, 4))
	lane := s.membership.Route().RemoveLane(lanes[1], lanes[0])
	client := s.membership.Route().RemoveClient(2, lanes[0])
	s.Excuse([]bellows.Control{lane}, s.membership)
	if s.membership.HasLeft(2) {
		t.Error("the node has left, and its client takes part")
	}
	s.choose(t, true)
	s.Excuse([]bellows.Control{lane, client}, s.membership)
	if !s.membership.HasLeft(2) || s.membership.HasLeft(1) || len(s.Adopted()) != 2 {
		t.Errorf("adopted %+v", s.Adopted())
	}
	if s.Fresh(1, s.membership) {
		t.Error("a lane that has left begins")
	}
	s.CatchUp(1, s.membership, 9, &s.out)
	expect(t, s.sent())
	s.ask(t, false)
	s.take(t, 0, records(1, 4), true)
	s.CatchUp(1, s.membership, 9, &s.out)
	expect(t, s.sent()[1:])
}

// TestMayHaveLeft judges no node while a lane has not answered that may excuse it.
func TestMayHaveLeft(t *testing.T) {
	s := newSearch(0)
	may := func(n bellows.NodeID, want bool, when string) {
		t.Helper()
		if got := s.MayHaveLeft(n, s.membership); got != want {
			t.Errorf("node %d, %s: %v", n, when, got)
		}
	}
	may(3, true, "lanes can be heard")
	may(1, true, "the lane of node 2 can be heard")
	s.TakeHolding(1, holding(1, 0))
	may(1, false, "it has the only lane that has not answered")
	may(2, true, "the lane of node 1 can be heard")
	s.membership.Suspect(1, "silent", 0)
	may(3, true, "the lane of node 1 is due to be lost first")
	may(1, false, "it is due itself")
	s.TakeHolding(0, holding(1, 0))
	may(3, false, "all lanes have answered")

	s = newSearch(0)
	s.membership.Suspect(1, "silent", 0)
	s.membership.Suspect(2, "silent", 0)
	may(1, false, "two with lanes are silent")
	may(3, true, "and it has none")
}

// TestDecisionsWithoutRecordsAreHeard takes the job's end and fences from answers.
func TestDecisionsWithoutRecordsAreHeard(t *testing.T) {
	s := newSearch(0)
	s.Hear(holding(1, 0))
	if s.End() != nil || s.Fenced() != nil {
		t.Error("heard what nobody has said")
	}
	s.Hear(&wire.Holding{End: &wire.End{Reason: "first"}, Gone: []wire.Fence{{Node: 3}}})
	s.Hear(&wire.Holding{End: &wire.End{Reason: "second"}, Gone: []wire.Fence{{Node: 2}}})
	if s.End().Reason != "first" || !slices.Equal(s.Fenced(), []bellows.NodeID{3, 2}) {
		t.Errorf("end %+v, fenced %v", s.End(), s.Fenced())
	}
}

// TestADriverRepeatsItsRecords holds what a driver asks for against the records.
func TestADriverRepeatsItsRecords(t *testing.T) {
	s := newReady(0)
	s.TakeHolding(0, holding(1, 2))
	s.TakeHolding(1, holding(1, 2))
	s.choose(t, true)
	s.ask(t, false)
	s.take(t, 0, records(1, 2), true)
	if known, err := s.Repeats(2, keep); !known || err != nil {
		t.Errorf("known %v, %v", known, err)
	}
	if known, err := s.Repeats(2, bellows.Control{Kind: bellows.Drain}); !known || err == nil ||
		!strings.HasPrefix(err.Error(), "record 2 is ") {
		t.Errorf("known %v, %v", known, err)
	}
	if known, err := s.Repeats(3, keep); known || err != nil {
		t.Errorf("a record that there is not: known %v, %v", known, err)
	}
}

// TestLanesCatchUp sends a lane the records that it lacks, two records at a time.
func TestLanesCatchUp(t *testing.T) {
	s := newReady(0)
	s.TakeHolding(0, holding(1, 5))
	s.TakeHolding(1, holding(1, 1))
	s.choose(t, true)
	s.ask(t, false)
	s.take(t, 0, records(1, 5), true)
	s.sent()
	s.CatchUp(0, s.membership, 2, &s.out)
	expect(t, s.sent())
	s.CatchUp(1, s.membership, 2, &s.out)
	two := fmt.Sprintf("[2 of client 0, 0 results, control %d 3 of client 1, 1 results, control 0]", bellows.KeepTables)
	four := strings.NewReplacer("2 of", "4 of", "3 of", "5 of").Replace(two)
	expect(t, s.sent(), "lane 0 of node 2: records "+two+", term 3", "lane 0 of node 2: records "+four+", term 3")
	s.CatchUp(1, s.membership, 4, &s.out)
	if got := s.sent(); len(got) != 1 {
		t.Errorf("sent %q", got)
	}
}

// heldFlush returns a flush with two parts; a lane holds some of them.
func heldFlush(client, seq int, clock bellows.Clock, held ...wire.Pair) wire.HeldFlush {
	all := []wire.Pair{pair(0, 1), pair(1, 1)}
	return wire.HeldFlush{Flush: flush(client, seq), Clock: clock, Pairs: all, Held: held}
}

func pair(partition bellows.PartitionID, generation bellows.Generation) wire.Pair {
	return wire.Pair{Ref: bellows.PartitionRef{Partition: partition}, Generation: generation}
}

// TestWholeJoinsHeldParts joins the parts that lanes hold, in the order of clocks and clients.
func TestWholeJoinsHeldParts(t *testing.T) {
	s := newReady(0)
	done := func(f wire.HeldFlush) wire.HeldFlush {
		f.Done = []wire.Result{{Unit: bellows.Unit{Clock: f.Clock}, Values: []float64{7}}}
		return f
	}
	s.TakeHolding(0, &wire.Holding{Flushes: []wire.HeldFlush{
		done(heldFlush(2, 1, 5, pair(0, 1))),
		heldFlush(1, 2, 5, pair(0, 1)),
		done(heldFlush(1, 3, 5, pair(0, 1))),
		done(heldFlush(1, 9, 4, pair(0, 1), pair(1, 1))),
		done(heldFlush(3, 1, 5, pair(0, 1), pair(1, 1))),
		heldFlush(3, 2, 5, pair(0, 1), pair(1, 1)),
	}})
	s.TakeHolding(1, &wire.Holding{Flushes: []wire.HeldFlush{
		done(heldFlush(1, 2, 5, pair(1, 1))),
		heldFlush(2, 1, 5, pair(0, 2), pair(1, 3)),
		heldFlush(3, 1, 5, pair(1, 0)),
	}})
	var got []string
	for _, a := range s.Whole() {
		d := a.Done
		got = append(got, fmt.Sprintf("%v of %v, clock %d, %d parts, %v", d.Flush.Seq, a.From, d.Clock, len(d.Pairs),
			d.Results[0].Values))
		for _, p := range d.Pairs {
			got[len(got)-1] += fmt.Sprintf(" %d@%d", p.Ref.Partition, p.Generation)
		}
	}
	expect(t, got, "9 of node 1, clock 4, 2 parts, [7] 0@1 1@1", "2 of node 1, clock 5, 2 parts, [7] 0@1 1@1",
		"1 of node 2, clock 5, 2 parts, [7] 0@2 1@3", "1 of node 3, clock 5, 2 parts, [7] 0@1 1@1")
}

// TestWholeFlushesAreInOrder sorts flushes of one clock by client, incarnation and number.
func TestWholeFlushesAreInOrder(t *testing.T) {
	s := newReady(0)
	var list []wire.HeldFlush
	for _, f := range []bellows.FlushID{{Client: 1, Incarnation: 2, Seq: 1}, {Client: 1, Incarnation: 1, Seq: 3},
		{Client: 1, Incarnation: 1, Seq: 2}, {Client: 0, Incarnation: 9, Seq: 9}} {
		list = append(list, wire.HeldFlush{Flush: f, Done: []wire.Result{{}}})
	}
	s.TakeHolding(0, &wire.Holding{Flushes: list})
	s.TakeHolding(1, &wire.Holding{})
	var got []uint64
	for _, a := range s.Whole() {
		got = append(got, a.Done.Flush.Seq)
	}
	if !slices.Equal(got, []uint64{9, 2, 3, 1}) {
		t.Errorf("order %v", got)
	}
}

// TestMessagesAreKeptInOrder keeps messages of flushes while lanes are asked, up to a bound.
func TestMessagesAreKeptInOrder(t *testing.T) {
	s := newSearch(0)
	for seq := range takeover.KeptMax {
		if !s.Keep(journal.Arrival{Done: &wire.Done{Flush: flush(1, seq)}}) {
			t.Fatalf("message %d is refused", seq)
		}
	}
	if s.Keep(journal.Arrival{Done: &wire.Done{}}) {
		t.Error("there is no bound")
	}
	if kept := s.Kept(); kept[0].Done.Flush.Seq != 0 || kept[9].Done.Flush.Seq != 9 {
		t.Error("they are not in order")
	}
}
