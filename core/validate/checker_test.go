package validate_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"bellows"
	"bellows/core"
	"bellows/core/handoff"
	"bellows/core/pending"
	"bellows/core/route"
	"bellows/core/tally"
	"bellows/core/validate"
	"bellows/internal/require"
	"bellows/link/padding"
	"bellows/link/wire"
	"bellows/table"
	"bellows/vec"
)

// Two nodes: node 0 leads and has a lane; node 1 works and has two lanes. Table w has 10 rows of 2 in 3 partitions of
// 3, 3 and 4 rows at the three lanes. Table n has 4 rows of 1 and a rule with one slot. Table k is sparse with rows
// of 64 in one partition, at most 137. There are four splits, and ten items a clock.
var (
	controller = wire.Address{Role: wire.Controller}
	worker     = wire.Address{Node: 1}
	lane0      = wire.Address{Role: wire.Lane}
	lane1      = wire.Address{Node: 1, Role: wire.Lane}
	lane2      = wire.Address{Node: 1, Role: wire.Lane, Index: 1}
	tables     = []table.Schema{
		{Name: "w", Rows: 10, Width: 2, Partitions: 3},
		{Name: "n", Rows: 4, Width: 1, Partitions: 2, Rule: table.Rule{Name: "momentum", Step: 1, Momentum: 0.5}},
		{Name: "k", Sparse: true, Rows: 8, Width: 64, Partitions: 1},
	}
)

func newChecker(self bellows.NodeID) *validate.Checker {
	return validate.New(core.Job{Nodes: 2, Clients: []wire.Address{worker}, Tables: tables,
		Route: route.Spread(tables, 4, []wire.Address{lane0, lane1, lane2}, []bellows.NodeID{1}),
		Items: func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{Begin: 5, End: 15} }}, self)
}

// ofTables returns the checker of node 0 of two nodes, with the one lane of a job of other tables.
func ofTables(s []table.Schema) *validate.Checker {
	return validate.New(core.Job{Nodes: 2, Clients: []wire.Address{worker}, Tables: s,
		Route: route.Spread(s, 4, []wire.Address{lane0}, []bellows.NodeID{1})}, 0)
}

func ref(t bellows.TableID, p bellows.PartitionID) bellows.PartitionRef {
	return bellows.PartitionRef{Table: t, Partition: p}
}

func pair(t bellows.TableID, p bellows.PartitionID) wire.Pair {
	return wire.Pair{Ref: ref(t, p), Generation: 1}
}

func unit(s bellows.SplitID, c bellows.Clock, begin, end int) bellows.Unit {
	return bellows.Unit{Split: s, Clock: c, Items: bellows.Range{Begin: begin, End: end}}
}

var (
	own   = bellows.FlushID{Client: 1, Incarnation: 1, Seq: 3}
	other = bellows.FlushID{Client: 0, Incarnation: 1, Seq: 3}
)

// attempt is a message between two nodes, and what is wrong with it; "": nothing.
type attempt struct {
	from, to wire.Address
	message  wire.Message
	want     string
}

func push(change func(*wire.Push)) *wire.Push {
	m := &wire.Push{Flush: own, Pairs: []wire.Pair{pair(0, 0)},
		Chunks: []wire.Chunk{
			{Pair: pair(0, 0), Rows: []uint32{2, 0}, Values: make([]float32, 4)},
			{Pair: pair(1, 0), Subtree: wire.Subtree{Level: 1, Index: 1}, Values: make([]float32, 2)},
		},
		Leases: []wire.LeaseEnd{{Pair: pair(0, 0), Values: make([]float32, 6)}, {Pair: pair(1, 0), Values: make([]float32, 2)}}}
	change(m)
	return m
}

// pushOfUnits returns a push with the deltas of some units of a split's clock.
func pushOfUnits(begin, end int) *wire.Push {
	return push(func(m *wire.Push) {
		m.Chunks[1].Subtree = wire.Subtree{Index: 2, Items: bellows.Range{Begin: begin, End: end}}
	})
}

func rows(change func(*wire.RowsPart)) *wire.Rows {
	m := &wire.Rows{Incarnation: 1, Parts: []wire.RowsPart{{Pair: pair(0, 0), Rows: []uint32{1, 2}, Values: make([]float32, 4)}}}
	change(&m.Parts[0])
	return m
}

