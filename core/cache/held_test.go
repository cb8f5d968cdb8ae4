package cache_test

import (
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core/cache"
	"bellows/internal/require"
	"bellows/link/wire"
)

// ask lets a split ask for a lease on the partition 0 of table 1, and returns the revision of the copy that it names.
func (b *bench) ask(s bellows.SplitID, mode wire.Mode) (request uint64, held bellows.CommitNumber) {
	b.t.Helper()
	b.lease(s, 1, 0, mode)
	m := b.out.Envelopes[len(b.out.Envelopes)-1].Message.(*wire.Acquire)
	b.out.Envelopes, b.fx.Woken = nil, nil
	return m.Request, m.Held
}

// copied gives a lease with a copy of a revision, or without values.
func (b *bench) copied(request uint64, mode wire.Mode, revision bellows.CommitNumber, values ...float32) error {
	m := wire.New[wire.Granted]()
	m.Request, m.Mode, m.Revision = request, mode, revision
	m.Pair = wire.Pair{Ref: ref(1, 0), Generation: 1}
	if m.Unchanged = values == nil; !m.Unchanged {
		m.Copy(values)
	}
	return b.TakeGranted(m, &b.fx)
}

// written ends the exclusive lease of a split by a record, after it has written a value.
func (b *bench) written(s bellows.SplitID, value float32, by bellows.CommitNumber) {
	l := b.readers[s].Leases()[0]
	l.Granted.Values[0], l.Granted.Revision = value, by
	b.readers[s].ForgetLeases()
	b.end(s)
	b.Keep(l.Number, l.Granted)
}

func newHolder(t *testing.T, most int) *bench {
	b := newBenchWithin(t, twoTables(), cache.Limits{Subscribed: 100, Unread: 4, Held: most})
	b.begin(3, 0, 0, 1)
	return b
}

// TestLeaseUsesHeldCopy names the copy of the last lease in the next request. Shared leases without values get copies
// of it, an exclusive one takes it over, and what that has written is named by the record of its end.
func TestLeaseUsesHeldCopy(t *testing.T) {
	b := newHolder(t, 8)
	request, held := b.ask(0, wire.Exclusive)
	require.NoError(t, b.copied(request, wire.Exclusive, 3, 1, 2, 3, 4))
	if b.written(0, 9, 5); held != 0 {
		t.Errorf("the first request names revision %d", held)
	}
	b.begin(3, 0, 0)
	for s := range 2 {
		if request, held = b.ask(bellows.SplitID(s), wire.Shared); held != 5 {
			t.Errorf("split %d names revision %d, not 5", s, held)
		}
		require.NoError(t, b.copied(request, wire.Shared, 5))
		if got := b.readers[s].Leased(2); !slices.Equal(got, []float32{9, 2, 3, 4}) {
			t.Errorf("split %d is shown %v", s, got)
		}
	}
	if a, b := b.readers[0].Leased(2), b.readers[1].Leased(2); &a[0] == &b[0] {
		t.Error("two tasks share one copy")
	}
	b.end(0)
	b.end(1)
	b.begin(3, 0, 0, 1)
	request, _ = b.ask(0, wire.Exclusive)
	require.NoError(t, b.copied(request, wire.Exclusive, 5))
	if _, held := b.ask(1, wire.Shared); held != 0 {
		t.Errorf("revision %d is named, which a task writes to", held)
	}
}

// TestUnchangedWithoutCopyIsABreach refuses a lease without values where nothing of that revision is held.
func TestUnchangedWithoutCopyIsABreach(t *testing.T) {
	for _, revision := range []bellows.CommitNumber{0, 4, 6} {
		b := newHolder(t, 8)
		if revision > 0 {
			request, _ := b.ask(0, wire.Exclusive)
			require.NoError(t, b.copied(request, wire.Exclusive, 3, 1, 2, 3, 4))
			b.written(0, 9, 5)
		}
		request, _ := b.ask(1, wire.Exclusive)
		if err := b.copied(request, wire.Exclusive, revision); err == nil || !strings.Contains(err.Error(), "no copy") {
			t.Errorf("revision %d: %v", revision, err)
		}
	}
}

