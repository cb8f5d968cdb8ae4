package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core/server"
	"bellows/link/wire"
	"bellows/table"
)

// holds asks the lane what it holds, and for its records from a number on; 0: for none. It returns those, by number.
func (s *script) holds(term bellows.Term, from bellows.CommitNumber) (*wire.Holding, []bellows.CommitNumber) {
	s.t.Helper()
	s.lane.Step([]wire.Envelope{{From: controller, To: laneAt, Message: &wire.Query{Term: term, From: from}}}, &s.out)
	if len(s.out.Envelopes) == 0 {
		return nil, nil
	}
	h := s.out.Envelopes[0].Message.(*wire.Holding)
	var numbers []bellows.CommitNumber
	for _, e := range s.out.Envelopes[1:] {
		m := e.Message.(*wire.Records)
		for i := range m.List {
			numbers = append(numbers, m.List[i].Number)
		}
		wire.Free(m)
	}
	s.out.Envelopes = s.out.Envelopes[:0]
	return h, numbers
}

// controls gives the lane one message of n records, of control, and says which it must keep.
func (s *script) controls(term bellows.Term, n int, keep bellows.CommitNumber) {
	m := wire.New[wire.Records]()
	m.Term, m.Keep = term, keep
	for i := range n {
		m.AppendControl(s.lane.Applied()+bellows.CommitNumber(1+i), bellows.Control{Kind: bellows.KeepTables})
	}
	s.send(controller, fmt.Sprintf("%d records", n), m)
}

// TestALaneKeepsItsRecords gives them back from a number on, until the controller lets them go.
func TestALaneKeepsItsRecords(t *testing.T) {
	s := newScript(t, 0)
	if h, _ := s.holds(1, 1); h.Last != 0 || h.Tail != 1 {
		t.Errorf("of nothing it has %d, and kept those from %d on", h.Last, h.Tail)
	}
	for _, n := range []int{1, 2, 1, 3} {
		s.controls(1, n, 0)
	}
	for _, c := range []struct {
		from bellows.CommitNumber
		want []bellows.CommitNumber
	}{{0, nil}, {1, []bellows.CommitNumber{1, 2, 3, 4, 5, 6, 7}}, {3, []bellows.CommitNumber{3, 4, 5, 6, 7}}, {7, []bellows.CommitNumber{7}}, {8, nil}} {
		if h, got := s.holds(1, c.from); h.Last != 7 || h.Tail != 1 || !slices.Equal(got, c.want) {
			t.Errorf("from %d on: last %d, tail from %d, records %v; want %v", c.from, h.Last, h.Tail, got, c.want)
		}
	}
	for _, c := range []struct{ keep, tail bellows.CommitNumber }{{3, 3}, {4, 4}, {2, 4}, {11, 11}, {99, 13}} {
		s.controls(1, 1, c.keep)
		if h, _ := s.holds(1, 0); h.Tail != c.tail {
			t.Errorf("told to keep those from %d on, it keeps those from %d on; want %d", c.keep, h.Tail, c.tail)
		}
	}
}

// TestTheTailIsBounded lets a lane with little memory keep the newest records, however often the ring goes round.
func TestTheTailIsBounded(t *testing.T) {
	one := table.Schema{Name: "free", Rows: 4, Width: 1, Consistency: table.Async}
	s := newScriptOf(t, jobOf(one), laneAt, server.Options{Limits: server.Limits{Tail: 4 << 10}})
	var room bellows.CommitNumber
	for n := bellows.CommitNumber(1); n <= 400; n++ {
		s.controls(0, 1, 0)
		h, got := s.holds(1, 1)
		if room == 0 && h.Tail > 1 {
			room = n - 1
		}
		want := bellows.CommitNumber(1)
		if room > 0 {
			want = n - room + 1
		}
		if h.Last != n || h.Tail != want || len(got) != int(n-want+1) || got[0] != want || got[len(got)-1] != n {
			t.Fatalf("after record %d it has kept %v, from %d on; it has memory for %d", n, got, h.Tail, room)
		}
	}
	if room < 20 || room > 4<<10/16 {
		t.Errorf("in 4 KiB it has kept %d records", room)
	}
	s.controls(0, 500, 0)
	if h, got := s.holds(1, 1); h.Last != 900 || h.Tail != 901-room || len(got) != int(room) {
		t.Errorf("of a message that is larger it has kept %v, from %d on; it has memory for %d", got, h.Tail, room)
	}
}

