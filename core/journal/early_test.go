package journal_test

import (
	"testing"

	"bellows"
	"bellows/core/journal"
	"bellows/link/wire"
)

func arrival(client, seq int) journal.Arrival {
	return journal.Arrival{From: wire.ClientAt(bellows.NodeID(client)), Done: done(client, seq)}
}

// heldAt returns an arrival of a flush with a part of partition 0, held by the owner of a generation.
func heldAt(generation bellows.Generation) journal.Arrival {
	a := arrival(1, 1)
	a.Done.Pairs = append(a.Done.Pairs, wire.Pair{Ref: bellows.PartitionRef{Partition: 7}, Generation: 1},
		wire.Pair{Generation: generation})
	return a
}

// TestEarlyIsBounded keeps as many messages as tasks are out.
func TestEarlyIsBounded(t *testing.T) {
	var e journal.Early
	if e.Take(3) != nil {
		t.Error("the zero value keeps something")
	}
	if !e.Keep(3, arrival(1, 1), 2) || !e.Keep(0, arrival(2, 1), 2) || e.Len() != 2 {
		t.Errorf("%d kept", e.Len())
	}
	if e.Keep(1, arrival(3, 1), 2) {
		t.Error("a third is kept, and two tasks are out")
	}
	if !e.Keep(3, arrival(1, 1), 2) || e.Len() != 2 { // again
		t.Error("one that comes again is refused, or kept twice")
	}
	if list := e.Take(3); len(list) != 1 || list[0].Done.Flush != flush(1, 1) || e.Len() != 1 {
		t.Errorf("took %v, %d left", list, e.Len())
	}
	if e.Take(3) != nil || !e.Keep(1, arrival(3, 1), 2) {
		t.Error("what was taken is still there")
	}
}

// TestEarlyKeepsTheNewestOfAFlush keeps the message that names the later owner of a partition.
func TestEarlyKeepsTheNewestOfAFlush(t *testing.T) {
	for _, c := range []struct{ first, second, want bellows.Generation }{{1, 2, 2}, {2, 1, 2}, {3, 3, 3}} {
		var e journal.Early
		e.Keep(0, heldAt(c.first), 5)
		e.Keep(0, heldAt(c.second), 5)
		if list := e.Take(0); len(list) != 1 || list[0].Done.Pairs[1].Generation != c.want {
			t.Errorf("of generations %d and %d: %+v", c.first, c.second, list)
		}
	}
	if heldAt(2).Supersedes(arrival(1, 1)) || arrival(1, 1).Supersedes(heldAt(2)) || heldAt(2).Supersedes(heldAt(2)) {
		t.Error("one supersedes another that has the same or none of its partitions")
	}
}

// TestEarlyDropsTheLost drops the messages about one client, of all splits.
func TestEarlyDropsTheLost(t *testing.T) {
	var e journal.Early
	for _, a := range []journal.Arrival{arrival(1, 1), arrival(2, 1), arrival(1, 2)} {
		e.Keep(0, a, 9)
	}
	e.Keep(2, arrival(1, 3), 9)
	e.Drop(1)
	if list := e.Take(0); len(list) != 1 || list[0].Done.Flush != flush(2, 1) || e.Len() != 0 || len(e.Take(2)) > 0 {
		t.Errorf("%v, %d left", list, e.Len())
	}
}
