package wire

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bellows"
	"bellows/internal/require"
	"bellows/link/wire/internal/raw"
	"bellows/vec"
)

// narrowBatch sends table 1 in one format and the others as they are.
func narrowBatch(f vec.Format) *Batch {
	b := new(Batch)
	b.Narrow([]vec.Format{vec.Float32, f})
	return b
}

// rounded returns what values are after a trip in a format.
func rounded(f vec.Format, v []float32) []float32 {
	to, narrow := make([]float32, len(v)), make([]uint16, len(v))
	switch f {
	case vec.Float16:
		vec.ToHalf(narrow, v)
		vec.FromHalf(to, narrow)
	case vec.BFloat16:
		vec.ToBrain(narrow, v)
		vec.FromBrain(to, narrow)
	default:
		copy(to, v)
	}
	return to
}

// tame returns values that each format can hold approximately.
func (s sampler) tame(n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(s.NormFloat64() * math.Pow(10, float64(s.IntN(10)-6)))
	}
	if n > 3 {
		v[0], v[1], v[2] = float32(math.Inf(1)), float32(math.NaN()), float32(math.Copysign(0, -1))
	}
	return v
}

// TestNarrowRoundTrip sends pushes and rows of several tables: those of table 1 arrive rounded, the others bit for bit, whatever
// their lengths, and in half the bytes.
func TestNarrowRoundTrip(t *testing.T) {
	t.Parallel()
	for _, f := range []vec.Format{vec.Float16, vec.BFloat16} {
		b := narrowBatch(f)
		for seed := range uint64(60) {
			s := newSampler(seed)
			push := &Push{Flush: s.flush()}
			rows := &Rows{Request: s.Uint64()}
			for part := range s.IntN(6) {
				n := []int{0, 1, 2, 7, 255, 256, 257, borrowMin/2 - 1, borrowMin / 2, borrowMin, 3*4096 + 5}[s.IntN(11)]
				ref := bellows.PartitionRef{Table: bellows.TableID(part % 3), Partition: bellows.PartitionID(part)}
				list := s.listed(n)
				push.Chunks = append(push.Chunks, Chunk{Pair: Pair{ref, 1}, Subtree: s.subtree(), Rows: list, Values: s.tame(n)})
				rows.Parts = append(rows.Parts, RowsPart{Pair: Pair{Ref: ref}, Rows: list, Values: s.tame(n)})
			}
			push.Leases = append(push.Leases, LeaseEnd{Pair: Pair{bellows.PartitionRef{Table: 1}, 1}, Values: s.tame(9)})
			for _, m := range []Message{push, rows, &Slab{Ref: bellows.PartitionRef{Table: 1}, Values: s.tame(9)}, &Granted{Pair: Pair{Ref: bellows.PartitionRef{Table: 1}}, Values: s.tame(9)}} {
				require.NoError(t, b.Add(Envelope{Message: m}))
			}
			stream := joined(t, b)
			for _, want := range []Message{roundedPush(f, push), roundedRows(f, rows)} {
				var e Envelope
				e, stream = read(t, stream)
				if d := differ(want, e.Message); d != "" {
					t.Fatalf("%v, seed %d: %s", f, seed, d)
				}
				Free(e.Message)
			}
			for range 2 { // always as they are
				var e Envelope
				e, stream = read(t, stream)
				if rounds(e.Message) {
					t.Fatalf("%T was rounded", e.Message)
				}
			}
			b.messages = nil
			b.Reset()
		}
	}
}

func roundedPush(f vec.Format, m *Push) *Push {
	m = &Push{Flush: m.Flush, Clock: m.Clock, Pairs: m.Pairs, Chunks: append([]Chunk(nil), m.Chunks...), Leases: m.Leases}
	for i := range m.Chunks {
		if c := &m.Chunks[i]; c.Ref.Table == 1 {
			c.Values = rounded(f, c.Values)
		}
	}
	return m
}

func roundedRows(f vec.Format, m *Rows) *Rows {
	m = &Rows{Request: m.Request, Parts: append([]RowsPart(nil), m.Parts...)}
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Ref.Table == 1 {
			p.Values = rounded(f, p.Values)
		}
	}
	return m
}

// big returns a push of n values of table 1.
func big(n int) *Push {
	m := &Push{Chunks: []Chunk{{Pair: Pair{Ref: bellows.PartitionRef{Table: 1}}, Values: make([]float32, n)}}}
	for i := range m.Chunks[0].Values {
		m.Chunks[0].Values[i] = float32(i%2000) / 1000
	}
	return m
}