// TestALaneMayKeepNothing: with a negative limit it says that it has none of the records.
func TestALaneMayKeepNothing(t *testing.T) {
	s := newScriptOf(t, jobOf(), laneAt, server.Options{Limits: server.Limits{Tail: -1}})
	s.controls(0, 9, 0)
	if h, got := s.holds(1, 1); h.Last != 9 || h.Tail != 10 || got != nil {
		t.Errorf("of 9 records it has kept %v, from %d on", got, h.Tail)
	}
}

// TestALaneSaysWhatItHolds holds a flush that came in two pushes, whose other parts are elsewhere, a whole one, and
// an empty one, and has had another that was recorded.
func TestALaneSaysWhatItHolds(t *testing.T) {
	s := newScript(t, 0)
	s.push(1, 1, 0, ref(1, 0), 1)
	s.record(1, 1, 1, 0)
	s.controls(1, 1, 0)
	s.push(2, 1, 0, ref(1, 1), 1)
	id := bellows.FlushID{Client: 1, Incarnation: 1, Seq: 2}
	elsewhere := wire.Pair{Ref: bellows.PartitionRef{Table: 0, Partition: 1}, Generation: 9}
	all := []wire.Pair{ref(1, 0), ref(1, 1), elsewhere}
	unit := bellows.Unit{Clock: 1, Items: bellows.Range{End: 1}}
	for i, p := range all[:2] {
		m := wire.New[wire.Push]()
		m.Flush, m.Clock, m.Again, m.Pairs = id, 1, i > 0, append(m.Pairs, all...)
		m.Chunks = append(m.Chunks, wire.Chunk{Pair: p, Rows: []uint32{0}, Values: []float32{1}})
		if i == 0 {
			m.Done = wire.New[wire.Done]()
			m.Done.Append(unit, []float64{0.5})
		}
		s.send(clients[0], "part of a flush", m)
	}
	m := wire.New[wire.Push]()
	m.Flush, m.Clock = bellows.FlushID{Client: 1, Incarnation: 1, Seq: 3}, 2
	m.Done = wire.New[wire.Done]()
	m.Done.Flush = m.Flush
	s.send(clients[0], "flush of nothing", m)
	if !strings.HasSuffix(s.text.String(), "done flush 3 of node 1\n") {
		t.Error("a flush of nothing is not passed on")
	}
	h, _ := s.holds(1, 0)
	want := []string{
		"{flush 1 of node 2 0 [{t1/p1 1}] [{t1/p1 1}] [] []}",
		"{flush 2 of node 1 1 [{t1/p0 1} {t1/p1 1}] [{t1/p0 1} {t1/p1 1} {t0/p1 9}] [{split 0 clock 1 items [0,1) [0.5]}] []}",
		"{flush 3 of node 1 2 [] [] [] []}"}
	for i := range max(len(want), len(h.Flushes)) {
		if i >= len(want) || i >= len(h.Flushes) || fmt.Sprint(h.Flushes[i]) != want[i] {
			t.Fatalf("it holds %v; want %v", h.Flushes, want)
		}
	}
	if got, want := fmt.Sprint(h.Owned), "[{{t0/p0 1} 2} {{t0/p1 1} 2} {{t1/p0 1} 2} {{t1/p1 1} 2}]"; got != want {
		t.Errorf("its partitions are at %s; want %s", got, want)
	}
	s.record(3, 2, 1, 0)
	if h, _ := s.holds(1, 0); fmt.Sprint(h.Owned) != "[{{t0/p0 1} 2} {{t0/p1 1} 2} {{t1/p0 1} 2} {{t1/p1 1} 3}]" || len(h.Flushes) != 2 || h.Last != 3 {
		t.Errorf("after record 3 it holds %v, its partitions are at %v", h.Flushes, h.Owned)
	}
}

