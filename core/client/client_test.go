package client_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core"
	"bellows/core/client"
	"bellows/core/route"
	"bellows/link/wire"
	"bellows/table"
)

var (
	self       = wire.Address{Node: 1}
	controller = wire.Address{Role: wire.Controller}
	lanes      = []wire.Address{{Role: wire.Lane}, {Role: wire.Lane, Index: 1}}
)

// desk is a client of two splits, on tables of two partitions: w is BSP, f is async, and more of the test's.
type desk struct {
	*client.Client
	t     *testing.T
	fx    client.Effects
	tasks map[bellows.SplitID]*client.Task
	pulls []*wire.Pull
	sent  []*wire.Push
}

func newDesk(t *testing.T, more ...table.Schema) *desk {
	return newDeskWithin(t, client.Limits{}, more...)
}

// newDeskWithin is newDesk for a client with limits of the test's.
func newDeskWithin(t *testing.T, limits client.Limits, more ...table.Schema) *desk {
	tables := []table.Schema{
		{Name: "w", Rows: 8, Width: 1, Partitions: 2},
		{Name: "f", Rows: 8, Width: 1, Partitions: 2, Consistency: table.Async},
	}
	tables = append(tables, more...)
	r := route.Spread(tables, 2, lanes, []bellows.NodeID{1})
	return &desk{Client: client.New(core.Job{Controller: controller, Tables: tables, Route: r, Items: func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{Begin: 0, End: 1} }},
		self, client.Options{Limits: limits}), t: t, tasks: map[bellows.SplitID]*client.Task{}}
}

// said is what the client has done since the last call, one line each.
func (d *desk) said() string {
	var lines []string
	for _, t := range d.fx.Run {
		d.tasks[t.Unit.Split] = t
		lines = append(lines, fmt.Sprintf("run %v", t.Unit))
	}
	for _, t := range d.fx.Wake {
		lines = append(lines, fmt.Sprintf("wake %v", t.Unit))
	}
	for _, e := range d.fx.Envelopes {
		lines = append(lines, fmt.Sprintf("%v: %s", e.To, d.describe(e.Message)))
	}
	d.fx.Reset()
	return strings.Join(lines, "\n")
}

func (d *desk) describe(m wire.Message) string {
	switch m := m.(type) {
	case *wire.Pull:
		d.pulls = append(d.pulls, m)
		s := "pull"
		for _, p := range m.Parts {
			s += fmt.Sprintf(" %v %v", p.Ref, p.Rows)
			if p.Keys != nil {
				s += fmt.Sprintf("keys %v", p.Keys)
			}
		}
		return s + fmt.Sprintf(" after commit %d clock %d", m.Need.Commit, m.Need.Clock)
	case *wire.Push:
		d.sent = append(d.sent, m)
		s := fmt.Sprintf("push %v", m.Flush)
		for _, c := range m.Chunks {
			s += fmt.Sprintf(" %v %v%v of splits %d<<%d", c.Ref, c.Rows, c.Values, c.Subtree.Index, c.Subtree.Level)
			if c.Keys != nil {
				s += fmt.Sprintf(" keys %v", c.Keys)
			}
		}
		if m.Done != nil {
			s += fmt.Sprintf(", done: %d results, %d pairs", len(m.Done.Results), len(m.Done.Pairs))
		}
		return s
	case *wire.Done:
		return fmt.Sprintf("done %v: %d results, %d pairs", m.Flush, len(m.Results), len(m.Pairs))
	case *wire.Failed:
		return "failed: " + m.Reason
	}
	return fmt.Sprintf("%T", m)
}

func (d *desk) expect(lines ...string) {
	d.t.Helper()
	if got, want := d.said(), strings.Join(lines, "\n"); got != want {
		d.t.Errorf("said:\n%s\nwant:\n%s", got, want)
	}
}

func (d *desk) dispatch(clock bellows.Clock, commit bellows.CommitNumber, splits ...bellows.SplitID) {
	m := wire.New[wire.Dispatch]()
	m.Commit = commit
	for _, s := range splits {
		m.Append(bellows.Unit{Split: s, Clock: clock, Items: bellows.Range{Begin: 0, End: 1}}, nil)
	}
	d.deliver(controller, m)
}

func (d *desk) deliver(from wire.Address, m wire.Message) {
	d.Deliver(wire.Envelope{From: from, To: self, Message: m}, &d.fx)
}