func TestNarrowHalvesTheBytes(t *testing.T) {
	t.Parallel()
	const n = 100_000
	for f, want := range map[vec.Format]int{vec.Float32: 4 * n, vec.Float16: 2 * n, vec.BFloat16: 2 * n} {
		b := narrowBatch(f)
		require.NoError(t, b.Add(Envelope{Message: big(n)}))
		if extra := b.Len() - want; extra < 0 || extra > 200 {
			t.Errorf("%v: %d bytes for %d values", f, b.Len(), n)
		}
	}
}

// TestGoldenNarrow holds a frame of each format to the stored one. Both have values that rounding changes.
func TestGoldenNarrow(t *testing.T) {
	t.Parallel()
	values := []float32{1, -2.0009766, float32(math.Inf(1)), 0.1, 1e-5}
	for _, f := range []vec.Format{vec.Float16, vec.BFloat16} {
		ref := bellows.PartitionRef{Table: 1, Partition: 0x020304}
		for name, m := range map[string]Message{
			"rows": &Rows{Request: 21, Parts: []RowsPart{{Pair: Pair{Ref: ref}, Commit: 24, Complete: 25, Rows: []uint32{26}, Values: values}, {Commit: 24, Complete: 25, Values: values[:1]}}},
			"push": &Push{Flush: bellows.FlushID{Client: 6, Incarnation: 1, Seq: 7}, Clock: 16, Pairs: []Pair{{ref, 5}},
				Chunks: []Chunk{{Pair{ref, 5}, Subtree{Level: 2, Index: 7}, nil, nil, values}}},
		} {
			b := narrowBatch(f)
			require.NoError(t, b.Add(Envelope{From: Address{1, Client, 0}, To: Address{2, Lane, 3}, Message: m}))
			got, file := joined(t, b), filepath.Join("testdata", fmt.Sprintf("%s-%v.hex", name, f))
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(dump(got)), 0o644))
			}
			if want := stored(t, file); !bytes.Equal(got, want) {
				t.Errorf("%s in %v changed:\n%s\nit was\n%s", name, f, dump(got), dump(want))
			}
		}
	}
}

// TestValuesBeyondAFormatAreRefused wants the batch as it was, and a sentence that names the value and what to do.
func TestValuesBeyondAFormatAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		format vec.Format
		value  float32
		fits   bool
	}{
		{vec.Float16, 65504, true}, {vec.Float16, 65519.996, true}, {vec.Float16, 65520, false}, {vec.Float16, -1e6, false},
		{vec.Float16, float32(math.Inf(-1)), true}, {vec.Float16, float32(math.NaN()), true},
		{vec.BFloat16, 1e38, true}, {vec.BFloat16, math.MaxFloat32, false}, {vec.BFloat16, math.Float32frombits(0x7f7f7fff), true},
	} {
		for _, n := range []int{5, 20_000} {
			b := narrowBatch(c.format)
			require.NoError(t, b.Add(Envelope{Message: &Beat{}}))
			before := joined(t, b)
			m := big(n)
			m.Chunks[0].Values[n-2], m.Chunks[0].Values[1] = c.value, float32(math.NaN())
			err := b.Add(Envelope{Message: m})
			if c.fits != (err == nil) {
				t.Errorf("%v of %v: %v", c.value, c.format, err)
			}
			if c.fits {
				continue
			}
			if bellows.KindOf(err) != bellows.Config || !strings.Contains(err.Error(), fmt.Sprint(c.value)) || !strings.Contains(err.Error(), "bf16") {
				t.Error(err)
			}
			if after := joined(t, b); !bytes.Equal(before, after) {
				t.Error("a refused message left something")
			}
			if err := b.Add(Envelope{Message: big(3)}); err != nil {
				t.Errorf("after a refusal: %v", err)
			}
		}
	}
}

// TestNarrowPayloadsAreChecked wants unknown formats refused, and the padding of an odd number of values to be zero.
func TestNarrowPayloadsAreChecked(t *testing.T) {
	t.Parallel()
	b := narrowBatch(vec.Float16)
	require.NoError(t, b.Add(Envelope{Message: big(3)}))
	f := joined(t, b)
	h := header(t, f)
	const chunk = flushSize + 24 // where the chunk's table is
	for at, want := range map[int]error{chunk + 2: errFormat, chunk + 3: raw.ErrReserved, len(f) - HeaderSize - 1: raw.ErrReserved} {
		p := alignedCopy(f[HeaderSize:])
		p[at] = 7
		if _, err := Decode(sealed(h, p), p); !errors.Is(err, want) {
			t.Errorf("byte %d: %v, want %v", at, err, want)
		}
	}
	p := alignedCopy(f[HeaderSize:])
	p[chunk+26], p[chunk+27] = 0xff, 0xff // far more values than there are bytes
	if _, err := Decode(sealed(h, p), p); !errors.Is(err, raw.ErrShort) {
		t.Error(err)
	}
}
