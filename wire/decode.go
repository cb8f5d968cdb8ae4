package wire

import (
	"fmt"

	"bellows"
	"bellows/wire/internal/crc"
	"bellows/wire/internal/memory"
)

// Decode makes the message of a frame, from the pools where its kind has one. Rows and values of data
// messages are views into payload, which therefore belongs to the message from now on, to its capacity, and
// should be aligned to eight bytes, as Header.Payload's is; a payload that is not is copied. Any error
// means that the sender does not speak this format, or that the payload was damaged on its way; the payload
// is then nobody's. A message in parts has several frames, which a Joiner takes.
//
// What a message says about tables, partitions, widths and rows is for its receiver to check.
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
	return Envelope{h.From, h.To, m}, nil
}

func check(h Header, payload []byte) error {
	if kindLimit(h.Kind) < 0 {
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

// decoder is a message that can be read from a payload.
type decoder interface {
	Message
	decode(payload []byte) error
}

// decode reads a payload into a new message and sees to it that the payload is given back once: by Free
// where the message owns it, by nobody where others may look into it longer than the message lives, and
// else here.
func decode(kind uint8, payload []byte) (Message, error) {
	var m decoder
	owned := false
	switch {
	case kind == kindRows:
		m, owned = views.get(), true
	case kind == kindPush:
		m, owned = New[Push](), true
	case kind == kindPull:
		m, owned = New[Pull](), true
	case kind == kindGranted:
		m, owned = New[Granted](), true
	case kind < firstControl:
		m = newData(kind)
	default:
		m = newControl(kind)
	}
	err := m.decode(payload)
	if !owned && (err != nil || !lends(m)) {
		memory.Put(payload)
	}
	if err != nil {
		Free(m)
	}
	return m, err
}

// lends reports whether a message lets others look into its payload for as long as they like.
func lends(m Message) bool {
	s, slab := m.(*Slab)
	return slab && (len(s.Values) > 0 || len(s.Keys) > 0)
}

// newData is a new data message that does not own its payload.
func newData(kind uint8) decoder {
	switch kind {
	case kindSlab:
		return new(Slab)
	case kindAcquire:
		return New[Acquire]()
	case kindRelease:
		return New[Release]()
	case kindUnsubscribe:
		return new(Unsubscribe)
	case kindHeld:
		return New[Held]()
	case kindFull:
		return new(Full)
	case kindRoom:
		return new(Room)
	case kindCommitted:
		return New[Committed]()
	}
	return new(Refused)
}

// newControl is a new control message.
func newControl(kind uint8) decoder {
	switch kind {
	case kindDone:
		return New[Done]()
	case kindFailed:
		return new(Failed)
	case kindRecords:
		return New[Records]()
	case kindKeep:
		return new(Keep)
	case kindStaleness:
		return new(Staleness)
	case kindDispatch:
		return New[Dispatch]()
	case kindEnd:
		return new(End)
	case kindClosed:
		return new(Closed)
	case kindCollect:
		return new(Collect)
	case kindCollected:
		return new(Collected)
	case kindReady:
		return new(Ready)
	case kindNotice:
		return new(Notice)
	case kindSevered:
		return new(Severed)
	case kindReport:
		return new(Report)
	}
	return new(Beat)
}
