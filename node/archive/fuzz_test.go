package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash/crc32"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"bellows"
	"bellows/core/audit"
	"bellows/core/coord"
	"bellows/core/store"
	"bellows/link/wire"
	"bellows/port/blob/mem"
	"bellows/table"
)

var fuzzed = []table.Schema{
	{Name: "adam", Rows: 3, Width: 2, Rule: table.Rule{Name: "adam", Step: 1, Epsilon: 1, Beta1: 0.5, Beta2: 0.5}},
	{Name: "sparse", Sparse: true, Rows: 9, Width: 1, Partitions: 1},
}

func fuzzedArchive(tb testing.TB) *Archive {
	a, err := Open(mem.New("a"), ID{1}, fuzzed)
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

var fuzzedImages = []*store.Image{
	{Values: []float32{1, 2, 3, 4, 5, 6}, Slots: [][]float32{{1, 2, 3, 4, 5, 6}, {6, 5, 4, 3, 2, 1}, {7, 8, 9}}},
	{Keys: []bellows.Key{3, 9}, Values: []float32{1, 2}},
}

// fuzzedShards are a shard of each table, what was kept of it included.
func fuzzedShards(tb testing.TB, a *Archive) (list [][]byte) {
	c, err := a.Begin(At{1, 2})
	if err != nil {
		tb.Fatal(err)
	}
	for t, im := range fuzzedImages {
		if err := c.Put(tb.Context(), bellows.PartitionRef{Table: bellows.TableID(t)}, im, im); err != nil {
			tb.Fatal(err)
		}
		r, err := a.store.Open(tb.Context(), c.written[t].Name)
		if err != nil {
			tb.Fatal(err)
		}
		b := make([]byte, r.Bytes())
		if _, err := r.ReadAt(b, 0); err != nil {
			tb.Fatal(err)
		}
		list = append(list, b)
	}
	return list
}

// FuzzShard wants every shard that is taken to be one that can be written, of the partition's size and no other. Its blocks are given right checksums.
func FuzzShard(f *testing.F) {
	a := fuzzedArchive(f)
	for t, b := range fuzzedShards(f, a) {
		f.Add(uint16(t), b[headerBytes:])
	}
	f.Fuzz(func(t *testing.T, tab uint16, b []byte) {
		ref := bellows.PartitionRef{Table: bellows.TableID(tab % 2)}
		for _, mended := range []bool{false, true} {
			text, s := b, a.moldOf(ref)
			if mended {
				text = mend(b, s)
			}
			images := []*store.Image{s.empty(), s.empty()}
			r := shardReader{from: bytes.NewReader(text), rest: int64(len(text))}
			kept, err := r.read(s, func(image uint32, rows int, b []byte) error { return s.take(images[image], rows, b) })
			if err != nil || s.whole(images[0]) != nil || kept && s.whole(images[1]) != nil {
				continue
			}
			if !kept {
				images[1] = nil
			}
			c := Cut{At: At{1, 2}, archive: a, shards: map[bellows.PartitionRef]Entry{}}
			if err := c.Put(t.Context(), ref, images[0], images[1]); err != nil {
				t.Fatal(err)
			}
			live, was, err := a.Partition(t.Context(), &Manifest{Shards: c.written}, ref)
			if err != nil || !sameImage(live, images[0]) || !sameImage(was, images[1]) {
				t.Fatalf("%+v came back as %+v and %+v: %v", images, live, was, err)
			}
		}
	})
}

// sameImage compares bits, as numbers that are none differ from themselves.
func sameImage(a, b *store.Image) bool {
	bits := func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }
	return a == b || a != nil && b != nil && slices.Equal(a.Keys, b.Keys) && slices.EqualFunc(a.Values, b.Values, bits) &&
		slices.EqualFunc(a.Slots, b.Slots, func(a, b []float32) bool { return slices.EqualFunc(a, b, bits) })
}

// mend gives the blocks behind a shard's header the checksums that they should have, as far as they go.
func mend(b []byte, s *mold) []byte {
	out := bytes.Clone(b)
	var sum uint32
	for at := 0; len(out)-at >= 12; {
		n := s.bytes(int(order.Uint32(out[at+4:])))
		if n > int64(len(out)-at-12) {
			break
		}
		end := at + 8 + int(n)
		sum = crc32.Update(sum, castagnoli, out[at:end])
		order.PutUint32(out[end:], sum)
		at = end + 4
	}
	return out
}

// FuzzManifest wants every manifest that is taken to be written as it was read. Texts are given the checksum that they should have, too.
func FuzzManifest(f *testing.F) {
	a := fuzzedArchive(f)
	c, err := a.Begin(At{1, 2})
	if err != nil {
		f.Fatal(err)
	}
	for t, im := range fuzzedImages {
		if err := c.Put(f.Context(), bellows.PartitionRef{Table: bellows.TableID(t)}, im, nil); err != nil {
			f.Fatal(err)
		}
	}
	m, _, err := c.Publish(f.Context(), &coord.Saved{State: coord.State{Driver: []float64{1}}}, []byte(`{"a":1}`), time.Unix(1, 0))
	if err != nil {
		f.Fatal(err)
	}
	text, err := m.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		if i := bytes.LastIndex(text, []byte(`"sha256":"`)); i >= 0 && len(text) >= i+10+64 {
			mended := bytes.Clone(text)
			copy(mended[i+10:], noSum)
			sum := sha256.Sum256(mended)
			hex.Encode(mended[i+10:], sum[:])
			takeManifest(t, a, mended)
		}
		takeManifest(t, a, text)
	})
}

func takeManifest(t *testing.T, a *Archive, text []byte) {
	m, err := a.parse(text, At{1, 2})
	if err != nil {
		return
	}
	again, err := m.encode()
	if err != nil {
		t.Fatal(err)
	}
	n, err := a.parse(again, At{1, 2})
	if err != nil {
		t.Fatalf("%s was taken, and %s is not: %v", text, again, err)
	}
	if !reflect.DeepEqual(n.Shards, m.Shards) || !bytes.Equal(n.Controller, m.Controller) || n.At != m.At {
		t.Fatalf("%+v came back as %+v", m, n)
	}
}

// FuzzState wants every state that is taken to be the one that is written.
func FuzzState(f *testing.F) {
	f.Add(encodeState(&coord.Saved{}))
	f.Add(encodeState(&coord.Saved{State: coord.State{Complete: []bellows.Clock{1, bellows.NoClock}, Driver: []float64{1, 2}, Staleness: []wire.Staleness{{Table: 3, Clocks: -1}},
		Queue: []wire.Task{{Unit: bellows.Unit{Split: 1, Clock: 2, Items: bellows.Range{Begin: 3, End: 4}}, Args: []float64{5}}},
		Out:   []coord.Out{{Task: wire.Task{Args: []float64{6}}, Commit: 8}}, Finishing: true}, Commit: 9, Route: 2, Lost: []bellows.Control{{Kind: bellows.LoseClient, Node: 2}}, Sent: [][]audit.Sent{nil, {{Table: 1, Rows: 3, Bits: 7}}},
		Whole: []bellows.Control{{Kind: bellows.MoveSplit, Split: 3, Route: 1, Generation: 2}}, Open: []bellows.Unit{{Split: 1, Clock: 2}}, Horizon: 3, Gathered: bellows.NoClock, Draining: true}))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := decodeState(b)
		if err == nil && !bytes.Equal(encodeState(&s), b) {
			t.Fatalf("%x was taken, and is written as %x", b, encodeState(&s))
		}
	})
}
