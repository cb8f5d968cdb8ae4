package run

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"bellows"
	"bellows/cli/internal/event"
	"bellows/model"
)

// config is the Config of a run on one file.
func config(epochs int) Config {
	return Config{App: "mf", Data: []string{"r.tsv"}, Seed: 1, Epochs: epochs, Settings: map[string]string{"rank": "2"}}
}

func claim(t *testing.T, req Request) *Folder {
	t.Helper()
	f, err := Claim(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// TestUnnamedFolders walks through the life of runs/mf-1, mf-2, ...
func TestUnnamedFolders(t *testing.T) {
	t.Chdir(t.TempDir())
	first := claim(t, Request{Config: config(1)})
	if first.Dir != "runs/mf-1" || first.Resumed {
		t.Fatalf("the first folder is %+v", first)
	}
	second := claim(t, Request{Config: config(1)})
	if second.Dir != "runs/mf-2" || second.Resumed {
		t.Errorf("while the first is in use the folder is %+v", second)
	}
	if err := errors.Join(first.Interrupted(bytesOf([]byte("image")), Progress{Seconds: 3}), first.Close()); err != nil {
		t.Fatal(err)
	}
	if other := claim(t, Request{Config: config(2)}); other.Dir != "runs/mf-3" || other.Resumed {
		t.Errorf("another command's folder is %+v", other)
	}
	again := claim(t, Request{Config: config(1)})
	if again.Dir != "runs/mf-1" || !again.Resumed || string(again.Image) != "image" || again.Before.Seconds != 3 {
		t.Errorf("the unfinished run is taken up as %+v", again)
	}
	if err := errors.Join(again.Done(Progress{}), again.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("runs/mf-1/resume.image"); !errors.Is(err, os.ErrNotExist) {
		t.Error("the image of a finished run is still there")
	}
	if err := os.MkdirAll("runs/mf-10", 0o777); err != nil {
		t.Fatal(err)
	}
	if next := claim(t, Request{Config: config(1)}); next.Dir != "runs/mf-11" || next.Resumed {
		t.Errorf("after a finished run the folder is %+v", next)
	}
}

// TestTheOldestUnfinishedRunGoesOn has two, whose folders' names sort the other way round.
func TestTheOldestUnfinishedRunGoesOn(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"runs/mf-2", "runs/mf-10"} {
		f := claim(t, Request{Config: config(1), Out: dir})
		if err := errors.Join(f.Interrupted(bytesOf([]byte(dir)), Progress{}), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"runs/mf-2", "runs/mf-10"} {
		if f := claim(t, Request{Config: config(1)}); f.Dir != want || string(f.Image) != want {
			t.Errorf("%s goes on from %q, want %s", f.Dir, f.Image, want)
		}
	}
}

// TestADamagedImageIsRefused cuts an image at some bytes, and changes one: it is named and stays, and only --fresh gives it up.
func TestADamagedImageIsRefused(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(b []byte) []byte{
		"cut":           func(b []byte) []byte { return b[:len(b)-1] },
		"all but a bit": func(b []byte) []byte { return b[:5] },
		"all of it":     func(b []byte) []byte { return nil },
		"a byte":        func(b []byte) []byte { b[2] ^= 4; return b },
	} {
		dir := t.TempDir()
		name := filepath.Join(dir, imageFile)
		f := claim(t, Request{Config: config(1), Out: dir})
		if err := errors.Join(f.Interrupted(bytesOf([]byte("an image")), Progress{Seconds: 3}), f.Close()); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		bad := change(b)
		if err := os.WriteFile(name, bad, 0o666); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			_, err := Claim(Request{Config: config(1), Out: dir})
			if bellows.KindOf(err) != bellows.BadData || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "--fresh") {
				t.Errorf("%s: %v", what, err)
			}
		}
		if now, err := os.ReadFile(name); err != nil || string(now) != string(bad) {
			t.Errorf("%s: of the image is left %q, %v", what, now, err)
		}
		fresh := claim(t, Request{Config: config(1), Out: dir, Fresh: true})
		if err := fresh.Begin(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) || fresh.Image != nil {
			t.Errorf("%s: --fresh leaves the image: %v", what, err)
		}
	}
}

// TestAnImageOfAnotherVersionIsRefused has a whole one whose bytes are no image.
func TestAnImageOfAnotherVersionIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := claim(t, Request{Config: config(1), Out: dir})
	if err := errors.Join(f.Interrupted(bytesOf([]byte("bellowsr\x01")), Progress{}), f.Close()); err != nil {
		t.Fatal(err)
	}
	_, err := claim(t, Request{Config: config(1), Out: dir}).Decode()
	if bellows.KindOf(err) != bellows.BadData || !strings.Contains(err.Error(), imageFile) || !strings.Contains(err.Error(), "version") {
		t.Error(err)
	}
}

