package server_test

import (
	"fmt"
	"slices"
	"testing"

	"bellows"
	"bellows/core/rowstore"
	"bellows/link/wire"
	"bellows/table"
)

func TestBarrierShowsAClockAtOnce(t *testing.T) {
	s := newScript(t, 0)
	s.note("a read of clock 1 waits until both splits' clock 0 is committed, and then sees both")
	s.push(1, 1, 0, ref(0, 0), 2)
	s.push(2, 1, 0, ref(0, 0), 3)
	s.pull(1, ref(0, 0), wire.Need{Clock: 0})
	s.record(1, 2, 1, 0)
	s.pull(2, ref(0, 0), wire.Need{Clock: bellows.NoClock})
	s.record(2, 1, 1, 0)
	s.check()
}

func TestAsyncShowsEachCommit(t *testing.T) {
	s := newScript(t, 0)
	s.note("held is not seen; committed is; a read waits for the commits known at its dispatch")
	s.push(1, 1, 0, ref(1, 0), 2)
	s.pull(1, ref(1, 0), wire.Need{Clock: bellows.NoClock})
	s.pull(2, ref(1, 0), wire.Need{Commit: 1, Clock: bellows.NoClock})
	s.record(1, 1, 1, 0)
	s.check()
}

func TestLeases(t *testing.T) {
	s := newScript(t, 0)
	s.note("shared leases keep commits out; the read sees the version before")
	s.acquire(1, ref(1, 0), wire.Shared)
	s.acquire(2, ref(1, 0), wire.Shared)
	s.push(1, 1, 0, ref(1, 0), 2)
	s.record(1, 1, 1, 0)
	s.pull(2, ref(1, 0), wire.Need{Clock: bellows.NoClock})
	s.release(1, ref(1, 0))
	s.release(2, ref(1, 0))
	s.note("an exclusive lease waits for the others, keeps reads and leases out, and ends with its commit")
	s.acquire(1, ref(1, 0), wire.Exclusive)
	s.acquire(2, ref(1, 0), wire.Exclusive)
	s.pull(2, ref(1, 0), wire.Need{Clock: bellows.NoClock})
	m := wire.New[wire.Push]()
	m.Flush, m.Clock = bellows.FlushID{Client: 1, Incarnation: 1, Seq: 2}, 1
	m.Leases = append(m.Leases, wire.LeaseEnd{Pair: ref(1, 0), Values: []float32{7, 8}})
	s.send(clients[0], "push: the lease on t1/p0 ends with [7 8]", m)
	s.record(2, 1, 2, 1)
	s.check()
}

// TestSubscribersAreSentWhatChanged sends a client the changed rows of a BSP table with each clock, and nothing once
// it has unsubscribed. A client that only asked is sent nothing.
func TestSubscribersAreSentWhatChanged(t *testing.T) {
	s := newScript(t, 0)
	s.subscribe(1, ref(0, 0))
	s.pull(2, ref(0, 0), wire.Need{Clock: bellows.NoClock})
	s.clock(0, 1)
	s.note("clock 1 changes nothing there: the version is lifted, without rows")
	s.clock(1, 0)
	s.send(clients[0], "unsubscribe t0/p0", &wire.Unsubscribe{Incarnation: 1, Pair: ref(0, 0)})
	s.clock(2, 1)
	s.check()
}

func TestTheCapTakesTheLowestFlush(t *testing.T) {
	s := newScript(t, 8)
	s.note("8 bytes may be held; clock 0 is below clock 1 and gets in all the same; clock 2 waits for room")
	s.push(2, 1, 1, ref(1, 0), 1)
	s.push(1, 1, 0, ref(1, 0), 1)
	s.push(2, 2, 2, ref(1, 0), 1)
	s.record(1, 1, 1, 0)
	s.record(2, 2, 1, 0)
	s.push(2, 2, 2, ref(1, 0), 1)
	s.check()
}

