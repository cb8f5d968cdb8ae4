package wire

import (
	"encoding/binary"

	"bellows"
	"bellows/tally"
	"bellows/vec"
	"bellows/wire/internal/crc"
	"bellows/wire/internal/memory"
)

// borrowMin is the length in bytes from which an array is sent from where it lies. A shorter one is
// copied: another buffer of a gathering write costs as much.
const borrowMin = 8 << 10

// scratchMax is how much memory for small things a batch keeps when it is reset.
const scratchMax = 1 << 20

// Batch is frames that leave in one write. Headers and all that is small are copied one behind the other;
// large arrays are borrowed from their messages. The zero Batch is ready.
//
// Its user adds messages, writes the buffers, and resets it when they are written, whether or not that went
// well; until then what the messages hold must not change.
type Batch struct {
	scratch    []byte
	pieces     []piece
	borrowed   int // bytes of all pieces
	start      int // of the payload being added, as Len counts
	messages   []Message
	buffers    [][]byte
	formats    []vec.Format // by table
	owned      [][]byte     // pieces that are the batch's own memory
	overflowed error        // values that their format has not
	traffic    tally.Traffic
}

// piece is borrowed bytes and their place: behind scratch[:at].
type piece struct {
	at     int
	data   []byte
	sum    uint32 // their checksum, if summed
	summed bool
}

// Add encodes a message as one more frame. The message belongs to the batch until Reset. An error leaves
// the batch as it was and the message with the caller: the message is longer than its kind may be, of no kind that
// travels, or has a value that its table's format has not.
func (b *Batch) Add(e Envelope) error {
	at, pieces, borrowed, owned := len(b.scratch), len(b.pieces), b.borrowed, len(b.owned)
	b.zeros(HeaderSize)
	b.start = b.Len()
	kind, err := b.payload(e.Message)
	if err == nil {
		err, b.overflowed = b.overflowed, nil
	}
	length := len(b.scratch) - at - HeaderSize + b.borrowed - borrowed
	if err == nil && length > kindLimit(kind) {
		err = &bellows.Error{Kind: bellows.Config, Op: "encode message", Subject: kindName(kind),
			Hint: "cut the tables into more partitions",
			Err:  tooLong{length, kindLimit(kind)}}
	}
	if err != nil {
		b.disown(owned)
		clear(b.pieces[pieces:])
		b.scratch, b.pieces, b.borrowed = b.scratch[:at], b.pieces[:pieces], borrowed
		return err
	}
	h := Header{Length: uint32(length), Kind: kind, From: e.From, To: e.To,
		Checksum: b.checksum(at+HeaderSize, b.pieces[pieces:])}
	h.put(b.scratch[at:])
	b.messages = append(b.messages, e.Message)
	b.traffic.Count(purpose(kind), HeaderSize+length)
	return nil
}

// checksum is the sum of what follows scratch[:at], with the pieces at their places.
func (b *Batch) checksum(at int, pieces []piece) (sum uint32) {
	if len(pieces) == 1 && pieces[0].summed && len(b.scratch) == at {
		return pieces[0].sum
	}
	for i := range pieces {
		p := &pieces[i]
		sum = crc.Update(sum, b.scratch[at:p.at])
		sum = crc.Update(sum, p.data)
		at = p.at
	}
	return crc.Update(sum, b.scratch[at:])
}

// Len is the number of bytes to write.
func (b *Batch) Len() int { return len(b.scratch) + b.borrowed }

// Buffers is what to write, in order. The list may be consumed; the bytes must stay as they are. It is
// good until the next Add or Reset.
func (b *Batch) Buffers() [][]byte {
	b.buffers = b.buffers[:0]
	at := 0
	for _, p := range b.pieces {
		if p.at > at {
			b.buffers = append(b.buffers, b.scratch[at:p.at])
		}
		b.buffers = append(b.buffers, p.data)
		at = p.at
	}
	if len(b.scratch) > at {
		b.buffers = append(b.buffers, b.scratch[at:])
	}
	return b.buffers
}

// Reset frees the messages and makes the batch empty; it keeps its memory. A Push is not freed: its sender
// holds it, to send it again where a lane was Full, until the lane says Committed.
func (b *Batch) Reset() {
	for _, m := range b.messages {
		if _, kept := m.(*Push); !kept {
			Free(m)
		}
	}
	clear(b.messages)
	clear(b.pieces)
	b.disown(0)
	clear(b.buffers)
	if cap(b.scratch) > scratchMax {
		b.scratch = nil
	}
	*b = Batch{scratch: b.scratch[:0], pieces: b.pieces[:0], messages: b.messages[:0], buffers: b.buffers[:0],
		formats: b.formats, owned: b.owned}
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
		b.u32(keyList | uint32(len(list)))
	case rows == nil:
		b.u32(allRows)
	default:
		b.count(len(rows))
	}
}

// ids adds a list of rows, or of keys where that is not nil: these where they can be looked at in place.
func (b *Batch) ids(rows []uint32, list []bellows.Key) {
	if list == nil {
		array(b, rows)
	} else if len(list) > 0 {
		b.zeros(toKeys(b.Len() - b.start))
		array(b, list)
	}
}

// swapped says that the machine's order of bytes is not the wire's, which is little-endian. Where it is, arrays of numbers are looked
// at in place and never copied; elsewhere their bytes are turned around, on the way out in a copy, on the way in in the payload
// itself, which nobody else sees.
var swapped = binary.NativeEndian.Uint16([]byte{1, 0}) != 1

// array adds the elements of an array, in place where that pays.
func array[T memory.Word](b *Batch, v []T) {
	data := memory.Bytes(v)
	if len(data) < borrowMin || swapped {
		at := len(b.scratch)
		b.scratch = append(b.scratch, data...)
		if swapped {
			memory.Turn[T](b.scratch[at:])
		}
		return
	}
	b.pieces = append(b.pieces, piece{at: len(b.scratch), data: data})
	b.borrowed += len(data)
}
