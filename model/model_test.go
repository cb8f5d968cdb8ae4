package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"bellows"
	"bellows/progress"
)

var update = flag.Bool("update", false, "write the golden files")

// sample returns a small model with both kinds of tensor, an empty one, and ids of every sort.
func sample() *Model {
	return &Model{
		App:      "mf",
		Settings: map[string]string{"rank": "2", "lr": "0.05"},
		Metrics:  map[string]float64{"test_rmse": 0.9081},
		Details:  json.RawMessage(`{"scale":2}`),
		Input:    json.RawMessage(`{"format":"csv"}`),
		Versions: map[string]string{"bellows": "golden", "go": "golden"},
		Tensors: []Tensor{
			{Name: "user_factors", Shape: []int{3, 2}, Floats: []float32{0, 1, -2.5, 1e-30, float32(math.Inf(1)), 7}},
			{Name: "mean", Shape: []int{}, Floats: []float32{3.5}},
			{Name: "topic", Shape: []int{2}, Counts: []int32{-1, math.MaxInt32}},
			{Name: "empty", Shape: []int{0, 4}, Floats: []float32{}},
		},
		IDs: []IDs{
			{File: "users.txt", Names: []string{"anna", "", "bob \"the\" builder"}},
			{File: "items.txt", Names: []string{"plain", "two\nlines", `back\slash`, "not \xff text"}},
		},
	}
}

func save(t *testing.T, m *Model) string {
	t.Helper()
	dir := t.TempDir()
	if err := Save(dir, m); err != nil {
		t.Fatal(err)
	}
	return dir
}

// same compares all that Save stores.
func same(t *testing.T, got, want *Model) {
	t.Helper()
	g, w := *got, *want
	g.Files, w.Files = nil, nil
	for name, text := range map[string][2]json.RawMessage{"details": {g.Details, w.Details},
		"input": {g.Input, w.Input}} {
		if compact(t, text[0]) != compact(t, text[1]) {
			t.Errorf("%s are %s, not %s", name, text[0], text[1])
		}
	}
	g.Details, w.Details, g.Input, w.Input = nil, nil, nil, nil
	if !reflect.DeepEqual(g, w) {
		t.Errorf("the model read is\n%+v\nnot\n%+v", g, w)
	}
}

// compact returns JSON without its blanks; nothing stays nothing.
func compact(t *testing.T, text json.RawMessage) string {
	t.Helper()
	var b bytes.Buffer
	if len(text) > 0 {
		if err := json.Compact(&b, text); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	m := sample()
	got, err := Open(save(t, m))
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, m)
	if n := got.Tensor("topic"); n == nil || n.Counts[1] != math.MaxInt32 {
		t.Errorf("tensor topic is %v", n)
	}
	if names := got.Names("items.txt"); len(names) != 4 || names[1] != "two\nlines" {
		t.Errorf("items are %q", names)
	}
	if len(got.Files) != 3 || got.Files[1].IDs != 3 || !got.Files[2].Quoted || got.Files[1].Quoted {
		t.Errorf("files are %+v", got.Files)
	}
}

func TestNonFiniteMetricsAreDropped(t *testing.T) {
	t.Parallel()
	m := sample()
	m.Metrics["train_rmse"], m.Metrics["test_mae"] = math.NaN(), math.Inf(1)
	got, err := Open(save(t, m))
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, sample())
}

// TestGolden holds the bytes on the disk: other tools read them, and older models stay readable.
func TestGolden(t *testing.T) {
	t.Parallel()
	if *update {
		if err := Save("testdata/golden", sample()); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Open("testdata/golden")
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, sample())
	dir := save(t, sample())
	for _, name := range []string{tensorsFile, manifestFile, "users.txt", "items.txt"} {
		want, err := os.ReadFile(filepath.Join("testdata/golden", name))
		if err != nil {
			t.Fatal(err)
		}
		now, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(want, now) {
			t.Errorf("%s has changed; run with -update if that is meant\n%q\nwas\n%q", name, now, want)
		}
	}
}

// TestOlderFormats: models of format 1, which say nothing of their input, are read as before.
func TestOlderFormats(t *testing.T) {
	t.Parallel()
	got, err := Open("testdata/format-1")
	if err != nil {
		t.Fatal(err)
	}
	want := sample()
	want.Input = nil
	same(t, got, want)
}

