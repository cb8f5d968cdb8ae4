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

// TestAnArrivalSupersedesAnEarlierOne compares messages of one flush by the owners that they name.
func TestAnArrivalSupersedesAnEarlierOne(t *testing.T) {
	if !heldAt(2).Supersedes(heldAt(1)) || heldAt(1).Supersedes(heldAt(2)) || heldAt(2).Supersedes(heldAt(2)) {
		t.Error("the later owner does not supersede the earlier")
	}
	if heldAt(2).Supersedes(arrival(1, 1)) || arrival(1, 1).Supersedes(heldAt(2)) {
		t.Error("one supersedes another that has none of its partitions")
	}
}
