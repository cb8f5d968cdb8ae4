package event

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// TestLogReplay checks the last attempt stated, and all after an event; an incomplete last line does not count.
func TestLogReplay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, err := OpenLog(dir, false)
	if err == nil {
		err = l.Begin()
	}
	if err != nil {
		t.Fatal(err)
	}
	n := func(k int) *int { return &k }
	visits := func(first, last uint64, list ...Passage) Event {
		return Event{Kind: Visited, Visits: &Visits{Records: [2]uint64{first, last}, Visits: list}}
	}
	told := func(shown uint64) Told {
		t.Helper()
		again, err := OpenLog(dir, true)
		if err != nil {
			t.Fatal(err)
		}
		is, err := again.Replay(shown)
		if err != nil {
			t.Fatal(err)
		}
		return is
	}
	for _, e := range []Event{{Kind: Started}, {Kind: Stated}, visits(1, 7, Passage{0, 0, 0, 0, 1}), {Kind: Epoch, Epoch: n(1), Figures: &Figures{}}, visits(9, 9), {Kind: Checkpoint}} {
		if _, err := l.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	if is := told(4); is.Record != 9 || is.Counted != 7 || is.Epoch == nil || *is.Epoch.Epoch != 1 || len(is.Unseen) != 2 {
		t.Errorf("it was told %+v", is)
	}
	var e Event
	if err := json.Unmarshal(told(5).Unseen[0], &e); err != nil || e.Seq != 6 || e.Kind != Checkpoint {
		t.Errorf("behind event 5 is %+v, %v", e, err)
	}
	f, err := os.OpenFile(filepath.Join(dir, File), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(`{"seq":7,"kind":"visited","rec`)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if is := told(6); is.Record != 9 || len(is.Unseen) != 0 {
		t.Errorf("behind a torn line: %+v", is)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if l, err = OpenLog(dir, true); err == nil {
		err = l.Begin()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := l.Append(Event{Kind: Stated}); err != nil {
		t.Fatal(err)
	}
	if is := told(7); is.Record != 0 || is.Counted != 0 || is.Epoch != nil || len(is.Unseen) != 0 {
		t.Errorf("of another life: %+v", is)
	}
}
