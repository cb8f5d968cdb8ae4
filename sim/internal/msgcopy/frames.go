package msgcopy

import (
	"slices"
	"sync"

	"bellows/link/wire"
	"bellows/vec"
)

// senders are memory for frames.
var senders = sync.Pool{New: func() any { return new(wire.Batch) }}

// Encode returns a message as frames: several if it is longer than a part may be; its digest decides the length of
// parts. The message still belongs to its sender. Values of tables travel in the formats.
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

// Decode returns what a receiver makes of the next frame of a connection: no message while parts of it must follow.
func Decode(j *wire.Joiner, frame []byte) (wire.Envelope, error) {
	h, err := wire.ParseHeader(frame)
	if err != nil {
		return wire.Envelope{}, err
	}
	return j.Decode(h, append(h.Payload()[:0], frame[wire.HeaderSize:]...))
}