// answer answers the last pull with the same value in every row.
func (d *desk) answer(v float32, commit bellows.CommitNumber, complete bellows.Clock) {
	m := wire.New[wire.Rows]()
	m.Incarnation = 1
	q := d.pulls[len(d.pulls)-1]
	m.Request = q.Request
	for i := range q.Parts {
		p := m.Extend()
		p.Pair, p.Rows, p.Commit, p.Complete = q.Parts[i].Pair, q.Parts[i].Rows, commit, complete
		n := len(p.Rows)
		if p.Rows == nil {
			n = 4
		}
		for range n {
			p.Values = append(p.Values, v)
		}
	}
	d.deliver(lanes[0], m)
}

func (d *desk) finish(s bellows.SplitID) { d.Finish(d.tasks[s], []float64{1}, nil, &d.fx) }

func (d *desk) read(s bellows.SplitID, tab bellows.TableID, first, end bellows.RowID) bool {
	return d.Read(d.tasks[s], tab, first, end, &d.fx)
}

func TestTasksShareOneFetch(t *testing.T) {
	d := newDesk(t)
	d.dispatch(0, 0, 0, 1)
	d.expect("run split 0 clock 0 items [0,1)", "run split 1 clock 0 items [0,1)")
	if d.read(0, 0, 0, 4) || d.read(1, 0, 0, 4) {
		t.Fatal("rows out of nowhere")
	}
	d.expect("lane 0 of node 0: pull t0/p0 [] after commit 0 clock -1")
	d.answer(7, 0, -1)
	d.expect("wake split 0 clock 0 items [0,1)", "wake split 1 clock 0 items [0,1)")
	if !d.read(1, 0, 1, 3) || !slices.Equal(d.tasks[1].View(0, 1, 3), []float32{7, 7}) {
		t.Error("the rows are not in the cache")
	}
	d.expect("")
}

func TestPrefetchWaitsForNothing(t *testing.T) {
	d := newDesk(t)
	d.dispatch(0, 0, 0)
	d.said()
	d.Prefetch(d.tasks[0], 0, 0, 4, &d.fx)
	d.expect("lane 0 of node 0: pull t0/p0 [] after commit 0 clock -1")
	d.answer(3, 0, -1)
	d.expect("")
	if !d.read(0, 0, 0, 4) {
		t.Error("what was fetched ahead is not there")
	}
}

func TestAFlushOfTwoSplitsIsOneSubtree(t *testing.T) {
	d := newDesk(t)
	d.dispatch(0, 0, 0, 1)
	d.said()
	for s := range bellows.SplitID(2) {
		d.tasks[s].AddRow(0, 1, []float32{float32(s) + 1})
	}
	d.finish(1)
	d.expect("") // split 0 still runs
	d.finish(0)
	d.expect("lane 0 of node 0: push flush 1 of node 1 t0/p0 [1][3] of splits 0<<1, done: 2 results, 1 pairs")
	if d.Counts().Sent != 1 {
		t.Errorf("%d row deltas sent, want 1: they are counted after aggregation", d.Counts().Sent)
	}
}

// TestWhatLeavesTogetherLeavesInTheOrderOfClocks blocks two splits, each in its second task of a clock, that of the first being the later clock: what their
// first tasks have left leaves, since nothing else can run.
func TestWhatLeavesTogetherLeavesInTheOrderOfClocks(t *testing.T) {
	d := newDesk(t)
	for s, clock := range []bellows.Clock{5, 3} {
		for part := range 2 {
			m := wire.New[wire.Dispatch]()
			m.Append(bellows.Unit{Split: bellows.SplitID(s), Clock: clock, Items: bellows.Range{Begin: part, End: part + 1}}, nil)
			d.deliver(controller, m)
		}
	}
	d.said()
	for s := range bellows.SplitID(2) {
		d.tasks[s].AddRow(1, 0, []float32{1})
		d.finish(s)
	}
	d.said()
	d.read(0, 1, 0, 4)
	d.read(1, 1, 0, 4)
	d.said()
	if len(d.sent) != 2 || d.sent[0].Clock != 3 || d.sent[1].Clock != 5 {
		t.Errorf("%d flushes leave, the first of clock %d", len(d.sent), d.sent[0].Clock)
	}
}

