package node

import (
	"slices"
	"testing"
	"time"

	"bellows/core/server"
	"bellows/link/wire"
)

// copies is a lane with one copy in a state.
type copies struct{ state server.CopyState }

func (c *copies) CopyOf(wire.Address, *wire.Taken) server.CopyState { return c.state }

// TestACopyRestsBetweenWindows gives words about a copy, and wants that of a whole window to come later, once, those before it never, and the others at once; and
// nothing else to be kept.
func TestACopyRestsBetweenWindows(t *testing.T) {
	t.Parallel()
	lane := &copies{}
	var rests []time.Duration
	var again []wire.Envelope
	p := &pace{lane: lane, since: map[uint64]time.Time{}, held: map[*wire.Taken]bool{}, later: func(rest time.Duration, e wire.Envelope) {
		rests, again = append(rests, rest), append(again, e)
	}}
	from, to := wire.LaneAt(1, 0), wire.LaneAt(0, 0)
	give := func(state server.CopyState, words ...wire.Message) (due []wire.Message) {
		lane.state = state
		var batch []wire.Envelope
		for _, m := range words {
			batch = append(batch, wire.Envelope{From: from, To: to, Message: m})
		}
		for _, e := range p.due(batch) {
			due = append(due, e.Message)
		}
		return due
	}
	other, offer := &wire.Failed{}, &wire.Taken{Copy: 3}
	if due := give(server.CopyBegins, other, offer); !slices.Equal(due, []wire.Message{other, offer}) {
		t.Errorf("of a copy that begins %v are given", due)
	}
	if due := give(server.CopyUnderWay, &wire.Taken{Copy: 3, Number: 1}, other); !slices.Equal(due, []wire.Message{other}) || len(again) > 0 {
		t.Errorf("of a window that is under way %v are given, %v later", due, again)
	}
	p.since[3] = time.Now().Add(-time.Hour)
	whole := &wire.Taken{Copy: 3, Number: 4}
	if due := give(server.CopyRests, whole); len(due) > 0 || len(again) != 1 || again[0] != (wire.Envelope{From: from, To: to, Message: whole}) || rests[0] != restMost {
		t.Errorf("of a whole window %v are given, %v later, in %v", due, again, rests)
	}
	if due := give(server.CopyRests, whole); !slices.Equal(due, []wire.Message{whole}) || len(again) != 1 || len(p.held) > 0 {
		t.Errorf("when the rest is over %v are given, %v later, %v are kept", due, again, p.held)
	}
	if p.since[3].Before(time.Now().Add(-time.Minute)) {
		t.Error("the next window is measured from before the rest")
	}
	last := &wire.Taken{Copy: 3, Number: 5}
	if due := give(server.CopyHurries, last); !slices.Equal(due, []wire.Message{last}) || len(p.since) > 0 {
		t.Errorf("of a copy that hurries %v are given, and %v is kept", due, p.since)
	}
}
