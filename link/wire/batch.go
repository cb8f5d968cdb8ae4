package wire

import (
	"cmp"
	"encoding/binary"
	"fmt"

	"bellows"
	"bellows/core/tally"
	"bellows/link/wire/internal/fields"
	"bellows/link/wire/internal/gather"
	"bellows/link/wire/internal/memory"
	"bellows/link/wire/internal/raw"
	"bellows/vec"
)

// borrowMin is the length in bytes from which an array is sent from where it lies. A shorter one is
// copied: another buffer of a gathering write costs as much.
const borrowMin = 8 << 10

// scratchMax is how much memory for small things a batch keeps when it is reset.
const scratchMax = 1 << 20

// Batch holds frames that leave in one write, or in several if a message is long. Headers and small fields are copied
// one after the other; large arrays are borrowed from their messages. The zero Batch is ready.
//
// Its user adds messages, writes the buffers, and resets the batch when they are written, whether or not that
// succeeded. Until then the content of the messages must not change. It has no lock: one goroutine uses it.
//
// The bytes to write are one text, scratch, with pieces in it that lie elsewhere. A piece stores its place in the text
// as a number and not as a slice, since scratch moves when it grows. Invariants: pieces are in the order of their
// places, none lies after the end of scratch, and a frame's header is in scratch before its payload, so that it can be
// filled in when the length and the sum are known. A message that fails leaves all of that unchanged (TestBatchErrors).
// Only Reset gives back the memory in owned. The batch frees its messages, except pushes, which their client sends
// again, and except all messages lent to it (Lend). A frame is counted when its header is written, once
// (TestBatchesCountTheirFrames).
//
// Rejected: a buffer for every message, since a gathering write takes as long for each as copying borrowMin bytes; and
// one text with everything copied into it, which moves a model's rows twice.
type Batch struct {
	scratch  []byte
	pieces   gather.Pieces
	start    int // of the payload being added, as Len counts
	messages []Message
	formats  []vec.Format // by table
	owned    [][]byte     // pieces that are the batch's own memory
	err      error        // the first thing that keeps the message being added from travelling
	traffic  tally.Traffic
	fields   fields.Codec // writes control messages

	cutting               bool // a message is in parts
	lent                  bool // messages stay their sender's
	alone                 bool // payloads only: nothing that was encoded before is used
	partMost, messageMost int  // of what is cut, in bytes; 0: partMax, messageMax
	into                  int  // bytes of a part of what is longer than partMost; 0: partMost
}

// Shorten limits the parts of messages, and messages in parts, to so many bytes from now on; 0: the limits of the
// format. It is for tests.
func (b *Batch) Shorten(part, message int) { b.partMost, b.messageMost, b.into = part, message, 0 }

// Cut sends later messages in parts of so many bytes if they are longer than whole bytes (0: than a frame may hold).
// part is at most whole.
func (b *Batch) Cut(whole, part int) { b.partMost, b.into = whole, part }

// Lend leaves messages that are added from now on to their sender, which frees them: those sent again after a break.
func (b *Batch) Lend() { b.lent = true }