// TestOnlyBarrierDeltasAreDeferrable wants the record of a flush to be waited for by nobody where all of its deltas are of BSP tables: not of others, and not
// where it ends a lease.
func TestOnlyBarrierDeltasAreDeferrable(t *testing.T) {
	for _, c := range []struct {
		leased     bool
		tables     []bellows.TableID
		deferrable bool
	}{{false, []bellows.TableID{0}, true}, {false, []bellows.TableID{0, 1}, false}, {true, []bellows.TableID{0}, false}, {true, nil, false}} {
		d := newDesk(t)
		d.dispatch(0, 0, 0)
		d.said()
		for _, tab := range c.tables {
			d.tasks[0].AddRow(tab, 0, []float32{1})
		}
		if ref := (bellows.PartitionRef{}); c.leased {
			if _, err := d.Lease(d.tasks[0], ref, wire.Exclusive, &d.fx); err != nil {
				t.Fatal(err)
			}
			d.deliver(lanes[0], &wire.Granted{Request: 1, Pair: wire.Pair{Ref: ref, Generation: 1}, Mode: wire.Exclusive, Values: make([]float32, 4)})
		}
		d.finish(0)
		d.said()
		if got := d.sent[0].Done.Deferrable; got != c.deferrable {
			t.Errorf("leased %v, deltas for tables %v: deferrable %v", c.leased, c.tables, got)
		}
	}
}

func TestAFullLaneStopsNewTasks(t *testing.T) {
	d := newDesk(t)
	d.dispatch(0, 0, 0)
	d.dispatch(1, 0, 0)
	d.said()
	d.tasks[0].AddRow(1, 0, []float32{1})
	d.finish(0)
	d.expect("run split 0 clock 1 items [0,1)", "lane 0 of node 0: push flush 1 of node 1 t1/p0 [0][1] of splits 0<<0, done: 1 results, 1 pairs")
	id := bellows.FlushID{Client: 1, Incarnation: 1, Seq: 1}
	d.deliver(lanes[0], &wire.Full{Flush: id})
	d.dispatch(0, 0, 1)
	d.expect("") // waits with the flush
	d.deliver(lanes[0], &wire.Room{Flush: id})
	d.expect("run split 1 clock 0 items [0,1)", "lane 0 of node 0: push flush 1 of node 1 t1/p0 [0][1] of splits 0<<0, done: 1 results, 1 pairs")
}

func TestOwnDeltasAreLaidOverUntilTheirCommit(t *testing.T) {
	d := newDesk(t)
	d.dispatch(0, 0, 0)
	d.dispatch(1, 0, 0)
	d.said()
	d.tasks[0].AddRow(1, 0, []float32{5})
	d.finish(0)
	d.said()
	d.read(0, 1, 0, 1)
	d.said()
	d.answer(10, 0, -1) // without the delta
	d.said()
	if v := d.tasks[0].View(1, 0, 1); v[0] != 15 {
		t.Errorf("sees %v, want 10 and its own 5", v)
	}
	d.finish(0)
	d.deliver(lanes[0], &wire.Held{Flush: bellows.FlushID{Client: 1, Incarnation: 1, Seq: 1}})
	d.deliver(lanes[0], committed(wire.Commitment{Flush: bellows.FlushID{Client: 1, Incarnation: 1, Seq: 1}, Commit: 1}))
	d.dispatch(2, 1, 0)
	d.said()
	if d.read(0, 1, 0, 1) {
		t.Fatal("a block of commit 0 was served after commit 1 was known")
	}
	d.said()
	d.answer(15, 1, -1) // with it
	if v := d.tasks[0].View(1, 0, 1); v[0] != 15 {
		t.Errorf("sees %v, want 15: its delta is in the rows", v)
	}
}

func TestAFailedTaskTellsTheController(t *testing.T) {
	d := newDesk(t)
	d.dispatch(0, 0, 0)
	d.said()
	d.tasks[0].AddRow(0, 1, []float32{1})
	d.Finish(d.tasks[0], nil, fmt.Errorf("no such item"), &d.fx)
	d.expect("the controller: failed: no such item")
}

