package commits_test

import (
	"slices"
	"testing"

	"bellows"
	"bellows/core/checkpoint"
	"bellows/core/commits"
	"bellows/core/lanestate"
	"bellows/core/partition"
	"bellows/core/prepare"
	"bellows/core/route"
	"bellows/internal/require"
	"bellows/link/wire"
	"bellows/table"
)

// bench is the commits of a lane with a table that has a barrier, one that has none, and one of keys.
type bench struct {
	t       *testing.T
	commits *commits.Commits
	state   *lanestate.State
	fx      partition.Effects
}

var (
	self   = wire.LaneAt(0, 0)
	client = wire.ClientAt(1)
)

func newBench(t *testing.T, most int) *bench {
	t.Helper()
	tables := []table.Schema{
		{Name: "barrier", Rows: 4, Width: 1, Partitions: 1},
		{Name: "free", Rows: 4, Width: 1, Partitions: 1, Consistency: table.Async},
		{Name: "keys", Rows: 2, Width: 1, Partitions: 1, Sparse: true, Consistency: table.Async},
	}
	r := route.Spread(tables, 1, []wire.Address{self}, []bellows.NodeID{1})
	b := &bench{t: t, commits: commits.New(self, most)}
	b.state = lanestate.New(lanestate.Config{Self: self, Tables: tables, Route: r, Cuts: &checkpoint.Giver{},
		Items: func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{End: 1} }})
	for ref := range r.Each() {
		require.NoError(t, b.state.Create(ref))
	}
	return b
}

// held returns a flush with a chunk for each of some tables.
func (b *bench) held(seq uint64, named bool, tables ...bellows.TableID) prepare.Held {
	m := wire.New[wire.Push]()
	m.Flush = bellows.FlushID{Client: 1, Incarnation: 1, Seq: seq}
	for _, of := range tables {
		pair := wire.Pair{Ref: bellows.PartitionRef{Table: of}, Generation: 1}
		m.Chunks = append(m.Chunks, wire.Chunk{Pair: pair, Rows: []uint32{0}, Values: []float32{1}})
	}
	return prepare.Held{Push: m, From: client, Named: named}
}

// record numbers flushes and applies them; clock: the record completes the clock.
func (b *bench) record(n bellows.CommitNumber, clock bool, held ...prepare.Held) {
	b.t.Helper()
	b.state.Number(n)
	for _, f := range b.commits.Open(held, n) {
		require.NoError(b.t, b.commits.Apply(f, b.state, &b.fx))
		b.finish()
	}
	if clock {
		unit := bellows.Unit{Clock: b.state.Progress().Complete() + 1, Items: bellows.Range{End: 1}}
		_, err := b.state.CountUnits([]wire.Result{{Unit: unit}})
		require.NoError(b.t, err)
		require.NoError(b.t, b.state.Reach(&b.fx))
		b.finish()
	}
	b.commits.NoteShown(b.state)
}

func (b *bench) finish() {
	b.commits.Finish(b.fx.Applied)
	b.fx.Reset()
}

// messages returns the messages to the client.
func (b *bench) messages() (list [][]wire.Commitment) {
	var out wire.Outbox
	b.commits.Send(&out)
	for _, e := range out.Envelopes {
		if e.To != client || e.From != self {
			b.t.Errorf("a message goes from %v to %v", e.From, e.To)
		}
		list = append(list, slices.Clone(e.Message.(*wire.Committed).List))
	}
	return list
}

// TestAFlushClosesWithItsLastChunk applies chunks at once and with their clock, and a flush without any.
func TestAFlushClosesWithItsLastChunk(t *testing.T) {
	t.Parallel()
	b := newBench(t, 9)
	b.record(1, false, b.held(1, false, 0))
	if got := b.messages(); len(got) != 0 {
		t.Errorf("before the clock it tells %v", got)
	}
	b.record(2, false, b.held(2, false))
	if got := b.messages(); len(got) != 1 || len(got[0]) != 1 || got[0][0].Commit != 2 || got[0][0].Waiting {
		t.Errorf("of a flush of nothing it tells %v", got)
	}
	b.record(3, true)
	if got := b.messages(); len(got) != 1 || got[0][0].Commit != 1 || got[0][0].Waiting || got[0][0].Flush.Seq != 1 {
		t.Errorf("after the clock it tells %v", got)
	}
	if got := b.messages(); len(got) != 0 {
		t.Errorf("it tells %v again", got)
	}
}

// TestClientsAreToldOfWhatShows makes a flush of which some shows at once, and some with its clock.
func TestClientsAreToldOfWhatShows(t *testing.T) {
	t.Parallel()
	b := newBench(t, 9)
	b.record(1, false, b.held(1, false, 0, 1))
	if got := b.messages(); len(got) != 1 || len(got[0]) != 1 || !got[0][0].Waiting || got[0][0].Commit != 1 {
		t.Errorf("it tells %v", got)
	}
	b.record(2, true)
	if got := b.messages(); len(got) != 1 || len(got[0]) != 1 || got[0][0].Waiting {
		t.Errorf("after the clock it tells %v", got)
	}
	b.record(3, false, b.held(2, false, 1))
	if got := b.messages(); len(got) != 1 || len(got[0]) != 1 || got[0][0].Waiting {
		t.Errorf("of a flush that shows as a whole it tells %v", got)
	}
}