// Add encodes a message as one more frame, or as several where it is long. The message belongs to the batch until Reset.
// An error leaves the batch as it was and the message with the caller: the message is longer than its kind may be, of no
// kind that travels, or has a value that its table's format has not.
func (b *Batch) Add(e Envelope) error {
	m := e.Message
	if e.Kind() == 0 {
		return doesNotTravel(m)
	}
	if e.Era > bellows.EraMost {
		return bellows.Errorf(bellows.Config, "encode message", kindName(m.kind()), "era %d is over the limit of %d", e.Era, bellows.EraMost)
	}
	at, pieces, owned := len(b.scratch), b.pieces.Len(), len(b.owned)
	b.zeros(HeaderSize)
	b.start = b.Len()
	b.payload(m)
	kind, err := m.kind(), b.err
	b.err = nil
	length, limit, most := b.Len()-b.start, kindLimit(kind), frameLimit(kind)
	if inParts(kind) {
		limit, most = cmp.Or(b.messageMost, limit), cmp.Or(b.partMost, most)
	}
	if err == nil && length > limit {
		err = &bellows.Error{Kind: bellows.Config, Op: "encode message", Subject: kindName(kind),
			Hint: tooLongHint(kind),
			Err:  tooLong{length, limit}}
	}
	if err != nil {
		b.disown(owned)
		b.pieces.Drop(pieces)
		b.scratch = b.scratch[:at]
		return err
	}
	h := Header{Kind: kind, From: e.From, To: e.To, Era: e.Era}
	if length > most {
		b.cutting = true
		part := cmp.Or(b.into, most)
		b.cut(h, at+HeaderSize, pieces, (length-1)/part, part)
	} else {
		b.head(h, b.scratch[at:], length, b.pieces.Sum(b.scratch, at+HeaderSize, pieces))
	}
	if !b.lent {
		b.messages = append(b.messages, e.Message)
	}
	return nil
}

// fail keeps the message that is being added from travelling.
func (b *Batch) fail(err error) {
	b.err = cmp.Or(b.err, err)
}

// tooLong is why a message does not travel.
type tooLong struct{ length, limit int }

func (e tooLong) Error() string {
	return fmt.Sprintf("%d bytes are over the limit of %d", e.length, e.limit)
}

// tooLongHint returns the hint for a message of a kind that is too long. One message carries what goes to one lane, of
// any number of partitions, but a lease and a slab concern one partition.
func tooLongHint(kind uint8) string {
	switch kind {
	case kindGranted, kindSlab:
		return "cut the tables into more partitions"
	case kindPull, kindRows, kindPush:
		return "read and update fewer rows at once, or use more servers"
	}
	return ""
}

// payload adds that of a message, or fails the batch.
func (b *Batch) payload(m Message) {
	if m, raw := m.(codec); raw {
		m.encode(b)
		return
	}
	b.control(m.(control))
}

// control adds a payload of fields.
func (b *Batch) control(m control) {
	if err := b.fields.Write((*fields.Writer)(&b.scratch), func() error { return m.fields(&b.fields) }); err != nil {
		b.tooMany(m, err)
	}
}

// tooMany fails the batch for a list of the message that has more elements than the receiver takes.
func (b *Batch) tooMany(m Message, err error) {
	b.fail(&bellows.Error{Kind: bellows.Config, Op: "encode message", Subject: kindName(m.kind()), Err: err})
}

// Traffic returns the frames that were added since the last Reset.
func (b *Batch) Traffic() *tally.Traffic { return &b.traffic }

// Payload returns the kind of a message and its payload in pieces, which are valid until the batch is used again. The
// message stays its sender's. It is for tests, and for code that compares or copies messages with a batch of its own:
// no length is refused, and shared messages are encoded each time.
func (b *Batch) Payload(m Message) (kind uint8, pieces [][]byte, err error) {
	if kind = (Envelope{Message: m}).Kind(); kind == 0 {
		return 0, nil, doesNotTravel(m)
	}
	b.alone, b.start = true, 0
	b.pieces.Drop(0)
	b.disown(0)
	b.scratch = b.scratch[:0]
	b.payload(m)
	err, b.err = b.err, nil
	return kind, b.Buffers(), err
}

func doesNotTravel(m Message) error {
	return bellows.Errorf(bellows.Bug, "encode message", "", "%T does not travel", m)
}

// head writes the header of a frame.
func (b *Batch) head(h Header, to []byte, length int, sum uint32) {
	h.Length, h.Checksum = uint32(length), sum
	h.put(to)
	b.traffic.Count(kinds[h.Kind].class, HeaderSize+length)
}

// cut divides the payload behind scratch[:at] into parts of most bytes, more of them than one.
func (b *Batch) cut(h Header, at, pieces, more, most int) {
	heads := memory.Get(more * HeaderSize)
	b.owned = append(b.owned, heads)
	b.pieces.Cut(b.scratch, at, pieces, most, HeaderSize, heads)
	b.pieces.Parts(b.scratch, at, pieces, HeaderSize, func(head []byte, length int, sum uint32, last bool) {
		h.Part = partMore
		if last {
			h.Part = partLast
		}
		b.head(h, head, length, sum)
	})
}