func TestLongWaitsAreNamed(t *testing.T) {
	d := newDesk(t)
	d.dispatch(3, 2, 0)
	d.said()
	d.read(0, 0, 0, 4)
	d.said()
	var notices []string
	for now := int64(1000); now <= 6000; now += 500 {
		d.Tick(now, &d.fx)
		notices = append(notices, d.fx.Notices...)
		d.said()
	}
	if len(notices) != 1 || !strings.Contains(notices[0], "split 0 clock 3") || !strings.Contains(notices[0], "table w") ||
		!strings.Contains(notices[0], "after clock 2 of every split") {
		t.Errorf("notices %q", notices)
	}
}

// TestOfSeveralWaitsOneIsNamed has both splits wait for rows: one is named, and the other counted.
func TestOfSeveralWaitsOneIsNamed(t *testing.T) {
	d := newDesk(t)
	d.dispatch(3, 2, 0, 1)
	d.said()
	d.read(0, 0, 0, 4)
	d.read(1, 0, 4, 8)
	d.said()
	var notices []string
	for now := int64(1000); now <= 6000; now += 500 {
		d.Tick(now, &d.fx)
		notices = append(notices, d.fx.Notices...)
		d.said()
	}
	if len(notices) != 1 || !strings.HasPrefix(notices[0], "split 0 clock 3") || !strings.HasSuffix(notices[0], "; 1 other splits of node 1 wait too") {
		t.Errorf("notices %q", notices)
	}
}

// TestTheEndWakesWhoWaits ends a job while one task waits for rows and another computes: the first is woken, to learn of it, and the second ends by itself.
func TestTheEndWakesWhoWaits(t *testing.T) {
	d := newDesk(t)
	d.dispatch(0, 0, 0, 1)
	d.said()
	d.read(1, 0, 0, 4)
	d.said()
	d.deliver(controller, &wire.End{})
	if said := d.said(); strings.Contains(said, "wake split 0") || strings.Count(said, "wake split 1") != 1 {
		t.Errorf("said\n%s", said)
	}
}

// TestRowsOfSeveralPartitionsAreAskedOfEach reads rows of both partitions of a table: each lane is asked for its own, by their places there.
func TestRowsOfSeveralPartitionsAreAskedOfEach(t *testing.T) {
	d := newDesk(t, table.Schema{Name: "large", Rows: 200, Width: 1, Partitions: 2, Consistency: table.Async})
	d.dispatch(0, 0, 0)
	d.said()
	if d.ReadRows(d.tasks[0], 2, []bellows.RowID{1, 99, 100, 107}, &d.fx) {
		t.Fatal("rows out of nowhere")
	}
	d.expect("lane 0 of node 0: pull t2/p0 [1 99] after commit 0 clock -1", "lane 1 of node 0: pull t2/p1 [0 7] after commit 0 clock -1")
}

// TestReadsGoByTheStalenessOfNow makes a table with a barrier one without: the next read waits for no clock.
func TestReadsGoByTheStalenessOfNow(t *testing.T) {
	d := newDesk(t)
	d.deliver(controller, &wire.Staleness{Table: 0, Clocks: int32(table.Async)})
	d.dispatch(3, 2, 0)
	d.said()
	d.read(0, 0, 0, 4)
	d.expect("lane 0 of node 0: pull t0/p0 [] after commit 2 clock -1")
}

func TestALaneThatDoesNotHoldItsPartIsNamed(t *testing.T) {
	d := newDesk(t)
	d.dispatch(0, 0, 0)
	d.said()
	d.tasks[0].AddRow(0, 1, []float32{1})
	d.tasks[0].AddRow(0, 5, []float32{1})
	d.finish(0)
	d.said()
	id := bellows.FlushID{Client: 1, Incarnation: 1, Seq: 1}
	d.deliver(lanes[1], &wire.Held{Flush: id})
	d.deliver(lanes[1], &wire.Held{Flush: id}) // the same word again is no other lane's
	d.expect("")
	var notices []string
	for now := int64(500); now <= 6000; now += 500 {
		d.Tick(now, &d.fx)
		notices = append(notices, d.fx.Notices...)
		d.said()
	}
	if want := "flush 1 of node 1 has waited 2.5 s for lane 0 of node 0 to hold its part, and gives up after 600.0 s without a word of that lane"; !slices.Equal(notices, []string{want}) {
		t.Errorf("notices %q, want %q", notices, want)
	}
	d.deliver(lanes[0], &wire.Held{Flush: id})
	d.expect("the controller: done flush 1 of node 1: 1 results, 2 pairs")
}

