package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core/rowstore"
	"bellows/model"
	"bellows/port/blob/s3/s3test"
	"bellows/run/event"
	"bellows/table"
	"bellows/train"
)

// config returns the Config of a run on one file.
func config(epochs int) Config {
	return Config{App: "mf", Data: []string{"r.tsv"}, Seed: 1, Epochs: epochs, Settings: map[string]string{"rank": "2"}}
}

// tables are those of the job.
var tables = []table.Schema{{Name: "a", Rows: 2, Width: 1, Partitions: 2}}

// stop interrupts a run; its first value identifies it.
func stop(f *Folder, mark float32, so Progress) error {
	im := &train.Image{Tables: [][]rowstore.Image{{{Values: []float32{mark}}, {Values: []float32{1}}}}}
	return f.Interrupted(context.Background(), im, 3, so, func(int64) {})
}

// mark returns what an interruption has left; 0: nothing.
func mark(t *testing.T, f *Folder) float32 {
	t.Helper()
	from := f.GoOn(t.Context())
	if from == nil {
		return 0
	}
	live, _, err := from.Partition(bellows.PartitionRef{})
	if err != nil {
		t.Fatal(err)
	}
	return live.Values[0]
}

func claim(t *testing.T, req Request) *Folder {
	t.Helper()
	req.Tables = tables
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
	if err := errors.Join(stop(first, 7, Progress{Seconds: 3}), first.Close()); err != nil {
		t.Fatal(err)
	}
	if other := claim(t, Request{Config: config(2)}); other.Dir != "runs/mf-3" || other.Resumed {
		t.Errorf("another command's folder is %+v", other)
	}
	again := claim(t, Request{Config: config(1)})
	if again.Dir != "runs/mf-1" || !again.Resumed || mark(t, again) != 7 || again.Before.Seconds != 3 {
		t.Errorf("the unfinished run is taken up as %+v", again)
	}
	if err := errors.Join(again.Done(Progress{}, End{}), again.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("runs/mf-1/checkpoint"); !errors.Is(err, os.ErrNotExist) {
		t.Error("the checkpoint of a finished run is still there")
	}
	if err := os.MkdirAll("runs/mf-10", 0o777); err != nil {
		t.Fatal(err)
	}
	if next := claim(t, Request{Config: config(1)}); next.Dir != "runs/mf-11" || next.Resumed {
		t.Errorf("after a finished run the folder is %+v", next)
	}
	demo := config(1)
	demo.Data = nil
	for _, want := range []string{"runs/demo-mf-1", "runs/demo-mf-2"} {
		if f := claim(t, Request{Config: demo}); f.Dir != want || f.Resumed {
			t.Errorf("the folder of a demo is %+v, want %s", f, want)
		}
	}
}

// TestTheOldestUnfinishedRunGoesOn makes two, whose folders' names sort the other way round.
func TestTheOldestUnfinishedRunGoesOn(t *testing.T) {
	t.Chdir(t.TempDir())
	for i, dir := range []string{"runs/mf-2", "runs/mf-10"} {
		f := claim(t, Request{Config: config(1), Out: dir})
		if err := errors.Join(stop(f, float32(i+1), Progress{}), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []string{"runs/mf-2", "runs/mf-10"} {
		if f := claim(t, Request{Config: config(1)}); f.Dir != want || mark(t, f) != float32(i+1) {
			t.Errorf("%s resumes from %v, want %s", f.Dir, mark(t, f), want)
		}
	}
}

// manifests returns those of a run's folder, oldest first.
func manifests(t *testing.T, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, checkpointFolder, "cuts", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestLeftoverIsNotCheckpoint makes a run finish that was killed while it wrote a checkpoint: the file that it had begun goes with the others.
func TestLeftoverIsNotCheckpoint(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := claim(t, Request{Config: config(1), Out: dir})
	if err := errors.Join(stop(f, 1, Progress{}), f.Close()); err != nil {
		t.Fatal(err)
	}
	begun := filepath.Join(dir, checkpointFolder, "shards", ".e0000000000-c1.part-AAAAAAAAAAAAAAAAAAAAAAAAAA")
	if err := os.WriteFile(begun, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	f = claim(t, Request{Config: config(1), Out: dir})
	if err := errors.Join(f.Done(Progress{}, End{}), f.Close()); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, checkpointFolder, "*", ".*")); err != nil || len(left) > 0 {
		t.Errorf("it has left %v: %v", left, err)
	}
	if _, err := os.Stat(filepath.Join(dir, checkpointFolder)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder of checkpoints is left: %v", err)
	}
}

// TestADamagedCheckpointIsNamed damages the newest of two, and then both: the run resumes from the older one. If both
// are damaged they stay until --fresh gives them up.
func TestADamagedCheckpointIsNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for life := range 2 {
		f := claim(t, Request{Config: config(1), Out: dir})
		if err := errors.Join(stop(f, float32(life+1), Progress{Seconds: float64(life + 1)}), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	cuts := manifests(t, dir)
	if len(cuts) != 2 {
		t.Fatal(cuts)
	}
	damage := func(name string) {
		b, err := os.ReadFile(name)
		if err == nil {
			b[len(b)/2] ^= 4
			err = os.WriteFile(name, b, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	damage(cuts[1])
	f := claim(t, Request{Config: config(1), Out: dir})
	if len(f.Passed) != 1 || !strings.Contains(f.Passed[0].Why.Error(), cuts[1]) || mark(t, f) != 1 || f.Before.Seconds != 1 || f.Life != 2 {
		t.Errorf("skipped %v, and resumed from %v after %v s, in life %d", f.Passed, mark(t, f), f.Before.Seconds, f.Life)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	damage(cuts[0])
	before := manifests(t, dir)
	for range 2 {
		_, err := Claim(Request{Config: config(1), Out: dir, Tables: tables})
		if bellows.KindOf(err) != bellows.BadData || !strings.Contains(err.Error(), cuts[1]) || !strings.Contains(err.Error(), "--fresh") {
			t.Error(err)
		}
	}
	if now := manifests(t, dir); !slices.Equal(now, before) {
		t.Errorf("left are %v", now)
	}
	fresh := claim(t, Request{Config: config(1), Out: dir, Fresh: true})
	if err := fresh.Begin(); err != nil {
		t.Fatal(err)
	}
	if now := manifests(t, dir); len(now) > 0 || fresh.Saved != nil {
		t.Errorf("--fresh leaves %v", now)
	}
}

// TestAnOlderVersionsImageIsRefused by name, and stays until --fresh gives it up.
func TestAnOlderVersionsImageIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, imageFile)
	f := claim(t, Request{Config: config(1), Out: dir})
	if err := errors.Join(f.Begin(), f.Close(), os.WriteFile(name, []byte("bellowsr"), 0o666)); err != nil {
		t.Fatal(err)
	}
	_, err := Claim(Request{Config: config(1), Out: dir, Tables: tables})
	if bellows.KindOf(err) != bellows.BadData || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "older version") {
		t.Error(err)
	}
	if err := claim(t, Request{Config: config(1), Out: dir, Fresh: true}).Begin(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("--fresh leaves it: %v", err)
	}
}

// TestCheckpointsElsewhere keeps the cuts of two runs of one command at one place, which the runs find again, and which is empty in the end.
func TestCheckpointsElsewhere(t *testing.T) {
	t.Parallel()
	place := t.TempDir()
	out := []string{t.TempDir(), t.TempDir()}
	for i, asked := range []string{place, "file://" + place} {
		f := claim(t, Request{Config: config(1), Out: out[i], Checkpoint: asked})
		if err := errors.Join(stop(f, float32(i+1), Progress{}), f.Close()); err != nil || len(manifests(t, out[i])) > 0 {
			t.Fatal(err)
		}
	}
	if _, err := Claim(Request{Config: config(1), Out: out[0], Checkpoint: t.TempDir(), Tables: tables}); bellows.KindOf(err) != bellows.Refused {
		t.Errorf("another place: %v", err)
	}
	if _, err := Claim(Request{Config: config(1), Out: t.TempDir(), Checkpoint: "s4://a", Tables: tables}); bellows.KindOf(err) != bellows.Config {
		t.Errorf("no place: %v", err)
	}
	for i, asked := range []string{"", place} {
		if i == 1 {
			asked = "file://" + place
		}
		f := claim(t, Request{Config: config(1), Out: out[i], Checkpoint: asked})
		if mark(t, f) != float32(i+1) {
			t.Errorf("run %d goes on from %v", i, mark(t, f))
		}
		reference, later, err := f.Reference(false)
		if err != nil {
			t.Fatal(err)
		}
		if _, none, err := Refer(t.Context(), later, tables); err != nil || none != nil {
			t.Errorf("a process that joins later reads %v, %v", none, err)
		}
		_, saved, err := Refer(t.Context(), reference, tables)
		if err != nil {
			t.Fatal(err)
		}
		if live, _, err := saved.Partition(bellows.PartitionRef{}); err != nil || live.Values[0] != float32(i+1) {
			t.Errorf("another process reads %v, %v", live, err)
		}
		if err := errors.Join(f.Done(Progress{}, End{}), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := os.ReadDir(place); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
	for _, bad := range []string{"", "{}", `{"ID":"00"}`} {
		if _, _, err := Refer(t.Context(), []byte(bad), tables); bellows.KindOf(err) != bellows.Usage {
			t.Errorf("%q refers to something: %v", bad, err)
		}
	}
}

// TestCheckpointsInABucket keeps the cuts of two runs of one command below one prefix, at the same time: each finds its own, other machines have the place too, and nothing is left in the end. No record has a
// credential, and a place that cannot be used is refused before anything is trained.
func TestCheckpointsInABucket(t *testing.T) {
	server := s3test.Start(t)
	t.Setenv("AWS_ACCESS_KEY_ID", s3test.Key)
	t.Setenv("AWS_SECRET_ACCESS_KEY", s3test.Secret)
	place := server.Place("runs")
	out := []string{t.TempDir(), t.TempDir()}
	for i := range out {
		f := claim(t, Request{Config: config(1), Out: out[i], Checkpoint: place})
		if !f.Named() || !strings.HasPrefix(f.place(), "s3://"+s3test.Bucket+"/runs/mf-") {
			t.Errorf("its place is %s", f.place())
		}
		if err := errors.Join(stop(f, float32(i+1), Progress{}), f.Close()); err != nil || len(manifests(t, out[i])) > 0 {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(filepath.Join(out[i], recordFile)); err != nil || bytes.Contains(text, []byte(s3test.Secret)) || bytes.Contains(text, []byte(s3test.Key)) {
			t.Errorf("%s, %v", text, err)
		}
		if p, err := Look(out[i]); err != nil || !p.Kept {
			t.Errorf("who looks sees %+v, %v", p, err)
		}
	}
	if _, err := Claim(Request{Config: config(1), Out: out[0], Checkpoint: server.Place("others"), Tables: tables}); bellows.KindOf(err) != bellows.Refused {
		t.Errorf("another place: %v", err)
	}
	for i, asked := range []string{"", place} {
		f := claim(t, Request{Config: config(1), Out: out[i], Checkpoint: asked})
		if mark(t, f) != float32(i+1) {
			t.Errorf("run %d goes on from %v", i, mark(t, f))
		}
		reference, _, err := f.Reference(true)
		if err != nil || bytes.Contains(reference, []byte(s3test.Secret)) {
			t.Fatal(string(reference), err)
		}
		c, saved, err := Refer(t.Context(), reference, tables)
		if err != nil || c == nil {
			t.Fatal(c, err)
		}
		if live, _, err := saved.Partition(bellows.PartitionRef{}); err != nil || live.Values[0] != float32(i+1) {
			t.Errorf("another process reads %v, %v", live, err)
		}
		if err := errors.Join(f.Done(Progress{}, End{}), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	for info, err := range server.Store(t, "").List(t.Context(), "") {
		t.Errorf("%+v is left: %v", info, err)
	}
	t.Setenv("AWS_SECRET_ACCESS_KEY", "a guess")
	folder := filepath.Join(t.TempDir(), "a")
	if _, err := Claim(Request{Config: config(1), Out: folder, Checkpoint: place, Tables: tables}); bellows.KindOf(err) != bellows.Refused || !strings.Contains(err.Error(), "credentials") {
		t.Errorf("a place that cannot be used: %v", err)
	}
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it leaves a folder: %v", err)
	}
}

// TestAPlaceIsNamedAgain: the same command names the same place, also by a relative path; another place is refused,
// also a parent.
func TestAPlaceIsNamedAgain(t *testing.T) {
	t.Chdir(t.TempDir())
	f := claim(t, Request{Config: config(1), Out: "out", Checkpoint: "kept/here"})
	if err := errors.Join(stop(f, 1, Progress{}), f.Close()); err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{"kept", "kept/here/more", "here"} {
		if _, err := Claim(Request{Config: config(1), Out: "out", Checkpoint: other, Tables: tables}); bellows.KindOf(err) != bellows.Refused || !strings.Contains(err.Error(), "has its own at") {
			t.Errorf("%s: %v", other, err)
		}
	}
	f = claim(t, Request{Config: config(1), Out: "out", Checkpoint: "kept/here/"})
	if mark(t, f) != 1 {
		t.Errorf("it goes on from %v", mark(t, f))
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for place, want := range map[string]string{"/a?b": "/a?b/c", "s3://a/b?x=y/z": "s3://a/b/c?x=y/z", "s3://a": "s3://a/c", "file:///a/": "file:///a/c"} {
		if got := beneath(place, "c"); got != want || lastOf(got) != "c" {
			t.Errorf("below %s is %s, which ends with %s", place, got, lastOf(got))
		}
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
	if err := errors.Join(stop(f, 7, Progress{Seconds: 3}), f.Close()); err != nil {
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

// contents returns the files of a folder.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		name, err = filepath.Rel(dir, name)
		out[name] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestForeignFilesAreNeverReplaced claims a folder with one foreign file.
func TestForeignFilesAreNeverReplaced(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		plain, fresh string // in the error, or "" for none
	}{
		{".gitkeep", "", ""},
		{"notes.md", "belong to no run: notes.md; give --out another folder, or add --fresh", ""},
		{"ratings.tsv", "belong to no run: ratings.tsv;", ""},
		{"labels.txt", "may write: labels.txt;", "may write: labels.txt;"},
		{"run.json", "may write: run.json;", "may write: run.json;"},
		{"events.jsonl", "may write: events.jsonl;", "may write: events.jsonl;"},
		{"resume.image", "may write: resume.image;", "may write: resume.image;"},
		{"checkpoint", "may write: checkpoint;", "may write: checkpoint;"},
		{"metrics.json.partial", "belong to no run: metrics.json.partial;", ""},
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

// TestAFinishedModelIsAnothersWithoutFresh makes a model of a run, and one that was saved or copied without its record.
func TestAFinishedModelIsAnothersWithoutFresh(t *testing.T) {
	t.Parallel()
	for _, bare := range []bool{false, true} {
		dir := t.TempDir()
		f := claim(t, Request{Config: config(1), Out: dir})
		m := &model.Model{App: "mf", Tensors: []model.Tensor{{Name: "a", Shape: []int{1}, Floats: []float32{1}}}, IDs: []model.IDs{{File: "users.txt", Names: []string{"u"}}}}
		if err := errors.Join(f.Begin(), model.Save(dir, m), f.Done(Progress{}, End{}), f.Close()); err != nil {
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

func TestFreshGivesUpTheCheckpoint(t *testing.T) {
	t.Chdir(t.TempDir())
	f := claim(t, Request{Config: config(1)})
	if err := errors.Join(stop(f, 7, Progress{Seconds: 3}), f.Close()); err != nil {
		t.Fatal(err)
	}
	fresh := claim(t, Request{Config: config(1), Fresh: true})
	if err := fresh.Begin(); err != nil {
		t.Fatal(err)
	}
	if fresh.Dir != f.Dir || fresh.Resumed || fresh.Saved != nil || !reflect.DeepEqual(fresh.Before, Progress{}) {
		t.Errorf("--fresh got %+v", fresh)
	}
	if left := manifests(t, f.Dir); len(left) > 0 {
		t.Errorf("the old checkpoint is still there: %v", left)
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
	if f := claim(t, Request{Config: config(1), Out: dir}); !f.Resumed || f.Saved != nil {
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
	in := Inputs(t.Context(), []string{filepath.Join(dir, "*.tsv"), "-"})
	if len(in) != 3 || filepath.Base(in[0].Path) != "a.tsv" || in[1].Bytes != 3 || in[2].Path != "-" {
		t.Fatalf("inputs are %+v", in)
	}
	if again := Inputs(t.Context(), []string{"-"}); !again[0].Modified.After(in[2].Modified) {
		t.Error("standard input can be read again")
	}
}

// TestMeasurementsAreStored stores figures twice, and once what is no JSON; a run that starts over in the folder has none.
func TestMeasurementsAreStored(t *testing.T) {
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

// TestAnInterruptionWithoutAnImageStartsOver interrupts a run with an image, and its resumption without one.
func TestAnInterruptionWithoutAnImageStartsOver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, c := range []struct{ found, leave float32 }{{0, 7}, {7, 0}, {0, 0}} {
		f := claim(t, Request{Config: config(1), Out: dir})
		if got := mark(t, f); got != c.found {
			t.Errorf("it resumes from %v, want %v", got, c.found)
		}
		if e, err := f.Log.Append(event.Event{Kind: event.Epoch}); err != nil || e.Seq == 0 {
			t.Errorf("its log: %+v, %v", e, err)
		}
		err := f.Interrupted(t.Context(), nil, 0, Progress{}, nil)
		if c.leave != 0 {
			err = stop(f, c.leave, Progress{})
		}
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMissingFileIsInputError keeps a missing file as an input under its name: the reader reports the error.
func TestMissingFileIsInputError(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "none.tsv")
	if in := Inputs(t.Context(), []string{name}); len(in) != 1 || in[0].Path != name || in[0].Bytes != 0 || in[0].Modified.IsZero() {
		t.Errorf("inputs %+v", in)
	}
}

// TestAFolderElsewhere stores an interruption in another folder, and in a third that is given up: the first stays
// locked, and the run can resume from the stored state.
func TestAFolderElsewhere(t *testing.T) {
	t.Parallel()
	own, other := filepath.Join(t.TempDir(), "own"), t.TempDir()
	f, err := Claim(Request{Config: Config{App: "mf"}, Out: own, Tables: tables})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Begin(), f.Elsewhere(other)); err != nil {
		t.Fatal(err)
	}
	given := f.Dir
	if err := f.RestoreFolder(own); err != nil || f.Dir != own {
		t.Fatalf("back in %s: %v", f.Dir, err)
	}
	if _, err := os.Stat(given); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder that was given up: %v", err)
	}
	if _, err := Claim(Request{Config: Config{App: "mf"}, Out: own, Tables: tables}); bellows.KindOf(err) != bellows.Refused {
		t.Errorf("the run's own folder is not held any more: %v", err)
	}
	if err := errors.Join(f.Elsewhere(other), stop(f, 7, Progress{Seconds: 3})); err != nil {
		t.Fatal(err)
	}
	if name := filepath.Base(f.Dir); !strings.HasPrefix(name, "own-saved-") || filepath.Dir(f.Dir) != other {
		t.Errorf("the other folder is %s", f.Dir)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	g, err := Claim(Request{Config: Config{App: "mf"}, Out: f.Dir, Tables: tables})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if !g.Resumed || mark(t, g) != 7 || g.Before.Seconds != 3 {
		t.Errorf("resumed %v, before %+v", g.Resumed, g.Before)
	}
	if g, err := Claim(Request{Config: Config{App: "mf"}, Out: own, Tables: tables}); err != nil || g.Close() != nil {
		t.Errorf("the run's own folder is held: %v", err)
	}
}

// TestAFolderIsRolledBack: to its newest cut, or to its beginning where it has none, in a life that is newer each time; and not with other data.
func TestAFolderIsRolledBack(t *testing.T) {
	t.Parallel()
	f := claim(t, Request{Config: config(2), Out: filepath.Join(t.TempDir(), "a")})
	if err := f.Begin(); err != nil {
		t.Fatal(err)
	}
	for life := range bellows.Era(2) {
		if err := f.RollBack(t.Context()); err != nil || f.Saved != nil || f.Life != life+1 {
			t.Fatalf("rolled back without a cut: life %d from %v, %v", f.Life, f.Saved, err)
		}
	}
	if err := stop(f, 7, Progress{Seconds: 3}); err != nil {
		t.Fatal(err)
	}
	if err := f.RollBack(t.Context()); err != nil || f.Saved == nil || f.Saved.At.Era != 2 || f.Life != 3 || f.Before.Seconds != 3 {
		t.Fatalf("rolled back: life %d from %+v, %v", f.Life, f.Saved, err)
	}
	if got := mark(t, f); got != 7 {
		t.Errorf("it goes on from %v", got)
	}
	if err := f.Same(config(2)); err != nil {
		t.Error(err)
	}
	other := config(2)
	other.Inputs = []Input{{Path: "r.tsv", Bytes: 1}}
	if err := f.Same(other); bellows.KindOf(err) != bellows.Refused {
		t.Errorf("with other data: %v", err)
	}
}

// TestLivesHaveTheirNumbers, each above all earlier ones: after a resumption, a rollback, and attempts without a cut or
// even a first task.
func TestLivesHaveTheirNumbers(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a")
	said := func() bellows.Era { return readRecord(dir).Era }
	f := claim(t, Request{Config: config(2), Out: dir})
	if err := errors.Join(f.Enter(), f.Begin()); err != nil || f.Life != 0 || said() != 0 {
		t.Fatalf("the first life is %d: %v", f.Life, err)
	}
	if err := errors.Join(f.RollBack(t.Context()), f.Enter()); err != nil || f.Life != 1 || said() != 1 {
		t.Fatalf("rolled back: life %d, %v", f.Life, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for life := bellows.Era(2); life < 4; life++ { // killed before their first tasks
		f = claim(t, Request{Config: config(2), Out: dir})
		if err := f.Enter(); err != nil || f.Life != life || said() != life {
			t.Fatalf("life %d: %d, %v", life, f.Life, err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	f = claim(t, Request{Config: config(2), Out: dir})
	if err := stop(f, 7, Progress{}); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f = claim(t, Request{Config: config(2), Out: dir})
	defer f.Close()
	if f.Saved == nil || f.Saved.At.Era != 4 || f.Life != 5 || said() != 4 {
		t.Errorf("after a cut of %+v attempt %d", f.Saved, f.Life)
	}
}

// TestCutsAreFoundAgain at the place that the command names, when the run's folder is gone: by the same command, and by
// no other. Cuts whose owner may resume are left alone and named; so are those of a live process. A finished run has
// none.
func TestCutsAreFoundAgain(t *testing.T) {
	t.Parallel()
	place, out := t.TempDir(), filepath.Join(t.TempDir(), "a")
	begin := func(n int, fresh bool) *Folder {
		t.Helper()
		f := claim(t, Request{Config: config(n), Out: out, Checkpoint: place, Fresh: fresh})
		return f
	}
	lose := func(f *Folder) {
		t.Helper()
		if err := errors.Join(f.Close(), os.RemoveAll(out)); err != nil {
			t.Fatal(err)
		}
	}
	f := begin(2, false)
	if err := stop(f, 7, Progress{Seconds: 3}); err != nil {
		t.Fatal(err)
	}
	kept := f.record.Checkpoint
	set := func(by func(o *owner)) {
		t.Helper()
		s, err := openStore(t.Context(), kept)
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
			err = os.WriteFile(filepath.Join(kept, claimName(o.Era)), text, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	// Its folder is there.
	elsewhere := claim(t, Request{Config: config(2), Out: filepath.Join(t.TempDir(), "b"), Checkpoint: place})
	if elsewhere.Resumed || elsewhere.Found != "" || len(elsewhere.Left) != 1 || !strings.Contains(elsewhere.Left[0], "it belongs to the run in "+out+"; --out "+out+" resumes it") {
		t.Errorf("found %q, and left alone %q", elsewhere.Found, elsewhere.Left)
	}
	lose(f)
	if f := begin(3, false); f.Found != "" || len(f.Left) > 0 {
		t.Errorf("another command has found %s, %q", f.Found, f.Left)
	} else {
		lose(f)
	}
	if f := begin(2, true); f.Found != "" {
		t.Errorf("--fresh has found %s", f.Found)
	} else {
		lose(f)
	}
	parent := os.Getppid() // which is alive
	for want, by := range map[string]func(o *owner){
		"on elsewhere, which may still be running; if it is not, resume it here with --checkpoint " + kept: func(o *owner) { o.Host = "elsewhere" },
		fmt.Sprintf("process %d, which trains the run that was in %s, has not ended", parent, out):         func(o *owner) { o.Process = parent },
	} {
		var was owner
		set(func(o *owner) { was = *o; by(o) })
		if f := begin(2, false); f.Found != "" || len(f.Left) != 1 || !strings.Contains(f.Left[0], want) {
			t.Errorf("found %q, and left alone %q; want %q", f.Found, f.Left, want)
		} else {
			lose(f)
		}
		set(func(o *owner) { *o = was })
	}
	// From another host it is resumed by its own name.
	set(func(o *owner) { o.Host = "elsewhere" })
	f = claim(t, Request{Config: config(2), Out: out, Checkpoint: kept})
	if f.Found != kept || mark(t, f) != 7 {
		t.Errorf("named, found %q, and resumes from %v", f.Found, mark(t, f))
	}
	lose(f)
	set(func(o *owner) { o.Host, _ = os.Hostname() })
	f = begin(2, false)
	if f.Found != kept || !f.Resumed || mark(t, f) != 7 || f.Life != 1 || f.Before.Seconds != 3 {
		t.Fatalf("found %q, attempt %d, resumes from %v after %+v", f.Found, f.Life, mark(t, f), f.Before)
	}
	if err := errors.Join(f.Begin(), stop(f, 8, Progress{Seconds: 4}), f.Close()); err != nil {
		t.Fatal(err)
	}
	f = begin(2, false) // in the folder that it has now
	if f.Found != "" || !f.Resumed || mark(t, f) != 8 || f.Life != 2 {
		t.Errorf("found %q, resumed %v in life %d from %v", f.Found, f.Resumed, f.Life, mark(t, f))
	}
	if err := f.Done(Progress{}, End{}); err != nil {
		t.Fatal(err)
	}
	lose(f)
	if f := begin(2, false); f.Found != "" || len(f.Left) > 0 {
		t.Errorf("of what has finished it has found %q, %q", f.Found, f.Left)
	}
}

// TestInputsInABucket: objects can be read again, and versions distinguish them; globs are expanded.
func TestInputsInABucket(t *testing.T) {
	server := s3test.Start(t)
	t.Setenv("AWS_ACCESS_KEY_ID", s3test.Key)
	t.Setenv("AWS_SECRET_ACCESS_KEY", s3test.Secret)
	put := func(name, content string) {
		if err := s3test.Put(t.Context(), server.Endpoint, name, []byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	put("in/A.tsv", "1")
	put("in/b.tsv", "22")
	_, query, _ := strings.Cut(server.Place("in"), "?")
	names := []string{"s3://" + s3test.Bucket + "/in/*.tsv?" + query}
	one := Inputs(t.Context(), names)
	if len(one) != 2 || one[0].Path != "s3://tests/in/A.tsv" || one[1].Bytes != 2 || one[0].Version == "" || !one[0].Modified.IsZero() || !Repeatable(names) || !Repeatable([]string{"S3://tests/in/A.tsv"}) {
		t.Fatalf("inputs are %+v", one)
	}
	if same := Inputs(t.Context(), names); !slices.Equal(same, one) {
		t.Errorf("the same objects are %+v, were %+v", same, one)
	}
	put("in/A.tsv", "3")
	if other := Inputs(t.Context(), names); len(other) != 2 || other[0] == one[0] || other[1] != one[1] {
		t.Errorf("another object is %+v, was %+v", other, one)
	}
	missing := []string{"s3://" + s3test.Bucket + "/no.tsv?" + query}
	if in := Inputs(t.Context(), missing); len(in) != 1 || in[0].Modified.IsZero() {
		t.Errorf("what is not there is %+v", in)
	}
}
