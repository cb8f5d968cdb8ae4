package coord_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core/coord"
	"bellows/internal/require"
	"bellows/link/wire"
	"bellows/table"
)

// ahead dispatches the next clock of a split when its last one counts.
type ahead struct{ rounds }

func (d *ahead) HandleTaskCompletion(c coord.Completion, to *coord.Dispatcher) {
	d.done++
	to.DispatchTask(c.Split)
}

// cutter returns a controller with a table that has a barrier and one that has none.
func cutter(units int) *desk {
	return cutterOf(units, table.Schema{Name: "b", Rows: 1, Width: 1}, table.Schema{Name: "f", Rows: 1, Width: 1, Consistency: table.Async})
}

func cutterOf(units int, tables ...table.Schema) *desk {
	job := jobOf(1000, lanes, tables...)
	job.Items, job.Units = items(4), func(bellows.SplitID, bellows.Clock) int { return units }
	return newDeskOf(job, coord.Options{Driver: &ahead{}, Stays: stays})
}

// flush sends a client's Done of a flush for a table: the items of its split's clock.
func (d *desk) flush(client, seq int, clock bellows.Clock, of bellows.TableID, items bellows.Range) {
	m := wire.New[wire.Done]()
	m.Flush, m.Clock = bellows.FlushID{Client: bellows.NodeID(client), Incarnation: 1, Seq: uint64(seq)}, clock
	m.Pairs = append(m.Pairs, wire.Pair{Ref: bellows.PartitionRef{Table: of}, Generation: 1})
	m.Append(bellows.Unit{Split: bellows.SplitID(client - 1), Clock: clock, Items: items}, nil)
	d.deliver(clients[client-1], m)
}

func (d *desk) shard(m wire.Shard) {
	m.Term = 1
	d.deliver(lanes[0], &m)
}

// cuts returns the reports about cuts, and the records.
func (d *desk) cuts() (lines []string) {
	for _, e := range d.fx.Envelopes {
		switch m := e.Message.(type) {
		case *wire.Cut:
			lines = append(lines, fmt.Sprintf("attempt %d, cut %d, whole %v", m.Attempt, m.Commit, m.Whole))
		case *wire.Records:
			for _, r := range m.List {
				if r.Control.Kind == bellows.CutTables {
					lines = append(lines, fmt.Sprintf("record %d is the cut", r.Number))
				} else {
					lines = append(lines, fmt.Sprintf("record %d is %v", r.Number, r.Flush))
				}
			}
		}
	}
	for _, c := range d.fx.Cuts {
		lines = append(lines, fmt.Sprintf("cut %d with %d shards: %s", c.Saved.Commit, len(c.Shards), c.Reason))
	}
	d.fx.Envelopes, d.fx.Cuts = d.fx.Envelopes[:0], nil
	return lines
}

var fourItems = bellows.Range{End: 4}

// TestCutTakesOpenClocks cuts a job while one split has done more clocks than the other, and half of a clock counts. No
// flush waits, and the record is made when the lane is armed. The saved state has the units that count and those that
// are out. The next life runs only the latter.
func TestCutTakesOpenClocks(t *testing.T) {
	d := cutter(2)
	if err := d.Cut(&d.fx); err == nil {
		t.Error("it is cut before it begins")
	}
	d.begin()
	d.flush(1, 1, 0, 0, bellows.Range{End: 2})
	d.flush(1, 2, 0, 0, bellows.Range{Begin: 2, End: 4})
	d.said()
	require.NoError(t, d.Cut(&d.fx))
	if err := d.Cut(&d.fx); err == nil {
		t.Error("two cuts are under way")
	}
	expect(t, d.cuts(), "attempt 1, cut 0, whole false")
	d.flush(2, 1, 0, 0, bellows.Range{End: 2})
	expect(t, d.cuts(), "record 3 is flush 1 of node 2")
	d.shard(wire.Shard{Attempt: 1}) // armed
	expect(t, d.cuts(), "record 4 is the cut")
	d.flush(1, 3, 1, 0, bellows.Range{End: 2})
	expect(t, d.cuts(), "record 5 is flush 3 of node 1")
	d.shard(wire.Shard{Attempt: 1, Commit: 4, Name: "b"})
	expect(t, d.cuts())
	d.shard(wire.Shard{Attempt: 1, Commit: 4, Ref: bellows.PartitionRef{Table: 1}, Unchanged: 1})
	saved := d.fx.Cuts[0].Saved
	expect(t, d.cuts(), "cut 4 with 2 shards: ")
	open := []bellows.Unit{{Split: 1, Items: bellows.Range{End: 2}}}
	if !slices.Equal(saved.Complete, []bellows.Clock{0, bellows.NoClock}) || !slices.Equal(saved.Open, open) {
		t.Errorf("saved: %+v", saved)
	}
	d.CutKept(4, &d.fx)
	expect(t, d.cuts(), "attempt 1, cut 4, whole true")

	next := cutter(2)
	require.NoError(t, next.Resume(saved.State))
	next.begin()
	said := strings.Join(next.said(), "\n")
	if strings.Contains(said, "run split 1 clock 0 items [0,2)") ||
		!strings.Contains(said, "run split 1 clock 0 items [2,4)") || strings.Contains(said, "run split 0 clock 0") {
		t.Errorf("the next life runs %s", said)
	}
	next.flush(2, 1, 0, 0, bellows.Range{Begin: 2, End: 4})
	if complete, _, _ := next.Progress(); complete != 0 {
		t.Errorf("clock %d is complete", complete)
	}
}

