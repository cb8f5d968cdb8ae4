package cache_test

import (
	"slices"
	"testing"

	"bellows"
	"bellows/core/cache"
	"bellows/link/wire"
)

// keep lets split 0 read a partition twice, in a version of commit 1 and then 2, so that it is subscribed to.
func keep(t *testing.T, b *bench, tab bellows.TableID) {
	t.Helper()
	b.begin(0, 0, 0)
	b.read(0, tab, 0, 4)
	b.must(1, rows(tab, 0, nil, 1, bellows.NoClock, 1, 1, 1, 1))
	b.end(0)
	b.begin(1, 2, 0)
	if b.read(0, tab, 0, 4) {
		t.Fatal("rows of an older version are shown")
	}
	b.must(2, rows(tab, 0, nil, 2, 0, 2, 2, 2, 2))
	b.end(0)
	b.fx.Woken, b.out.Envelopes = nil, nil
}

// TestRowsThatAreReadAgainComeUnasked wants no question about rows that are subscribed to and sure to come: with a
// clock under BSP, and else with a commit of this node's.
func TestRowsThatAreReadAgainComeUnasked(t *testing.T) {
	b := newBench(t, twoTables())
	keep(t, b, 0)
	b.begin(2, 0, 0, 1)
	if b.read(0, 0, 0, 4) || b.read(1, 0, 2, 3) {
		t.Fatal("rows are there that have not come")
	}
	b.expect()
	b.must(0, rows(0, 0, []uint32{1}, 2, 0, 9)) // too old
	b.expect()
	b.must(0, rows(0, 0, nil, 4, 1, 3, 3, 3, 3))
	b.expect("wake 0", "wake 1")
	b.equal("split 1", b.sees(1, 0, 2, 3), 3)
	b.end(0, 1)

	b = newBench(t, twoTables())
	keep(t, b, 1)
	b.begin(2, 3, 0)
	b.read(0, 1, 0, 4)
	b.expect("lane 0: pull 3 1/0+ after 3, clock -1") // nothing is sure to come
	b.must(3, rows(1, 0, nil, 3, 0, 3, 3, 3, 3))
	b.end(0)
	b.Expect(0)
	b.begin(3, 4, 0)
	b.fx.Woken = nil
	b.read(0, 1, 0, 4)
	b.expect()
	b.Recorded(0, 5)
	b.must(0, rows(1, 0, []uint32{0}, 4, 0, 4))
	b.expect("wake 0")
	b.begin(4, 5, 1)
	b.read(1, 1, 0, 4) // the rows of commit 5 are under way
	b.expect()
	b.must(0, rows(1, 0, []uint32{0}, 5, 0, 5))
	b.expect("wake 1")
	b.end(0, 1)
	b.begin(5, 6, 0)
	b.read(0, 1, 0, 4)
	b.expect("lane 0: pull 4 1/0+ after 6, clock -1")
}

// TestReadersAskForLostRelays lets rows become unsure to come: a lane has no room, or another owner, which knows of
// no subscription. Readers that waited ask for all that is cached.
func TestReadersAskForLostRelays(t *testing.T) {
	b := newBench(t, twoTables())
	keep(t, b, 1)
	b.Expect(0)
	b.Expect(0)
	b.begin(2, 3, 0)
	b.read(0, 1, 0, 4)
	b.Uncertain(0, &b.fx)
	b.expect()
	b.Uncertain(0, &b.fx)
	b.expect("lane 0: pull 3 1/0+ after 3, clock -1")
	b.Uncertain(0, &b.fx)
	b.expect()
	b.Expect(0)
	b.must(3, rows(1, 0, nil, 3, 0, 3, 3, 3, 3))
	b.expect("wake 0")
	b.end(0)
	b.begin(3, 4, 0)
	b.Expect(0)
	b.read(0, 1, 0, 4)
	b.expect()
	b.Move(2, 1, 2, &b.out)
	b.expect("lane 1: pull 4 1/0+ after 4, clock -1")
	r := rows(1, 0, nil, 5, 0, 5, 5, 5, 5)
	b.must(0, r) // of the owner before
	b.expect()
	r.Generation = 2
	b.must(4, r)
	b.expect("wake 0")
}