func TestOversizedFlushIsTakenInOrder(t *testing.T) {
	s := newScript(t, 4)
	s.note("4 bytes may be held, and each flush has more: one is taken alone, the next waits for its record, and is taken then")
	s.push(1, 1, 0, ref(1, 0), 1)
	s.push(2, 1, 0, ref(1, 0), 1)
	s.record(1, 1, 1, 0)
	s.push(2, 1, 0, ref(1, 0), 1)
	s.record(2, 2, 1, 0)
	s.check()
}

func TestOtherGenerationsAreRefused(t *testing.T) {
	s := newScript(t, 0)
	other := ref(1, 0)
	for g, is := range []string{"of an owner of the past: to be sent again", "", "that there is not yet: nothing that a peer can send"} {
		if other.Generation = bellows.Generation(g); g == 1 {
			continue
		}
		s.note(is)
		s.push(1, 1, 0, other, 1)
		s.pull(1, other, wire.Need{Clock: bellows.NoClock})
		s.acquire(1, other, wire.Exclusive)
	}
	s.check()
}

func TestEndAccountsForEverything(t *testing.T) {
	s := newScript(t, 0)
	s.note("recorded but of an unfinished clock, held, and still under way: all dropped, and counted")
	s.push(1, 1, 0, ref(0, 0), 1)
	s.record(1, 1, 1, 0)
	s.push(2, 1, 0, ref(1, 0), 1)
	s.end(controller)
	s.push(1, 2, 1, ref(1, 1), 1)
	s.endClients()
	s.note("what comes again counts nothing")
	s.push(1, 2, 1, ref(1, 1), 1)
	for _, p := range []wire.Pair{ref(0, 0), ref(1, 0), ref(1, 1)} {
		im, err := s.lane.Partition(p.Ref)
		fmt.Fprintf(&s.text, "%v: %v %v\n", p.Ref, im.Values, err)
	}
	s.check()
}

func TestEndWithoutTheGone(t *testing.T) {
	s := newScript(t, 0)
	s.note("node 2 is gone: its end is not waited for; a partition that node 0 leased in place is dirty")
	local := wire.Address{}
	m := wire.New[wire.Acquire]()
	*m = wire.Acquire{Pair: ref(1, 0), Mode: wire.Exclusive, Need: wire.Need{Clock: bellows.NoClock}}
	s.send(local, "acquire t1/p0, exclusive", m)
	s.end(clients[0])
	s.end(controller, 2)
	_, err := s.lane.Partition(ref(1, 0).Ref)
	fmt.Fprintf(&s.text, "t1/p0: %v\n", err)
	s.check()
}

// TestKeptImagesOfSavedRunStay gives a lane the kept images of a saved run, one of a sparse table without rows among them.
func TestKeptImagesOfSavedRunStay(t *testing.T) {
	s := newScript(t, 0, table.Schema{Name: "keys", Rows: 4, Width: 1, Sparse: true, Partitions: 1})
	s.lane.LoadKept(ref(1, 0).Ref, &rowstore.Image{Values: []float32{3, 4}})
	s.lane.LoadKept(ref(2, 0).Ref, &rowstore.Image{})
	if kept := s.lane.Kept(ref(1, 0).Ref); kept == nil || !slices.Equal(kept.Values, []float32{3, 4}) || kept.Keys != nil {
		t.Errorf("kept %v", kept)
	}
	if kept := s.lane.Kept(ref(2, 0).Ref); kept == nil || kept.Keys == nil || len(kept.Keys) > 0 {
		t.Errorf("kept of no keys %v", kept)
	}
	if kept := s.lane.Kept(ref(0, 0).Ref); kept != nil {
		t.Errorf("not kept was %v", kept)
	}
}

func TestKeep(t *testing.T) {
	s := newScript(t, 0)
	s.push(1, 1, 0, ref(1, 0), 2)
	s.record(1, 1, 1, 0)
	s.keep(2)
	s.push(1, 2, 1, ref(1, 0), 5)
	s.record(3, 1, 2, 1)
	im, _ := s.lane.Partition(ref(1, 0).Ref)
	if kept := s.lane.Kept(ref(1, 0).Ref); kept == nil || kept.Values[0] != 2 || im.Values[0] != 7 {
		t.Errorf("kept %v, live %v", kept, im)
	}
}
