package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"bellows"
)

func made(t *testing.T) Folder {
	t.Helper()
	f, err := FindFolder(t.TempDir())
	if err == nil {
		err = f.Make()
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestFolderPermissions checks that no other user may enter the folder, including one that existed with another mode, or
// read its files; a path that is no folder is refused.
func TestFolderPermissions(t *testing.T) {
	t.Parallel()
	f := made(t)
	if err := os.Chmod(f.Path, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := f.Make(); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(f.file("."+tokenName), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	token := drawn(t)
	if err := errors.Join(f.Keep(drawn(t)), f.Keep(token)); err != nil {
		t.Error(err)
	} else if stored, err := f.Token(); stored != token || err != nil {
		t.Errorf("stored is %q, %v", stored.Text(), err)
	}
	for name, mode := range map[string]fs.FileMode{f.Path: 0o700, f.file(tokenName): 0o600} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s has mode %v, %v", name, info.Mode(), err)
		}
	}
	if f.Log() != filepath.Join(f.Path, "manager.log") {
		t.Errorf("the log is %s", f.Log())
	}
	wrong := Folder{f.file("link")}
	if err := os.Symlink(f.Path, wrong.Path); err != nil {
		t.Fatal(err)
	}
	if err := wrong.Make(); bellows.KindOf(err) != bellows.CannotWrite || !strings.Contains(err.Error(), "it is no folder; give another folder with --state") {
		t.Errorf("a link: %v", err)
	}
	inside := Folder{filepath.Join(f.file(tokenName), "cluster")}
	if err := inside.Make(); bellows.KindOf(err) != bellows.CannotWrite {
		t.Errorf("in a file: %v", err)
	}
	if err := inside.Keep(token); bellows.KindOf(err) != bellows.CannotWrite {
		t.Errorf("a token in a file: %v", err)
	}
}

// TestTheRecordIsKept, with the token, until it is removed. A missing one is nil, and an unreadable one is an error.
func TestTheRecordIsKept(t *testing.T) {
	t.Parallel()
	f := made(t)
	if r, err := f.Read(); r != nil || err != nil {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := (Folder{filepath.Join(f.Path, "none", "x")}).Read(); r != nil || err != nil {
		t.Errorf("%+v, %v", r, err)
	}
	want := Whereabouts{PID: 3, Address: "here:1", Program: "x", Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	if err := f.Write(want); err != nil {
		t.Fatal(err)
	}
	if r, err := f.Read(); err != nil || *r != want {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := (Folder{filepath.Join(f.file(recordName), "x")}).Read(); r != nil || err != nil {
		t.Errorf("below a file: %+v, %v", r, err)
	}
	if err := f.Keep(drawn(t)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := f.Forget(); err != nil {
			t.Error(err)
		}
	}
	if r, err := f.Read(); r != nil || err != nil {
		t.Errorf("forgotten: %+v, %v", r, err)
	}
	if _, err := f.Token(); bellows.KindOf(err) != bellows.Unavailable {
		t.Errorf("forgotten: %v", err)
	}
	if err := os.WriteFile(f.file(recordName), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Read(); bellows.KindOf(err) != bellows.IO {
		t.Errorf("half a record: %v", err)
	}
	if err := os.MkdirAll(f.file(filepath.Join(tokenName, "x")), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := f.Forget(); bellows.KindOf(err) != bellows.CannotWrite {
		t.Errorf("what cannot be removed: %v", err)
	}
}

// TestOneManagerHoldsAFolder while it is up. All its processes share another lock, by which their end is awaited.
func TestOneManagerHoldsAFolder(t *testing.T) {
	t.Parallel()
	f := made(t)
	up := func(want bool) {
		t.Helper()
		if got, err := f.Up(); got != want || err != nil {
			t.Errorf("up is %v, %v", got, err)
		}
	}
	up(false)
	held, err := f.Hold()
	if err != nil || held == nil {
		t.Fatal(held, err)
	}
	up(true)
	if pid, err := f.Holder(); pid != os.Getpid() || err != nil {
		t.Errorf("process %d holds it: %v", pid, err)
	}
	if other, err := f.Hold(); other != nil || err != nil {
		t.Errorf("another holds it: %v, %v", other, err)
	}
	held.Close()
	up(false)
	one, err := f.Members()
	two, e := f.Members()
	if err != nil || e != nil || one == nil || two == nil {
		t.Fatal(err, e)
	}
	one.Close()
	why := errors.New("no more")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if err := f.Empty(ctx); bellows.KindOf(err) != bellows.Unavailable || !errors.Is(err, why) || !strings.Contains(err.Error(), "`lsof "+f.file(membersName)+"` names them") {
		t.Errorf("one is left: %v", err)
	}
	empty := make(chan error, 1)
	go func() { empty <- f.Empty(t.Context()) }()
	two.Close()
	if err := <-empty; err != nil {
		t.Error(err)
	}
	alone, err := f.lock(membersName, syscall.LOCK_EX) // as Empty does
	if err != nil || alone == nil {
		t.Fatal(alone, err)
	}
	if file, err := f.Members(); file != nil || bellows.KindOf(err) != bellows.Unavailable || !strings.Contains(err.Error(), "call the command again") {
		t.Errorf("somebody looks: %v, %v", file, err)
	}
	alone.Close()
	for _, nowhere := range []Folder{{filepath.Join(f.Path, "none")}, {filepath.Join(f.file(lockName), "x")}} {
		if got, err := nowhere.Up(); got || err != nil {
			t.Errorf("%s is up: %v, %v", nowhere.Path, got, err)
		}
		if err := nowhere.Empty(ctx); err != nil {
			t.Errorf("%s: %v", nowhere.Path, err)
		}
	}
	if err := os.Mkdir(f.file("dir"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := f.lock("dir", syscall.LOCK_SH); bellows.KindOf(err) != bellows.CannotWrite || !strings.Contains(err.Error(), "--state") {
		t.Errorf("a folder is locked: %v", err)
	}
	if got, err := f.taken("dir"); got || bellows.KindOf(err) != bellows.CannotWrite {
		t.Errorf("a folder is taken: %v, %v", got, err)
	}
}

// TestProgramsKnowEachOther by the bytes of what runs: a job of another is refused with its name or its fingerprint, and so is an agent, but for one of another kind of machine.
func TestProgramsKnowEachOther(t *testing.T) {
	t.Parallel()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	p, err := ThisProgram("x", []string{"mf", "lda"})
	if want := hex.EncodeToString(sum[:8]); err != nil || p.Fingerprint != want || p.Name != "x" || !strings.Contains(p.Platform, "/") || len(p.Apps) != 2 {
		t.Errorf("%+v, %v, want %s", p, err, want)
	}
	other := p
	other.Fingerprint = "12"
	for want, s := range map[string]*Submission{
		"": {App: "mlr", Program: p},
		"another build of x (" + p.Fingerprint + ") than this one (12)": {App: "mf", Program: other},
		"which has mf, lda and not mlr of x (12)":                       {App: "mlr", Program: other},
	} {
		if err := p.Takes(s); want == "" && err != nil || want != "" && (bellows.KindOf(err) != bellows.Refused || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", s.App, err, want)
		}
	}
	elsewhere := other
	elsewhere.Platform = "plan9/mips"
	stranger := elsewhere
	stranger.Name = "y"
	for _, o := range []Program{p, elsewhere} {
		if err := p.Admits(o); err != nil {
			t.Error(err)
		}
	}
	for _, o := range []Program{other, stranger} {
		if err := p.Admits(o); bellows.KindOf(err) != bellows.Refused {
			t.Errorf("%+v is admitted: %v", o, err)
		}
	}
	s := Status{Nodes: []Node{{Roles: []string{"worker", "server"}}, {Roles: []string{"worker"}, State: Leaving}, {Roles: []string{"worker"}, State: Gone}}}
	if s.Count("worker") != 2 || s.Count("server") != 1 || s.Count("cook") != 0 {
		t.Errorf("%d workers and %d servers", s.Count("worker"), s.Count("server"))
	}
}