// TestMessagesNameSoManyFlushes divides messages to a client, and names pairs where others of the flush come.
func TestMessagesNameSoManyFlushes(t *testing.T) {
	t.Parallel()
	b := newBench(t, 2)
	for seq := range uint64(3) {
		b.record(bellows.CommitNumber(seq+1), false, b.held(seq+1, seq == 1, 1))
	}
	got := b.messages()
	if len(got) != 2 || len(got[0]) != 2 || len(got[1]) != 1 {
		t.Fatalf("it tells %v", got)
	}
	if len(got[0][0].Pairs) != 0 || len(got[0][1].Pairs) != 1 {
		t.Errorf("it names %v and %v", got[0][0].Pairs, got[0][1].Pairs)
	}
}

// TestReserveGivesRowsToKeys reserves rows for keys, in memory of flushes that were closed, up to those of the table.
func TestReserveGivesRowsToKeys(t *testing.T) {
	t.Parallel()
	b := newBench(t, 9)
	pair := wire.Pair{Ref: bellows.PartitionRef{Table: 2}, Generation: 1}
	push := func(keys ...bellows.Key) *wire.Push {
		return &wire.Push{Chunks: []wire.Chunk{{Pair: pair, Keys: keys, Values: make([]float32, len(keys))}}}
	}
	if rows, err := b.commits.Reserve(b.held(1, false, 1).Push, b.state); rows != nil || err != nil {
		t.Errorf("a push without keys has rows %v, %v", rows, err)
	}
	m := push(7, 8)
	rows, err := b.commits.Reserve(m, b.state)
	require.NoError(t, err)
	if !slices.Equal(m.Chunks[0].Rows, []uint32{0, 1}) || len(rows) != 2 {
		t.Errorf("keys have rows %v, of %v", m.Chunks[0].Rows, rows)
	}
	b.record(1, false, prepare.Held{Push: m, From: client, Rows: rows})
	again, err := b.commits.Reserve(push(8), b.state)
	require.NoError(t, err)
	if len(again) != 1 || again[0] != 1 || &again[:1][0] != &rows[0] {
		t.Errorf("a known key has rows %v, in other memory", again)
	}
}

// TestLeaseEndClosesItsFlush ends an exclusive lease by a flush that also has a chunk, which waits for its clock:
// the flush is closed with the later of the two.
func TestLeaseEndClosesItsFlush(t *testing.T) {
	t.Parallel()
	b := newBench(t, 9)
	p := b.state.Lookup(bellows.PartitionRef{Table: 1})
	p.Leases.Request(client, &wire.Acquire{Mode: wire.Exclusive, Need: wire.Need{Clock: bellows.NoClock}}, 1)
	for range p.Grants(b.state.Frontier(), self.Node, func(bellows.NodeID) bool { return false }) {
	}
	h := b.held(1, false, 0)
	h.Push.Leases = append(h.Push.Leases, wire.LeaseEnd{Pair: p.Pair(), Values: []float32{5, 6, 7, 8}})
	b.record(1, false, h)
	if got := p.State.Read(nil, nil); p.Leases.Active() || !slices.Equal(got, []float32{5, 6, 7, 8}) {
		t.Errorf("the lease is out: %v; the rows are %v", p.Leases.Active(), got)
	}
	if got := b.messages(); len(got) != 0 {
		t.Errorf("before the clock it tells %v", got)
	}
	b.record(2, true)
	if got := b.messages(); len(got) != 1 || len(got[0]) != 1 || got[0][0].Commit != 1 {
		t.Errorf("after the clock it tells %v", got)
	}
}

// TestClosedFlushesAreUsedOnce opens two flushes in the memory of one that was closed: each has its own.
func TestClosedFlushesAreUsedOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, 9)
	b.record(1, false, b.held(1, false, 1))
	b.messages()
	b.record(2, false, b.held(2, false, 0))
	second := b.held(3, false, 0)
	second.Push.Chunks[0].Subtree.Index = 1
	b.record(3, false, second)
	b.record(4, true)
	got := b.messages()
	if len(got) != 1 || len(got[0]) != 2 || got[0][0].Flush.Seq != 2 || got[0][1].Flush.Seq != 3 ||
		got[0][0].Commit != 2 || got[0][1].Commit != 3 {
		t.Errorf("it tells %v", got)
	}
}

// TestRowsOfOpenFlushesAreTheirOwn reserves rows for two pushes in the memory of a flush that was closed, while another
// flush without keys was closed after it: the first push gets that memory, and the second other memory.
func TestRowsOfOpenFlushesAreTheirOwn(t *testing.T) {
	t.Parallel()
	b := newBench(t, 9)
	pair := wire.Pair{Ref: bellows.PartitionRef{Table: 2}, Generation: 1}
	reserve := func(key bellows.Key) (*wire.Push, []uint32) {
		m := &wire.Push{Chunks: []wire.Chunk{{Pair: pair, Keys: []bellows.Key{key}, Values: []float32{1}}}}
		rows, err := b.commits.Reserve(m, b.state)
		require.NoError(t, err)
		return m, rows
	}
	m, memory := reserve(7)
	b.record(1, false, prepare.Held{Push: m, From: client, Rows: memory})
	b.record(2, false, b.held(2, false, 1))
	_, first := reserve(8)
	_, second := reserve(9)
	if &first[0] != &memory[0] {
		t.Error("memory of a closed flush is not used again")
	}
	if &second[0] == &first[0] || first[0] != 1 || second[0] != 2 {
		t.Errorf("two pushes have rows %v and %v", first, second)
	}
}
