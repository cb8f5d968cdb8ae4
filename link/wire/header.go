package wire

import (
	"encoding/binary"
	"fmt"

	"bellows"
	"bellows/link/wire/internal/crc"
	"bellows/link/wire/internal/memory"
)

// HeaderSize is the length of a frame's header in bytes.
const HeaderSize = 32

const (
	magic   = "blws"
	version = 1
)

// The parts that a frame can hold of its message.
const (
	partWhole uint8 = iota
	partMore
	partLast
)

// Header is the first 32 bytes of a frame: kind and length of its payload, sender and receiver.
//
// It has a checksum of its own. Without one, a flipped bit of the length would make a receiver allocate memory for, and
// wait for, bytes that never come, before the payload's sum could tell. Only a header whose sum fits is examined
// further, and memory is allocated only for one of a known kind, within that kind's limit (TestBitFlips,
// TestHeaderRefusals). Bytes without a meaning are zero, and refused otherwise, so that a later version may use them.
type Header struct {
	Length   uint32 // of the payload, in bytes
	Kind     uint8  // of the message, as docs/5-wire.md numbers them
	Part     uint8  // of the message: 0 the whole, 1 a part that others follow, 2 the last part
	From, To Address
	Checksum uint32      // CRC-32C of the payload
	Era      bellows.Era // of the sender: up to EraMost
}

func (h Header) String() string {
	if h.Part != partWhole {
		return fmt.Sprintf("part of a %s, %d bytes from %v to %v", kindName(h.Kind), h.Length, h.From, h.To)
	}
	return fmt.Sprintf("%s of %d bytes from %v to %v", kindName(h.Kind), h.Length, h.From, h.To)
}

// In reports whether the frame is of an era, as for Envelope. A node asks before it decodes: a checker learns from
// every message that passes it.
func (h Header) IsOfEra(era bellows.Era) bool { return sameEra(h.Era, era) }

// put writes the header into b.
func (h Header) put(b []byte) {
	le := binary.LittleEndian
	copy(b, magic)
	b[4], b[5], b[6], b[7] = version, h.Kind, h.Part, 0
	le.PutUint32(b[8:], h.Length)
	le.PutUint32(b[12:], h.Checksum)
	le.PutUint16(b[16:], uint16(h.From.Node))
	le.PutUint16(b[18:], h.From.Index)
	le.PutUint16(b[20:], uint16(h.To.Node))
	le.PutUint16(b[22:], h.To.Index)
	b[24], b[25], b[26], b[27] = uint8(h.From.Role), uint8(h.To.Role), uint8(h.Era), uint8(h.Era>>8)
	le.PutUint32(b[28:], crc.Sum(b[:28]))
}

// Payload returns memory for the payload of a frame with this header: Length bytes, aligned to eight, with any content.
// It goes back to where it came from when Decode or Free no longer needs it. Only a header from ParseHeader should be
// asked.
func (h Header) Payload() []byte { return memory.Get(int(h.Length)) }

// ParseHeader reads a header from the first HeaderSize bytes of b. Memory may be allocated by the result: the header is
// whole, of this version and of a known kind, and the payload no longer than a frame of that kind may be. Any error
// means that the stream cannot be read further.
func ParseHeader(b []byte) (Header, error) {
	if len(b) < HeaderSize {
		return Header{}, refuse("", "it has %d of %d bytes", len(b), HeaderSize)
	}
	le := binary.LittleEndian
	switch {
	case string(b[:4]) != magic:
		return Header{}, refuse("is another program at that address?", "it begins with %x, not with %x", b[:4], magic)
	case b[4] != version:
		return Header{}, refuse("run the same version on every node", "the format is version %d, this program reads %d", b[4], version)
	case crc.Sum(b[:28]) != le.Uint32(b[28:]):
		return Header{}, refuse("", "its checksum does not fit")
	case b[6] > partLast || b[7] != 0:
		return Header{}, refuse("run the same version on every node", "reserved bytes are in use")
	}
	h := Header{Length: le.Uint32(b[8:]), Kind: b[5], Part: b[6], Checksum: le.Uint32(b[12:]),
		From: Address{bellows.NodeID(le.Uint16(b[16:])), Role(b[24]), le.Uint16(b[18:])},
		Era:  bellows.Era(le.Uint16(b[26:])),
		To:   Address{bellows.NodeID(le.Uint16(b[20:])), Role(b[25]), le.Uint16(b[22:])},
	}
	switch limit := frameLimit(h.Kind); {
	case limit < 0:
		return Header{}, refuse("run the same version on every node", "message kind %d is not known", h.Kind)
	case h.Part != partWhole && !inParts(h.Kind):
		return Header{}, refuse("run the same version on every node", "a %s has no parts", kindName(h.Kind))
	case h.From.Role > Controller || h.To.Role > Controller:
		return Header{}, refuse("run the same version on every node", "an address has role %d", max(h.From.Role, h.To.Role))
	case int64(h.Length) > int64(limit):
		return Header{}, refuse("", "a frame of %s of %d bytes is over the limit of %d", kindName(h.Kind), h.Length, limit)
	}
	return h, nil
}

func refuse(hint, format string, args ...any) error {
	return bellows.Errorf(bellows.IO, "read frame header", "", format, args...).Hinted(hint)
}
