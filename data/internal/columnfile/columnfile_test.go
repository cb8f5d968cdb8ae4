package columnfile

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// samples returns small columns of every shape.
func samples() map[Contents]*Columns {
	return map[Contents]*Columns{
		{Ratings: true, Users: 2, Items: 3}: {User: []int32{0, 1, 1}, Item: []int32{2, 0, 1},
			Rating: []float32{1, 2.5, -3}},
		{Features: 2}: {Label: []float32{1, 0}, Dense: []float32{1, 2, 3, 4}},
		{Sparse: true, Features: 9}: {Label: []float32{1, 0, 2}, Offset: []int64{0, 2, 2, 3},
			Index: []int32{0, 8, 4}, Value: []float32{1, 2, 3}},
		{Sparse: true, Weights: true, Features: 9}: {Label: []float32{1, 0}, Offset: []int64{0, 1, 1},
			Index: []int32{8}, Value: []float32{2}, Weight: []float32{0.5, 3}},
		{Weights: true, Features: 2}: {Label: []float32{1, 0}, Dense: []float32{1, 2, 3, 4},
			Weight: []float32{2, 1}},
		{Documents: true, Features: 9}: {Offset: []int64{0, 0, 2, 3}, Index: []int32{2, 8, 8},
			Count: []int32{1, 3, 2}},
	}
}

func encode(t testing.TB, s Contents, c *Columns) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := WriteColumns(&b, s, c, map[string]string{"made": "here"}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func locate(t testing.TB, file []byte) Layout {
	t.Helper()
	l, err := Locate(file)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// decode reads a file that was just written.
func decode(t testing.TB, file []byte, s Contents) (*Columns, error) {
	t.Helper()
	return ReadColumns(file, locate(t, file), s)
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for s, c := range samples() {
		got, err := decode(t, encode(t, s, c), s)
		if err != nil || !reflect.DeepEqual(got, c) {
			t.Errorf("%+v: %+v, %v", s, got, err)
		}
	}
	for _, names := range [][]string{{}, {""}, {"a", "", "ünï", "a b"}} {
		var b bytes.Buffer
		if err := WriteNames(&b, names); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadNames(b.Bytes(), locate(t, b.Bytes())); err != nil || !reflect.DeepEqual(got, names) {
			t.Errorf("%q: %q, %v", names, got, err)
		}
	}
}

// Other tools see what the package comment says.
func TestSchemaIsPlainArrow(t *testing.T) {
	t.Parallel()
	s := Contents{Sparse: true, Features: 9}
	in, err := ipc.NewFileReader(bytes.NewReader(encode(t, s, samples()[s])))
	if err != nil {
		t.Fatal(err)
	}
	batch, err := in.RecordBatch(0)
	if err != nil {
		t.Fatal(err)
	}
	rows := batch.Column(1).(*array.LargeList)
	if got := rows.String(); got != "[{[0 8] [1 2]} {[] []} {[4] [3]}]" {
		t.Errorf("features read as %s", got)
	}
	if made, _ := in.Schema().Metadata().GetValue("made"); made != "here" || batch.ColumnName(1) != "features" {
		t.Errorf("schema %v", in.Schema())
	}
}

// Columns that point outside are refused although the file is well-formed.
func TestPositionsAreChecked(t *testing.T) {
	t.Parallel()
	for s, c := range samples() {
		file := encode(t, s, c)
		narrow := s
		narrow.Users, narrow.Items, narrow.Features = s.Users-1, s.Items, s.Features-1
		if got, err := decode(t, file, narrow); err == nil {
			t.Errorf("%+v read as %+v: %+v", s, narrow, got)
		}
		for other := range samples() {
			if got, err := decode(t, file, other); other != s && err == nil {
				t.Errorf("%+v read as %+v: %+v", s, other, got)
			}
		}
	}
	bad := &Columns{Label: []float32{1, 0}, Offset: []int64{0, 5, 3}, Index: []int32{0, 1, 2, 3, 4},
		Value: make([]float32, 5)}
	s := Contents{Sparse: true, Features: 9}
	if got, err := decode(t, encode(t, s, bad), s); err == nil {
		t.Errorf("descending offsets read as %+v", got)
	}
	s = Contents{Weights: true, Features: 1}
	for _, w := range []float32{0, -1, float32(math.NaN()), float32(math.Inf(1))} {
		bad := &Columns{Label: []float32{1, 0}, Dense: []float32{1, 2}, Weight: []float32{1, w}}
		if got, err := decode(t, encode(t, s, bad), s); err == nil {
			t.Errorf("weight %v read as %+v", w, got)
		}
	}
}

// Any byte may be wrong: the answer is an error or columns within bounds.
func TestDamagedBytes(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 1))
	for s, c := range samples() {
		file := encode(t, s, c)
		l := locate(t, file)
		for at := range file {
			broken := bytes.Clone(file)
			broken[at] ^= byte(1 + rng.IntN(255))
			checkRead(t, broken, l, s)
		}
		for range 2000 {
			moved := Layout{Rows: l.Rows + rng.IntN(3) - 1}
			for _, span := range l.Spans {
				moved.Spans = append(moved.Spans,
					Span{span.Offset + int64(rng.IntN(17)-8), span.Bytes + int64(rng.IntN(17)-8)})
			}
			checkRead(t, file, moved, s)
		}
	}
}

