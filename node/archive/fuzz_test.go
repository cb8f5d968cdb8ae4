package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"bellows"
	"bellows/core/audit"
	"bellows/core/coord"
	"bellows/core/rowstore"
	"bellows/internal/require"
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
	require.NoError(tb, err)
	return a
}

var fuzzedImages = []*rowstore.Image{
	{Values: []float32{1, 2, 3, 4, 5, 6}, Slots: [][]float32{{1, 2, 3, 4, 5, 6}, {6, 5, 4, 3, 2, 1}, {7, 8, 9}},
		Gathered: []rowstore.Gathered{
			{Clock: 2, Of: wire.Subtree{Level: 1, Index: 3}, Rows: []uint32{2, 0}, Values: []float32{1, 2, 3, 4}},
			{Clock: 2, Of: wire.Subtree{Index: 4, Items: bellows.Range{Begin: 1, End: 5}}, Rows: []uint32{1},
				Values: []float32{5, 6}},
		}},
	{Keys: []bellows.Key{3, 9}, Values: []float32{1, 2},
		Gathered: []rowstore.Gathered{{Of: wire.Subtree{Index: 1}, Keys: []bellows.Key{4}, Values: []float32{7}}}},
}

// ungathered returns an image without the deltas of open clocks, as the driver keeps it.
func ungathered(im *rowstore.Image) *rowstore.Image {
	kept := *im
	kept.Gathered = nil
	return &kept
}

// fuzzedShards returns a shard of each table, what was kept of it included.
func fuzzedShards(tb testing.TB, a *Archive) (list [][]byte) {
	c, err := a.Begin(At{1, 2})
	require.NoError(tb, err)
	for t, im := range fuzzedImages {
		require.NoError(tb, c.Put(tb.Context(), bellows.PartitionRef{Table: bellows.TableID(t)}, im, ungathered(im)))
		r, err := a.store.Open(tb.Context(), c.written[t].Name)
		require.NoError(tb, err)
		b := make([]byte, r.Bytes())
		if _, err := r.ReadAt(b, 0); err != nil {
			tb.Fatal(err)
		}
		list = append(list, b)
	}
	return list
}

// FuzzShard wants every shard that is taken to be one that can be written, of the partition's size and no other. Its
// blocks are given right checksums.
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
				text = fixSums(b, s)
			}
			images := []*rowstore.Image{s.empty(), s.empty()}
			r := shardReader{from: bytes.NewReader(text), rest: int64(len(text)), version: shardVersion}
			kept, err := r.read(s, func(image uint32, rows int, b []byte) error {
				if image == gathered {
					return s.takeSum(images[0], rows, b)
				}
				return s.take(images[image], rows, b)
			})
			if err != nil || s.whole(images[0]) != nil || kept && s.whole(images[1]) != nil {
				continue
			}
			if !kept {
				images[1] = nil
			}
			c := Cut{At: At{1, 2}, archive: a, shards: map[bellows.PartitionRef]Entry{}}
			require.NoError(t, c.Put(t.Context(), ref, images[0], images[1]))
			live, was, err := a.Partition(t.Context(), &Manifest{Shards: c.written}, ref)
			if err != nil || !sameImage(live, images[0]) || !sameImage(was, images[1]) {
				t.Fatalf("%+v came back as %+v and %+v: %v", images, live, was, err)
			}
		}
	})
}

// sameImage compares bits, as numbers that are none differ from themselves.
func sameImage(a, b *rowstore.Image) bool {
	bits := func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }
	return a == b || a != nil && b != nil && slices.Equal(a.Keys, b.Keys) &&
		slices.EqualFunc(a.Values, b.Values, bits) &&
		slices.EqualFunc(a.Slots, b.Slots, func(a, b []float32) bool { return slices.EqualFunc(a, b, bits) }) &&
		slices.EqualFunc(a.Gathered, b.Gathered, func(a, b rowstore.Gathered) bool {
			return a.Clock == b.Clock && a.Of == b.Of && slices.Equal(a.Rows, b.Rows) && slices.Equal(a.Keys, b.Keys) &&
				slices.EqualFunc(a.Values, b.Values, bits)
		})
}