// TestASubscriptionIsGivenUp lets rows come that are not read: after more than the limit the subscription ends, but
// not while a reader waits for it.
func TestASubscriptionIsGivenUp(t *testing.T) {
	b := newBenchWithin(t, twoTables(), cache.Limits{Subscribed: 100, Unread: 2})
	keep(t, b, 0)
	clock := bellows.Clock(0)
	come := func(want ...string) {
		t.Helper()
		clock++
		b.must(0, rows(0, 0, []uint32{1}, 3, clock, 9))
		b.expect(want...)
	}
	come()
	come()
	b.begin(3, 0, 0)
	b.read(0, 0, 0, 4) // which begins the count anew
	come()
	come()
	b.end(0)
	b.begin(9, 0, 1)
	b.read(1, 0, 0, 4)
	come()
	come()
	come()
	b.must(0, rows(0, 0, nil, 9, 8, 1, 1, 1, 1))
	b.expect("wake 1")
	b.end(1)
	come()
	come("lane 0: unsubscribe 0/0")
	come() // what was under way
	b.begin(12, 0, 0)
	b.read(0, 0, 0, 4)
	b.expect("lane 0: pull 3 0/0 after 0, clock 11")
}

// TestKeysAreSubscribedTo reads keys of a BSP table in three clocks: the second question is for all that is cached,
// and in the third the rows come unasked. Another key is added to the subscription.
func TestKeysAreSubscribedTo(t *testing.T) {
	b := newBench(t, keyTables())
	b.begin(0, 0, 0, 1)
	b.readKeys(0, 0, 20, 10, 20)
	b.readKeys(1, 0, 20, 30)
	b.expect("lane 0: pull 1 0/0keys[10 20] after 0, clock -1", "lane 0: pull 2 0/0keys[20 30] after 0, clock -1")
	b.must(1, answer(0, 2, 0, -1, 1))
	b.must(2, answer(0, 2, 0, -1, 2))
	b.equal("joined", b.seesKeys(1, 0, 20, 30), 2, 2)
	b.end(0, 1)
	b.begin(1, 0, 0, 1)
	b.fx.Woken = nil
	b.readKeys(1, 0, 30, 20)
	b.expect("lane 0: pull 3 0/0keys[10 20 30]+ after 0, clock 0")
	b.readKeys(0, 0, 10)
	b.expect()
	b.must(3, answer(0, 3, 2, 0, 3))
	b.expect("wake 1", "wake 0")
	b.end(0, 1)
	b.begin(2, 0, 0, 1)
	b.readKeys(0, 0, 10, 30)
	b.expect()
	b.readKeys(1, 0, 40)
	b.expect("lane 0: pull 4 0/0keys[40]+ after 0, clock 1")
	b.must(0, keyed(0, []bellows.Key{5, 30, 50}, 4, 1, 7))
	b.expect("wake 0")
	b.equal("what came", b.seesKeys(0, 0, 10, 30), 3, 7)
	b.must(4, answer(0, 1, 4, 1, 4))
	b.expect("wake 1")
	b.equal("what was added", b.seesKeys(1, 0, 40), 4)
	b.must(0, keyed(0, []bellows.Key{10, 40}, 6, 2, 8)) // while tasks look
	b.equal("while it looks", b.seesKeys(0, 0, 10, 30), 3, 7)
	b.end(0, 1)
	b.begin(3, 0, 0)
	if !b.readKeys(0, 0, 10, 20, 30, 40) {
		t.Error("rows of the subscription are not there")
	}
	b.equal("all", b.seesKeys(0, 0, 10, 20, 30, 40), 8, 3, 7, 8)
}

// answer returns rows of as many keys as were asked for.
func answer(t bellows.TableID, n int, commit bellows.CommitNumber, complete bellows.Clock,
	value float32) wire.RowsPart {
	return rows(t, 0, nil, commit, complete, slices.Repeat([]float32{value}, n)...)
}

