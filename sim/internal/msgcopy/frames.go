package msgcopy

import (
	"cmp"
	"slices"
	"sync"

	"bellows"
	"bellows/link/wire"
	"bellows/vec"
)

// senders are memory for frames.
var senders = sync.Pool{New: func() any { return new(wire.Batch) }}

// Encode is a message as frames: several where it is longer than a part may be, whose length its digest decides. The
// message stays its sender's.
// Values of tables travel in the formats.
func Encode(e wire.Envelope, digest uint64, formats []vec.Format) (frames [][]byte) {
	b := senders.Get().(*wire.Batch)
	b.Lend()
	b.Narrow(formats)
	b.Shorten(30+int(digest%60), 0)
	if err := b.Add(e); err != nil {
		panic(err)
	}
	for turn := b.Next(); len(turn) > 0; turn = b.Next() {
		frames = append(frames, slices.Concat(turn...))
	}
	b.Reset()
	senders.Put(b)
	return frames
}

// Decode is what a receiver makes of the next frame of a connection: no message while parts of it must follow.
func Decode(j *wire.Joiner, frame []byte) (wire.Envelope, error) {
	h, err := wire.ParseHeader(frame)
	if err != nil {
		return wire.Envelope{}, err
	}
	return j.Decode(h, append(h.Payload()[:0], frame[wire.HeaderSize:]...))
}

// Halves are two pushes in the place of one, as a client sends them that has heard of parts of it on their own: the first partitions in one, the others and
// the word that it is done in the other. The push becomes the second. False: it has one partition.
func Halves(m *wire.Push) (first *wire.Push, ok bool) {
	var refs []bellows.PartitionRef
	for i := range m.Chunks {
		refs = append(refs, m.Chunks[i].Ref)
	}
	for i := range m.Leases {
		refs = append(refs, m.Leases[i].Ref)
	}
	slices.SortFunc(refs, func(a, b bellows.PartitionRef) int {
		return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(a.Partition, b.Partition))
	})
	if refs = slices.Compact(refs); len(refs) < 2 {
		return nil, false
	}
	inFirst := func(p bellows.PartitionRef) bool { return slices.Contains(refs[:len(refs)/2], p) }
	first = Clone(m).(*wire.Push)
	first.Done, first.Again, m.Again = nil, true, true
	first.Chunks = slices.DeleteFunc(first.Chunks, func(c wire.Chunk) bool { return !inFirst(c.Ref) })
	first.Leases = slices.DeleteFunc(first.Leases, func(e wire.LeaseEnd) bool { return !inFirst(e.Ref) })
	m.Chunks = slices.DeleteFunc(m.Chunks, func(c wire.Chunk) bool { return inFirst(c.Ref) })
	m.Leases = slices.DeleteFunc(m.Leases, func(e wire.LeaseEnd) bool { return inFirst(e.Ref) })
	return first, true
}
