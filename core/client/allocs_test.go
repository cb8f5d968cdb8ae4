//go:build !race

package client_test

import (
	"testing"

	"bellows"
	"bellows/core/client"
	"bellows/link/wire"
)

// TestKeysThatComeAllocateNothing lets a split read subscribed keys clock after clock: before they come, so that it
// waits; after, when they are written over a block that no reader uses; and while a task of the other split reads
// them. (The race detector makes pools forget at random.)
func TestKeysThatComeAllocateNothing(t *testing.T) {
	for name, looks := range map[string]bool{"nobody looks": false, "a task looks": true} {
		d := subscribed(t)
		d.finish(0)
		d.end(1)
		task, other := d.tasks[0], d.tasks[1]
		list := []bellows.Key{10, 30}
		read := func(by *client.Task, there bool) {
			by.Group(againB, list)
			if d.ReadKeys(by, &d.fx) != there {
				t.Fatalf("%s: rows are there: %v", name, !there)
			}
		}
		clock := bellows.Clock(2)
		var left []wire.Envelope
		n := testing.AllocsPerRun(300, func() {
			clock++
			d.dispatch(clock, 0, 0, 1)
			read(task, false)
			d.relay(againB, 1, bellows.CommitNumber(2*clock), clock-1, list...)
			read(task, true)
			if looks {
				read(other, true)
			}
			d.Finish(task, nil, nil, &d.fx)
			d.relay(againB, 2, bellows.CommitNumber(2*clock)+1, clock-1, list...)
			d.Finish(other, nil, nil, &d.fx)
			left = append(left[:0], d.fx.Envelopes...)
			for _, e := range left {
				if push, sent := e.Message.(*wire.Push); sent { // of nothing, which its lane records
					m := wire.New[wire.Committed]()
					m.Append(wire.Commitment{Flush: push.Flush, Commit: bellows.CommitNumber(2 * clock)})
					d.deliver(e.To, m)
					continue
				}
				wire.Free(e.Message)
			}
			d.fx.Reset()
		})
		if n != 0 {
			t.Errorf("%s: %v allocations a clock", name, n)
		}
	}
}
