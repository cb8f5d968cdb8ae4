// Package parcel is messages as they travel between nodes of the simulation: copied by their codec, and hashed as they would be
// written, so that a change on the way shows.
//
// Copy a message where it arrives; compare Digest where it was sent and where it is taken; Describe it to who reads a trace. The package
// knows no kind of message: what the codec brings over is copied and compared, and nothing else. A cause in Failed is compared, within
// a node, by its kind alone, and never crosses.
package parcel

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"math/bits"
	"sync"

	"bellows/wire"
)

// batches are memory for payloads.
var batches = sync.Pool{New: func() any { return new(wire.Batch) }}

// sums is the polynomial of a frame's checksum.
var sums = crc32.MakeTable(crc32.Castagnoli)

// Copy is an envelope as it arrives on another node: what the codec makes of its message, sharing no memory with that. It panics where the message
// cannot be written, and says why what was written cannot be read.
func Copy(e wire.Envelope) (wire.Envelope, error) {
	b := batches.Get().(*wire.Batch)
	defer batches.Put(b)
	h := wire.Header{Kind: e.Kind(), From: e.From, To: e.To}
	pieces := written(b, e.Message)
	for _, p := range pieces {
		h.Length += uint32(len(p))
	}
	payload := h.Payload()[:0]
	for _, p := range pieces {
		payload = append(payload, p...)
	}
	h.Checksum = crc32.Checksum(payload, sums)
	return wire.Decode(h, payload)
}

// Clone is Copy for a message that has come over before.
func Clone(m wire.Message) wire.Message {
	e, err := Copy(wire.Envelope{Message: m})
	if err != nil {
		panic(err)
	}
	return e.Message
}

// Digest is a hash of a message's kind and payload; 0 for one that never travels.
func Digest(m wire.Message) uint64 {
	if (wire.Envelope{Message: m}).Kind() == 0 {
		return 0
	}
	b := batches.Get().(*wire.Batch)
	defer batches.Put(b)
	var d Hash
	d.Word(uint64(wire.Envelope{Message: m}.Kind()))
	for _, p := range written(b, m) {
		d.Bytes(p)
	}
	return uint64(d)
}

// Size is the bytes of a message's frame.
func Size(m wire.Message) int {
	b := batches.Get().(*wire.Batch)
	defer batches.Put(b)
	n := wire.HeaderSize
	for _, p := range written(b, m) {
		n += len(p)
	}
	return n
}

func written(b *wire.Batch, m wire.Message) [][]byte {
	pieces, err := b.Payload(m)
	if err != nil {
		panic(fmt.Sprintf("parcel: %v", err))
	}
	return pieces
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
