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

// benchDecode decodes the same payload repeatedly: its reader owns it, but nothing writes to it.
func benchDecode(b *testing.B, format vec.Format, m *Push, values int) {
	var batch Batch
	batch.Narrow([]vec.Format{format})
	if err := batch.Add(Envelope{Message: m}); err != nil {
		b.Fatal(err)
	}
	f := joined(b, &batch)
	h := header(b, f)
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

// BenchmarkControl measures the messages between the controller and a client in a clock of eight splits on two nodes.
func BenchmarkControl(b *testing.B) {
	d := New[Dispatch]()
	d.Commit = 12345
	records := New[Records]()
	one := Record{Number: 12346, Flush: bellows.FlushID{Client: 1, Incarnation: 1, Seq: 6173}}
	for s := range bellows.SplitID(4) {
		u := bellows.Unit{Split: s, Clock: 6172, Items: bellows.Range{End: 1}}
		d.Append(u, nil)
		one.Results = append(one.Results, Result{Unit: u, Values: []float64{0.5}})
	}
	for p := range bellows.PartitionID(8) {
		one.Pairs = append(one.Pairs, Pair{Ref: bellows.PartitionRef{Partition: p}})
	}
	records.List = append(records.List, one)
	for _, m := range []Message{d, records} {
		name := kindName(m.kind())
		b.Run(name+"/encode", func(b *testing.B) {
			var batch Batch
			batch.Lend()
			b.ReportAllocs()
			for b.Loop() {
				if err := batch.Add(Envelope{Message: m}); err != nil {
					b.Fatal(err)
				}
				batch.Reset()
			}
		})
		b.Run(name+"/decode", func(b *testing.B) {
			var batch Batch
			batch.Lend()
			if err := batch.Add(Envelope{Message: m}); err != nil {
				b.Fatal(err)
			}
			f := joined(b, &batch)
			h := header(b, f)
			b.ReportAllocs()
			for b.Loop() {
				e, err := Decode(h, append(h.Payload()[:0], f[HeaderSize:]...)) // which it gives back
				if err != nil {
					b.Fatal(err)
				}
				Free(e.Message)
			}
		})
	}
}