func TestSaveRefuses(t *testing.T) {
	t.Parallel()
	for want, spoil := range map[string]func(*Model){
		"names no application":                      func(m *Model) { m.App = "" },
		"details are not JSON":                      func(m *Model) { m.Details = json.RawMessage("{") },
		`"../users.txt" cannot be the name`:         func(m *Model) { m.IDs[0].File = "../users.txt" },
		`"users.txt" cannot be the name`:            func(m *Model) { m.IDs[1].File = "users.txt" },
		`tensor "mean" is there twice`:              func(m *Model) { m.Tensors[0].Name = "mean" },
		"has 6 values, not 8":                       func(m *Model) { m.Tensors[0].Shape = []int{4, 2} },
		"impossible shape":                          func(m *Model) { m.Tensors[0].Shape = []int{-3, -2} },
		"has two of floats, counts, keys and bytes": func(m *Model) { m.Tensors[1].Counts = []int32{1} },
		"cannot be the name of a tensor":            func(m *Model) { m.Tensors[0].Name = "__metadata__" },
		"input is not JSON":                         func(m *Model) { m.Input = json.RawMessage("{") },
	} {
		m := sample()
		spoil(m)
		dir := filepath.Join(t.TempDir(), "new")
		err := Save(dir, m)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, and should say %q", err, want)
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: a folder was made for a model that cannot be saved", want)
		}
	}
}

// TestEveryDamagedByteIsNoticed changes each byte of each file in turn.
func TestEveryDamagedByteIsNoticed(t *testing.T) {
	t.Parallel()
	dir := save(t, sample())
	for _, name := range []string{tensorsFile, "users.txt", "items.txt", manifestFile} {
		path := filepath.Join(dir, name)
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := range good {
			bad := bytes.Clone(good)
			bad[i] ^= 1
			refused(t, dir, path, bad, fmt.Sprintf("byte %d of %s changed", i, name))
		}
		for i := range good {
			refused(t, dir, path, good[:i], fmt.Sprintf("%s cut to %d bytes", name, i))
		}
		refused(t, dir, path, append(bytes.Clone(good), '\n'), name+" grown by a byte")
		if err := os.WriteFile(path, good, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Open(dir); err != nil {
		t.Errorf("the repaired folder is refused: %v", err)
	}
}

// refused writes bad to path and wants Open to refuse the folder, naming that file.
func refused(t *testing.T, dir, path string, bad []byte, what string) {
	t.Helper()
	if err := os.WriteFile(path, bad, 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := Open(dir)
	if err == nil {
		t.Fatalf("%s: Open took it", what)
	}
	if bellows.KindOf(err) != bellows.BadData || !strings.Contains(err.Error(), path) {
		t.Fatalf("%s: the error is %v", what, err)
	}
}

func TestSwappedFilesAreRefused(t *testing.T) {
	t.Parallel()
	a, b := save(t, sample()), t.TempDir()
	other := sample()
	other.Tensors[0].Floats = []float32{1, 2, 3, 4, 5, 6}
	if err := Save(b, other); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(b, tensorsFile), filepath.Join(a, tensorsFile)); err != nil {
		t.Fatal(err)
	}
	_, err := Open(a)
	if err == nil || !strings.Contains(err.Error(), tensorsFile) ||
		!strings.Contains(err.Error(), "belongs to another model") {
		t.Errorf("the error is %v", err)
	}
}

func TestMissingFilesAreNamed(t *testing.T) {
	t.Parallel()
	for _, name := range []string{tensorsFile, "users.txt"} {
		dir := save(t, sample())
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir); bellows.KindOf(err) != bellows.NoInput || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s the error is %v", name, err)
		}
	}
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), "none"),
		filepath.Join(save(t, sample()), manifestFile)} {
		if _, err := Open(dir); bellows.KindOf(err) != bellows.NoInput || !strings.Contains(err.Error(), "runs/mf-1") {
			t.Errorf("of %s the error is %v", dir, err)
		}
	}
}

func TestFolderInPlaceOfAFile(t *testing.T) {
	t.Parallel()
	dir := save(t, sample())
	name := filepath.Join(dir, "users.txt")
	if err := errors.Join(os.Remove(name), os.Mkdir(name, 0o777)); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("the error is %v", err)
	}
}

// TestSavingIsCounted wants the meter of a saved model to have come to its end, though its context has ended.
func TestSavingIsCounted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m, meter := sample(), progress.New(ctx)
	m.Tensors[0].Shape, m.Tensors[0].Floats = []int{chunkBytes, 2}, make([]float32, 2*chunkBytes)
	dir := t.TempDir()
	if err := SaveWith(dir, m, meter); err != nil {
		t.Fatal(err)
	}
	if r := meter.Read(); r.Doing != "saving the model" || r.Number != 1 || r.Total < 8*chunkBytes || r.Done < r.Total {
		t.Errorf("the meter says %+v", r)
	}
	got, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, m)
}