var pulls = []attempt{
	{worker, lane0, &wire.Pull{Incarnation: 1, Parts: []wire.PullPart{{Pair: pair(0, 0)}, {Pair: pair(0, 2), Rows: []uint32{0, 3}}}}, ""},
	{worker, lane0, &wire.Pull{Incarnation: 1}, ""},
	{worker, lane0, &wire.Pull{Incarnation: 1, Parts: []wire.PullPart{{Pair: pair(3, 0)}}}, "the table of part 0 is 3, not from 0 to 2"},
	{worker, lane0, &wire.Pull{Incarnation: 1, Parts: []wire.PullPart{{Pair: pair(0, 3)}}}, "the partition of part 0 is 3, not from 0 to 2"},
	{worker, lane0, &wire.Pull{Incarnation: 1, Parts: []wire.PullPart{{Pair: pair(0, 1<<32-1)}}}, "the partition of part 0 is 4294967295"},
	{worker, lane0, &wire.Pull{Incarnation: 1, Parts: []wire.PullPart{{Pair: pair(0, 0)}, {Pair: pair(1, 0)}}}, "the table of part 1 is 1, not 0"},
	{worker, lane0, &wire.Pull{Incarnation: 1, Parts: []wire.PullPart{{Pair: pair(0, 1)}, {Pair: pair(0, 1)}}}, "the partition of part 1 is t0/p1, not one behind t0/p1"},
	{worker, lane0, &wire.Pull{Incarnation: 1, Parts: []wire.PullPart{{Pair: pair(0, 0), Rows: []uint32{0, 3}}}}, "a row of part 0 is 3, not from 0 to 2"},
	{worker, lane0, &wire.Pull{Incarnation: 1, Parts: []wire.PullPart{{Pair: pair(0, 0), Rows: []uint32{0, 0, 0, 0}}}}, "the number of rows of part 0 is 4, not from 0 to 3"},
	{lane1, worker, rows(func(*wire.RowsPart) {}), "the lane of the partition of part 0 is lane 0 of node 1, not lane 0 of node 0"},
	{lane0, worker, rows(func(*wire.RowsPart) {}), ""},
	{lane0, worker, rows(func(p *wire.RowsPart) { p.Rows, p.Values = nil, make([]float32, 6) }), ""},
	{lane0, worker, rows(func(p *wire.RowsPart) { p.Rows = nil }), "the number of values of part 0 is 4, not 6"},
	{lane0, worker, rows(func(p *wire.RowsPart) { p.Values = p.Values[:2] }), "the number of values of part 0 is 2, not 4"},
	{lane0, worker, rows(func(p *wire.RowsPart) { p.Ref = ref(7, 0) }), "the table of part 0 is 7"},
	{lane0, worker, rows(func(p *wire.RowsPart) { p.Rows = []uint32{1, 1 << 31} }), "a row of part 0 is 2147483648"},
}

// chunk returns a push of keys of table k.
func chunk(values int, keys ...bellows.Key) *wire.Push {
	return &wire.Push{Flush: own, Chunks: []wire.Chunk{{Pair: pair(2, 0), Keys: keys, Values: make([]float32, values)}}}
}

// pullKeys returns a read of keys of table k.
func pullKeys(keys ...bellows.Key) *wire.Pull {
	return &wire.Pull{Incarnation: 1, Parts: []wire.PullPart{{Pair: pair(2, 0), Keys: keys}}}
}

// subscribeKeys returns a subscription to n keys of table k.
func subscribeKeys(n int) *wire.Pull {
	m := pullKeys(make([]bellows.Key, n)...)
	m.Parts[0].Subscribe = true
	return m
}

// answer returns rows that were asked for.
func answer(change func(*wire.RowsPart)) *wire.Rows {
	m := rows(change)
	m.Request = 1
	return m
}

// unasked makes p a part of subscribed rows of n keys of table k.
func unasked(p *wire.RowsPart, n int) {
	p.Ref, p.Rows, p.Keys, p.Values = ref(2, 0), nil, make([]bellows.Key, n), make([]float32, 64*n)
}

var sparse = []attempt{
	{worker, lane0, pullKeys(3, 1<<63), ""},
	{worker, lane0, pullKeys(make([]bellows.Key, 256<<10)...), ""},
	{worker, lane0, pullKeys(make([]bellows.Key, 256<<10+1)...), "the number of values asked for up to of part 0 is 16777280, not from 0 to 16777216"},
	{worker, lane0, &wire.Pull{Incarnation: 1, Parts: []wire.PullPart{{Pair: pair(2, 0)}}}, "the list of part 0 is of numbers, not of keys as those of table k"},
	{worker, lane0, &wire.Pull{Incarnation: 1, Parts: []wire.PullPart{{Pair: pair(0, 0), Keys: []bellows.Key{1}}}}, "the list of part 0 is of keys, not of numbers as those of table w"},
	{worker, lane0, subscribeKeys(137), ""},
	{worker, lane0, subscribeKeys(138), "the number of keys subscribed to of part 0 is 138, not from 0 to 137"},
	{lane0, worker, answer(func(p *wire.RowsPart) { p.Ref, p.Rows, p.Values = ref(2, 0), nil, make([]float32, 128) }), ""},
	{lane0, worker, answer(func(p *wire.RowsPart) { p.Ref, p.Rows, p.Values = ref(2, 0), nil, make([]float32, 129) }), "beyond whole rows of part 0 is 1, not 0"},
	{lane0, worker, answer(func(p *wire.RowsPart) { p.Ref = ref(2, 0) }), "the number of rows of part 0 is 2, not from 0 to 0"},
	{lane0, worker, answer(func(p *wire.RowsPart) { unasked(p, 2) }), "the list of part 0 is of keys, not none, in the answer to a question"},
	{lane0, worker, rows(func(p *wire.RowsPart) { unasked(p, 2) }), ""},
	{lane0, worker, rows(func(p *wire.RowsPart) { unasked(p, 0) }), ""},
	{lane0, worker, rows(func(p *wire.RowsPart) { unasked(p, 138) }), "the number of keys subscribed to of part 0 is 138, not from 0 to 137"},
	{lane0, worker, rows(func(p *wire.RowsPart) { unasked(p, 2); p.Values = p.Values[:127] }), "the number of values of part 0 is 127, not 128"},
	{lane0, worker, rows(func(p *wire.RowsPart) { unasked(p, 2); p.Ref = ref(0, 0) }), "the list of part 0 is of keys, not of numbers as those of table w"},
	{lane0, worker, rows(func(p *wire.RowsPart) { p.Ref, p.Rows, p.Values = ref(2, 0), nil, make([]float32, 128) }), "the list of part 0 is of numbers, not of keys"},
	{worker, lane0, chunk(128, 1<<63, 5), ""},
	{worker, lane0, chunk(127, 1<<63, 5), "the number of values of part 0 is 127, not 128"},
	{worker, lane0, chunk(64*138, make([]bellows.Key, 138)...), "the number of keys of part 0 is 138, not from 0 to 137"},
	{worker, lane0, push(func(m *wire.Push) { m.Chunks[0].Pair = pair(2, 0) }), "the list of part 0 is of numbers, not of keys"},
	{worker, lane0, push(func(m *wire.Push) { m.Chunks[0].Keys, m.Chunks[0].Rows = []bellows.Key{1, 2}, nil }), "the list of part 0 is of keys, not of numbers"},
	{worker, lane0, push(func(m *wire.Push) { m.Leases[1].Pair = pair(2, 0) }), "the number of values of part 1 is 2, not 0"},
	{worker, lane0, &wire.Acquire{Pair: pair(2, 0)}, "the table is k, which is sparse, not one whose partitions are leased"},
}

