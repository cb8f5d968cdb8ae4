package claim_test

import (
	"testing"

	"bellows"
	"bellows/internal/require"
	"bellows/link/wire"
)

// newAhead returns a book with three clocks of split 0 out, and one of split 1: seven claims.
func newAhead(t *testing.T) *book {
	b := newBook(t)
	for range 3 {
		b.dispatch(0, 0, 1)
	}
	b.dispatch(1, 0, 2)
	b.dispatch(1, 0, 2)
	b.complete(2, unit(1, 0))
	b.sent()
	return b
}

// TestEarlyIsBounded postpones as many messages as claims are out.
func TestEarlyIsBounded(t *testing.T) {
	b := newAhead(t)
	for seq := range b.Outstanding() {
		for range 2 { // again
			if taken, err := b.Postpone(arrival(1, seq, unit(0, 2))); !taken || err != nil {
				t.Fatalf("flush %d: %v, %v", seq, taken, err)
			}
		}
	}
	taken, err := b.Postpone(arrival(1, 99, unit(0, 2)))
	if !taken {
		t.Error("one too many is not early")
	}
	expectError(t, err, "flush 99 of node 1 refused: 8 flushes wait for splits to catch up, and no more tasks are out")
	if list := b.TakeEarly(0); len(list) != 8 || list[3].Done.Flush.Seq != 3 {
		t.Errorf("%d messages wait", len(list))
	}
	_, err = b.Postpone(arrival(1, 99, unit(0, 2)))
	require.NoError(t, err)
	if len(b.TakeEarly(5)) > 0 {
		t.Error("a message waits for a split that there is not")
	}
}

// TestEarlyKeepsTheNewestOfAFlush keeps the message that names the later owner of a partition.
func TestEarlyKeepsTheNewestOfAFlush(t *testing.T) {
	for _, c := range []struct{ first, second, want bellows.Generation }{{1, 2, 2}, {2, 1, 2}, {3, 3, 3}} {
		b := newAhead(t)
		for _, g := range []bellows.Generation{c.first, c.second} {
			a := arrival(1, 1, unit(0, 2))
			a.Done.Pairs = append(a.Done.Pairs, wire.Pair{Generation: g})
			_, err := b.Postpone(a)
			require.NoError(t, err)
		}
		if list := b.TakeEarly(0); len(list) != 1 || list[0].Done.Pairs[0].Generation != c.want {
			t.Errorf("of generations %d and %d: %+v", c.first, c.second, list)
		}
	}
}

// TestEarlyDropsTheLost drops the messages about one client, of all splits.
func TestEarlyDropsTheLost(t *testing.T) {
	b := newAhead(t)
	b.DropEarly(1) // nothing
	for _, client := range []int{1, 2, 1} {
		for seq := range 2 {
			_, err := b.Postpone(arrival(client, seq, unit(0, 2)))
			require.NoError(t, err)
		}
	}
	_, err := b.Postpone(arrival(1, 5, third(1, 1, 2)))
	require.NoError(t, err)
	b.DropEarly(1)
	if list := b.TakeEarly(0); len(list) != 2 || list[0].Done.Flush.Client != 2 || len(b.TakeEarly(1)) > 0 {
		t.Errorf("%d messages wait", len(list))
	}
	for seq := range b.Outstanding() {
		_, err := b.Postpone(arrival(1, seq, unit(0, 2)))
		require.NoError(t, err)
	}
}
