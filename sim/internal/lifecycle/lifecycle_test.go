package lifecycle

import (
	"testing"

	"bellows/link/wire"
)

func TestJobBeginsOnce(t *testing.T) {
	t.Parallel()
	begun := 0
	w := Watch{Begins: func() { begun++ }}
	post := func(m wire.Message) {
		w.Posted(wire.Envelope{From: wire.ControllerAt(), To: wire.LaneAt(1, 0), Message: m})
	}
	post(&wire.Dispatch{})
	post(&wire.Dispatch{})
	if post(&wire.End{Parts: true, Term: 9}); begun != 1 || w.IsOver() {
		t.Errorf("begun %d times, over %v after a lane has left", begun, w.IsOver())
	}
	post(&wire.End{Term: 3})
	if post(&wire.End{Term: 2}); !w.IsOver() || w.EndedBy != 3 {
		t.Errorf("over %v, ended by term %d", w.IsOver(), w.EndedBy)
	}
}

func TestOnlyClosedMessagesToControllerAreCounted(t *testing.T) {
	t.Parallel()
	var w Watch
	w.Delivered(wire.Envelope{To: wire.LaneAt(1, 0), Message: &wire.Closed{}})
	w.Delivered(wire.Envelope{To: wire.ControllerAt(), Message: &wire.Closed{}})
	w.Delivered(wire.Envelope{To: wire.ControllerAt(), Message: &wire.Notice{Sentence: "lane 0 waits"}})
	if w.LastWords != 1 || len(w.Notices) != 1 {
		t.Errorf("%d last messages, notices %q", w.LastWords, w.Notices)
	}
}
