package cache_test

import (
	"testing"

	"bellows/core/cache"
	"bellows/link/wire"
)

// TestTasksBorrowFromLanesOfTheirNode reads some rows of a table with a barrier: a lane of this node is asked for its
// memory, once a clock for all tasks, and nothing is subscribed to. A lane of another node, and a table without a
// barrier, are asked for rows.
func TestTasksBorrowFromLanesOfTheirNode(t *testing.T) {
	b := newBenchWithin(t, twoTables(), cache.Limits{Subscribed: 100, Unread: 4, Borrow: 4})
	b.AddLane(wire.Address{Node: self.Node, Role: wire.Lane})
	b.SetOwner(0, 2, 1) // w/0 belongs to this node
	borrows := func() (list []bool) {
		for _, e := range b.out.Envelopes {
			for _, p := range e.Message.(*wire.Pull).Parts {
				list = append(list, p.Borrows())
				if p.Subscribe {
					t.Errorf("subscribes to %v", p.Ref)
				}
			}
		}
		b.out.Envelopes = b.out.Envelopes[:0]
		return list
	}
	slab := []float32{1, 2, 3, 4}
	b.begin(3, 5, 0, 1)
	if b.readRows(0, 0, 1) || b.readRows(1, 1, 2) || b.readRows(1, 0, 5) {
		t.Fatal("rows are there that were not sent")
	}
	if got := borrows(); len(got) != 3 || !got[0] || got[1] || got[2] {
		t.Fatalf("parts that borrow: %v", got)
	}
	answer := rows(0, 0, nil, 5, 2)
	answer.Lend(slab)
	b.must(1, answer)
	if !b.readRows(0, 0, 1) || !b.readRows(1, 0, 0, 3) {
		t.Fatal("borrowed rows are not there")
	}
	if got := b.readers[0].View(0, 0, 4, 1); &got[0] != &slab[0] {
		t.Error("what a task sees is a copy")
	}
	if got := borrows(); len(got) != 0 {
		t.Errorf("a second task asks for %d parts", len(got))
	}
}

// TestSmallPartitionsAreCopied reads a partition of fewer values than Limits.Borrow.
func TestSmallPartitionsAreCopied(t *testing.T) {
	b := newBenchWithin(t, twoTables(), cache.Limits{Subscribed: 100, Unread: 4, Borrow: 5})
	b.AddLane(wire.Address{Node: self.Node, Role: wire.Lane})
	b.SetOwner(0, 2, 1)
	b.begin(3, 5, 0)
	if b.readRows(0, 0, 1) {
		t.Fatal("rows are there that were not sent")
	}
	if asked := b.out.Envelopes[0].Message.(*wire.Pull).Parts[0]; asked.Borrows() {
		t.Error("a partition of 4 values is borrowed, with a limit of 5")
	}
}
