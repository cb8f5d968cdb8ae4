package model

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bellows"
)

var errStopped = errors.New("the machine has stopped")

// failing is a disk that stops at its n-th step: that step and all later ones do nothing and fail.
// crash then takes from the files what was never synced.
type failing struct {
	steps    int
	unsynced map[string]bool
}

func (f *failing) step() error {
	if f.steps--; f.steps < 0 {
		return errStopped
	}
	return nil
}

func (f *failing) disk() disk {
	return disk{
		create: func(name string) (output, error) {
			if err := f.step(); err != nil {
				return nil, err
			}
			file, err := os.Create(name)
			f.unsynced[name] = true
			return &failingFile{file, f, name}, err
		},
		rename: func(from, to string) error {
			if err := f.step(); err != nil {
				return err
			}
			f.unsynced[to] = f.unsynced[from]
			delete(f.unsynced, from)
			return os.Rename(from, to)
		},
		remove: func(name string) error {
			if err := f.step(); err != nil {
				return err
			}
			return os.Remove(name)
		},
		syncDir: func(string) error { return f.step() },
	}
}

func (f *failing) crash(t *testing.T) {
	t.Helper()
	for name, lost := range f.unsynced {
		if info, err := os.Stat(name); lost && err == nil {
			if err := os.Truncate(name, info.Size()/2); err != nil {
				t.Fatal(err)
			}
		}
	}
}

type failingFile struct {
	*os.File
	on   *failing
	name string
}

func (f *failingFile) Write(p []byte) (int, error) {
	if err := f.on.step(); err != nil {
		return 0, err
	}
	return f.File.Write(p)
}

func (f *failingFile) Sync() error {
	if err := f.on.step(); err != nil {
		return err
	}
	f.on.unsynced[f.name] = false
	return nil
}

// successor returns another model than sample, without its items.txt and with a file of its own.
func successor() *Model {
	m := sample()
	m.App, m.Tensors[0].Floats = "lda", []float32{9, 8, 7, 6, 5, 4}
	m.IDs = []IDs{{File: "users.txt", Names: []string{"c", "d", "e"}}, {File: "vocab.txt", Names: []string{"word"}}}
	return m
}

// TestSaveIsWholeOrNothing stops the machine at every step of a save over an earlier model: what
// Open finds is all of the one or all of the other, and the next save succeeds.
func TestSaveIsWholeOrNothing(t *testing.T) {
	t.Parallel()
	old, renewed := 0, 0
	for steps := 0; ; steps++ {
		dir := save(t, sample())
		f := &failing{steps: steps, unsynced: map[string]bool{}}
		saveErr := f.disk().save(dir, successor())
		f.crash(t)
		got, err := Open(dir)
		if err != nil {
			t.Fatalf("stopped at step %d: %v", steps, err)
		}
		if got.App == sample().App {
			old++
			same(t, got, sample())
		} else {
			renewed++
			same(t, got, successor())
		}
		if saveErr == nil {
			if got.App != successor().App {
				t.Fatal("Save succeeded and the old model is still there")
			}
			break
		}
		if bellows.KindOf(saveErr) != bellows.CannotWrite || !errors.Is(saveErr, errStopped) {
			t.Errorf("stopped at step %d the error is %v", steps, saveErr)
		}
		again(t, dir)
	}
	if old < 10 || renewed < 5 {
		t.Errorf("%d stops left the old model and %d the new one: the test does not reach both sides", old, renewed)
	}
}

// again saves over what a crash left and wants nothing of the earlier attempts to show.
func again(t *testing.T, dir string) {
	t.Helper()
	if err := Save(dir, successor()); err != nil {
		t.Fatal(err)
	}
	got, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, successor())
	marked, err := filepath.Glob(filepath.Join(dir, "*"+nextSuffix+"*"))
	if err != nil || len(marked) > 0 {
		t.Errorf("files of an unfinished save remain: %v, %v", marked, err)
	}
}

func TestOldIDFilesGo(t *testing.T) {
	t.Parallel()
	dir := save(t, sample())
	mine := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(mine, []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := Save(dir, successor()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "items.txt")); !errors.Is(err, os.ErrNotExist) {
		t.Error("items.txt of the old model is still there")
	}
	if _, err := os.Stat(mine); err != nil {
		t.Error("a file that is not the model's was removed")
	}
}

func TestSaveIntoAFile(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := Save(name, sample()); bellows.KindOf(err) != bellows.CannotWrite {
		t.Errorf("the error is %v", err)
	}
}

// TestSaveSparesFilesOfOthers makes foreign files under the names of ids, before any model and next to one.
func TestSaveSparesFilesOfOthers(t *testing.T) {
	t.Parallel()
	for name, dir := range map[string]string{"users.txt": t.TempDir(), "vocab.txt": save(t, sample())} {
		mine := filepath.Join(dir, name)
		if err := os.WriteFile(mine, []byte("mine"), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := Save(dir, successor()); bellows.KindOf(err) != bellows.CannotWrite ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("over %s: %v", name, err)
		}
		if text, err := os.ReadFile(mine); err != nil || string(text) != "mine" {
			t.Errorf("%s is now %q, %v", name, text, err)
		}
		if marked, err := filepath.Glob(filepath.Join(dir, "*"+nextSuffix+"*")); err != nil || len(marked) > 0 {
			t.Errorf("left is %v, %v", marked, err)
		}
	}
}

// TestAFullDiskKeepsNoHalfModel fails at each write before the manifest's, on a disk that then works again.
func TestAFullDiskKeepsNoHalfModel(t *testing.T) {
	t.Parallel()
	for full := range 3 {
		dir := save(t, sample())
		d, made := realDisk, 0
		d.create = func(name string) (output, error) {
			if made++; made > full {
				return nil, errStopped
			}
			return realDisk.create(name)
		}
		if err := d.save(dir, successor()); !errors.Is(err, errStopped) {
			t.Errorf("full at file %d: %v", full, err)
		}
		if marked, err := filepath.Glob(filepath.Join(dir, "*"+nextSuffix+"*")); err != nil || len(marked) > 0 {
			t.Errorf("full at file %d: left is %v, %v", full, marked, err)
		}
		got, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, sample())
	}
}

func TestFilesIn(t *testing.T) {
	t.Parallel()
	dir := save(t, sample())
	for _, name := range []string{tensorsFile, manifestFile, "users.txt", "items.txt", "items.txt" + nextSuffix,
		manifestFile + nextSuffix + partialSuffix} {
		if !slices.Contains(FilesIn(dir), name) {
			t.Errorf("%s is not held", name)
		}
	}
	if slices.Contains(FilesIn(dir), "vocab.txt") || FilesIn(t.TempDir()) != nil {
		t.Error("held is what no model lists")
	}
}
