package archive

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bellows"
	"bellows/core/coord"
	"bellows/internal/require"
)

// TestParseRejectsBadEntries changes one field of one shard's entry in a manifest that is right otherwise, its own
// checksum included.
func TestParseRejectsBadEntries(t *testing.T) {
	t.Parallel()
	a := fuzzedArchive(t)
	c, err := a.Begin(At{1, 2})
	require.NoError(t, err)
	for i, im := range fuzzedImages {
		require.NoError(t, c.Put(t.Context(), bellows.PartitionRef{Table: bellows.TableID(i)}, im, nil))
	}
	m, _, err := c.Publish(t.Context(), &coord.Saved{}, nil, time.Unix(1, 0))
	require.NoError(t, err)
	for what, change := range map[string]func(e *Entry){
		"":                     func(*Entry) {},
		"of an older cut":      func(e *Entry) { e.Commit--; e.Name = e.name() },
		"of a newer cut":       func(e *Entry) { e.Commit++; e.Name = e.name() },
		"of a newer era":       func(e *Entry) { e.Era++; e.Name = e.name() },
		"of another partition": func(e *Entry) { e.Partition++; e.Name = e.name() },
		"by another name":      func(e *Entry) { e.Name += "0" },
		"with a kept image":    func(e *Entry) { e.Kept = true },
		"too short":            func(e *Entry) { e.Bytes = headerBytes - 1 },
		"no digest":            func(e *Entry) { e.SHA256 = strings.Repeat("g", 64) },
	} {
		changed := *m
		changed.Shards = slices.Clone(m.Shards)
		change(&changed.Shards[1])
		text, err := changed.encode()
		require.NoError(t, err)
		_, err = a.parse(text, m.At)
		if taken := what == "" || what == "of an older cut"; (err == nil) != taken || !taken &&
			!strings.Contains(err.Error(), "where t1/p0 is to be") {
			t.Errorf("an entry %s: %v", what, err)
		}
	}
	if (&Manifest{}).HasKept() {
		t.Error("a manifest without shards has kept images")
	}
}

// TestDamageNamesItsPlace damages a shard in its header, in a block and in its end: the error says what it is, and at
// which byte.
func TestDamageNamesItsPlace(t *testing.T) {
	t.Parallel()
	a := fuzzedArchive(t)
	whole := fuzzedShards(t, a)[0]
	last := len(whole) - 12 // the end is a block without rows
	for at, want := range map[int]string{
		0:               "it is damaged at byte 0: its header is not that of t0/p0 at record 2 of era 1 of this job",
		8:               "its format is version 3, and this program reads 1 to 2",
		12:              "it is damaged at byte 0: its header is not that of",
		headerBytes - 1: "it is damaged at byte 0: its header is not that of",
		headerBytes + 8: fmt.Sprintf("it is damaged at byte %d: a block does not have its checksum", headerBytes),
		len(whole) - 1:  fmt.Sprintf("it is damaged at byte %d: a block does not have its checksum", last),
	} {
		b := bytes.Clone(whole)
		b[at] ^= 1
		r := shardReader{from: bytes.NewReader(b), rest: int64(len(b))}
		err := r.header(&stamp{a.id, At{1, 2}, bellows.PartitionRef{}})
		if err == nil {
			_, err = r.read(a.moldOf(bellows.PartitionRef{}), func(uint32, int, []byte) error { return nil })
		}
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("byte %d: %v, want %q", at, err, want)
		}
	}
}

// TestShardOfVersionOneIsRead gives a shard the header of version 1. Rows are read; deltas of open clocks, which that
// version does not have, are refused.
func TestShardOfVersionOneIsRead(t *testing.T) {
	t.Parallel()
	a := fuzzedArchive(t)
	s := stamp{a.id, At{1, 2}, bellows.PartitionRef{}}
	for _, gathered := range []bool{false, true} {
		im := ungathered(fuzzedImages[0])
		if gathered {
			im = fuzzedImages[0]
		}
		c, err := a.Begin(s.At)
		require.NoError(t, err)
		require.NoError(t, c.Put(t.Context(), s.ref, im, nil))
		from, err := a.store.Open(t.Context(), c.written[0].Name)
		require.NoError(t, err)
		b := make([]byte, from.Bytes())
		_, err = from.ReadAt(b, 0)
		require.NoError(t, err)
		copy(b, s.bytes(1))
		r := shardReader{from: bytes.NewReader(b), rest: int64(len(b))}
		require.NoError(t, r.header(&s))
		mold := a.moldOf(s.ref)
		back := mold.empty()
		_, err = r.read(mold, func(_ uint32, rows int, b []byte) error { return mold.take(back, rows, b) })
		if (err == nil) == gathered || !gathered && !sameImage(back, im) {
			t.Errorf("with gathered deltas %v it is %+v, %v", gathered, back, err)
		}
	}
}

// TestShortStateIsRejected cuts the state of a controller short at each byte.
func TestShortStateIsRejected(t *testing.T) {
	t.Parallel()
	whole := encodeState(&coord.Saved{State: coord.State{Complete: []bellows.Clock{3, 4}, Driver: []float64{1, 2}},
		Commit: 7, Horizon: 5, Draining: true})
	if s, err := decodeState(whole); err != nil || !s.Draining || s.Horizon != 5 {
		t.Errorf("the whole state is %+v, %v", s, err)
	}
	before := bytes.Clone(whole)
	before = append(before[:len(before)-4], 4, 0, 0, 0, 1, 0, 0, 0) // with the clock that it had
	before[len(stateMagic)-1] = 2
	if s, err := decodeState(before); err != nil || !s.Draining || s.Horizon != 5 {
		t.Errorf("the state of the version before is %+v, %v", s, err)
	}
	for n := range whole {
		if s, err := decodeState(whole[:n]); err == nil {
			t.Errorf("%d of %d bytes are %+v", n, len(whole), s)
		}
	}
}