// TestImpossibleCutIsGivenUp lets a lane fail to store its part, and ends a job. Each time the cut is given up by name.
func TestImpossibleCutIsGivenUp(t *testing.T) {
	for name, do := range map[string]func(d *desk){
		"lane 0 of node 0: disk full": func(d *desk) { d.shard(wire.Shard{Attempt: 1, Reason: "disk full"}) },
		"the job is over":             func(d *desk) { d.Lost(1, "gone", &d.fx) },
	} {
		d := cutter(1)
		d.begin()
		d.Tick(500, nil, &d.fx)
		d.flush(1, 1, 0, 0, fourItems)
		require.NoError(t, d.Cut(&d.fx))
		d.cuts()
		do(d)
		said := strings.Join(d.cuts(), "; ")
		want := "cut 0 with 0 shards: a cut was given up, and the next is tried at its time: " + name
		if !strings.Contains(said, want) || d.Cutting() {
			t.Errorf("%s: said %s", name, said)
		}
		if name != "the job is over" && (len(d.fx.Notices) == 0 || d.Cut(&d.fx) != nil) {
			t.Errorf("%s: named as %q", name, d.fx.Notices)
		}
	}
}

// TestReportsOfOtherCutsAreIgnored says that partitions of another attempt, or of another controller's, are
// stored; and that a cut is kept that is not stored.
func TestReportsOfOtherCutsAreIgnored(t *testing.T) {
	d := cutter(1)
	d.begin()
	d.flush(1, 1, 0, 1, fourItems)
	d.Cut(&d.fx)
	d.cuts()
	d.shard(wire.Shard{Attempt: 2})
	expect(t, d.cuts())
	d.shard(wire.Shard{Attempt: 1})
	expect(t, d.cuts(), "record 2 is the cut")
	for table := range bellows.TableID(2) {
		d.shard(wire.Shard{Attempt: 2, Commit: 2, Ref: bellows.PartitionRef{Table: table}})
		d.shard(wire.Shard{Attempt: 1, Commit: 1, Ref: bellows.PartitionRef{Table: table}})
	}
	d.CutKept(2, &d.fx)
	expect(t, d.cuts())
	d.CutLost(2, "no manifest", &d.fx)
	expect(t, d.cuts(), "attempt 0, cut 0, whole false", "cut 2 with 0 shards: the cut at record 2 was given up, and the next is tried at its time: no manifest")
}

// TestCutKeptIgnoresOlderCut reports an older cut as kept, after it was given up and a newer one was stored. Only
// the newer cut's own report ends the newer cut.
func TestCutKeptIgnoresOlderCut(t *testing.T) {
	d := cutter(1)
	d.begin()
	d.flush(1, 1, 0, 1, fourItems)
	store := func(attempt uint64, commit bellows.CommitNumber) {
		t.Helper()
		d.begins(t)
		d.fx.Cuts = nil
		for table := range bellows.TableID(2) {
			d.shard(wire.Shard{Attempt: attempt, Commit: commit, Ref: bellows.PartitionRef{Table: table}})
		}
		if len(d.fx.Cuts) != 1 || d.fx.Cuts[0].Saved.Commit != commit || d.fx.Cuts[0].Reason != "" {
			t.Fatalf("stored %+v", d.fx.Cuts)
		}
	}
	store(1, 2)
	d.CutLost(2, "the store does not answer", &d.fx)
	store(2, 3)
	d.cuts()
	d.CutKept(2, &d.fx)
	expect(t, d.cuts())
	if !d.Cutting() {
		t.Error("the newer cut has ended")
	}
	d.CutKept(3, &d.fx)
	expect(t, d.cuts(), "attempt 2, cut 3, whole true")
}
