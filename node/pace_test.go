package node

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"bellows/core/migration"
	"bellows/link/wire"
)

// copies is a lane with one copy in a state.
type copies struct{ state migration.CopyState }

func (c *copies) CopyOf(wire.Address, *wire.Taken) migration.CopyState { return c.state }

// TestReportsRestAndComeAgain delivers reports of a copy as its pace decides: what rests is sent again, what is dropped is
// not, and other messages pass.
func TestReportsRestAndComeAgain(t *testing.T) {
	t.Parallel()
	lane := &copies{}
	var rests []time.Duration
	var again []wire.Envelope
	p := &pace{lane: lane, began: time.Now().Add(-time.Hour), later: func(rest time.Duration, e wire.Envelope) {
		rests, again = append(rests, rest), append(again, e)
	}}
	from, to := wire.LaneAt(1, 0), wire.LaneAt(0, 0)
	give := func(state migration.CopyState, messages ...wire.Message) (due []wire.Message) {
		lane.state = state
		var batch []wire.Envelope
		for _, m := range messages {
			batch = append(batch, wire.Envelope{From: from, To: to, Message: m})
		}
		for _, e := range p.due(batch) {
			due = append(due, e.Message)
		}
		return due
	}
	other := &wire.Failed{}
	if due := give(migration.CopyUnderWay, &wire.Taken{Copy: 3, Number: 1}, other); !slices.Equal(due, []wire.Message{other}) || len(again) > 0 {
		t.Errorf("of a window that is under way %v are given, %v later", due, again)
	}
	whole := &wire.Taken{Copy: 3, Number: 4} // an hour after the last one
	due := give(migration.CopyRests, whole)
	if len(due) > 0 || len(again) != 1 || again[0] != (wire.Envelope{From: from, To: to, Message: whole}) || rests[0] != migration.RestMost {
		t.Errorf("of a whole window %v are given, %v later, in %v", due, again, rests)
	}
	if due := give(migration.CopyRests, whole); !slices.Equal(due, []wire.Message{whole}) || len(again) != 1 {
		t.Errorf("when the rest is over %v are given, %v later", due, again)
	}
}

// TestReportsDoNotBlock blocks the first report, and wants the others to be taken all the same, up to a bound, and told
// in their order.
func TestReportsDoNotBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReporter()
		gate := make(chan struct{})
		r.say(func() { <-gate })
		synctest.Wait() // it is being told
		var told []int
		for i := range reportsMost {
			r.say(func() { told = append(told, i) })
		}
		late := false
		go func() {
			r.say(func() { told = append(told, reportsMost) })
			late = true
		}()
		synctest.Wait()
		if late {
			t.Errorf("%d reports wait", reportsMost+1)
		}
		close(gate)
		synctest.Wait()
		r.close()
		if !late || len(told) != reportsMost+1 || !slices.IsSorted(told) {
			t.Errorf("%d of %d reports were delivered, in order %v", len(told), reportsMost+1, slices.IsSorted(told))
		}
		r.say(func() { t.Error("told after the end") })
	})
}

// TestTheEndWaitsForReports closes a reporter while a report is being told and others wait.
func TestTheEndWaitsForReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReporter()
		gate := make(chan struct{})
		told, closed := 0, false
		r.say(func() { <-gate })
		synctest.Wait()
		for range 3 {
			r.say(func() { told++ })
		}
		go func() {
			r.close()
			closed = true
		}()
		synctest.Wait()
		if closed {
			t.Error("closed, and reports wait to be delivered")
		}
		close(gate)
		synctest.Wait()
		if !closed || told != 3 {
			t.Errorf("closed %v, %d of 3 reports were delivered", closed, told)
		}
	})
}