// TestMoveVoidsHeldCopy moves a partition: the request to its next owner names no copy. Nor is one kept that comes
// back from a lease of the generation before.
func TestMoveVoidsHeldCopy(t *testing.T) {
	b := newHolder(t, 8)
	request, _ := b.ask(0, wire.Exclusive)
	require.NoError(t, b.copied(request, wire.Exclusive, 3, 1, 2, 3, 4))
	b.written(0, 9, 5)
	b.begin(3, 0, 0)
	request, _ = b.ask(0, wire.Shared)
	require.NoError(t, b.copied(request, wire.Shared, 5))
	b.Move(2, 1, 2, &b.out)
	b.end(0)
	if _, held := b.ask(1, wire.Exclusive); held != 0 {
		t.Errorf("revision %d of another lane is named", held)
	}
}

// TestHeldCopiesAreBounded keeps no copy beyond the limit, without a name, or older than another.
func TestHeldCopiesAreBounded(t *testing.T) {
	for _, c := range []struct {
		most     int
		revision bellows.CommitNumber
		want     bellows.CommitNumber
	}{{3, 5, 0}, {4, 5, 5}, {4, 0, 0}} {
		b := newHolder(t, c.most)
		request, _ := b.ask(0, wire.Exclusive)
		require.NoError(t, b.copied(request, wire.Exclusive, 3, 1, 2, 3, 4))
		b.written(0, 9, c.revision)
		if _, held := b.ask(1, wire.Shared); held != c.want {
			t.Errorf("revision %d of at most %d values: %d is named, not %d", c.revision, c.most, held, c.want)
		}
	}
	b := newHolder(t, 4)
	request, _ := b.ask(0, wire.Exclusive)
	require.NoError(t, b.copied(request, wire.Exclusive, 3, 1, 2, 3, 4))
	b.written(0, 9, 5)
	older := wire.New[wire.Granted]()
	older.Pair, older.Revision = wire.Pair{Ref: ref(1, 0), Generation: 1}, 4
	older.Copy([]float32{5, 6, 7, 8})
	b.Keep(2, older)
	if _, held := b.ask(1, wire.Shared); held != 5 {
		t.Errorf("revision %d is named after an older copy came", held)
	}
}

// TestSharedLeasesAreSentOnce lets two splits ask for shared leases on a partition at once. The second asks after the
// first has its values, and names them. It does not wait for a question that needs more than its own.
func TestSharedLeasesAreSentOnce(t *testing.T) {
	b := newHolder(t, 8)
	request, _ := b.ask(0, wire.Shared)
	b.lease(1, 1, 0, wire.Shared)
	b.expect()
	b.AcquireDelayed(&b.out) // after some commit
	b.expect()
	b.begin(3, 0)
	require.NoError(t, b.copied(request, wire.Shared, 3, 1, 2, 3, 4))
	a := b.out.Envelopes[0].Message.(*wire.Acquire)
	if len(b.out.Envelopes) != 1 || a.Held != 3 {
		t.Fatalf("%d messages, revision %d is named", len(b.out.Envelopes), a.Held)
	}
	require.NoError(t, b.copied(a.Request, wire.Shared, 3))
	if got := b.readers[1].Leased(2); !slices.Equal(got, []float32{1, 2, 3, 4}) || len(b.fx.Woken) != 2 {
		t.Errorf("the second is shown %v, and %d tasks are woken", got, len(b.fx.Woken))
	}

	b = newHolder(t, 8)
	b.begin(3, 7, 0)
	b.lease(0, 1, 0, wire.Shared)
	b.lease(1, 1, 0, wire.Shared)
	if len(b.out.Envelopes) != 2 {
		t.Errorf("%d questions; the second waits for commit 7, which it does not need", len(b.out.Envelopes))
	}
}
