package file

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"bellows"
	"bellows/internal/require"
	"bellows/port/blob"
	"bellows/port/blob/blobtest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, func(t *testing.T) blob.Store {
		return InFolder(filepath.Join(t.TempDir(), "made", "when needed"))
	})
}

func TestOpenByURI(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "ünï %20 cöde")
	known := blob.Schemes{"file": Open}
	s, err := known.Open(t.Context(), InFolder(folder).URI(""))
	if err != nil || s.(*Store).folder != folder {
		t.Fatal(s, err)
	}
	for _, uri := range []string{"file://host/a", "file:a", "file:///a?b", "file:///a#b", "file://", "file://me@/a"} {
		if _, err := known.Open(t.Context(), uri); err == nil || bellows.KindOf(err) != bellows.Config || !strings.Contains(err.Error(), "three slashes") {
			t.Errorf("%s: %v", uri, err)
		}
	}
	if at, _ := url.Parse("file://me:secret@/a"); at != nil {
		if _, err := Open(t.Context(), at); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("a password is told: %v", err)
		}
	}
}

// TestAFolderNeedsNoRoot: it is of where the process runs.
func TestAFolderNeedsNoRoot(t *testing.T) {
	here, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	t.Chdir(here)
	if want := InFolder(filepath.Join(here, "a")).URI("b"); InFolder("a").URI("b") != want {
		t.Errorf("it is at %s, want %s", InFolder("a").URI("b"), want)
	}
}

// TestAFolderThatOthersMakeMeanwhile checks there; a file of that name, or none, is an error.
func TestAFolderThatOthersMakeMeanwhile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make  func(string) error
		right bool
	}{
		"a folder": {func(p string) error { return os.Mkdir(p, 0o777) }, true},
		"a file":   {func(p string) error { return os.WriteFile(p, nil, 0o666) }, false},
		"nothing":  {func(string) error { return nil }, false},
	} {
		d := realDisk
		d.mkdir = func(p string) error {
			if err := c.make(p); err != nil {
				return err
			}
			return &fs.PathError{Op: "mkdir", Path: p, Err: fs.ErrExist}
		}
		folder := filepath.Join(t.TempDir(), "a")
		if err := d.mkdirAll(folder); (err == nil) != c.right || !c.right && !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// failing returns a disk with one failing step; with dies all following fail, as when the process dies.
func failing(at int, dies bool, with error) (d disk, steps *int) {
	steps = new(int)
	step := func() error {
		*steps++
		if *steps == at || dies && *steps > at {
			return with
		}
		return nil
	}
	two := func(do func(a, b string) error) func(a, b string) error {
		return func(a, b string) error {
			if err := step(); err != nil {
				return &os.LinkError{Op: "rename", Old: a, New: b, Err: err}
			}
			return do(a, b)
		}
	}
	one := func(do func(string) error) func(string) error {
		return func(a string) error {
			if err := step(); err != nil {
				return &fs.PathError{Op: "do", Path: a, Err: err}
			}
			return do(a)
		}
	}
	return disk{
		create: func(name string, flags int) (*os.File, error) {
			if err := step(); err != nil {
				return nil, err
			}
			return realDisk.create(name, flags)
		},
		sync: func(f *os.File) error {
			if err := step(); err != nil {
				return err
			}
			return f.Sync()
		},
		rename: two(os.Rename), linkOnly: two(os.Link), remove: one(os.Remove), mkdir: one(realDisk.mkdir), syncDir: one(syncDir),
	}, steps
}

// TestAFileIsWholeOrNothing lets each step of writing a file fail, alone or with all that follow.
func TestAFileIsWholeOrNothing(t *testing.T) {
	t.Parallel()
	const old, next = "what was there", "what takes its place"
	for _, dies := range []bool{false, true} {
		for _, isNew := range []bool{false, true} {
			failed := 0
			for at := 1; ; at++ {
				folder := filepath.Join(t.TempDir(), "a", "b")
				before := old
				if isNew {
					before = ""
				} else if err := put(InFolder(folder), old, false); err != nil {
					t.Fatal(err)
				}
				d, steps := failing(at, dies, syscall.ENOSPC)
				err := put(&Store{folder, d}, next, isNew)
				if *steps < at {
					if err != nil {
						t.Error(err)
					}
					break
				}
				text, _ := os.ReadFile(filepath.Join(folder, "c"))
				if string(text) != before && string(text) != next {
					t.Errorf("step %d fails, and there is %q", at, text)
				}
				if err == nil && string(text) != next {
					t.Errorf("step %d fails without an error, and leaves %q", at, text)
				}
				if err != nil {
					failed++
					if !errors.Is(err, blob.ErrFull) || !errors.Is(err, syscall.ENOSPC) || bellows.KindOf(err) != bellows.CannotWrite || strings.Contains(err.Error(), ".part-") {
						t.Errorf("step %d fails with %v", at, err)
					}
				}
				if !dies {
					noDrafts(t, folder, isNew)
				}
			}
			if failed < 4 {
				t.Errorf("only %d steps could fail", failed)
			}
		}
	}
}

func put(s *Store, text string, isNew bool) error {
	w, err := s.Create(context.Background(), "c")
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, text)
	if isNew {
		return errors.Join(err, w.PublishNew())
	}
	return errors.Join(err, w.Publish())
}