// TestAStartThatFailsLeavesNothing claims folders, in which something happens, and closes them before the job has started.
func TestAStartThatFailsLeavesNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	start := func(req Request) {
		f := claim(t, req)
		if _, err := f.Log.Append(event.Event{Kind: event.Started}); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Measured(1), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	start(Request{Config: config(1)})
	start(Request{Config: config(1), Out: "a/b/c"})
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Fatalf("left is %v, %v", left, err)
	}
	f := claim(t, Request{Config: config(1), Out: "a/b"})
	if err := errors.Join(f.Interrupted(bytesOf([]byte("image")), Progress{Seconds: 3}), f.Close()); err != nil {
		t.Fatal(err)
	}
	before := contents(t, "a/b")
	start(Request{Config: config(1), Out: "a/b", Fresh: true})
	start(Request{Config: config(1), Out: "a/b"})
	start(Request{Config: config(2), Out: "a/b", Fresh: true})
	if now := contents(t, "a/b"); !maps.Equal(now, before) {
		t.Errorf("an interrupted run is now %v, and was %v", now, before)
	}
}

// contents is the files of a folder.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = string(b)
	}
	return out
}

// TestStrangersAreNeverReplaced claims a folder that has one file of somebody's in it.
func TestStrangersAreNeverReplaced(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		plain, fresh string // in the error, or "" for none
	}{
		{".gitkeep", "", ""},
		{"notes.md", "no run's: notes.md; give --out another folder, or add --fresh", ""},
		{"ratings.tsv", "no run's: ratings.tsv;", ""},
		{"labels.txt", "may write: labels.txt;", "may write: labels.txt;"},
		{"run.json", "may write: run.json;", "may write: run.json;"},
		{"events.jsonl", "may write: events.jsonl;", "may write: events.jsonl;"},
		{"resume.image", "may write: resume.image;", "may write: resume.image;"},
		{"metrics.json.partial", "no run's: metrics.json.partial;", ""},
		{"model.safetensors", "may write: model.safetensors;", "may write: model.safetensors;"},
		{"manifest.json", "may write: manifest.json;", "may write: manifest.json;"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, c.name), []byte("mine"), 0o666); err != nil {
			t.Fatal(err)
		}
		for fresh, want := range map[bool]string{false: c.plain, true: c.fresh} {
			f, err := Claim(Request{Config: config(1), Out: dir, Fresh: fresh})
			switch {
			case err == nil:
				if err := f.Close(); err != nil || want != "" {
					t.Errorf("%s, fresh %v: it is taken, %v", c.name, fresh, err)
				}
			case want == "" || bellows.KindOf(err) != bellows.Refused || !strings.Contains(err.Error(), want):
				t.Errorf("%s, fresh %v: %v", c.name, fresh, err)
			}
		}
		if now := contents(t, dir); len(now) != 1 || now[c.name] != "mine" {
			t.Errorf("%s: left is %v", c.name, now)
		}
	}
}