// TestKeysBelongToTheirPartition sends each of some keys to each of three partitions.
func TestKeysBelongToTheirPartition(t *testing.T) {
	t.Parallel()
	s := []table.Schema{{Name: "k", Sparse: true, Rows: 9, Width: 1, Partitions: 3}}
	ck := ofTables(s)
	for k := range bellows.Key(30) {
		for p := range bellows.PartitionID(3) {
			there := s[0].Cut().FindKey(k)
			for _, c := range []attempt{
				{worker, lane0, &wire.Push{Flush: own, Chunks: []wire.Chunk{{Pair: pair(0, p), Keys: []bellows.Key{k}, Values: []float32{1}}}}, ""},
				{worker, lane0, &wire.Pull{Incarnation: 1, Parts: []wire.PullPart{{Pair: pair(0, p), Keys: []bellows.Key{k}, Subscribe: true}}}, ""},
				{lane0, worker, &wire.Rows{Incarnation: 1, Parts: []wire.RowsPart{{Pair: pair(0, p), Keys: []bellows.Key{k}, Values: []float32{1}}}}, ""},
			} {
				err := ck.Message(header(t, c), wire.Envelope{From: c.from, To: c.to, Message: c.message})
				if (err == nil) != (there == p) {
					t.Errorf("%T of key %d of partition %d, sent to %d: %v", c.message, k, there, p, err)
				}
			}
		}
	}
}

var leases = []attempt{
	{worker, lane0, &wire.Acquire{Pair: pair(0, 0)}, ""},
	{worker, lane0, &wire.Acquire{Pair: pair(0, 9)}, "the partition is 9, not from 0 to 2"},
	{lane0, worker, &wire.Granted{Pair: pair(0, 0), Values: make([]float32, 6)}, ""},
	{lane0, worker, &wire.Granted{Pair: pair(0, 0), Values: make([]float32, 5)}, "the number of values is 5, not 6"},
	{lane0, worker, &wire.Granted{Pair: pair(0, 0), Columns: padding.Find(2, 1), Values: make([]float32, 6)}, "the columns is {1 1}, not {0 0}"},
	{lane0, worker, &wire.Granted{Pair: pair(3, 0), Columns: padding.Find(2, 1)}, "the table is 3, not from 0 to 2"},
	{lane0, worker, &wire.Granted{Pair: pair(0, 0), Revision: 3, Unchanged: true}, ""},
	{lane0, worker, &wire.Granted{Pair: pair(0, 0), Unchanged: true}, "the copy's revision is 0"},
	{lane0, worker, &wire.Granted{Pair: pair(0, 0), Revision: 3, Unchanged: true, Values: make([]float32, 6)}, "the number of values of an unchanged copy is 6, not 0"},
	{lane0, worker, &wire.Granted{Pair: pair(0, 1), Revision: 3, Unchanged: true}, "the lane of the partition is lane 0 of node 0, not lane 0 of node 1"},
	{lane0, worker, &wire.Granted{Pair: pair(0, 1), Values: make([]float32, 6)}, "the lane of the partition is lane 0 of node 0, not lane 0 of node 1"},
	{worker, lane0, &wire.Release{Pair: pair(1, 1)}, ""},
	{worker, lane0, &wire.Release{Pair: pair(1, 2)}, "the partition is 2, not from 0 to 1"},
	{worker, lane0, &wire.Inquiry{Incarnation: 1, List: []pending.Wait{{Ref: pair(1, 1).Ref}}}, ""},
	{worker, lane0, &wire.Inquiry{List: []pending.Wait{{Ref: pair(1, 1).Ref}}}, "the incarnation is 0, not from 1"},
	{lane0, worker, &wire.Standing{Incarnation: 1, List: []pending.Wait{{Ref: pair(1, 1).Ref}, {Ref: pair(1, 2).Ref}}}, "the partition of part 1 is 2, not from 0 to 1"},
}

