package event

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestTheLogTellsWhatWasLost: units of the last attempt after the cut from which the run resumes, or in all of it, and
// nothing without such a line.
func TestTheLogTellsWhatWasLost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if units, _, known := ToldSince(dir, 0); known || units != 0 {
		t.Errorf("without a log it tells %d", units)
	}
	second := 0
	text := []byte{}
	var c Chain
	tell := func(e Event) {
		second++
		_, line, err := c.Link(e, time.Unix(int64(second), 0).UTC())
		if err != nil {
			t.Fatal(err)
		}
		text = append(append(text, line...), '\n')
		if err := os.WriteFile(filepath.Join(dir, File), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	visited := func(first, last uint64, stop bool, list ...Passage) Event {
		return Event{Kind: Visited, Visits: &Visits{Records: [2]uint64{first, last}, Visits: list, Stop: stop}}
	}
	want := func(record uint64, units int64, took time.Duration, known bool) {
		t.Helper()
		if u, s, k := ToldSince(dir, record); u != units || s != took || k != known {
			t.Errorf("since record %d: %d units and %v, %v; want %d, %v, %v", record, u, s, k, units, took, known)
		}
	}
	tell(Event{Kind: Started})
	tell(Event{Kind: Joined})
	want(0, 0, 0, false)
	tell(visited(1, 4, false, Passage{0, 0, 1, 0, 10}, Passage{1, 0, 1, 0, 10})) // splits 0 and 1 in clocks 0 and 1
	want(0, 4, time.Second, true)
	tell(visited(5, 6, true, Passage{0, 2, 2, 0, 5}, Passage{1, 2, 2, 0, 5})) // a cut
	tell(Event{Kind: Checkpoint})
	want(6, 0, time.Second, false)
	want(0, 6, 3*time.Second, true) // the cut was never whole
	tell(visited(7, 9, false, Passage{0, 3, 5, 0, 15}))
	want(6, 3, 2*time.Second, true)
	tell(visited(10, 10, true, Passage{0, 6, 6, 0, 5})) // another, which was not stored
	want(6, 4, 3*time.Second, true)
	tell(Event{Kind: RolledBack})
	tell(Event{Kind: Joined})
	tell(visited(1, 3, false, Passage{0, 3, 5, 0, 15}))
	want(0, 3, time.Second, true) // of this life alone
	text = append(text, `{"seq":`...)
	tell(visited(4, 4, false, Passage{0, 6, 6, 0, 5})) // after the remains of a crash
	want(0, 3, time.Second, true)
}
