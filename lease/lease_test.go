package lease_test

import (
	"testing"

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