var pushes = []attempt{
	{worker, controller, &wire.Computing{Unit: bellows.Unit{Split: 9}}, "the split is 9"},
	{worker, lane0, push(func(*wire.Push) {}), ""},
	{worker, lane0, push(func(m *wire.Push) { m.Flush = other }), "the flush's client is 0, not 1"},
	{worker, lane0, push(func(m *wire.Push) { m.Flush.Seq = 0 }), "the flush's number is 0, not from 1"},
	{worker, lane0, push(func(m *wire.Push) { m.Clock = -1 }), "the clock is -1, not from 0"},
	{worker, lane0, push(func(m *wire.Push) { m.Pairs[0] = pair(0, 3) }), "the partition of the flush of part 0 is 3"},
	{worker, lane0, push(func(m *wire.Push) { m.Chunks[1].Pair = pair(9, 0) }), "the table of part 1 is 9"},
	{worker, lane0, push(func(m *wire.Push) { m.Chunks[1].Subtree.Index = 2 }), "the first split of part 1 is 4, not from 0 to 3"},
	{worker, lane0, push(func(m *wire.Push) { m.Chunks[1].Subtree = wire.Subtree{Level: 31, Index: 1} }), "the first split of part 1"},
	{worker, lane0, pushOfUnits(5, 9), ""},
	{worker, lane0, pushOfUnits(4, 9), "the first item of part 1 is 4, not from 5 to 15"},
	{worker, lane0, pushOfUnits(5, 16), "the end of the items of part 1 is 16, not from 5 to 15"},
	{worker, lane0, push(func(m *wire.Push) { m.Chunks[0].Rows[0] = 3 }), "a row of part 0 is 3, not from 0 to 2"},
	{worker, lane0, push(func(m *wire.Push) { m.Chunks[0].Rows = make([]uint32, 4) }), "the number of rows of part 0 is 4"},
	{worker, lane0, push(func(m *wire.Push) { m.Chunks[0].Values = nil }), "the number of values of part 0 is 0, not 4"},
	{worker, lane0, push(func(m *wire.Push) { m.Chunks[0].Rows = []uint32{} }), "the number of values of part 0 is 4, not 0"},
	{worker, lane0, push(func(m *wire.Push) { m.Leases[0].Pair = pair(1, 0) }), "the number of values of part 0 is 6, not 2"},
	{worker, lane0, push(func(m *wire.Push) { m.Leases[1] = m.Leases[0] }), "the partition of part 1 is t0/p0, not one behind t0/p0"},
	{worker, lane0, push(func(m *wire.Push) { m.Leases[1].Pair = pair(3, 0) }), "the table of part 1 is 3"},
	{lane0, worker, &wire.Held{Flush: own}, ""},
	{lane0, worker, &wire.Held{Flush: other}, "the flush's client is 0, not 1"},
	{lane0, worker, &wire.Full{Flush: other}, "the flush's client is 0, not 1"},
	{lane0, worker, &wire.Room{}, "the flush's client is 0, not 1"},
	{lane0, worker, &wire.Committed{List: []wire.Commitment{{Flush: own, Commit: 1}}}, ""},
	{lane0, worker, &wire.Committed{List: []wire.Commitment{{Flush: own}}}, "the commit of part 0 is 0, not from 1"},
	{lane0, worker, &wire.Refused{Flush: other, Reason: "no"}, ""},
}

func done(u bellows.Unit) *wire.Done {
	m := &wire.Done{Flush: own, Pairs: []wire.Pair{pair(0, 1)}}
	m.Append(u, []float64{1})
	return m
}

// holding returns the answer of a lane that holds some of a flush.
func holding(f bellows.FlushID, u bellows.Unit, held ...wire.Pair) *wire.Holding {
	return &wire.Holding{Last: 1, Tail: 1, Flushes: []wire.HeldFlush{{Flush: f, Held: held, Done: []wire.Result{{Unit: u}}}}}
}

func dispatch(u bellows.Unit) *wire.Dispatch {
	m := &wire.Dispatch{}
	m.Append(u, nil)
	return m
}

func records(u bellows.Unit, f bellows.FlushID) *wire.Records {
	m := &wire.Records{}
	m.Append(1, &wire.Done{Flush: f, Pairs: []wire.Pair{pair(1, 0)}, Results: []wire.Result{{Unit: u, Values: []float64{1}}}})
	return m
}

func ruled(c bellows.Control) *wire.Records {
	m := &wire.Records{}
	m.AppendControl(1, c)
	return m
}

// chatter returns results of two tasks with more numbers than one flush may signal.
func chatter() []wire.Result {
	half := make([]float64, 1<<15+1)
	return []wire.Result{{Unit: unit(0, 0, 5, 15), Values: half}, {Unit: unit(0, 0, 5, 15), Values: half}}
}

// linked makes a report.
func linked(spare int64, list ...tally.Link) *wire.Report {
	return &wire.Report{Links: list, Spare: spare}
}

