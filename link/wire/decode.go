package wire

import (
	"fmt"
	"sync"

	"bellows"
	"bellows/link/wire/internal/crc"
	"bellows/link/wire/internal/fields"
	"bellows/link/wire/internal/memory"
)

// Decode makes the message of a frame, from the pools where its kind has one. Rows and values of data
// messages are views into payload, which therefore belongs to the message from now on, to its capacity, and
// should be aligned to eight bytes, as Header.Payload's is; a payload that is not is copied. Any error
// means that the sender does not speak this format, or that the payload was damaged on its way; the payload
// is then nobody's. A message in parts has several frames, which a Joiner takes.
//
// What a message says about tables, partitions, widths and rows is for its receiver to check.
//
// What a peer says costs no more than 17 times its bytes in memory, whatever it boasts of (TestMemory): the number of elements that a payload announces
// is held against the bytes that there are before any memory is taken, and lists are grown once, for what the payload can have. Nothing
// that was refused leaves a trace: its memory goes back to where it came from.
func Decode(h Header, payload []byte) (Envelope, error) {
	err := check(h, payload)
	if err == nil && h.Part != partWhole {
		err = errPart
	}
	if err != nil {
		return Envelope{}, bad(h, err)
	}
	if !memory.Aligned(payload) {
		payload = append(h.Payload()[:0], payload...)
	}
	m, err := decode(h.Kind, payload)
	if err != nil {
		return Envelope{}, bad(h, err)
	}
	return Envelope{h.From, h.To, h.Era, m}, nil
}

// Unpack is Decode for a payload that came from Payload, and which no frame and no sum has guarded. It is copied.
func (h Header) Unpack(pieces [][]byte) (Envelope, error) {
	for _, p := range pieces {
		h.Length += uint32(len(p))
	}
	payload := h.Payload()[:0]
	for _, p := range pieces {
		payload = append(payload, p...)
	}
	m, err := decode(h.Kind, payload)
	if err != nil {
		return Envelope{}, bad(h, err)
	}
	return Envelope{h.From, h.To, h.Era, m}, nil
}

func check(h Header, payload []byte) error {
	if !known(h.Kind) {
		return fmt.Errorf("the kind is not known")
	}
	if len(payload) != int(h.Length) {
		return fmt.Errorf("the header says %d bytes, there are %d", h.Length, len(payload))
	}
	if limit := frameLimit(h.Kind); len(payload) > limit {
		return tooLong{len(payload), limit}
	}
	if sum := crc.Sum(payload); sum != h.Checksum {
		return fmt.Errorf("the checksum is %08x, not %08x: it was damaged on its way", sum, h.Checksum)
	}
	return nil
}

func bad(h Header, err error) error {
	return &bellows.Error{Kind: bellows.IO, Op: "decode", Subject: h.String(), Err: err}
}

// decode reads a payload into a new message. One that no message keeps is given back.
func decode(kind uint8, payload []byte) (Message, error) {
	m := kinds[kind].make()
	err := decodeInto(m, payload)
	if !kinds[kind].keeps {
		memory.Put(payload)
	}
	if err != nil {
		Free(m)
	}
	return m, err
}

// readers are codecs that read.
var readers = sync.Pool{New: func() any { return new(fields.Codec) }}

// decodeInto reads a payload into an empty message.
func decodeInto(m Message, payload []byte) error {
	if m, raw := m.(codec); raw {
		return m.decode(payload)
	}
	return decodeControl(m.(control), payload)
}

func decodeControl(m control, payload []byte) error {
	c := readers.Get().(*fields.Codec)
	defer readers.Put(c)
	return c.Read(payload, func() error { return m.fields(c) })
}
