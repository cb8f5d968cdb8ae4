package wire

import (
	"fmt"
	"sync"

	"bellows"
	"bellows/link/wire/internal/crc"
	"bellows/link/wire/internal/fields"
	"bellows/link/wire/internal/memory"
)

// Decode makes the message of a frame, from the pools if its kind has one. Rows and values of data messages are views
// into payload. The payload therefore belongs to the message from now on, up to its capacity. It should be aligned to
// eight bytes, as Header.Payload's is; one that is not is copied. Any error means that the sender does not speak this
// format, or that the payload was damaged on its way; the payload then has no owner. A message in parts has several
// frames, which a Joiner takes.
//
// The receiver checks tables, partitions, widths and rows of a message.
//
// A payload costs at most 17 times its bytes in memory, whatever it announces (TestMemory): the announced number of
// elements is compared with the bytes that are there before any memory is taken, and lists are grown once, for as many
// as the payload can hold. A refused payload leaves no trace: its memory goes back to where it came from.
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

// Unpack decodes a payload that came from Payload, without a frame or a sum. It is copied.
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