// TestAQuestionOwnsItsRows asks again for rows that are cached in memory of a message's, which then gets another use.
func TestAQuestionOwnsItsRows(t *testing.T) {
	tables := []table.Schema{{Name: "f", Rows: 64, Width: 1, Consistency: table.Async}}
	r := route.Spread(tables, 2, lanes, []bellows.NodeID{1})
	d := &desk{Client: client.New(core.Job{Controller: controller, Tables: tables, Route: r}, self, client.Options{}), t: t,
		tasks: map[bellows.SplitID]*client.Task{}}
	borrowed := []uint32{5}
	for clock := range bellows.Clock(2) {
		d.dispatch(clock, bellows.CommitNumber(clock), 0)
		d.said()
		if d.read(0, 0, 5, 6) {
			t.Fatalf("clock %d is served from the cache", clock)
		}
		d.said()
		if clock == 1 {
			break
		}
		m := wire.New[wire.Rows]()
		m.Incarnation = 1
		m.Request = d.pulls[0].Request
		p := m.Extend()
		p.Pair, p.Rows, p.Values = d.pulls[0].Parts[0].Pair, borrowed, []float32{1}
		d.deliver(lanes[0], m)
		d.finish(0)
		d.said()
	}
	borrowed[0] = 63
	if got := d.pulls[1].Parts[0].Rows; !slices.Equal(got, []uint32{5}) {
		t.Errorf("the question asks for rows %v", got)
	}
}

func committed(list ...wire.Commitment) *wire.Committed { return &wire.Committed{List: list} }

// TestAUnitIsRunOnce dispatches units again, as another controller does that has not seen what became of them: while one runs, while one waits for its
// turn, and when one has been run.
func TestAUnitIsRunOnce(t *testing.T) {
	d := newDesk(t)
	d.dispatch(0, 0, 0)
	d.dispatch(1, 0, 0)
	d.expect("run split 0 clock 0 items [0,1)")
	d.dispatch(0, 0, 0)
	d.dispatch(1, 0, 0)
	d.finish(0)
	d.expect("run split 0 clock 1 items [0,1)", "lane 0 of node 0: push flush 1 of node 1, done: 1 results, 0 pairs")
	d.dispatch(0, 0, 0)
	d.dispatch(1, 0, 0)
	d.dispatch(2, 0, 0)
	d.finish(0)
	d.expect("run split 0 clock 2 items [0,1)", "lane 0 of node 0: push flush 2 of node 1, done: 1 results, 0 pairs")
}

// TestUnitsOfAClockAreRunOnce is TestAUnitIsRunOnce for a clock of two units, which follow each other.
func TestUnitsOfAClockAreRunOnce(t *testing.T) {
	d := newUnitDesk(t)
	d.dispatchUnits(0, 0, 2)
	d.dispatchUnits(0, 1, 2)
	d.expect("run split 0 clock 0 items [0,1)")
	d.dispatchUnits(0, 0, 2)
	d.finish(0)
	d.dispatchUnits(0, 0, 2)
	d.expect("run split 0 clock 0 items [1,2)")
	d.finish(0)
	d.expect("run split 0 clock 1 items [0,1)", "lane 0 of node 0: push flush 1 of node 1, done: 2 results, 0 pairs")
}

// TestAFlushOfNothingIsHeld ends a task that changes nothing: a lane holds what it signalled, and the flush is over when it has its number.
func TestAFlushOfNothingIsHeld(t *testing.T) {
	d := newDesk(t)
	d.dispatch(0, 0, 0)
	d.said()
	d.finish(0)
	d.expect("lane 0 of node 0: push flush 1 of node 1, done: 1 results, 0 pairs")
	if got := d.Waits().Pushes; got != 1 {
		t.Errorf("%d flushes are under way", got)
	}
	m := wire.New[wire.Committed]()
	m.Append(wire.Commitment{Flush: d.sent[0].Flush, Commit: 1})
	d.deliver(lanes[0], m)
	if got := d.Waits(); got.Pushes+got.Commits != 0 {
		t.Errorf("when it is recorded, %+v is waited for", got)
	}
	d.expect()
}