var control = []attempt{
	{worker, controller, done(unit(0, 0, 5, 15)), ""},
	{worker, lane0, done(unit(0, 0, 5, 15)), ""},
	{lane0, controller, done(unit(0, 0, 5, 15)), ""},
	{lane0, controller, &wire.Done{Flush: other}, "the flush's client is 0, not a node that runs tasks"},
	{lane0, controller, &wire.Done{Flush: bellows.FlushID{Client: 7, Incarnation: 1, Seq: 1}}, "the flush's client is 7, not a node that runs tasks"},
	{worker, lane0, &wire.Unsubscribe{Incarnation: 1, Pair: pair(1, 1)}, ""},
	{worker, lane0, &wire.Unsubscribe{Incarnation: 1, Pair: pair(1, 2)}, "the partition is 2, not from 0 to 1"},
	{worker, controller, done(unit(4, 0, 5, 15)), "the split of part 0 is 4, not from 0 to 3"},
	{worker, controller, done(unit(0, -1, 5, 15)), "the clock of part 0 is -1"},
	{worker, controller, &wire.Done{Flush: other}, "the flush's client is 0, not 1"},
	{worker, controller, &wire.Done{Flush: own, Pairs: []wire.Pair{pair(0, 77)}}, "the partition of the flush of part 0 is 77"},
	{worker, controller, &wire.Failed{Unit: unit(99, -9, 0, 0)}, ""},
	{worker, controller, &wire.Closed{}, ""},
	{worker, controller, &wire.Complaint{Node: 1}, ""},
	{worker, controller, &wire.Complaint{Node: 2}, "the node is 2, not from 0 to 1"},
	{worker, controller, &wire.Report{}, ""},
	{worker, controller, linked(1<<40, tally.Link{To: 0, Bytes: 1 << 40, Busy: time.Hour}), ""},
	{worker, controller, linked(0, tally.Link{To: 2}), "the node linked of part 0 is 2, not from 0 to 1"},
	{worker, controller, linked(0, tally.Link{To: 1}), "the node linked of part 0 is 1, not another than the sender"},
	{worker, controller, linked(0, tally.Link{To: 0}, tally.Link{To: 0}), "the node linked of part 1 is 0, not from 1"},
	{worker, controller, linked(0, tally.Link{Bytes: -1}), "the bytes sent of part 0 is -1"},
	{worker, controller, linked(0, tally.Link{Busy: -1}), "the busy time of part 0 is -1"},
	{worker, controller, linked(-1), "the memory to spare is -1"},
	{lane1, controller, &wire.Slab{Ref: ref(0, 1), Values: make([]float32, 99)}, ""},
	{lane1, controller, &wire.Slab{Ref: ref(0, 0)}, "the lane of the partition is lane 0 of node 1, not lane 0 of node 0"},
	{lane1, controller, &wire.Slab{Ref: ref(9, 0), Slot: 1}, "the table is 9"},
	{lane1, controller, &wire.Slab{Ref: ref(0, 1), Slot: 1}, "the slot is 1, not from 0 to 0"},
	{lane1, controller, &wire.Slab{Ref: ref(1, 1), Slot: 1}, ""},
	{lane1, controller, holding(own, unit(0, 0, 5, 15)), ""},
	{lane1, controller, holding(bellows.FlushID{Client: 7, Incarnation: 1, Seq: 1}, unit(0, 0, 5, 15)), "the flush's client of part 0 is 7"},
	{lane1, controller, holding(own, unit(4, 0, 5, 15)), "the split of part 0 is 4, not from 0 to 3"},
	{lane1, controller, holding(own, unit(0, 0, 5, 15), pair(0, 9)), "the partition of the flush of part 0 is 9"},
	{controller, worker, dispatch(unit(3, 7, 5, 15)), ""},
	{controller, worker, dispatch(unit(3, 7, 5, 16)), "the end of the items of part 0 is 16, not from 5 to 15"},
	{controller, worker, dispatch(unit(3, 7, 4, 15)), "the first item of part 0 is 4, not from 5 to 15"},
	{controller, worker, dispatch(unit(8, 7, 5, 15)), "the split of part 0 is 8"},
	{controller, lane1, records(unit(3, 7, 5, 15), own), ""},
	{controller, lane1, records(unit(3, -2, 5, 15), own), "the clock of part 0 is -2"},
	{controller, lane1, records(unit(3, 7, 5, 15), bellows.FlushID{Client: 2, Incarnation: 1, Seq: 1}), "the flush's client of part 0 is 2"},
	{controller, lane1, records(unit(3, 7, 5, 15), bellows.FlushID{Client: 1, Incarnation: 1}), "the flush's number of part 0 is 0"},
	{controller, lane1, records(unit(3, 7, 5, 15), bellows.FlushID{Client: 1, Seq: 1}), "the flush's incarnation of part 0 is 0"},
	{controller, lane1, &wire.Staleness{Table: 1, Clocks: 3}, ""},
	{controller, lane1, &wire.Staleness{Table: 3, Clocks: 3}, "the table is 3"},
	{controller, lane1, &wire.Staleness{Table: 1, Clocks: -3}, "the staleness is -3"},
	{controller, lane1, &wire.End{Gone: []bellows.NodeID{1}}, ""},
	{controller, lane1, &wire.End{Gone: []bellows.NodeID{1, 2}}, "the node gone of part 1 is 2"},
	{controller, worker, &wire.End{Lanes: []wire.LaneName{{Node: 1, Index: 3}}}, ""},
	{controller, worker, &wire.End{Lanes: []wire.LaneName{{Node: 1, Index: 3}, {Node: 2}}}, "the node of the lane added of part 1 is 2"},
	{controller, lane1, ruled(bellows.Control{Kind: bellows.KeepTables}), ""},
	{controller, lane1, ruled(bellows.Control{Kind: bellows.SetStaleness, Table: 1, Clocks: 3}), ""},
	{controller, lane1, ruled(bellows.Control{Kind: bellows.SetStaleness, Table: 3, Clocks: 3}), "the table of part 0 is 3"},
	{controller, lane1, ruled(bellows.Control{Kind: bellows.SetStaleness, Table: 1, Clocks: -3}), "the staleness of part 0 is -3"},
	{controller, lane1, ruled(bellows.Control{Kind: bellows.CutTables + 1}), "the kind of control of part 0 is 9, not from 1 to 8, or from 10 to 12"},
	{controller, lane1, &wire.Records{List: []wire.Record{{Number: 1, Flush: own, Control: bellows.Control{Kind: bellows.Drain}}}}, "the flush of part 0 is flush 3 of node 1, not none beside a control"},
	{controller, lane1, &wire.Records{List: []wire.Record{{Number: 1, Flush: own, Pairs: []wire.Pair{pair(0, 9)}}}}, "the partition of part 0 is 9"},
	{controller, lane1, &wire.Records{List: []wire.Record{{Number: 1, Flush: own, Results: chatter()}}}, "the number of results of part 0 is 65538, not from 0 to 65536"},
	{worker, controller, &wire.Done{Flush: own, Results: chatter()}, "the number of results is 65538, not from 0 to 65536"},
	{controller, lane1, &wire.Collect{}, ""},
	{controller, lane1, &wire.Handoff{Number: 1, Pair: pair(0, 1), Node: 1}, ""},
	{controller, lane1, &wire.Handoff{Number: 1, Pair: pair(0, 3), Node: 1}, "the partition is 3, not from 0 to 2"},
	{controller, lane1, &wire.Handoff{Number: 1, Pair: pair(0, 1), Node: 2}, "the node that is to own it is 2, not from 0 to 1"},
	{lane1, controller, &wire.Prepared{Pair: pair(1, 1)}, ""},
	{lane1, controller, &wire.Prepared{Pair: pair(1, 2)}, "the partition is 2, not from 0 to 1"},
	{lane1, controller, &wire.Prepared{Pair: pair(1, 1), Copied: 8, Of: 8}, ""},
	{lane1, controller, &wire.Prepared{Pair: pair(1, 1), Copied: 9, Of: 8}, "how many bytes are copied is 9, not from 0 to 8"},
	{lane1, controller, &wire.Prepared{Pair: pair(1, 1), Copied: 1 << 63, Of: 1 << 63}, "how many bytes are copied is -9223372036854775808, not from 0 to -9223372036854775808"},
	{lane1, lane0, &wire.Taken{Pair: pair(2, 0)}, ""},
	{lane1, lane0, &wire.Taken{Pair: pair(3, 0)}, "the table is 3"},
	{lane1, lane0, piece(handoff.Offer, pair(0, 1), nil), ""},
	{lane1, lane0, piece(handoff.Offer, pair(0, 1), func(m *wire.Piece) { m.Values = make([]float32, 1) }), "the number of values is 1, not 0"},
	{lane1, lane0, piece(handoff.Last, pair(9, 1), nil), "the table is 9"},
	{lane1, lane0, piece(handoff.Rows, pair(1, 0), func(m *wire.Piece) { m.First, m.Count, m.Values = 1, 1, make([]float32, 2) }), ""},
	{lane1, lane0, piece(handoff.Rows, pair(1, 0), func(m *wire.Piece) { m.First, m.Count, m.Values = 1, 1, make([]float32, 1) }), "the number of values is 1, not 2"},
	{lane1, lane0, piece(handoff.Image, pair(1, 0), func(m *wire.Piece) { m.First, m.Count, m.Values = 1, 1, make([]float32, 1) }), ""},
	{lane1, lane0, piece(handoff.Rows, pair(1, 0), func(m *wire.Piece) { m.First, m.Count, m.Values = 1, 2, make([]float32, 4) }), "the number of rows is 2, not from 0 to 1"},
	{lane1, lane0, piece(handoff.Rows, pair(1, 0), func(m *wire.Piece) { m.First = 3 }), "the first row is 3, not from 0 to 2"},
	{lane1, lane0, piece(handoff.Rows, pair(1, 0), func(m *wire.Piece) { m.Keys = []bellows.Key{1} }), "the list is of keys, not of numbers as those of table n"},
	{lane1, lane0, piece(handoff.Rows, pair(2, 0), func(m *wire.Piece) { m.Count, m.Keys, m.Values = 1, []bellows.Key{1}, make([]float32, 64) }), ""},
	{lane1, lane0, piece(handoff.Rows, pair(2, 0), func(m *wire.Piece) { m.Count, m.Keys, m.Values = 2, []bellows.Key{1}, make([]float32, 64) }), "the number of rows is 2, not 1"},
	{lane1, lane0, piece(handoff.Chunk, pair(0, 1), func(m *wire.Piece) { m.Rows, m.Values = []uint32{2}, make([]float32, 2) }), ""},
	{lane1, lane0, piece(handoff.Chunk, pair(0, 1), func(m *wire.Piece) { m.Rows, m.Values = []uint32{3}, make([]float32, 2) }), "a row is 3, not from 0 to 2"},
	{lane1, lane0, piece(handoff.Chunk, pair(0, 1), func(m *wire.Piece) { m.Count, m.Rows, m.Values = 3, []uint32{2}, make([]float32, 2) }), ""},
	{lane1, lane0, piece(handoff.Chunk, pair(0, 1), func(m *wire.Piece) { m.Count, m.Rows, m.Values = 4, []uint32{2}, make([]float32, 2) }), "the number of rows of the change is 4, not from 0 to 3"},
	{lane1, lane0, piece(handoff.Chunk, pair(2, 0), func(m *wire.Piece) { m.Count, m.Keys = 1<<30, []bellows.Key{} }), "the number of rows of the change is 1073741824, not from 0 to"},
	{lane1, lane0, piece(handoff.Chunk, pair(0, 1), func(m *wire.Piece) { m.Clock, m.Rows = -1, []uint32{} }), "the clock is -1"},
	{lane1, lane0, piece(handoff.Chunk, pair(0, 1), func(m *wire.Piece) { m.Subtree.Index, m.Rows = 4, []uint32{} }), "the first split is 4, not from 0 to 3"},
}

