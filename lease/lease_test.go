package lease_test

import (
	"slices"
	"testing"

	"bellows"
	"bellows/lease"
)

func TestLease(t *testing.T) {
	l := lease.NewTable(1000)
	l.Add(3, 0)
	l.Add(1, 500)
	if _, _, found := l.Expired(1000); found {
		t.Error("a lease ran out at its last moment")
	}
	if n, silent, found := l.Expired(1001); !found || n != 3 || silent != 1001 {
		t.Errorf("expired: node %d silent %d, %v", n, silent, found)
	}
	l.Beat(3, 1500)
	l.Beat(3, 1200) // a late beat takes nothing back
	if n, _, found := l.Expired(2400); !found || n != 1 {
		t.Errorf("expired: node %d, %v", n, found)
	}
	l.Beat(1, 2400)
	if n, _, found := l.Expired(2500); found {
		t.Errorf("node %d expired while it beat", n)
	}
}

func TestACallerThatSleptBlamesNobody(t *testing.T) {
	l := lease.NewTable(3000)
	l.Add(1, 0)
	l.Add(2, 0)
	for now := int64(500); now <= 2000; now += 500 {
		if slept := l.Tick(now); slept != 0 {
			t.Errorf("slept %d ms between ticks of 500", slept)
		}
		l.Beat(1, now)
	}
	if slept := l.Tick(60_000); slept != 58_000 {
		t.Errorf("slept %d ms", slept)
	}
	if n, _, found := l.Expired(60_900); found {
		t.Errorf("node %d is blamed for what the caller slept", n)
	}
	l.Tick(60_900)
	l.Beat(1, 61_000)
	if n, silent, found := l.Expired(61_100); !found || n != 2 || silent != 3100 {
		t.Errorf("expired: node %d silent %d, %v: what it was silent before counts", n, silent, found)
	}
	l.Remove(2)
	l.Add(1, 70_000) // has a lease already
	if n, _, found := l.Expired(64_001); !found || n != 1 {
		t.Errorf("expired: node %d, %v", n, found)
	}
}

func TestEverySilenceIsNamedOnce(t *testing.T) {
	l := lease.NewTable(10_000)
	for n := range bellows.NodeID(3) {
		l.Add(n, 0)
	}
	suspects := func(now int64) (list []bellows.NodeID) {
		for n, _, found := l.Suspect(now, 2000); found; n, _, found = l.Suspect(now, 2000) {
			list = append(list, n)
		}
		return list
	}
	l.Beat(1, 500)
	if got := suspects(2400); !slices.Equal(got, []bellows.NodeID{0, 2}) {
		t.Errorf("suspects %v", got)
	}
	if got := suspects(2600); !slices.Equal(got, []bellows.NodeID{1}) {
		t.Errorf("later, suspects %v", got)
	}
	l.Beat(0, 2700)
	if got := suspects(4800); !slices.Equal(got, []bellows.NodeID{0}) {
		t.Errorf("after a beat, suspects %v", got)
	}
}