// TestTheFirstLaneKeepsWhatAFlushHasFinished changes partitions of two lanes: the first push has the results.
func TestTheFirstLaneKeepsWhatAFlushHasFinished(t *testing.T) {
	d := newDesk(t)
	d.dispatch(0, 0, 0)
	d.said()
	d.tasks[0].AddRow(1, 0, []float32{1})
	d.tasks[0].AddRow(1, 7, []float32{2})
	d.finish(0)
	d.expect("lane 0 of node 0: push flush 1 of node 1 t1/p0 [0][1] of splits 0<<0, done: 1 results, 2 pairs",
		"lane 1 of node 0: push flush 1 of node 1 t1/p1 [3][2] of splits 0<<0")
	for _, at := range lanes {
		d.deliver(at, &wire.Held{Flush: d.sent[0].Flush})
	}
	d.expect("the controller: done flush 1 of node 1: 1 results, 2 pairs")
}

// TestAFlushCountsBeforeItsClientSaysSo has another controller ask the lanes what they hold, so that a flush gets its number before its client knows
// that all parts of it are held. The client says nothing more of it.
func TestAFlushCountsBeforeItsClientSaysSo(t *testing.T) {
	d := newDesk(t)
	d.dispatch(0, 0, 0)
	d.said()
	d.tasks[0].AddRow(1, 0, []float32{1})
	d.tasks[0].AddRow(1, 7, []float32{2})
	d.finish(0)
	d.said()
	id := d.sent[0].Flush
	commit := func(at wire.Address) {
		m := wire.New[wire.Committed]()
		m.Append(wire.Commitment{Flush: id, Commit: 1})
		d.deliver(at, m)
	}
	d.deliver(lanes[0], &wire.Held{Flush: id})
	commit(lanes[0])
	d.deliver(lanes[1], &wire.Held{Flush: id})
	commit(lanes[1])
	d.expect()
	if got := d.Waits(); got.Pushes+got.Commits != 0 {
		t.Errorf("%+v is waited for", got)
	}
}

// recall asks for what is not begun of a split, and says what the client then has: the last clock that it keeps.
func (d *desk) recall(s bellows.SplitID) (kept bellows.Clock) {
	d.t.Helper()
	d.deliver(controller, &wire.Recall{Term: 1, Split: s})
	for i, e := range d.fx.Envelopes {
		if m, is := e.Message.(*wire.Recalled); is && m.Split == s && m.Term == 1 && e.To == controller {
			d.fx.Envelopes = slices.Delete(d.fx.Envelopes, i, i+1)
			return m.Clock
		}
	}
	d.t.Fatal("a recall has no answer")
	return 0
}

// TestWhatIsNotBegunIsGivenBack recalls a split of which one unit runs and two wait: these may be dispatched again. What another split has finished of their clock waits for them no longer.
func TestWhatIsNotBegunIsGivenBack(t *testing.T) {
	d := newDesk(t)
	d.dispatch(0, 0, 0)
	d.dispatch(1, 0, 0, 1)
	d.dispatch(2, 0, 0)
	d.expect("run split 0 clock 0 items [0,1)", "run split 1 clock 1 items [0,1)")
	d.finish(1)
	d.expect()
	if kept := d.recall(0); kept != 0 {
		t.Errorf("it keeps clocks up to %d", kept)
	}
	d.expect("lane 0 of node 0: push flush 1 of node 1, done: 1 results, 0 pairs")
	d.dispatch(0, 0, 0) // is known
	d.finish(0)
	d.expect("lane 0 of node 0: push flush 2 of node 1, done: 1 results, 0 pairs")
	if kept := d.recall(0); kept != 0 {
		t.Errorf("when nothing waits it has clocks up to %d", kept)
	}
	d.dispatch(1, 0, 0)
	d.expect("run split 0 clock 1 items [0,1)")
}

// TestAClockThatIsBegunIsKept recalls a split between two units of a clock, and before the first.
func TestAClockThatIsBegunIsKept(t *testing.T) {
	d := newUnitDesk(t)
	d.dispatchUnits(0, 0, 2)
	d.dispatchUnits(0, 1, 2)
	d.dispatchUnits(0, 2, 2)
	d.expect("run split 0 clock 0 items [0,1)")
	if kept := d.recall(0); kept != 0 {
		t.Errorf("it keeps clocks up to %d", kept)
	}
	d.dispatchUnits(0, 0, 2) // is known
	d.finish(0)
	d.expect("run split 0 clock 0 items [1,2)")
	d.finish(0)
	d.expect("lane 0 of node 0: push flush 1 of node 1, done: 2 results, 0 pairs")
}
