package wire

import (
	"fmt"
	"testing"

	"bellows"
	"bellows/vec"
)

// BenchmarkPush encodes and decodes pushes of one chunk, in a steady state and in every format. Bytes are those of the
// values in memory.
func BenchmarkPush(b *testing.B) {
	for f := range vec.Formats {
		b.Run(f.String(), func(b *testing.B) { benchPush(b, f) })
	}
}

func benchPush(b *testing.B, f vec.Format) {
	for _, kib := range []int{1, 64, 1024} {
		values := make([]float32, kib<<10/4)
		m := &Push{Flush: bellows.FlushID{Client: 1, Incarnation: 1, Seq: 2}, Chunks: []Chunk{{Values: values}}}
		m.Pairs = []Pair{m.Chunks[0].Pair}
		b.Run(fmt.Sprintf("encode/%dKiB", kib), func(b *testing.B) { benchEncode(b, f, m, len(values)) })
		b.Run(fmt.Sprintf("decode/%dKiB", kib), func(b *testing.B) { benchDecode(b, f, m, len(values)) })
	}
}

func benchEncode(b *testing.B, format vec.Format, m *Push, values int) {
	var batch Batch
	batch.Narrow([]vec.Format{format})
	b.SetBytes(int64(4 * values))
	b.ReportAllocs()
	for b.Loop() {
		if err := batch.Add(Envelope{Message: m}); err != nil {
			b.Fatal(err)
		}
		batch.Buffers()
		batch.Reset()
	}
}

// benchDecode reads the same payload again: it is its reader's, but nobody writes to it.
func benchDecode(b *testing.B, format vec.Format, m *Push, values int) {
	var batch Batch
	batch.Narrow([]vec.Format{format})
	if err := batch.Add(Envelope{Message: m}); err != nil {
		b.Fatal(err)
	}
	f := joined(b, &batch)
	h, err := ParseHeader(f)
	if err != nil {
		b.Fatal(err)
	}
	payload := alignedCopy(f[HeaderSize:])
	b.SetBytes(int64(4 * values))
	b.ReportAllocs()
	for b.Loop() {
		e, err := Decode(h, payload)
		if err != nil {
			b.Fatal(err)
		}
		Free(e.Message)
	}
}
