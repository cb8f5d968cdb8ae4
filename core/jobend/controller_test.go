package jobend_test

import (
	"testing"

	"bellows"
	"bellows/core/jobend"
	"bellows/internal/require"
	"bellows/link/wire"
)

// TestTheWaitBeginsWithTheEnd ends a job long after its start: the wait for the last words begins then.
func TestTheWaitBeginsWithTheEnd(t *testing.T) {
	e := newEnd(t, false)
	e.Begin(&jobend.Outcome{}, false, 50_000)
	e.TellAll(e.membership, &e.out)
	if got := e.Await(52_000, e.membership, &e.out); got != "" {
		t.Errorf("after 2 s: %q", got)
	}
	if got := e.Await(53_000, e.membership, &e.out); got == "" {
		t.Error("after 3 s nothing is named")
	}
	e.expectOver(false)
}

// TestMessagesForAnEarlierControllerAreIgnored sends state that an earlier controller asked for, of each term before
// this one's. The state that this controller asked for counts.
func TestMessagesForAnEarlierControllerAreIgnored(t *testing.T) {
	e := newCollecting(t)
	e.sent()
	slab := func(term bellows.Term, p bellows.PartitionID) {
		t.Helper()
		m := &wire.Slab{Term: term, Ref: bellows.PartitionRef{Partition: p}, Values: make([]float32, 2)}
		require.NoError(t, e.TakeSlab(owner, m, 0, &e.out))
	}
	for term := bellows.Term(1); term < 3; term++ {
		slab(term, 0)
		require.NoError(t, e.TakeCollected(owner, &wire.Collected{Term: term}, 0))
		e.expectSent()
		e.expectOver(false)
	}
	for p := range bellows.PartitionID(2) {
		slab(3, p)
		if len(e.sent()) != 1 {
			t.Errorf("after partition %d it asks for nothing more", p)
		}
	}
	require.NoError(t, e.TakeCollected(owner, &wire.Collected{Term: 3}, 0))
	e.expectOver(true)
	require.NoError(t, e.Outcome().Failure("train"))
}