// TestAPromiseShutsOutLowerTerms asks in a higher term: what the controller before says is not heard any more, nor what it asks.
func TestAPromiseShutsOutLowerTerms(t *testing.T) {
	s := newScript(t, 0)
	s.controls(1, 1, 0)
	if h, _ := s.holds(3, 0); h.Term != 3 || h.Last != 1 {
		t.Errorf("promised %d at record %d", h.Term, h.Last)
	}
	s.controls(1, 1, 0)
	s.controls(2, 1, 0)
	if h, _ := s.holds(2, 0); h != nil {
		t.Errorf("a controller of the past is told %+v", h)
	}
	if got := s.lane.Applied(); got != 1 || s.lane.Refused() != 3 {
		t.Errorf("it is at record %d, and has refused %d words", got, s.lane.Refused())
	}
	s.controls(3, 1, 0)
	if h, got := s.holds(3, 1); h.Last != 2 || !slices.Equal(got, []bellows.CommitNumber{1, 2}) {
		t.Errorf("at record %d, with %v", h.Last, got)
	}
}

// TestAFenceIsOfAProcess fences the first process of a node: the second is heard, its flushes count, and what it reads and leases comes.
func TestAFenceIsOfAProcess(t *testing.T) {
	s := newScript(t, 0)
	s.subscribe(1, ref(1, 0))
	s.send(controller, "fence node 1", &wire.Fence{Term: 1, Node: 1, Incarnation: 1})
	if got := s.said(clients[0], lifePush(1, ref(1, 0), 5)); got != "" {
		t.Errorf("a push of the process that is gone: %q", got)
	}
	if got := s.said(clients[0], lifePush(2, ref(1, 0), 5)); got != "to node 1: held flush 1 of node 1, incarnation 2" {
		t.Errorf("a push of the next: %q", got)
	}
	s.send(controller, "fence node 1 again", &wire.Fence{Term: 1, Node: 1, Incarnation: 1})
	if h, _ := s.holds(1, 0); len(h.Flushes) != 1 {
		t.Errorf("after the fence was told again it holds %v", h.Flushes)
	}
	s.acquire(1, ref(1, 1), wire.Shared)
	if !strings.Contains(s.text.String(), "granted t1/p1 [0 0]") {
		t.Error(s.text.String())
	}
	s.send(controller, "fence its second process", &wire.Fence{Term: 1, Node: 1, Incarnation: 2})
	if h, _ := s.holds(1, 0); len(h.Flushes) != 0 {
		t.Errorf("it still holds %v", h.Flushes)
	}
}

// TestANewProcessHasItsOwnCredit lets a process of a node ask and not read, until it is answered no more. The next one of the node is, and what the first has read
// after all is not its credit.
func TestANewProcessHasItsOwnCredit(t *testing.T) {
	one := table.Schema{Name: "free", Rows: 64, Width: 1, Consistency: table.Async, Partitions: 1}
	s := newScriptOf(t, jobOf(one), laneAt, server.Options{Limits: server.Limits{Unread: 80}})
	var marks []*wire.Mark
	asks := func(incarnation uint32) (answers int) {
		for range 4 {
			m := wire.New[wire.Pull]()
			m.Incarnation, m.Request, m.Need, m.Parts = incarnation, 1, wire.Need{Clock: bellows.NoClock}, append(m.Parts, wire.PullPart{Pair: ref(0, 0)})
			s.lane.Step([]wire.Envelope{{From: clients[0], To: laneAt, Message: m}}, &s.out)
		}
		for _, e := range s.out.Envelopes {
			switch m := e.Message.(type) {
			case *wire.Rows:
				if m.Incarnation == incarnation {
					answers++
				}
			case *wire.Mark:
				marks = append(marks, m)
			}
		}
		s.out.Envelopes = s.out.Envelopes[:0]
		return answers
	}
	if got := asks(1); got != 2 || len(marks) == 0 {
		t.Fatalf("the first process gets %d answers and %d marks", got, len(marks))
	}
	first := marks
	if got := asks(2); got == 0 {
		t.Errorf("the second process gets %d answers", got)
	}
	for _, m := range first {
		s.lane.Step([]wire.Envelope{{From: clients[0], To: laneAt, Message: m}}, &s.out)
	}
	if len(s.out.Envelopes) > 0 {
		t.Error("what the first process has read is the credit of the second")
	}
}

