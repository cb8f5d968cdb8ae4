package flush_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"bellows"
	"bellows/core/delta"
	"bellows/core/flush"
	"bellows/core/route"
	"bellows/link/wire"
	"bellows/table"
	"bellows/vec"
)

var (
	self       = wire.Address{Node: 1}
	controller = wire.Address{Role: wire.Controller}
	lanes      = []wire.Address{{Role: wire.Lane}, {Role: wire.Lane, Index: 1}}
)

// A bench is a coordinator that a test drives, and what it has sent. Partition p of each table belongs to lane p.
type bench struct {
	*flush.Coordinator
	t      *testing.T
	tables []table.Schema
	route  *route.Route
	pools  *delta.Pools
	out    wire.Outbox
	fx     flush.Effects
	sent   []*wire.Push
	kept   []*delta.Bundle // of all works
}

// twoTables returns the tables of most tests, of two partitions with four rows each: w (table 0) is BSP, f (table 1)
// async.
func twoTables() []table.Schema {
	return []table.Schema{
		{Name: "w", Rows: 8, Width: 1, Partitions: 2},
		{Name: "f", Rows: 8, Width: 1, Partitions: 2, Consistency: table.Async},
	}
}

// newBench returns a coordinator of node 1, which runs all splits of a job.
func newBench(t *testing.T, tables []table.Schema, splits int, l flush.Limits) *bench {
	return newBenchAt(t, tables, splits, l, 1, vec.Float32)
}

// newBenchAt returns a bench, as newBench does, for a process of the node, and a format in which deltas travel.
func newBenchAt(t *testing.T, tables []table.Schema, splits int, l flush.Limits, process uint32, f vec.Format) *bench {
	r := route.Spread(tables, splits, lanes, []bellows.NodeID{1})
	b := &bench{t: t, tables: tables, route: r, pools: delta.NewPools(r.Partitions(), 0)}
	o := flush.Options{Self: self, Controller: controller, Process: process, Pools: b.pools, Limits: l}
	b.Coordinator = flush.New(r, tables, o)
	for _, a := range lanes {
		b.AddLane(a)
	}
	for ref := range r.Each() {
		n := r.Number(ref)
		s := &tables[ref.Table]
		b.pools.Describe(n, s, s.Rows/max(1, s.Partitions), 0)
		b.SetOwner(n, int(r.Owner(ref).Lane.Index), 1, f)
	}
	b.fx.Outbox = &b.out
	return b
}

// row adds to one row of a table.
type row struct {
	table bellows.TableID
	row   int
	value float32
}

// dispatch notes that units of a clock are to run here.
func (b *bench) dispatch(clock bellows.Clock, units int) {
	for range units {
		b.Dispatched(clock)
	}
}

// work adds the work of a task that changes rows, and ends leases, of a split in a clock.
func (b *bench) work(s bellows.SplitID, clock bellows.Clock, rows []row, leases ...flush.Lease) {
	barrier, stream := b.pools.NewSet(), b.pools.NewSet()
	for _, r := range rows {
		ref := bellows.PartitionRef{Table: r.table, Partition: bellows.PartitionID(r.row / 4)}
		to, n := &barrier, b.route.Number(ref)
		if b.tables[r.table].Consistency != table.BSP {
			to = &stream
		}
		to.Buffer(n).AddRow(r.row%4, []float32{r.value})
	}
	b.Finished(clock)
	u := bellows.Unit{Split: s, Clock: clock, Items: bellows.Range{End: 1}}
	w := flush.Work{Unit: u, Clock: u.Items, Result: []float64{1}, Summed: true, Barrier: &barrier, Leases: leases}
	if len(stream.Touched()) > 0 {
		w.Stream = b.pools.Bundle(&stream)
		w.Stream.Keep()
		b.kept = append(b.kept, w.Stream)
	}
	b.Add(&w, b.route, &b.fx)
}

// push lets split 0 change rows in clock 0 and the flush leave, and drops what the coordinator says.
func (b *bench) push(rows ...row) {
	b.dispatch(0, 1)
	b.work(0, 0, rows)
	b.leave(false)
	b.said()
}

func (b *bench) leave(idle bool) { b.Leave(idle, b.route, &b.fx) }

// move lets the route say that the lane of a partition is another.
func (b *bench) move(t bellows.TableID, p bellows.PartitionID, lane int) {
	ref := bellows.PartitionRef{Table: t, Partition: p}
	b.next(b.route.MovePartition(ref, lanes[lane]))
	b.SetOwner(b.route.Number(ref), lane, b.route.Owner(ref).Generation, 0)
}

// next lets the route change.
func (b *bench) next(c bellows.Control) {
	next, err := b.route.Next(c)
	if err != nil {
		b.t.Fatal(err)
	}
	b.route = next
}

// lease returns a lease on a partition whose slab has these values.
func (b *bench) lease(t bellows.TableID, p bellows.PartitionID, copied int, values ...float32) flush.Lease {
	ref := bellows.PartitionRef{Table: t, Partition: p}
	g := wire.New[wire.Granted]()
	g.Pair, g.Values = wire.Pair{Ref: ref, Generation: 1}, values
	return flush.Lease{Reader: uint64(t) + 7, Number: b.route.Number(ref), Copied: copied, Granted: g}
}

