// Package msgcopy copies messages of the simulation by their codec, and hashes them, so that a change on the way shows.
//
// Copy a message where it arrives; compare Digest where it was sent and where it is taken; Describe it for a reader of
// traces. The package knows no kind of message: it copies and compares what the codec carries, and nothing else. A
// cause in Failed is compared, within a node, by its kind alone, and never crosses.
package msgcopy

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"

	"bellows/link/wire"
)

// batches are memory for payloads.
var batches = sync.Pool{New: func() any { return new(wire.Batch) }}

// Copy returns an envelope as it arrives on another node, what the codec makes of its message, sharing no memory with that; and the
// Digest of what was copied. It panics where the message cannot be written, and says why what was written cannot be read.
func Copy(e wire.Envelope) (got wire.Envelope, digest uint64, err error) {
	b := batches.Get().(*wire.Batch)
	defer batches.Put(b)
	kind, pieces := written(b, e.Message)
	got, err = wire.Header{Kind: kind, From: e.From, To: e.To, Era: e.Era}.Unpack(pieces)
	return got, digestOf(kind, pieces), err
}

// Clone returns Copy for a message that has come over before.
func Clone(m wire.Message) wire.Message {
	e, _, err := Copy(wire.Envelope{Message: m})
	if err != nil {
		panic(err)
	}
	return e.Message
}

// Digest returns a hash of a message's kind and payload; 0 for one that never travels.
func Digest(m wire.Message) uint64 {
	if (wire.Envelope{Message: m}).Kind() == 0 {
		return 0
	}
	b := batches.Get().(*wire.Batch)
	defer batches.Put(b)
	return digestOf(written(b, m))
}

// Size returns the bytes of a message's frame.
func Size(m wire.Message) int {
	b := batches.Get().(*wire.Batch)
	defer batches.Put(b)
	n := wire.HeaderSize
	_, pieces := written(b, m)
	for _, p := range pieces {
		n += len(p)
	}
	return n
}

func written(b *wire.Batch, m wire.Message) (kind uint8, pieces [][]byte) {
	kind, pieces, err := b.Payload(m)
	if err != nil {
		panic(fmt.Sprintf("msgcopy: %v", err))
	}
	return kind, pieces
}

// digestOf returns the same however a payload is divided.
func digestOf(kind uint8, pieces [][]byte) uint64 {
	d := Hash(kind)
	switch len(pieces) {
	case 0:
	case 1:
		d.Bytes(pieces[0])
	default:
		d.Bytes(slices.Concat(pieces...))
	}
	return uint64(d)
}

// Hash is a running hash of 64-bit words. The zero Hash is ready.
type Hash uint64

// Word adds a word.
func (d *Hash) Word(x uint64) {
	*d = Hash(bits.RotateLeft64(uint64(*d)^x, 27) * 0x9e3779b97f4a7c15)
}

// Bytes adds bytes and how many they are.
func (d *Hash) Bytes(b []byte) {
	n := len(b)
	for ; len(b) >= 8; b = b[8:] {
		d.Word(binary.LittleEndian.Uint64(b))
	}
	var rest [8]byte
	copy(rest[:], b)
	d.Word(binary.LittleEndian.Uint64(rest[:]))
	d.Word(uint64(n) | 1<<32)
}

// Text adds a string.
func (d *Hash) Text(s string) { d.Bytes([]byte(s)) }

// Values adds floats by their bits.
func (d *Hash) Values(v []float32) {
	for _, x := range v {
		d.Word(uint64(math.Float32bits(x)))
	}
	d.Word(uint64(len(v)) | 1<<33)
}
