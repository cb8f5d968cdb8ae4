package partition_test

import (
	"testing"

	"bellows"
	"bellows/core/audit"
	"bellows/core/checkpoint"
	"bellows/core/partition"
	"bellows/internal/require"
	"bellows/link/wire"
	"bellows/table"
)

// TestTheLedgerHasWhatIsWritten applies a chunk and ends an exclusive lease in each of many clocks, and counts: rows of
// all, and bits in the clocks that are sampled. Updates that a lease keeps out at the end are dropped.
func TestTheLedgerHasWhatIsWritten(t *testing.T) {
	t.Parallel()
	const all = 300 // values: the bits of smaller partitions are summed in every clock
	schema := table.Schema{Name: "w", Rows: all, Width: 1, Partitions: 1, Consistency: table.Async}
	p, err := partition.New(partition.Config{Generation: 1, Schema: &schema, Cut: schema.Cut(),
		Cuts: &checkpoint.Giver{}})
	require.NoError(t, err)
	var fx partition.Effects
	at, never := partition.Frontier{Complete: bellows.NoClock}, func(bellows.NodeID) bool { return false }
	lend := func(mode wire.Mode) (values []float32) {
		p.Leases.Request(far, &wire.Acquire{Mode: mode, Need: wire.Need{Clock: bellows.NoClock}}, 1)
		for s := range p.Grants(at, self.Node, never) {
			values = s.Message.(*wire.Granted).Values
		}
		return values
	}
	var want audit.Ledger
	var applied, dropped int64
	count := func(clock bellows.Clock) {
		t.Helper()
		if l, a, d := p.Count(); l != want || a != applied || d != dropped || fx.Rows != applied {
			t.Fatalf("in clock %d it has counted %+v, %d applied (%d) and %d dropped; want %+v, %d and %d",
				clock, l, a, fx.Rows, d, want, applied, dropped)
		}
	}
	accept := func(clock bellows.Clock) audit.Sum {
		at.Applied++
		c := &wire.Chunk{Pair: p.Pair(), Rows: []uint32{1, 2}, Values: []float32{float32(clock) + 1, 2}}
		p.Accept(partition.Entry{Flush: flush(1), Chunk: c, Clock: clock, Number: at.Applied}, &fx)
		if p.Ledger.Sample.Contains(clock) {
			return audit.Rows(0, 1, c.Rows, c.Values)
		}
		return 0
	}
	sampled := 0
	for clock := range bellows.Clock(40) {
		bits := accept(clock)
		want.Taken, want.Yielded, want.Written = want.Taken+bits, want.Yielded+bits, want.Written+bits
		applied += 2
		count(clock)
		values := lend(wire.Exclusive)
		values[7]++
		at.Applied++
		require.NoError(t, p.EndExclusive(flush(2), values, clock, at.Applied, &fx))
		if applied += all; p.Ledger.Sample.Contains(clock) {
			sampled++
			want.Taken += audit.Range(0, 0, values)
		}
		count(clock)
	}
	if sampled == 0 || sampled == 40 {
		t.Fatalf("%d clocks of 40 are sampled", sampled)
	}
	lend(wire.Shared)
	for clock := range bellows.Clock(40) {
		want.Dropped += accept(clock)
		dropped += 2
	}
	count(40)
}

// TestBlankPartition makes a partition with and without the values of its initialiser.
func TestBlankPartition(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, false, table.Async, 0)
	r.schema.Init = table.Init{Kind: table.Fixed, Low: 3}
	for _, blank := range []bool{false, true} {
		want := float32(3)
		if blank {
			want = 0
		}
		if got := r.make(blank, 0).State.Read([]uint32{5}, nil)[0]; got != want {
			t.Errorf("blank is %v: a row begins as %v, want %v", blank, got, want)
		}
	}
}
