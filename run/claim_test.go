package run

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core/rowstore"
	"bellows/node/archive"
	"bellows/train"
)

// amend changes the newest claim at a place, as if another process had made it.
func amend(t *testing.T, place string, by func(o *owner)) {
	t.Helper()
	s, err := openStore(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	o, err := ownerAt(t.Context(), s)
	if err != nil || o == nil {
		t.Fatal(o, err)
	}
	by(o)
	text, err := json.Marshal(o)
	if err == nil {
		err = os.WriteFile(filepath.Join(place, claimName(o.Era)), text, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// cutsOf lists the manifests at a place.
func cutsOf(t *testing.T, place string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(filepath.Join(place, "cuts"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// TestFindInOtherContainer looks for checkpoints of a run in another namespace of process ids, and of an earlier boot. Host name and process id do not prove that it has ended.
func TestFindInOtherContainer(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]func(o *owner){
		"another namespace, number 1":      func(o *owner) { o.Space, o.Process = "pid:[1]", 1 },
		"another namespace, a free number": func(o *owner) { o.Space, o.Process = "pid:[1]", 1<<30 },
		"another boot":                     func(o *owner) { o.Boot, o.Process = "another", 1<<30 },
		"this process's number, elsewhere": func(o *owner) { o.Space = "pid:[1]" },
	} {
		t.Run(name, func(t *testing.T) {
			place, out := t.TempDir(), filepath.Join(t.TempDir(), "a")
			first := claim(t, Request{Config: config(2), Out: out, Checkpoint: place})
			if err := errors.Join(stop(first, 7, Progress{}), first.Close(), os.RemoveAll(out)); err != nil {
				t.Fatal(err)
			}
			kept := first.record.Checkpoint
			amend(t, kept, by)
			second := claim(t, Request{Config: config(2), Out: out, Checkpoint: place})
			if second.Resumed || second.Found != "" || len(second.Left) != 1 || !strings.Contains(second.Left[0], "resume it here with --checkpoint "+kept) {
				t.Errorf("found %q, left alone %q", second.Found, second.Left)
			}
		})
	}
}

// TestSecondClaimFencesTheFirst names the place of a live run in another container for a second run, as a person may. From then on, the first run writes no checkpoints there, reports why, and removes nothing, even at its
// end.
func TestSecondClaimFencesTheFirst(t *testing.T) {
	t.Parallel()
	place := t.TempDir()
	first := claim(t, Request{Config: config(2), Out: filepath.Join(t.TempDir(), "a"), Checkpoint: place})
	if err := errors.Join(first.Begin(), keepAt(t, first, 3)); err != nil {
		t.Fatal(err)
	}
	kept := first.record.Checkpoint
	amend(t, kept, func(o *owner) { o.Space = "pid:[1]" })
	second := claim(t, Request{Config: config(2), Out: filepath.Join(t.TempDir(), "b"), Checkpoint: kept})
	if second.Found != kept || second.Life != 1 {
		t.Fatalf("found %q, life %d", second.Found, second.Life)
	}
	if err := second.Begin(); err != nil {
		t.Fatal(err)
	}
	for n := bellows.CommitNumber(4); n < 9; n++ {
		if err := keepAt(t, first, n); bellows.KindOf(err) != bellows.Refused || !strings.Contains(err.Error(), "the run in "+second.Dir) {
			t.Fatalf("the first keeps another: %v", err)
		}
		if err := keepAt(t, second, n); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"e0000000001-c00000000000000000007.json", "e0000000001-c00000000000000000008.json"}
	if err := first.Done(Progress{}, End{}); err != nil {
		t.Error(err)
	}
	if got := cutsOf(t, kept); !slices.Equal(got, want) {
		t.Errorf("there are %q, want %q", got, want)
	}
	if err := second.Done(Progress{}, End{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(kept); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the second leaves its place: %v", err)
	}
}

// keepAt stores a cut, as a run does while it trains.
func keepAt(t *testing.T, f *Folder, n bellows.CommitNumber) error {
	t.Helper()
	return f.keep(t.Context(), image(1), archive.At{Era: f.Life, Commit: n}, Progress{}, func(int64) {})
}

func image(mark float32) *train.Image {
	return &train.Image{Tables: [][]rowstore.Image{{{Values: []float32{mark}}, {Values: []float32{1}}}}}
}

// TestConcurrentClaims lets two commands find the checkpoints of an ended run at the same time. One of them resumes.
func TestConcurrentClaims(t *testing.T) {
	t.Parallel()
	place, out := t.TempDir(), filepath.Join(t.TempDir(), "a")
	first := claim(t, Request{Config: config(2), Out: out, Checkpoint: place})
	if err := errors.Join(stop(first, 7, Progress{}), first.Close(), os.RemoveAll(out)); err != nil {
		t.Fatal(err)
	}
	b := claim(t, Request{Config: config(2), Out: filepath.Join(t.TempDir(), "b"), Checkpoint: place})
	c := claim(t, Request{Config: config(2), Out: filepath.Join(t.TempDir(), "c"), Checkpoint: place})
	if b.Found == "" || b.Found != c.Found {
		t.Fatalf("found %q and %q", b.Found, c.Found)
	}
	if err := b.Begin(); err != nil {
		t.Fatal(err)
	}
	if err := c.Begin(); bellows.KindOf(err) != bellows.Refused {
		t.Errorf("both begin: %v", err)
	}
	if err := keepAt(t, b, 9); err != nil {
		t.Errorf("who has begun: %v", err)
	}
}

// TestClaimAfterKill kills a process after its claim, before it writes its record or its first checkpoint. The next one claims a later era.
func TestClaimAfterKill(t *testing.T) {
	t.Parallel()
	place, out := t.TempDir(), filepath.Join(t.TempDir(), "a")
	f := claim(t, Request{Config: config(2), Out: out, Checkpoint: place})
	if err := errors.Join(stop(f, 7, Progress{}), f.Close()); err != nil {
		t.Fatal(err)
	}
	for life := bellows.Era(1); life < 4; life++ {
		f = claim(t, Request{Config: config(2), Out: out, Checkpoint: place})
		if f.Life != life || !f.Resumed {
			t.Fatalf("life %d, resumed %v, want %d", f.Life, f.Resumed, life)
		}
		if err := errors.Join(f.claim(t.Context()), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	// A copy of the folder does not claim the place if the copied run may still be running.
	other := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(other, os.DirFS(out)); err != nil {
		t.Fatal(err)
	}
	amend(t, f.record.Checkpoint, func(o *owner) { o.Host = "elsewhere" })
	if _, err := Claim(Request{Config: config(2), Out: other, Checkpoint: place, Tables: tables}); bellows.KindOf(err) != bellows.Refused || !strings.Contains(err.Error(), "the run in "+out+" on elsewhere has claimed") {
		t.Errorf("the copy: %v", err)
	}
	if f, err := Claim(Request{Config: config(2), Out: other, Checkpoint: f.record.Checkpoint, Tables: tables}); err != nil || f.Life != 4 {
		t.Errorf("named, the copy resumes as %+v: %v", f, err)
	} else {
		f.Close()
	}
}

// TestRemovedFolderIsNotWritten removes the folder of a run, and lets another command take its name or not. No write of the first run changes the path.
func TestRemovedFolderIsNotWritten(t *testing.T) {
	t.Parallel()
	for _, taken := range []bool{false, true} {
		for name, write := range map[string]func(f *Folder) error{
			"Done":         func(f *Folder) error { return f.Done(Progress{}, End{}) },
			"Interrupted":  func(f *Folder) error { return f.Interrupted(t.Context(), image(7), 7, Progress{}, func(int64) {}) },
			"start over":   func(f *Folder) error { return f.Interrupted(t.Context(), nil, 0, Progress{}, func(int64) {}) },
			"Measured":     func(f *Folder) error { return f.Measured(1) },
			"checkpoint":   func(f *Folder) error { return keepAt(t, f, 8) },
			"RollBack":     func(f *Folder) error { return f.RollBack(t.Context()) },
			"Enter":        func(f *Folder) error { f.Life++; return f.Enter() },
			"Prove":        func(f *Folder) error { return f.Prove(t.Context()) },
			"Begin, first": nil,
		} {
			dir := filepath.Join(t.TempDir(), "X")
			f := claim(t, Request{Config: config(2), Out: dir})
			if write == nil {
				write = func(f *Folder) error { return f.Begin() }
			} else if err := errors.Join(f.Begin(), keepAt(t, f, 3)); err != nil {
				t.Fatal(err)
			}
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			var other *Folder
			if taken {
				other = claim(t, Request{Config: config(3), Out: dir})
				if err := errors.Join(other.Begin(), keepAt(t, other, 3)); err != nil {
					t.Fatal(err)
				}
			}
			want := tree(t, dir)
			err := write(f)
			if bellows.KindOf(err) != bellows.CannotWrite || !strings.Contains(err.Error(), "removed during the run") {
				t.Errorf("%s, taken %v: %v", name, taken, err)
			}
			f.Output.line(3, []byte("too late"))
			if err := f.Close(); err != nil {
				t.Error(err)
			}
			if got := tree(t, dir); !slices.Equal(got, want) {
				t.Errorf("%s, taken %v: the folder has %q, want %q", name, taken, got, want)
			}
		}
	}
}

// tree lists the files of a folder with what is in them.
func tree(t *testing.T, dir string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return filepath.SkipAll
		}
		text := ""
		if err == nil && !e.IsDir() {
			var b []byte
			b, err = os.ReadFile(path)
			text = string(b)
		}
		list = append(list, path+" "+text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}