// checkRead reads a file that may be anything and walks what comes out.
func checkRead(t *testing.T, file []byte, l Layout, s Contents) {
	t.Helper()
	c, err := ReadColumns(file, l, s)
	if err != nil {
		return
	}
	total := float32(0)
	for i := range c.User {
		if int(c.User[i]) >= s.Users || int(c.Item[i]) >= s.Items || c.User[i] < 0 || c.Item[i] < 0 {
			t.Fatalf("position out of range in row %d", i)
		}
		total += c.Rating[i]
	}
	for i := range c.Label {
		if s.Sparse {
			for at := c.Offset[i]; at < c.Offset[i+1]; at++ {
				if index := c.Index[at]; index < 0 || int(index) >= s.Features {
					t.Fatalf("feature %d of %d", index, s.Features)
				}
				total += c.Value[at]
			}
		} else {
			total += c.Dense[i*s.Features]
		}
	}
	for _, w := range c.Weight {
		if !(w > 0 && w <= math.MaxFloat32) {
			t.Fatalf("weight %v", w)
		}
	}
	_ = total
}

// FuzzColumns reads files with layouts that may be anything.
func FuzzColumns(f *testing.F) {
	for s, c := range samples() {
		file := encode(f, s, c)
		l := locate(f, file)
		spans := make([]int64, 10)
		for i, span := range l.Spans {
			spans[2*i], spans[2*i+1] = span.Offset, span.Bytes
		}
		f.Add(file, l.Rows, spans[0], spans[1], spans[2], spans[3], spans[4], spans[5], spans[6], spans[7], spans[8],
			spans[9])
	}
	f.Fuzz(func(t *testing.T, file []byte, rows int, a, aBytes, b, bBytes, c, cBytes, d, dBytes, e, eBytes int64) {
		l := Layout{Rows: rows, Spans: []Span{{a, aBytes}, {b, bBytes}, {c, cBytes}, {d, dBytes}, {e, eBytes}}}
		for _, n := range []int{5, 4, 3, 2} {
			l.Spans = l.Spans[:n]
			for s := range samples() {
				checkRead(t, file, l, s)
			}
		}
		if names, err := ReadNames(file, l); err == nil && len(names) != rows {
			t.Fatalf("%d names of %d", len(names), rows)
		}
	})
}

func TestMap(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := Map(path)
	if err != nil || string(m.Bytes) != "content" {
		t.Fatal(m, err)
	}
	if Checksum(m.Bytes) == Checksum([]byte("Content")) {
		t.Error("the checksum does not see a changed byte")
	}
	for range 2 {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := Map(path + "s"); err == nil {
		t.Error("a missing file was mapped")
	}
}
