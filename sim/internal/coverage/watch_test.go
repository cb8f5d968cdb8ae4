package coverage

import (
	"testing"

	"bellows"
	"bellows/link/wire"
)

func newWatch() *Watch {
	return &Watch{Coverage: new(Coverage), Words: 2, Records: 2, Commits: 1,
		Divided: func([]wire.Result) (bool, bool) { return true, false },
		Handed:  func(bellows.SplitID) bellows.Clock { return 4 },
		Buried:  func(n bellows.NodeID) bool { return n == 7 }}
}

func TestWatchNamesEvents(t *testing.T) {
	t.Parallel()
	keys := []bellows.Key{1}
	for name, m := range map[string]wire.Message{
		"keys-subscribed-to": &wire.Pull{Parts: []wire.PullPart{{Subscribe: true, Keys: keys}}},
		"keys-sent-unasked":  &wire.Rows{Parts: []wire.RowsPart{{Keys: keys}}},
		"keys-given-up":      &wire.Unsubscribe{Pair: wire.Pair{Ref: bellows.PartitionRef{Table: 2}}},
		"records-full":       &wire.Records{List: make([]wire.Record, 2)},
		"units-apart":        &wire.Records{List: make([]wire.Record, 1)},
		"units-given-back":   &wire.Recalled{Clock: 2},
		"lost-and-spoke":     &wire.Beat{},
	} {
		w := newWatch()
		w.Posted(wire.Envelope{From: wire.ClientAt(7), To: wire.LaneAt(1, 0), Message: m})
		if !w.Seen()[Event{Name: name}] {
			t.Errorf("%T: %s is not among %v", m, name, w.Seen())
		}
	}
}

func TestRowsUnaskedInSeveralMessages(t *testing.T) {
	t.Parallel()
	w := newWatch()
	rows := func(to bellows.NodeID) wire.Envelope {
		return wire.Envelope{To: wire.ClientAt(to), Message: &wire.Rows{}}
	}
	w.After(wire.LaneAt(1, 0), []wire.Envelope{rows(1), rows(2)})
	w.After(wire.LaneAt(1, 0), []wire.Envelope{rows(2)})
	if len(w.Seen()) != 0 {
		t.Errorf("%v", w.Seen())
	}
	w.After(wire.LaneAt(1, 0), []wire.Envelope{rows(2), rows(2), {To: wire.ClientAt(1), Message: &wire.Committed{List: make([]wire.Commitment, 1)}}})
	if seen := w.Seen(); !seen[Event{Name: "rows-unasked-split"}] || !seen[Event{Name: "commitments-split"}] {
		t.Errorf("%v", seen)
	}
}