// TestAFinishedModelIsAnothersWithoutFresh has a model of a run, and one that was saved or copied without its record.
func TestAFinishedModelIsAnothersWithoutFresh(t *testing.T) {
	t.Parallel()
	for _, bare := range []bool{false, true} {
		dir := t.TempDir()
		f := claim(t, Request{Config: config(1), Out: dir})
		m := &model.Model{App: "mf", Tensors: []model.Tensor{{Name: "a", Shape: []int{1}, Floats: []float32{1}}}, IDs: []model.IDs{{File: "users.txt", Names: []string{"u"}}}}
		if err := errors.Join(f.Begin(), model.Save(dir, m), f.Done(Progress{}), f.Close()); err != nil {
			t.Fatal(err)
		}
		if bare {
			if err := errors.Join(os.Remove(filepath.Join(dir, recordFile)), os.Remove(filepath.Join(dir, event.File))); err != nil {
				t.Fatal(err)
			}
		} else if again := claim(t, Request{Config: config(1), Out: dir}); again.Resumed || again.Close() != nil {
			t.Error("the same command does not begin again")
		}
		before := contents(t, dir)
		_, err := Claim(Request{Config: config(2), Out: dir})
		if bellows.KindOf(err) != bellows.Refused || !strings.Contains(err.Error(), "the model of another command") || !strings.Contains(err.Error(), "--fresh") {
			t.Errorf("bare %v: %v", bare, err)
		}
		if f := claim(t, Request{Config: config(2), Out: dir, Fresh: true}); f.Resumed || f.Close() != nil {
			t.Error("--fresh does not take it")
		}
		if now := contents(t, dir); !maps.Equal(now, before) {
			t.Errorf("bare %v: left is %v", bare, now)
		}
	}
}

func TestFreshGivesUpTheImage(t *testing.T) {
	t.Chdir(t.TempDir())
	f := claim(t, Request{Config: config(1)})
	if err := errors.Join(f.Interrupted(bytesOf([]byte("image")), Progress{Seconds: 3}), f.Close()); err != nil {
		t.Fatal(err)
	}
	fresh := claim(t, Request{Config: config(1), Fresh: true})
	if err := fresh.Begin(); err != nil {
		t.Fatal(err)
	}
	if fresh.Dir != f.Dir || fresh.Resumed || fresh.Image != nil || !reflect.DeepEqual(fresh.Before, Progress{}) {
		t.Errorf("--fresh got %+v", fresh)
	}
	if _, err := os.Stat(filepath.Join(f.Dir, imageFile)); !errors.Is(err, os.ErrNotExist) {
		t.Error("the old image is still there")
	}
}

func TestNamedFolderRefusals(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	f := claim(t, Request{Config: config(1), Out: dir})
	_, err := Claim(Request{Config: config(1), Out: dir})
	if bellows.KindOf(err) != bellows.Refused || !strings.Contains(err.Error(), "another process is training in it") {
		t.Errorf("of a folder in use the error is %v", err)
	}
	if err := errors.Join(f.Begin(), f.Close()); err != nil {
		t.Fatal(err)
	}
	_, err = Claim(Request{Config: config(2), Out: dir})
	if bellows.KindOf(err) != bellows.Refused || !strings.Contains(err.Error(), "--fresh") {
		t.Errorf("of another command's unfinished run the error is %v", err)
	}
	// The refusal has let go of the folder.
	if f := claim(t, Request{Config: config(1), Out: dir}); !f.Resumed || f.Image != nil {
		t.Errorf("the same command gets %+v", f)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Claim(Request{Config: config(1), Out: file}); bellows.KindOf(err) != bellows.CannotWrite {
		t.Errorf("of a file the error is %v", err)
	}
}

func TestDamagedRecordIsNoRun(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{", `{"format":"bellows run 9"}`, `[]`} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, recordFile), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := Claim(Request{Config: config(1), Out: dir, Fresh: true}); bellows.KindOf(err) != bellows.Refused {
			t.Errorf("a run.json of %q was taken up: %v", text, err)
		}
	}
}

// TestSame holds what makes two commands the same.
func TestSame(t *testing.T) {
	t.Parallel()
	base := config(1)
	again := config(1)
	if !base.same(&again) {
		t.Error("equal configurations differ")
	}
	for name, change := range map[string]func(*Config){
		"data":     func(c *Config) { c.Data = []string{"s.tsv"} },
		"seed":     func(c *Config) { c.Seed = 2 },
		"settings": func(c *Config) { c.Settings = map[string]string{"rank": "3"} },
		"inputs":   func(c *Config) { c.Inputs = []Input{{Path: "r.tsv", Bytes: 3}} },
		"reading":  func(c *Config) { c.Reading = map[string]string{"sep": "tab"} },
	} {
		other := config(1)
		change(&other)
		if base.same(&other) {
			t.Errorf("another %s makes no difference", name)
		}
	}
}