// piece returns one piece of a copy.
func piece(kind uint8, of wire.Pair, change func(*wire.Piece)) *wire.Piece {
	m := &wire.Piece{Copy: 1, Kind: kind, Pair: of}
	if change != nil {
		change(m)
	}
	return m
}

// TestMessages wants each message to pass, or to be refused with one sentence that names it, its sender, the field,
// its value and what it may be.
func TestMessages(t *testing.T) {
	t.Parallel()
	for _, list := range [][]attempt{pulls, sparse, leases, pushes, control} {
		for _, c := range list {
			h := header(t, c)
			err := newChecker(c.to.Node).Message(h, wire.Envelope{From: c.from, To: c.to, Message: c.message})
			switch {
			case c.want == "" && err != nil:
				t.Errorf("%v: %v", h, err)
			case c.want == "":
			case err == nil:
				t.Errorf("%v: passes, want %q", h, c.want)
			case !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), h.String()) || bellows.KindOf(err) != bellows.Lost:
				t.Errorf("%v, want %q", err, c.want)
			}
		}
	}
}

// header returns the header of the frame in which a message travels.
func header(t testing.TB, c attempt) wire.Header {
	t.Helper()
	var b wire.Batch
	require.NoError(t, b.Add(wire.Envelope{From: c.from, To: c.to, Message: c.message}))
	h, err := wire.ParseHeader(b.Buffers()[0])
	require.NoError(t, err)
	return h
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	beat, pull, end := &wire.Beat{}, &wire.Pull{Incarnation: 1}, &wire.End{}
	for _, c := range []struct {
		peer bellows.NodeID
		attempt
	}{
		{1, attempt{worker, controller, beat, ""}},
		{1, attempt{worker, lane0, pull, ""}},
		{1, attempt{worker, lane0, end, ""}},
		{0, attempt{worker, lane0, pull, "the sender is node 1, not an actor of node 0"}},
		{1, attempt{wire.Address{Node: 1, Index: 4}, lane0, pull, "the sender is node 1, not"}},
		{1, attempt{wire.Address{Node: 1, Role: wire.Controller}, lane0, end, "the sender is the controller, not an actor of node 1"}},
		{1, attempt{wire.Address{Node: 1, Role: wire.Lane, Index: 2}, controller, &wire.Closed{}, "the sender is lane 2 of node 1"}},
		{1, attempt{worker, wire.Address{Role: wire.Lane, Index: 1}, pull, "the receiver is lane 1 of node 0, not an actor of node 0"}},
		{1, attempt{worker, lane1, pull, "the receiver is lane 0 of node 1, not an actor of node 0"}},
		{1, attempt{lane1, wire.Address{}, &wire.Rows{}, "the receiver is node 0, not an actor of node 0"}}, // it runs no tasks
		{1, attempt{worker, controller, pull, "the way is from node 1 to the controller"}},
		{1, attempt{lane1, lane0, &wire.Rows{}, "the way is from lane 0 of node 1 to lane 0 of node 0"}},
		{1, attempt{lane1, controller, beat, "the way is from lane 0 of node 1 to the controller"}},
		{1, attempt{worker, lane0, &wire.Records{}, "the way is from node 1 to lane 0 of node 0"}},
		{1, attempt{lane1, lane0, &wire.Piece{}, ""}},
		{1, attempt{wire.LaneAt(1, 7), lane0, &wire.Piece{}, ""}}, // it may take part by a newer route
		{1, attempt{wire.LaneAt(2, 7), lane0, &wire.Piece{}, "the sender is lane 7 of node 2, not an actor of node 1"}},
		{1, attempt{lane1, wire.LaneAt(0, 7), &wire.Taken{}, "the receiver is lane 7 of node 0"}},
		{1, attempt{worker, lane0, &wire.Piece{}, "the way is from node 1 to lane 0 of node 0"}},
		{1, attempt{lane1, controller, &wire.Handoff{}, "the way is from lane 0 of node 1 to the controller"}},
	} {
		err := newChecker(0).Header(c.peer, header(t, c.attempt))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%T from %v to %v: %v, want %q", c.message, c.from, c.to, err, c.want)
		}
	}
}