func (b *bench) no(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Error(err)
	}
}

func (b *bench) held(lane int, seq uint64, pairs ...wire.Pair) {
	b.t.Helper()
	b.no(b.TakeHeld(&wire.Held{Flush: id(seq), Pairs: pairs}, lanes[lane], &b.fx))
}

func (b *bench) fullAt(lane int, seq uint64, pairs ...wire.Pair) {
	b.t.Helper()
	b.no(b.TakeFull(&wire.Full{Flush: id(seq), Pairs: pairs}, lanes[lane], &b.fx))
}

// room lets a lane say that it has room, and reports how often parts became stale instead.
func (b *bench) room(lane int, seq uint64, pairs ...wire.Pair) (stale int) {
	b.t.Helper()
	again, err := b.TakeRoom(&wire.Room{Flush: id(seq), Pairs: pairs}, lanes[lane])
	b.no(err)
	for !again.Empty() && b.Resend(&again, b.route, &b.fx) {
		stale++
		b.PushAgain(b.route, &b.fx)
	}
	return stale
}

func (b *bench) commit(lane int, seq uint64, n bellows.CommitNumber, waiting bool, pairs ...wire.Pair) {
	b.t.Helper()
	m := &wire.Commitment{Flush: id(seq), Commit: n, Waiting: waiting, Pairs: pairs}
	b.no(b.TakeCommitted(m, lanes[lane], &b.fx))
}

func (b *bench) stale(from wire.Address, seq uint64, until bellows.RouteVersion, pairs ...wire.Pair) {
	b.t.Helper()
	b.no(b.TakeStale(&wire.Stale{Flush: id(seq), Pairs: pairs, Route: until}, from, &b.fx))
}

func id(seq uint64) bellows.FlushID { return bellows.FlushID{Client: 1, Incarnation: 1, Seq: seq} }

func pair(t bellows.TableID, p bellows.PartitionID, g bellows.Generation) wire.Pair {
	return wire.Pair{Ref: bellows.PartitionRef{Table: t, Partition: p}, Generation: g}
}

// counts wants numbers of flushes under way, of those that are preparing, and of parts for which there is no room.
func (b *bench) counts(open, preparing, full int) {
	b.t.Helper()
	if b.Open() != open || b.Preparing() != preparing || b.Full() != full {
		b.t.Errorf("%d flushes, %d preparing, %d parts without room; want %d, %d, %d",
			b.Open(), b.Preparing(), b.Full(), open, preparing, full)
	}
}

// said returns what the coordinator has sent and changed since the last call, one line each.
func (b *bench) said() string {
	var lines []string
	for _, e := range b.out.Envelopes {
		to := "controller"
		if e.To.Role == wire.Lane {
			to = fmt.Sprintf("lane %d", e.To.Index)
		}
		switch m := e.Message.(type) {
		case *wire.Push:
			b.sent = append(b.sent, m)
			lines = append(lines, to+": "+describe(m))
		case *wire.Done:
			done := fmt.Sprintf("done %d: %d results, %d pairs", m.Flush.Seq, len(m.Results), len(m.Pairs))
			lines = append(lines, to+": "+done)
		}
		if e.From != self {
			b.t.Errorf("%T is from %v", e.Message, e.From)
		}
	}
	for _, r := range b.fx.Relays {
		change := map[flush.RelayChange]string{flush.RelayExpected: "expected", flush.RelayUncertain: "uncertain",
			flush.RelayRecorded: fmt.Sprintf("recorded %d", r.Commit)}[r.Change]
		lines = append(lines, fmt.Sprintf("relay of lane %d %s", r.Lane, change))
	}
	for _, s := range b.fx.Seen {
		lines = append(lines, fmt.Sprintf("reader %d has seen commit %d of %d", s.Reader, s.Commit, s.Number))
	}
	b.out.Envelopes, b.fx.Relays, b.fx.Seen = nil, nil, nil
	return strings.Join(lines, "\n")
}

func describe(m *wire.Push) string {
	s := fmt.Sprintf("push %d of %d pairs", m.Flush.Seq, len(m.Pairs))
	if m.Again {
		s += " again"
	}
	for _, c := range m.Chunks {
		s += fmt.Sprintf(", %d/%d %v%v", c.Ref.Table, c.Ref.Partition, c.Rows, c.Values)
	}
	for _, l := range m.Leases {
		s += fmt.Sprintf(", lease %d/%d %v", l.Ref.Table, l.Ref.Partition, l.Values)
	}
	if m.Done != nil {
		s += fmt.Sprintf(", done: %d results, %d pairs", len(m.Done.Results), len(m.Done.Pairs))
		if m.Done.Deferrable {
			s += ", deferrable"
		}
	}
	return s
}

func (b *bench) expect(lines ...string) {
	b.t.Helper()
	if got, want := b.said(), strings.Join(lines, "\n"); got != want {
		b.t.Errorf("said:\n%s\nwant:\n%s", got, want)
	}
}

// count returns a count as it is among values.
func count(n uint32) float32 { return math.Float32frombits(n) }
