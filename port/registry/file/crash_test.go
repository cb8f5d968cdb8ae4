package file

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/internal/require"
	"bellows/port/registry"
)

// state returns the entries of a registry and its revision, as text.
func state(t *testing.T, r registry.Registry) string {
	t.Helper()
	list, at, err := r.List(t.Context(), "")
	require.NoError(t, err)
	var b strings.Builder
	for _, e := range list {
		fmt.Fprintf(&b, "%s=%s@%d ", e.Key, e.Value, e.Revision)
	}
	fmt.Fprintf(&b, "at %d", at)
	return b.String()
}

// onDisk opens a registry on a disk in memory. The log is replaced often.
func onDisk(t *testing.T, d disk) (*Store, error) {
	t.Helper()
	s, err := open(Config{Folder: "here", growth: 1}, d)
	if err == nil {
		t.Cleanup(func() { _ = s.Close() })
	}
	return s, err
}

// mustOpen returns onDisk for a disk that can be opened.
func mustOpen(t *testing.T, d disk) *Store {
	t.Helper()
	s, err := onDisk(t, d)
	require.NoError(t, err)
	return s
}

// work makes changes of all kinds, and calls acknowledged after each. It ends at the first error.
func work(t *testing.T, r registry.Registry, acknowledged func()) error {
	t.Helper()
	lease, err := r.Grant(t.Context(), registry.LeaseMost)
	if err != nil {
		return err
	}
	for i := range 12 {
		key := fmt.Sprintf("jobs/%d", i%4)
		switch {
		case i == 3 || i == 9:
			_, err = r.Put(t.Context(), "office", []byte("one"), lease.ID())
		case i == 6:
			err = lease.Revoke(t.Context())
			acknowledged()
			if err == nil {
				lease, err = r.Grant(t.Context(), registry.LeaseMost)
			}
		case i%5 == 4:
			err = r.Delete(t.Context(), fmt.Sprintf("jobs/%d", (i-2)%4))
		default:
			_, err = r.Put(t.Context(), key, bytes.Repeat([]byte{'a' + byte(i)}, 1+20*(i%3)), 0)
		}
		if err != nil {
			return err
		}
		acknowledged()
	}
	return nil
}

// withoutLeases returns a state as the next process finds it: all leases are over.
func withoutLeases(s string) string {
	words := strings.Fields(s)
	kept := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return strings.HasPrefix(w, "office=") })
	if len(kept) < len(words) {
		at := 0
		fmt.Sscan(words[len(words)-1], &at)
		kept[len(kept)-1] = fmt.Sprint(at + 1)
	}
	return strings.Join(kept, " ")
}

// TestPowerCutAtEveryStep stops a process before each step that it takes on the disk, and cuts the power. Each acknowledged change is there, and of the change that was under way all or nothing; the
// registry can be written again, and that is kept.
func TestPowerCutAtEveryStep(t *testing.T) {
	t.Parallel()
	var states []string // of a process that is not stopped
	whole, renamed := newDisk(), 0
	whole.fail = func(_ int, op string) (int, error) {
		if op == "rename" {
			renamed++
		}
		return 0, nil
	}
	s := mustOpen(t, whole)
	note := func() { states = append(states, state(t, s.Client())) }
	note()
	require.NoError(t, work(t, s.Client(), note))
	if renamed < 3 {
		t.Errorf("the log was replaced %d times", renamed-1)
	}
	for stop := 1; stop <= whole.steps; stop++ {
		for _, written := range []int{0, 1, 17} {
			d := newDisk()
			d.fail = func(step int, _ string) (int, error) {
				if step < stop {
					return 0, nil
				}
				if step == stop {
					return written, errStopped
				}
				return 0, errStopped
			}
			done := -1 // the last state that was acknowledged
			if s, err := onDisk(t, d); err == nil {
				done = 0
				if err := work(t, s.Client(), func() { done++ }); err == nil {
					t.Fatalf("step %d did not stop it", stop)
				}
			}
			for which := range cuts {
				left := d.powerCut(which)
				s, err := onDisk(t, left)
				if err != nil {
					t.Fatalf("stopped at step %d, power cut %d: %v", stop, which, err)
				}
				got := state(t, s.Client())
				next := min(done+1, len(states)-1)
				if got != withoutLeases(states[max(done, 0)]) && got != withoutLeases(states[next]) {
					t.Fatalf("stopped at step %d, power cut %d: got %s\nwant %s\n  or %s", stop, which, got, withoutLeases(states[max(done, 0)]), withoutLeases(states[next]))
				}
				if _, err := s.Client().Put(t.Context(), "more", nil, 0); err != nil {
					t.Fatal(err)
				}
				want := state(t, s.Client())
				if s, err = onDisk(t, left.powerCut(0)); err != nil || state(t, s.Client()) != want {
					t.Fatalf("stopped at step %d, power cut %d: what was written afterwards: %v", stop, which, err)
				}
			}
		}
	}
}