func TestInputs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"b.tsv", "a.tsv"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("abc"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	in := Inputs([]string{filepath.Join(dir, "*.tsv"), "-"})
	if len(in) != 3 || filepath.Base(in[0].Path) != "a.tsv" || in[1].Bytes != 3 || in[2].Path != "-" {
		t.Fatalf("inputs are %+v", in)
	}
	if again := Inputs([]string{"-"}); !again[0].Modified.After(in[2].Modified) {
		t.Error("standard input can be read again")
	}
}

// TestWhatWasMeasuredIsStored stores figures twice, and once what is no JSON; a run that starts over in the folder has none.
func TestWhatWasMeasuredIsStored(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, metricsFile)
	f := claim(t, Request{Config: config(1), Out: dir})
	if err := f.Begin(); err != nil {
		t.Fatal(err)
	}
	for seconds, want := range []string{"{\"seconds\":0}\n", "{\"seconds\":1}\n"} {
		if err := f.Measured(map[string]int{"seconds": seconds}); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("stored is %q, %v; want %q", got, err, want)
		}
	}
	if err := f.Measured(func() {}); bellows.KindOf(err) != bellows.IO {
		t.Errorf("a function: %v", err)
	}
	if got, err := os.ReadFile(name); err != nil || !strings.Contains(string(got), "1") {
		t.Errorf("after it stored is %q, %v", got, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := claim(t, Request{Config: config(1), Out: dir}).Begin(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a run that starts over has figures: %v", err)
	}
}

// TestAnInterruptionWithoutAnImageStartsOver interrupts a run with an image, and when it goes on, without one.
func TestAnInterruptionWithoutAnImageStartsOver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, c := range []struct{ found, leave []byte }{{nil, []byte("image")}, {[]byte("image"), nil}, {nil, nil}} {
		f := claim(t, Request{Config: config(1), Out: dir})
		if string(f.Image) != string(c.found) {
			t.Errorf("it goes on from %q, want %q", f.Image, c.found)
		}
		if e, err := f.Log.Append(event.Event{Kind: event.Epoch}); err != nil || e.Seq == 0 {
			t.Errorf("its log: %+v, %v", e, err)
		}
		if err := errors.Join(f.Interrupted(bytesOf(c.leave), Progress{}), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAFileThatIsNotThereIsAnInput as it was named: whoever reads it says that it is not there.
func TestAFileThatIsNotThereIsAnInput(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "none.tsv")
	if in := Inputs([]string{name}); len(in) != 1 || in[0].Path != name || in[0].Bytes != 0 || in[0].Modified.IsZero() {
		t.Errorf("inputs %+v", in)
	}
}

// TestAFolderElsewhere stores an interruption in another folder, and in a third that is given up: the first stays held, and what was stored can be
// gone on from.
func TestAFolderElsewhere(t *testing.T) {
	t.Parallel()
	own, other := filepath.Join(t.TempDir(), "own"), t.TempDir()
	f, err := Claim(Request{Config: Config{App: "mf"}, Out: own})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Begin(), f.Elsewhere(other)); err != nil {
		t.Fatal(err)
	}
	given := f.Dir
	if err := f.Back(own); err != nil || f.Dir != own {
		t.Fatalf("back in %s: %v", f.Dir, err)
	}
	if _, err := os.Stat(given); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder that was given up: %v", err)
	}
	if _, err := Claim(Request{Config: Config{App: "mf"}, Out: own}); bellows.KindOf(err) != bellows.Refused {
		t.Errorf("the run's own folder is not held any more: %v", err)
	}
	if err := errors.Join(f.Elsewhere(other), f.Interrupted(bytesOf([]byte("image")), Progress{Seconds: 3})); err != nil {
		t.Fatal(err)
	}
	if name := filepath.Base(f.Dir); !strings.HasPrefix(name, "own-saved-") || filepath.Dir(f.Dir) != other {
		t.Errorf("the other folder is %s", f.Dir)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	g, err := Claim(Request{Config: Config{App: "mf"}, Out: f.Dir})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if !g.Resumed || string(g.Image) != "image" || g.Before.Seconds != 3 {
		t.Errorf("resumed %v, image %q, before %+v", g.Resumed, g.Image, g.Before)
	}
	if g, err := Claim(Request{Config: Config{App: "mf"}, Out: own}); err != nil || g.Close() != nil {
		t.Errorf("the run's own folder is held: %v", err)
	}
}