// TestEveryKindIsChecked wants a check for every kind that some role may send to another; a check may let all
// messages pass. A message of a kind without one is refused, whatever its content.
func TestEveryKindIsChecked(t *testing.T) {
	t.Parallel()
	kinds := 0
	for k := range 1 << 8 {
		exists := false
		for from := range wire.Controller + 1 {
			for to := range wire.Controller + 1 {
				h := wire.Header{Kind: uint8(k), From: wire.Address{Role: from}, To: wire.Address{Role: to}}
				exists = exists || h.Allowed()
			}
		}
		if exists {
			kinds++
		}
		if checked := validate.Checked(uint8(k)); checked != exists {
			t.Errorf("%v: exists %v, is checked %v", wire.Header{Kind: uint8(k)}, exists, checked)
		}
	}
	if kinds == 0 {
		t.Error("no kind of message was found")
	}
}

// TestNodeWithoutTasksSendsNothingForThem lets a server send a heartbeat, and read no rows.
func TestNodeWithoutTasksSendsNothingForThem(t *testing.T) {
	t.Parallel()
	leader := wire.Address{}
	ck := newChecker(1)
	for _, m := range []wire.Message{&wire.Beat{}, &wire.Ready{}, &wire.Notice{}, &wire.Complaint{}, &wire.Failed{}, &wire.Inquiry{Incarnation: 1}} {
		if err := ck.Message(wire.Header{}, wire.Envelope{From: leader, To: lane1, Message: m}); err != nil {
			t.Error(err)
		}
	}
	err := ck.Message(wire.Header{}, wire.Envelope{From: leader, To: lane1, Message: &wire.Pull{Incarnation: 1}})
	if err == nil || !strings.Contains(err.Error(), "the sender is node 0, not a node that runs tasks") {
		t.Error(err)
	}
	if err := ck.Message(wire.Header{}, wire.Envelope{From: worker, To: lane1}); err == nil || !strings.Contains(err.Error(), "the kind is <nil>, not one that is checked") {
		t.Errorf("no message at all: %v", err)
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	ck := newChecker(0)
	m := push(func(*wire.Push) {})
	e := wire.Envelope{From: worker, To: lane0, Message: m}
	h := header(t, attempt{from: worker, to: lane0, message: m})
	if n := testing.AllocsPerRun(100, func() {
		if ck.Header(1, h) != nil || ck.Message(h, e) != nil {
			t.Fatal("refused")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestLargestRowIsFoundAtAnyPlace puts a row that the partition does not have at each place of lists of each length.
func TestLargestRowIsFoundAtAnyPlace(t *testing.T) {
	t.Parallel()
	const all = 11
	s := []table.Schema{{Name: "w", Rows: all, Width: 1, Partitions: 1}}
	ck := ofTables(s)
	for n := 1; n <= all; n++ {
		for at := range n {
			for _, row := range []uint32{all - 1, all} {
				list := make([]uint32, n)
				list[at] = row
				c := attempt{from: worker, to: lane0, message: &wire.Push{Flush: own, Chunks: []wire.Chunk{
					{Pair: pair(0, 0), Rows: list, Values: make([]float32, n)}}}}
				if err := ck.Message(header(t, c), wire.Envelope{From: c.from, To: c.to, Message: c.message}); (err == nil) != (row < all) {
					t.Errorf("rows %v of %d: %v", list, all, err)
				}
			}
		}
	}
}

// TestOnlyFloatsTravelNarrow sends values in 16 bits of a table of floats, of one of counts, and of one that the job
// does not have.
func TestOnlyFloatsTravelNarrow(t *testing.T) {
	t.Parallel()
	s := []table.Schema{{Name: "w", Rows: 2, Width: 1}, {Name: "counts", Rows: 2, Width: 1, DType: table.Int32}}
	ck := ofTables(s)
	for table, want := range []string{"", "the narrow table of part 0 is counts of counts, not one of float32 values",
		"the narrow table of part 0 is 2, not from 0 to 1"} {
		of := pair(bellows.TableID(table), 0)
		for _, e := range []wire.Envelope{
			{From: worker, To: lane0, Message: &wire.Push{Flush: own, Chunks: []wire.Chunk{{Pair: of, Values: []float32{1, 2}}}}},
			{From: lane0, To: worker, Message: &wire.Rows{Incarnation: 1, Parts: []wire.RowsPart{{Pair: of, Values: []float32{1, 2}}}}},
		} {
			h, narrow := sent(t, e)
			err := ck.Message(h, narrow)
			if (err == nil) != (want == "") || err != nil && !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%T of table %d: %v, want %q", e.Message, table, err, want)
			}
		}
	}
}

// sent returns a message as it arrives after its values have travelled in 16 bits.
func sent(t testing.TB, e wire.Envelope) (wire.Header, wire.Envelope) {
	t.Helper()
	var b wire.Batch
	b.Narrow([]vec.Format{vec.Float16, vec.Float16, vec.Float16})
	require.NoError(t, b.Add(e))
	frame := slices.Concat(b.Buffers()...)
	h, err := wire.ParseHeader(frame[:wire.HeaderSize])
	require.NoError(t, err)
	arrived, err := wire.Decode(h, frame[wire.HeaderSize:])
	require.NoError(t, err)
	return h, arrived
}