// noDrafts wants no unfinished file. A link whose draft could not be removed leaves it for later cleaning.
func noDrafts(t *testing.T, folder string, mayLinger bool) {
	t.Helper()
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") && !mayLinger {
			t.Errorf("%s is left", e.Name())
		}
	}
}

func TestAbandonedDraftsAreSwept(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	long := time.Now().Add(-2 * abandoned)
	for name, stays := range map[string]bool{".c.part-AAAAAAAAAAAAAAAAAAAAAAAAAA": false, ".c.part-young": true, "c.part-AAAAAAAAAAAAAAAAAAAAAAAAAA": true, ".mine": true} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), nil, 0o600))
		require.NoError(t, os.Chtimes(filepath.Join(folder, name), long, long))
		require.NoError(t, put(InFolder(folder), "c", false))
		if _, err := os.Stat(filepath.Join(folder, name)); (err == nil) != stays {
			t.Errorf("%s: %v", name, err)
		}
	}
	young := filepath.Join(folder, ".c.part-BBBBBBBBBBBBBBBBBBBBBBBBBB")
	require.NoError(t, errors.Join(os.WriteFile(young, nil, 0o600), put(InFolder(folder), "c", false)))
	if _, err := os.Stat(young); err != nil {
		t.Errorf("another writer's file is gone: %v", err)
	}
}

// TestDraftsOfTheKilledAreRemoved takes away what was just left, and nothing else.
func TestDraftsOfTheKilledAreRemoved(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, stays := range map[string]bool{".c.part-AAAAAAAAAAAAAAAAAAAAAAAAAA": false, ".c.part-young": true, "c.part-AAAAAAAAAAAAAAAAAAAAAAAAAA": true, ".mine": true} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), nil, 0o600))
		RemoveDrafts(folder)
		if _, err := os.Stat(filepath.Join(folder, name)); (err == nil) != stays {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReplace(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "A file of the user's")
	for _, text := range []string{"old", "new"} {
		require.NoError(t, Replace(name, func(w io.Writer) error { _, err := io.WriteString(w, text); return err }))
	}
	broken := errors.New("broken off")
	if err := Replace(name, func(w io.Writer) error { _, _ = io.WriteString(w, "half"); return broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
	if text, err := os.ReadFile(name); err != nil || string(text) != "new" {
		t.Errorf("%q, %v", text, err)
	}
	noDrafts(t, filepath.Dir(name), false)
	left := filepath.Join(filepath.Dir(name), ".A file of the user's.part")
	require.NoError(t, os.WriteFile(left, []byte("what a killed process left, which is longer"), 0o600))
	require.NoError(t, Replace(name, func(w io.Writer) error { _, err := io.WriteString(w, "newer"); return err }))
	if text, err := os.ReadFile(name); err != nil || string(text) != "newer" {
		t.Errorf("%q, %v", text, err)
	}
	if err := Replace(filepath.Join(name, "below"), nil); err == nil {
		t.Error("a file has a file below it")
	}
}

func TestListPassesOverWhatIsNotOurs(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, name := range []string{"Read Me", ".hidden", "a"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), nil, 0o600))
	}
	require.NoError(t, os.Symlink("nothing", filepath.Join(folder, "a-went")))
	n := 0
	for info, err := range InFolder(folder).List(t.Context(), "") {
		if n++; err != nil || info.Name != "a" {
			t.Errorf("%+v: %v", info, err)
		}
	}
	if n != 1 {
		t.Errorf("%d are listed", n)
	}
}
