package run

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"bellows"
)

// TestALifeOfARunGoesOn in another process: with its number and its log, where the folder has what its nodes began with, or a checkpoint of that life. Else another life begins, and it is said why.
func TestALifeOfARunGoesOn(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a")
	req := Request{Config: config(2), Out: dir, Order: "ONE"}
	reference := func(f *Folder) []byte {
		first, _, err := f.Reference(true)
		if err != nil {
			t.Fatal(err)
		}
		return first
	}
	f := claim(t, req)
	if err := f.Begin(); err != nil {
		t.Fatal(err)
	}
	began := reference(f)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	again := func(req Request) *Folder {
		t.Helper()
		f := claim(t, req)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		return f
	}
	req.Follow = began
	if f := again(req); !f.Live || f.Apart != nil || f.Life != 0 || !f.goesOn {
		t.Errorf("without a checkpoint: live %v in life %d, %v", f.Live, f.Life, f.Apart)
	}
	apart := func(what, why string, req Request) {
		t.Helper()
		f := again(req)
		if f.Live || bellows.KindOf(f.Apart) != bellows.Lost || !strings.Contains(f.Apart.Error(), why) || f.Life != 1 {
			t.Errorf("%s: live %v in life %d, %v", what, f.Live, f.Life, f.Apart)
		}
	}
	other := req
	other.Era = 1
	apart("another life", "era 0 of it has begun, and its nodes are in era 1", other)
	other = req
	other.Follow = []byte("{")
	apart("nothing", "cannot be read", other)
	var r Reference
	if err := json.Unmarshal(began, &r); err != nil {
		t.Fatal(err)
	}
	r.ID = strings.Repeat("0", len(r.ID))
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	other.Follow = text
	apart("another job", "its nodes run another job", other)
	f = claim(t, req) // the life comes to a cut
	if err := errors.Join(f.Begin(), stop(f, 7, Progress{Seconds: 3}), f.Close()); err != nil {
		t.Fatal(err)
	}
	apart("an interrupted one", "it was interrupted at a safe point", req)
	r2 := readRecord(dir)
	r2.State = running
	if err := r2.write(dir); err != nil {
		t.Fatal(err)
	}
	if f := again(req); !f.Live || f.Life != 0 || f.Saved == nil || f.Before.Seconds != 3 {
		t.Errorf("after a checkpoint: live %v in life %d, %v", f.Live, f.Life, f.Apart)
	}
	r2.Era = 1 // the next one resumes from that cut, which is gone
	if err := r2.write(dir); err != nil {
		t.Fatal(err)
	}
	next := req
	next.Era = 1
	f = again(next)
	if f.Live || !strings.Contains(f.Apart.Error(), "the checkpoint that its nodes began with is not there any more") {
		t.Errorf("of another cut: %v", f.Apart)
	}
	next.Follow = reference(f)
	if f = again(next); !f.Live || f.Life != 1 {
		t.Errorf("of that cut: %v, life %d", f.Apart, f.Life)
	}
}