// logOf returns a log that was not replaced by a snapshot, with the state after each acknowledgement by the length of the log at that time.
func logOf(t *testing.T) (text []byte, states map[int]string) {
	t.Helper()
	d := newDisk()
	s, err := open(Config{Folder: "here"}, d)
	require.NoError(t, err)
	defer s.Close()
	states = map[int]string{}
	note := func() { states[len(d.names[logName].data)] = withoutLeases(state(t, s.Client())) }
	note()
	require.NoError(t, work(t, s.Client(), note))
	return d.names[logName].data, states
}

// reopened returns the state of a registry with this log, after one more change and another Open.
func reopened(t *testing.T, text []byte) (string, error) {
	t.Helper()
	d := newDisk()
	d.names[logName] = &memoryFile{disk: d, data: text, durable: text}
	s, err := open(Config{Folder: "here"}, d)
	if err != nil {
		return "", err
	}
	got := state(t, s.Client())
	if _, err := s.Client().Put(t.Context(), "more", nil, 0); err != nil {
		t.Fatal(err)
	}
	want := state(t, s.Client())
	require.NoError(t, s.Close())
	s, err = open(Config{Folder: "here"}, d.powerCut(0))
	if err != nil {
		t.Fatalf("after one more change: %v", err)
	}
	defer s.Close()
	if again := state(t, s.Client()); again != want {
		t.Fatalf("after one more change: got %s, want %s", again, want)
	}
	return got, nil
}

// TestCutAtEveryByte ends the log at each byte: all whole records are there, and the rest is removed. Before the first record there is the snapshot, which cannot be cut: then it is refused.
func TestCutAtEveryByte(t *testing.T) {
	t.Parallel()
	text, states := logOf(t)
	first := len(text)
	for size := range states {
		first = min(first, size)
	}
	want := ""
	for size := range len(text) + 1 {
		if s, ok := states[size]; ok {
			want = s
		}
		for _, tail := range [][]byte{nil, {0}, make([]byte, 100)} { // zeros: the file was longer, and its content is missing
			if size == len(text) && tail == nil || size < first && tail != nil {
				continue
			}
			got, err := reopened(t, slices.Concat(text[:size], tail))
			switch {
			case size < first && (bellows.KindOf(err) != bellows.BadData || !strings.Contains(err.Error(), "here/log: damaged at byte ")):
				t.Fatalf("cut at byte %d, within the snapshot: %v", size, err)
			case size >= first && (err != nil || got != want):
				t.Fatalf("cut at byte %d, %d zeros: got %s, %v\nwant %s", size, len(tail), got, err, want)
			}
		}
	}
}

// TestEveryDamagedByteIsFound changes each byte of a log: it is refused, except within the last record, which may be one that was written in part.
func TestEveryDamagedByteIsFound(t *testing.T) {
	t.Parallel()
	text, states := logOf(t)
	last := 0
	for size := range states {
		if size < len(text) {
			last = max(last, size)
		}
	}
	for i := range text {
		for _, bit := range []byte{1, 0x80} {
			bad := bytes.Clone(text)
			bad[i] ^= bit
			got, err := reopened(t, bad)
			switch {
			case i < last && bellows.KindOf(err) != bellows.BadData:
				t.Fatalf("byte %d: got %s, %v", i, got, err)
			case i >= last && (err != nil || got != states[last]):
				t.Fatalf("byte %d of the last record: got %s, %v\nwant %s", i, got, err, states[last])
			}
		}
	}
	var wrong *damaged
	if _, err := reopened(t, slices.Concat(text, make([]byte, headBytes+bodyMost+1))); !errors.As(err, &wrong) || wrong.at != len(text) {
		t.Errorf("more zeros than a record has: %v", err)
	}
	if _, err := reopened(t, slices.Concat(text, text[last:])); !errors.As(err, &wrong) || wrong.at != len(text) {
		t.Errorf("the last record twice: %v", err)
	}
}

// FuzzReplay reads arbitrary logs. An accepted log has the same state after a snapshot.
func FuzzReplay(f *testing.F) {
	r := record{put, 1, 0, "a/b", []byte("x")}
	f.Add(r.encode(snapshot(nil, 0)))
	f.Add(snapshot([]registry.Entry{{Key: "a", Value: []byte("y"), Revision: 3, Lease: 7}}, 5))
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, text []byte) {
		space, good, err := replay(text)
		if err != nil {
			return
		}
		if good > len(text) {
			t.Fatalf("%d bytes of %d are good", good, len(text))
		}
		again, _, err := replay(snapshot(space.Entries(), space.Revision()))
		if err != nil || again.Revision() != space.Revision() || len(again.Entries()) != len(space.Entries()) {
			t.Errorf("its snapshot: %v", err)
		}
	})
}
