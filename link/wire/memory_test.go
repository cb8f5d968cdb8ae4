//go:build !race

package wire

import (
	"bytes"
	"encoding/binary"
	"math"
	"runtime"
	"testing"

	"bellows/link/padding"

	"google.golang.org/protobuf/encoding/protowire"
)

// TestMemory gives Decode the payloads that cost the most memory for a byte, whole and broken, and wants
// no more taken than the page says. (Under the race detector slices.Grow takes memory twice.)
func TestMemory(t *testing.T) {
	const size = 256 << 10
	pulls := make([]byte, 32+size)
	binary.LittleEndian.PutUint32(pulls[24:], size/pullPartSize)
	answers := make([]byte, 16+size/rowsPartSize*rowsPartSize)
	binary.LittleEndian.PutUint32(answers[8:], size/rowsPartSize)
	chunks := make([]byte, 32+size/chunkSize*chunkSize)
	binary.LittleEndian.PutUint32(chunks[24:], size/chunkSize)
	boast := make([]byte, 32)
	binary.LittleEndian.PutUint32(boast[24:], math.MaxUint32)
	lease := make([]byte, 52+size)
	binary.LittleEndian.PutUint16(lease[10:], padding.Columns{Sent: 1, Padding: 7}.Code())
	binary.LittleEndian.PutUint32(lease[48:], size/4)
	record := []byte{0x0a, 6, 0x08, 1, 0x2a, 2, 0x08, 1}
	for _, c := range []struct {
		name    string
		kind    uint8
		payload []byte
	}{
		{"pull", kindPull, pulls},
		{"rows", kindRows, answers},
		{"push", kindPush, chunks},
		{"granted with padding", kindGranted, lease},
		{"a boasting pull", kindPull, boast},
		{"a boasting push", kindPush, boast},
		{"done of pairs", kindDone, bytes.Repeat([]byte{0x1a, 0}, size/2)},
		{"done of results", kindDone, bytes.Repeat([]byte{0x22, 2, 0x0a, 0}, size/4)},
		{"done of pairs and results by turns", kindDone, bytes.Repeat([]byte{0x1a, 0, 0x22, 2, 0x0a, 0}, size/6)},
		{"dispatch", kindDispatch, bytes.Repeat([]byte{0x12, 2, 0x0a, 0}, size/4)},
		{"dispatch that breaks off", kindDispatch, append(bytes.Repeat([]byte{0x12, 2, 0x0a, 0}, size/4), 0x12)},
		{"records", kindRecords, bytes.Repeat(record, size/len(record))},
		{"records of nothing", kindRecords, bytes.Repeat([]byte{0x0a, 0}, size/2)},
		{"route", kindRoute, bytes.Repeat([]byte{0x12, 2, 0x08, 4}, size/4)},
		{"route of nothing", kindRoute, bytes.Repeat([]byte{0x12, 0}, size/2)},
		{"route that begins again and again", kindRoute, bytes.Repeat([]byte{0x1a, 0}, size/2)},
		{"route of flushes", kindRoute, append(protowire.AppendVarint([]byte{0x1a}, size/4*4), bytes.Repeat([]byte{0x12, 2, 0x10, 1}, size/4)...)},
		{"route of clocks", kindRoute, append(protowire.AppendVarint([]byte{0x1a}, 5+size), append(protowire.AppendVarint([]byte{0x1a}, size), make([]byte, size)...)...)},
		{"route of units", kindRoute, append(protowire.AppendVarint([]byte{0x1a}, size/2*2), bytes.Repeat([]byte{0x2a, 0}, size/2)...)},
		{"holding of flushes", kindHolding, bytes.Repeat([]byte{0x22, 6, 0x0a, 4, 0x10, 1, 0x18, 1}, size/8)},
		{"holding of nothing", kindHolding, bytes.Repeat([]byte{0x22, 0}, size/2)},
		{"holding of parts", kindHolding, bytes.Repeat([]byte{0x2a, 0}, size/2)},
		{"end", kindEnd, bytes.Repeat([]byte{0x18, 1}, size/2)},
	} {
		h := sealed(Header{Kind: c.kind}, c.payload)
		payload := alignedCopy(c.payload)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = Decode(h, payload)
		runtime.ReadMemStats(&after)
		taken := after.TotalAlloc - before.TotalAlloc
		if most := uint64(17*len(payload) + 64<<10); taken > most {
			t.Errorf("%s of %d bytes took %d bytes", c.name, len(payload), taken)
		}
	}
}

// TestMemoryOfParts wants what has come of a message in parts to take no more than four times its memory, however short they
// are, and twice where they are long; and the message itself to take its own length and no more.
func TestMemoryOfParts(t *testing.T) {
	const values = 10 << 20
	e := Envelope{Message: &Granted{Values: make([]float32, values)}}
	for _, c := range []struct{ part, times int }{{partMax, 2}, {1 << 20, 4}, {1000, 4}, {57, 4}} {
		some := e
		if c.part < 1000 {
			some.Message = &Granted{Values: make([]float32, values/64)}
		}
		frames := inPartsOf(t, some, c.part)
		var j Joiner
		come, last := 0, len(frames)-1
		runtime.GC()
		runtime.GC() // nor is there anything in the pools
		var before, now runtime.MemStats
		runtime.ReadMemStats(&before)
		for i, f := range frames[:last] {
			if _, err := f.take(&j); err != nil {
				t.Fatal(err)
			}
			come += len(f.payload)
			if i%(1+last/10) > 0 {
				continue
			}
			runtime.ReadMemStats(&now)
			if taken := now.TotalAlloc - before.TotalAlloc; taken > uint64((c.times-1)*come+64<<10) {
				t.Fatalf("of %d bytes in parts of %d, %d have been taken", come, c.part, taken)
			}
		}
		runtime.ReadMemStats(&before)
		end, err := frames[last].take(&j)
		runtime.ReadMemStats(&now)
		come += len(frames[last].payload)
		if taken := now.TotalAlloc - before.TotalAlloc; err != nil || taken > uint64(come+come/4+2*c.part+256<<10) {
			t.Fatalf("the message of %d bytes in parts of %d took %d bytes: %v", come, c.part, taken, err)
		}
		if m := end.Message.(*Granted); cap(m.Values) != len(m.Values) {
			t.Errorf("a lease of %d values has room for %d", len(m.Values), cap(m.Values))
		}
	}
}