// fixSums gives the blocks after a shard's header correct checksums, as far as they go.
func fixSums(b []byte, s *mold) []byte {
	out := bytes.Clone(b)
	var sum uint32
	for at := 0; len(out)-at >= 12; {
		n := s.bytes(int(order.Uint32(out[at+4:])))
		if order.Uint32(out[at:]) == gathered {
			n = s.sumBytes(int(order.Uint32(out[at+4:])))
		}
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

// FuzzManifest wants every accepted manifest to be written as it was read, and to lead to the partitions that were
// published or to an error that names what is wrong. The inputs are published manifests, changed value by value (edit),
// so that they stay JSON. They get a correct checksum, so that the code after that check is reached.
func FuzzManifest(f *testing.F) {
	a := fuzzedArchive(f)
	texts := fuzzedManifests(f, a)
	for which := range texts {
		f.Add(byte(which), []byte{})
		for i := range byte(64) { // each value is changed in each way
			for how := range byte(editsHow) {
				f.Add(byte(which), []byte{i, how, i*7 + 1})
			}
		}
	}
	f.Fuzz(func(t *testing.T, which byte, edits []byte) {
		text := texts[int(which)%len(texts)]
		takeManifest(t, a, text)
		for range editsMost {
			if len(edits) < 3 {
				break
			}
			text, edits = edit(text, edits[0], edits[1], edits[2]), edits[3:]
			takeManifest(t, a, text)
			takeManifest(t, a, mendSum(text))
		}
	})
}

// editsMost is how many edits a text has, and editsHow how many ways there are to edit.
const (
	editsMost = 6
	editsHow  = 14
)

// TestEveryEditOfAManifest changes each value of a manifest to each other one, and each bit of the controller's state,
// and wants of them what FuzzManifest does.
func TestEveryEditOfAManifest(t *testing.T) {
	t.Parallel()
	a := fuzzedArchive(t)
	for _, text := range fuzzedManifests(t, a) {
		values := len(valuesIn(text))
		for which := range values {
			for with := range max(values, len(others)) {
				for _, how := range []byte{0, 2} {
					takeManifest(t, a, mendSum(edit(text, byte(which), how, byte(with))))
				}
			}
			if at := valuesIn(text)[which]; which > 0 && string(text[max(0, at[0]-13):at[0]]) == `"controller":` {
				for with := range at[1] - at[0] {
					for how := byte(5); how < editsHow; how++ {
						takeManifest(t, a, mendSum(edit(text, byte(which), how, byte(with))))
					}
				}
			}
			for how := range byte(5) {
				takeManifest(t, a, mendSum(edit(text, byte(which), how, 1)))
			}
		}
	}
}

// fuzzedManifests returns those of two cuts in the archive: one with what was kept and a controller in the midst of its
// work, and a newer one, which has shards of the first.
func fuzzedManifests(tb testing.TB, a *Archive) (list [][]byte) {
	states := []coord.Saved{
		{State: coord.State{Driver: []float64{1}, Finishing: true}, Commit: 1},
		{State: coord.State{Complete: []bellows.Clock{1, bellows.NoClock}, Driver: []float64{1, math.Inf(1)},
			Open:      []bellows.Unit{{Split: 1, Clock: 2}},
			Staleness: []wire.Staleness{{Table: 1, Clocks: -1}},
			Queue: []wire.Task{{Unit: bellows.Unit{Split: 1, Clock: 2, Items: bellows.Range{Begin: 3, End: 4}},
				Args: []float64{5}}}, Out: []coord.Out{{Commit: 8}}}, Commit: 2, Route: 2,
			Lost:    []bellows.Control{{Kind: bellows.LoseClient, Node: 2}},
			Sent:    [][]audit.Sent{nil, {{Table: 1, Rows: 3, Bits: 7}}},
			Whole:   []bellows.Control{{Kind: bellows.MoveSplit, Split: 3, Route: 1, Generation: 2}},
			Horizon: 3, Draining: true},
	}
	for i, at := range []At{{1, 1}, {1, 2}} {
		c, err := a.Begin(at)
		require.NoError(tb, err)
		for t, im := range fuzzedImages {
			ref := bellows.PartitionRef{Table: bellows.TableID(t)}
			if i > 0 {
				err = c.Same(tb.Context(), ref, 1)
			} else {
				err = c.Put(tb.Context(), ref, im, ungathered(im))
			}
			require.NoError(tb, err)
		}
		m, _, err := c.Publish(tb.Context(), &states[i], []byte(`{"a":1}`), time.Unix(1, 0))
		require.NoError(tb, err)
		text, err := m.encode()
		require.NoError(tb, err)
		list = append(list, text)
	}
	return list
}

// others are replacements for a value of a manifest, besides the other values of its text.
var others = []string{"0", "1", "-1", "2", "65535", "65536", "4294967295", "4294967296", "18446744073709551615",
	"18446744073709551616", "1e3", "0.5", `""`, `"0"`, `"AAAA"`, "null", "true", "false", "[]", "{}", `[{}]`,
	`{"era":1}`}

// edit changes one value of a JSON text, or one name. A text without any stays as it is.
func edit(text []byte, which, how, with byte) []byte {
	list := valuesIn(text)
	if len(list) == 0 {
		return text
	}
	at, from := list[int(which)%len(list)], list[int(with)%len(list)]
	was := text[at[0]:at[1]]
	var now []byte
	switch how %= editsHow; how {
	case 0: // another's
		now = text[from[0]:from[1]]
	case 1: // one more or less, also in the midst of digits and letters
		if now = bytes.Clone(was); len(now) > 2 {
			i := 1 + int(with)%(len(now)-2)
			now[i] ^= 1
		} else if now[0] ^= 1; with%2 > 0 {
			now = append(now, '0')
		}
	case 2:
		now = []byte(others[int(with)%len(others)])
	case 3: // twice, as in a list
		now = slices.Concat(was, []byte(","), was)
	case 4: // not at all, as in a list
		if end := at[1]; end < len(text) && text[end] == ',' {
			at[1]++
		} else if at[0] > 0 && text[at[0]-1] == ',' {
			at[0]--
		}
	default: // in the controller's state: a bit of a byte is another, or a byte follows
		now = was
		if b, err := base64.StdEncoding.DecodeString(string(bytes.Trim(was, `"`))); err == nil && len(b) > 0 {
			if bit := how - 5; bit < 8 {
				b[int(with)%len(b)] ^= 1 << bit
			} else {
				b = append(b, with)
			}
			now = fmt.Appendf(nil, "%q", base64.StdEncoding.EncodeToString(b))
		}
	}
	return slices.Concat(text[:at[0]], now, text[at[1]:])
}

// valuesIn returns where the values and names of a JSON text begin and end, as far as it is one.
func valuesIn(text []byte) (list [][2]int) {
	dec := json.NewDecoder(bytes.NewReader(text))
	var open []int // in list
	for {
		from := int(dec.InputOffset())
		tok, err := dec.Token()
		if err != nil {
			return slices.DeleteFunc(list, func(at [2]int) bool { return at[1] == 0 })
		}
		end := int(dec.InputOffset())
		from += len(text[from:end]) - len(bytes.TrimLeft(text[from:end], " \t\r\n,:"))
		switch tok {
		case json.Delim('{'), json.Delim('['):
			open = append(open, len(list))
			list = append(list, [2]int{from, 0})
		case json.Delim('}'), json.Delim(']'):
			list[open[len(open)-1]][1] = end
			open = open[:len(open)-1]
		default:
			list = append(list, [2]int{from, end})
		}
	}
}

// mendSum gives a text the checksum that it should have, if it has room for one.
func mendSum(text []byte) []byte {
	const before = `"sha256":"`
	i := bytes.LastIndex(text, []byte(before)) + len(before)
	if i < len(before) || len(text) < i+2*sha256.Size {
		return text
	}
	mended := bytes.Clone(text)
	copy(mended[i:], noSum)
	sum := sha256.Sum256(mended)
	hex.Encode(mended[i:], sum[:])
	return mended
}

func takeManifest(t *testing.T, a *Archive, text []byte) {
	m, err := a.parse(text, At{1, 2})
	if err != nil {
		return
	}
	again, err := m.encode()
	require.NoError(t, err)
	n, err := a.parse(again, At{1, 2})
	if err != nil {
		t.Fatalf("%s was taken, and %s is not: %v", text, again, err)
	}
	if !reflect.DeepEqual(n.Shards, m.Shards) || !bytes.Equal(n.Controller, m.Controller) || n.At != m.At ||
		!bytes.Equal(encodeState(&m.saved), m.Controller) {
		t.Fatalf("%+v came back as %+v", m, n)
	}
	all := slices.Collect(a.partitions())
	if len(m.Shards) != len(all) {
		t.Fatalf("%s is taken, which lists %d shards of %d", text, len(m.Shards), len(all))
	}
	for i, ref := range all {
		if e := m.Shards[i]; e.Ref() != ref || e.Kept != m.Shards[0].Kept || e.At.Compare(m.At) > 0 ||
			e.Name != e.name() {
			t.Fatalf("%s is accepted with shard %d: %+v", text, i, e)
		}
		live, kept, err := a.Partition(t.Context(), m, ref)
		if want := fuzzedImages[ref.Table]; err == nil &&
			(!sameImage(live, want) || kept != nil && !sameImage(kept, ungathered(want))) || err != nil &&
			bellows.KindOf(err) != bellows.BadData && bellows.KindOf(err) != bellows.NoInput {
			t.Fatalf("%s leads to %+v and %+v: %v", text, live, kept, err)
		}
	}
}

// FuzzState wants every state that is taken to be the one that is written.
func FuzzState(f *testing.F) {
	f.Add(encodeState(&coord.Saved{}))
	f.Add(encodeState(&coord.Saved{State: coord.State{Complete: []bellows.Clock{1, bellows.NoClock},
		Open:   []bellows.Unit{{Split: 1, Clock: 2}},
		Driver: []float64{1, 2}, Staleness: []wire.Staleness{{Table: 3, Clocks: -1}},
		Queue: []wire.Task{{Unit: bellows.Unit{Split: 1, Clock: 2, Items: bellows.Range{Begin: 3, End: 4}},
			Args: []float64{5}}},
		Out: []coord.Out{{Task: wire.Task{Args: []float64{6}}, Commit: 8}}, Finishing: true}, Commit: 9, Route: 2,
		Lost:    []bellows.Control{{Kind: bellows.LoseClient, Node: 2}},
		Sent:    [][]audit.Sent{nil, {{Table: 1, Rows: 3, Bits: 7}}},
		Whole:   []bellows.Control{{Kind: bellows.MoveSplit, Split: 3, Route: 1, Generation: 2}},
		Horizon: 3, Draining: true}))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := decodeState(b)
		if err == nil && !bytes.Equal(encodeState(&s), b) && !bytes.HasPrefix(b, []byte(stateBefore)) {
			t.Fatalf("%x was taken, and is written as %x", b, encodeState(&s))
		}
	})
}
