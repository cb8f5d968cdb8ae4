package parcel

import (
	"slices"

	"bellows/vec"
	"bellows/wire"
)

// Encode is a message as frames: several where it is longer than a part may be, whose length its digest decides. The
// message stays its sender's.
// Values of tables travel in the formats.
func Encode(e wire.Envelope, digest uint64, formats []vec.Format) (frames [][]byte) {
	var b wire.Batch // not reset: that would free the message
	b.Narrow(formats)
	b.Shorten(20+int(digest%100), 0)
	if err := b.Add(e); err != nil {
		panic(err)
	}
	for turn := b.Next(); len(turn) > 0; turn = b.Next() {
		frames = append(frames, slices.Concat(turn...))
	}
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
