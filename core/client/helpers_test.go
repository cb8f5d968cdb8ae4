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

// A desk is a client that a test drives, and what the client has said since that was last looked at.
type desk struct {
	*client.Client
	t     *testing.T
	fx    client.Effects
	tasks map[bellows.SplitID]*client.Task // the newest of each split
	pulls []*wire.Pull
	sent  []*wire.Push
}

// deskTables returns the tables of newDesk, of two partitions each: w (table 0) is BSP, f (table 1) is async.
func deskTables() []table.Schema {
	return []table.Schema{
		{Name: "w", Rows: 8, Width: 1, Partitions: 2},
		{Name: "f", Rows: 8, Width: 1, Partitions: 2, Consistency: table.Async},
	}
}

// newDesk returns the client of two splits on the tables w and f, and on more tables of the test's.
func newDesk(t *testing.T, more ...table.Schema) *desk {
	return newDeskWithin(t, client.Limits{}, more...)
}

// newDeskWithin returns newDesk for a client with limits of the test's.
func newDeskWithin(t *testing.T, limits client.Limits, more ...table.Schema) *desk {
	job := core.Job{Tables: append(deskTables(), more...)}
	job.Items = func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{End: 1} }
	return newDeskOf(t, job, client.Options{Limits: limits})
}

// newDeskOf returns a client of a job. A job without a route has two splits, which node 1 runs, and its tables on
// both lanes.
func newDeskOf(t *testing.T, job core.Job, o client.Options) *desk {
	job.Controller = controller
	if job.Route == nil {
		job.Route = route.Spread(job.Tables, 2, lanes, []bellows.NodeID{1})
	}
	return &desk{Client: client.New(job, self, o), t: t, tasks: map[bellows.SplitID]*client.Task{}}
}

// A delta is what a task adds to one row of a table whose rows have one value.
type delta struct {
	table bellows.TableID
	row   bellows.RowID
	value float32
}

// flushID returns the name of the client's flush of a number.
func flushID(seq uint64) bellows.FlushID {
	return bellows.FlushID{Client: 1, Incarnation: 1, Seq: seq}
}

// start dispatches tasks, and drops what the client says.
func (d *desk) start(clock bellows.Clock, commit bellows.CommitNumber, splits ...bellows.SplitID) {
	d.dispatch(clock, commit, splits...)
	d.said()
}

// end finishes the task of a split, and drops what the client says.
func (d *desk) end(s bellows.SplitID) {
	d.finish(s)
	d.said()
}

// run starts a task of split 0 in clock 0, and finishes it when it has added deltas.
func (d *desk) run(deltas ...delta) {
	d.start(0, 0, 0)
	for _, a := range deltas {
		d.tasks[0].AddRow(a.table, a.row, []float32{a.value})
	}
	d.finish(0)
}

// push works as run, drops the client's messages, and returns the name of the flush that has left.
func (d *desk) push(deltas ...delta) bellows.FlushID {
	d.run(deltas...)
	d.said()
	return d.sent[0].Flush
}

// miss lets the task of a split read rows that the client does not have.
func (d *desk) miss(s bellows.SplitID, tab bellows.TableID, first, end bellows.RowID) {
	d.t.Helper()
	if d.read(s, tab, first, end) {
		d.t.Fatalf("split %d reads rows [%d,%d) of table %d, which nobody has sent", s, first, end, tab)
	}
}

// ask works as miss, and drops the question that the client asks.
func (d *desk) ask(s bellows.SplitID, tab bellows.TableID, first, end bellows.RowID) {
	d.t.Helper()
	d.miss(s, tab, first, end)
	d.said()
}

// lease lets the task of a split ask for a lease that it does not have, and returns the request; nil: the client
// sends none yet.
func (d *desk) lease(s bellows.SplitID, ref bellows.PartitionRef, mode wire.Mode) *wire.Acquire {
	d.t.Helper()
	if has, err := d.Lease(d.tasks[s], ref, mode, &d.fx); has || err != nil {
		d.t.Fatalf("split %d has the lease: %v, %v", s, has, err)
	}
	if n := len(d.fx.Envelopes); n > 0 {
		m, _ := d.fx.Envelopes[n-1].Message.(*wire.Acquire)
		return m
	}
	return nil
}

// ticks tells the client the time every half second, drops what it says, and returns its notices.
func (d *desk) ticks(from, to int64) (notices []string) {
	for now := from; now <= to; now += 500 {
		d.Tick(now, &d.fx)
		notices = append(notices, d.fx.Notices...)
		d.said()
	}
	return notices
}

// expectWaits wants a number of flushes to be under way or without a commit.
func (d *desk) expectWaits(want int) {
	d.t.Helper()
	if w := d.Waits(); w.Pushes+w.Commits != want {
		d.t.Errorf("waits for %+v; want %d", w, want)
	}
}

// rows delivers rows of one partition that lane from has sent; request 0: unasked.
func (d *desk) rows(from wire.Address, request uint64, part wire.RowsPart) {
	d.deliver(from, &wire.Rows{Incarnation: 1, Request: request, Parts: []wire.RowsPart{part}})
}

func committed(list ...wire.Commitment) *wire.Committed { return &wire.Committed{List: list} }

// said returns what the client has done since the last call, one line each.
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

// laneAdded takes part while the job runs.
var laneAdded = wire.LaneAt(2, 0)

// roads are the routes of a job, each made from the previous one.
type roads struct {
	*route.Route
	d *desk
}

func newRoads(d *desk) *roads {
	return &roads{route.Spread(deskTables(), 2, lanes, []bellows.NodeID{1}), d}
}

// announce delivers the controller's route with some changes to the client.
func (r *roads) announce(changes ...func() bellows.Control) {
	var list []bellows.Control
	for _, c := range changes {
		list = append(list, r.next(c()))
	}
	r.d.deliver(controller, &wire.Route{Version: r.Version(), Changes: list})
}

func (r *roads) next(c bellows.Control) bellows.Control {
	n, err := r.Next(c)
	if err != nil {
		panic(err)
	}
	r.Route = n
	return c
}

func (r *roads) addLane() bellows.Control { return r.AddLane(laneAdded) }

func (r *roads) move(t bellows.TableID, p bellows.PartitionID, to wire.Address) func() bellows.Control {
	return func() bellows.Control { return r.MovePartition(bellows.PartitionRef{Table: t, Partition: p}, to) }
}

func pairAt(t bellows.TableID, p bellows.PartitionID, g bellows.Generation) wire.Pair {
	return wire.Pair{Ref: bellows.PartitionRef{Table: t, Partition: p}, Generation: g}
}