// InParts reports whether a message that was added is in parts.
func (b *Batch) InParts() bool { return b.cutting }

// Len returns the number of bytes to write.
func (b *Batch) Len() int { return len(b.scratch) + b.pieces.Bytes() }

// Buffers returns what to write, in order. The list may be consumed; the bytes must stay as they are. It is
// good until the next Add or Reset.
func (b *Batch) Buffers() [][]byte { return b.pieces.Buffers(b.scratch) }

// Next returns Buffers in steps, none when all have been given. One step has all frames, but each part of a long
// message ends a step, so that urgent messages may leave before the next. All messages must be added before the first
// call.
func (b *Batch) Next() [][]byte { return b.pieces.Next(b.scratch) }

// Reset frees the messages and makes the batch empty; it keeps its memory. A Push is not freed: its sender
// holds it, to send it again where a lane was Full, until the lane says Committed.
func (b *Batch) Reset() {
	for _, m := range b.messages {
		if _, kept := m.(*Push); !kept {
			Free(m)
		}
	}
	clear(b.messages)
	b.pieces.Reset()
	b.disown(0)
	if cap(b.scratch) > scratchMax {
		b.scratch = nil
	}
	*b = Batch{scratch: b.scratch[:0], pieces: b.pieces, messages: b.messages[:0], formats: b.formats, owned: b.owned,
		lent: b.lent, partMost: b.partMost, messageMost: b.messageMost, into: b.into}
}

// disown gives the batch's own pieces back, from the nth on.
func (b *Batch) disown(n int) {
	for i := n; i < len(b.owned); i++ {
		memory.Put(b.owned[i])
		b.owned[i] = nil
	}
	b.owned = b.owned[:n]
}

func (b *Batch) u8(x uint8)   { b.scratch = append(b.scratch, x) }
func (b *Batch) u16(x uint16) { b.scratch = binary.LittleEndian.AppendUint16(b.scratch, x) }
func (b *Batch) u32(x uint32) { b.scratch = binary.LittleEndian.AppendUint32(b.scratch, x) }
func (b *Batch) u64(x uint64) { b.scratch = binary.LittleEndian.AppendUint64(b.scratch, x) }

// flag adds a byte that is 0 or 1.
func (b *Batch) flag(on bool) {
	if on {
		b.u8(1)
	} else {
		b.u8(0)
	}
}

// zeros adds n zero bytes, up to HeaderSize.
func (b *Batch) zeros(n int) {
	var z [HeaderSize]byte
	b.scratch = append(b.scratch, z[:n]...)
}

// count adds the length of a list.
func (b *Batch) count(n int) { b.u32(uint32(n)) }

// idCount adds the length of a list of rows, or of keys where that is not nil.
func (b *Batch) idCount(rows []uint32, list []bellows.Key) {
	switch {
	case list != nil:
		b.u32(raw.KeyList | uint32(len(list)))
	case rows == nil:
		b.u32(raw.AllRows)
	default:
		b.count(len(rows))
	}
}

// ids adds a list of rows, or of keys where that is not nil: these where they can be looked at in place.
func (b *Batch) ids(rows []uint32, list []bellows.Key) {
	if list == nil {
		array(b, rows)
	} else if len(list) > 0 {
		b.zeros(raw.ToKeys(b.Len() - b.start))
		array(b, list)
	}
}

// array adds the elements of an array, in place where that pays.
func array[T memory.Word](b *Batch, v []T) {
	data := memory.Bytes(v)
	if len(data) < borrowMin || memory.Swapped {
		at := len(b.scratch)
		b.scratch = append(b.scratch, data...)
		if memory.Swapped {
			memory.Turn[T](b.scratch[at:])
		}
		return
	}
	b.pieces.Add(len(b.scratch), data)
}