// TestKeysHaveABound reads more keys again than may be subscribed to: they are asked for as they are wanted.
func TestKeysHaveABound(t *testing.T) {
	for most, plus := range map[int]string{2: "", 3: "+"} {
		b := newBenchWithin(t, keyTables(), cache.Limits{Subscribed: most, Unread: 4})
		b.begin(0, 0, 0)
		b.readKeys(0, 0, 1, 2, 3)
		b.must(1, answer(0, 3, 0, -1, 1))
		b.end(0)
		b.begin(1, 0, 0)
		b.fx.Woken, b.out.Envelopes = nil, nil
		b.readKeys(0, 0, 1, 2, 3)
		b.expect("lane 0: pull 2 0/0keys[1 2 3]" + plus + " after 0, clock 0")
		b.must(2, answer(0, 3, 1, 0, 2))
		b.end(0)
		b.begin(1, 0, 1)
		b.fx.Woken = nil
		b.readKeys(1, 0, 3, 4)
		b.expect("lane 0: pull 3 0/0keys[3 4] after 0, clock 0")
		b.must(3, answer(0, 2, 1, 0, 3))
		b.equal("besides", b.seesKeys(1, 0, 3, 4), 3, 3)
		b.end(1)
		b.begin(2, 0, 1)
		b.fx.Woken = nil
		b.readKeys(1, 0, 1)
		if plus == "+" { // the answer was not kept: nothing would lift it
			b.expect()
		}
	}
}

// TestOlderKeysAreAskedForWhole adds keys to a subscription of an async table, whose block is older than the reader
// needs: the question has all keys, since the answer could not be joined with the block.
func TestOlderKeysAreAskedForWhole(t *testing.T) {
	b := newBench(t, keyTables())
	b.begin(0, 0, 0)
	b.readKeys(0, 1, 1, 2)
	b.must(1, answer(1, 2, 0, 0, 1))
	b.end(0)
	b.begin(1, 3, 0)
	b.readKeys(0, 1, 2)
	b.must(2, answer(1, 2, 3, 0, 2))
	b.end(0)
	b.fx.Woken, b.out.Envelopes = nil, nil
	b.begin(2, 3, 0)
	b.readKeys(0, 1, 2, 5)
	b.expect("lane 0: pull 3 1/0keys[2 5]+ after 3, clock -1")
	b.must(3, answer(1, 2, 3, 0, 3))
	b.end(0)
	b.begin(3, 4, 0)
	b.fx.Woken = nil
	b.readKeys(0, 1, 9)
	b.expect("lane 0: pull 4 1/0keys[1 2 5 9]+ after 4, clock -1")
}

// TestIdleKeysAreGivenUp lets keys of a subscription come that are not read: each costs as much as two that are read
// earn, and a debt of so many times all of them ends it.
func TestIdleKeysAreGivenUp(t *testing.T) {
	b := newBenchWithin(t, keyTables(), cache.Limits{Subscribed: 100, Unread: 4})
	b.begin(0, 0, 0)
	b.readKeys(0, 0, 1, 2)
	b.must(1, answer(0, 2, 0, -1, 1))
	b.end(0)
	b.begin(1, 0, 0)
	b.readKeys(0, 0, 1, 2)
	b.must(2, answer(0, 2, 1, 0, 1))
	b.end(0)
	b.fx.Woken, b.out.Envelopes = nil, nil
	commit, clock := bellows.CommitNumber(1), bellows.Clock(0)
	come := func(reads int) (ended bool) {
		commit, clock = commit+1, clock+1
		b.must(0, keyed(0, []bellows.Key{1, 2}, commit, clock, float32(clock)))
		for range reads {
			b.begin(clock+1, 0, 1)
			if !b.readKeys(1, 0, 1) {
				t.Fatal("a row of the subscription is not there")
			}
			b.end(1)
		}
		ended = len(b.out.Envelopes) > 0
		b.out.Envelopes = nil
		return ended
	}
	for i := range 20 {
		if come(1) {
			t.Fatalf("message %d: a subscription is given up that pays", i)
		}
	}
	clock-- // from here on rows are read that are no keys of it, and the debt grows by four keys a message
	for i := range 5 {
		if ended := come(0); ended != (i == 4) {
			t.Fatalf("message %d: given up: %v", i, ended)
		}
	}
}