// TestALaneSaysWhoWasAdded takes records that add a lane and a client, and reports that to each controller. A lane
// that was added and has not begun knows of no added actor, itself included.
func TestALaneSaysWhoWasAdded(t *testing.T) {
	s := newScript(t, 0)
	r := firstRoads(routeTables)
	if h, _ := s.holds(1, 0); len(h.Added) > 0 {
		t.Errorf("at the beginning it says %+v", h.Added)
	}
	s.change(1, r.next(r.AddLane(addedLane)))
	s.change(2, r.next(r.AddClient(addedClient.Node)))
	h, _ := s.holds(1, 0)
	if len(h.Added) != 2 || h.Added[0].Kind != bellows.AddLane || h.Added[0].Node != addedLane.Node || h.Added[1].Kind != bellows.AddClient || h.Added[1].Node != addedClient.Node {
		t.Errorf("it says %+v", h.Added)
	}
	s, r = beginner(t)
	if h, _ := s.holds(1, 0); h.Last != 0 || len(h.Added) > 0 {
		t.Errorf("before it has begun it says %+v", h)
	}
	r.next(r.AddLane(addedLane))
	s.send(controller, "begin behind record 17", r.begin(17, 2, 1))
	if h, _ := s.holds(1, 0); h.Last != 17 || h.Tail != 18 || len(h.Added) != 1 {
		t.Errorf("when it has begun it says %+v", h)
	}
}

// TestALaneRemembersTheEnd sends a lane the lost nodes and the end of the job. It reports these to a controller that
// follows, and its final counts, once to each controller. Pushes of the lost nodes that come meanwhile are no part of
// that.
func TestALaneRemembersTheEnd(t *testing.T) {
	s := newScript(t, 0)
	s.push(1, 1, 0, ref(1, 0), 1)
	if h, _ := s.holds(1, 0); h.End != nil || len(h.Gone) > 0 {
		t.Errorf("before it is over it says %+v", h)
	}
	s.send(controller, "fence node 2", &wire.Fence{Term: 1, Node: 2, Incarnation: 1})
	end := func(term bellows.Term) {
		s.send(controller, "the job is over", &wire.End{Term: term, Commit: 0, Reason: "lost", Kind: bellows.Lost, Gone: []bellows.NodeID{1, 2}})
	}
	end(1)
	words := func() int { return strings.Count(s.text.String(), "closed: ") }
	h, _ := s.holds(2, 0)
	if fmt.Sprint(h.Gone) != "[{0 2 1}]" || h.End == nil || h.End.Reason != "lost" || h.End.Kind != bellows.Lost || words() != 1 {
		t.Fatalf("it says %+v after %d last words", h, words())
	}
	s.push(2, 1, 0, ref(1, 0), 1)
	end(1) // in vain
	end(2)
	end(2)
	lines := strings.Split(s.text.String(), "\n")
	var said []string
	for _, line := range lines {
		if strings.Contains(line, "closed: ") {
			said = append(said, line)
		}
	}
	if len(said) != 2 || said[0] != said[1] {
		t.Errorf("last words %q", said)
	}
}

// TestALaneComplainsToEachController sends a lane an invalid message: it also complains to a controller that follows.
func TestALaneComplainsToEachController(t *testing.T) {
	s := newScript(t, 0)
	s.record(7, 1, 1, 0)
	var out wire.Outbox
	s.lane.Step([]wire.Envelope{{From: controller, To: laneAt, Message: &wire.Query{Term: 2}}}, &out)
	if m, ok := out.Envelopes[1].Message.(*wire.Complaint); !ok || !m.Breach || !strings.Contains(m.Reason, "record 7 after 0") {
		t.Errorf("said %+v", out.Envelopes)
	}
}
