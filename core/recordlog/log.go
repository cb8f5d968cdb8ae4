// Package recordlog keeps the encoded records that a lane has taken, so that another controller can read them, and
// measures their size (Meter). It does not decide which of them count.
package recordlog

import (
	"encoding/binary"
	"math"
	"slices"

	"bellows"
	"bellows/core/audit"
	"bellows/core/planted"
	"bellows/link/wire"
)

// A Log is the records that a lane has taken and keeps, oldest first, so that another controller can continue from
// them. They are released when the controller reports that the job is saved after them (Records.Keep), and the oldest
// when they take more than the limit of Add. A job that is not saved before that cannot be recovered, but it
// continues (TestTheTailIsBounded of package server). The tail has no gaps: every record that the lane takes becomes
// part of it.
//
// A record is a length in four bytes, and then numbers, nearly all of one byte: with eight units
// that is 60 bytes. Records are never cut by the end of a chunk.
//
// Rejected: to keep the messages. They are ten times as large and full of pointers, and the pool would have none
// left, so that each record of a job is written to memory that no cache has. Rejected: to keep the encoded messages,
// which takes five times as long.
type Log struct {
	chunks [][]byte // oldest first
	spare  []byte   // one that has been let go
	head   int      // of the first chunk: where the oldest record is
	first  bellows.CommitNumber
	n      int // records, from first on
	bytes  int // that these take
}

// BytesMost is how many bytes of records a lane keeps by default. A record of eight units takes 60.
const BytesMost = 4 << 20

// chunkRoom is how much memory a chunk has, unless it is of one record that takes more.
const chunkRoom = 16 << 10

// Add keeps the records of a message, of all that is kept at most so many bytes; negative: none.
func (l *Log) Add(m *wire.Records, bytesMax int) {
	if bytesMax < 0 {
		return
	}
	if l.n == 0 && len(m.List) > 0 {
		l.first = m.List[0].Number
	}
	for i := range m.List {
		l.append(&m.List[i])
	}
	for l.bytes > bytesMax {
		l.dropOldest()
	}
}

// append adds a record: a length, the counts of its lists, and its numbers. A unit is written as its difference from
// the previous one, which for units of one flush is little.
func (l *Log) append(r *wire.Record) {
	most := 4 + binary.MaxVarintLen64*(6+3*len(r.Pairs)+5*len(r.Results)+3*len(r.Sent))
	for i := range r.Results {
		most += 8 * len(r.Results[i].Values)
	}
	chunk := l.room(most) // also for a control, which comes with no flush and takes less than the numbers of one may
	at := len(*chunk)
	*chunk = encode(*chunk, r)
	l.n++
	l.bytes += len(*chunk) - at
}

// encode appends a record as a tail keeps it.
func encode(b []byte, r *wire.Record) []byte {
	at := len(b)
	b = append(b, 0, 0, 0, 0)
	b = put(put(put(b, uint64(r.Flush.Client)), uint64(r.Flush.Incarnation)), r.Flush.Seq)
	b = put(put(b, uint64(len(r.Pairs))), uint64(len(r.Results)))
	b = put(b, uint64(len(r.Sent)))
	for _, p := range r.Pairs {
		b = put(put(put(b, uint64(p.Ref.Table)), uint64(p.Ref.Partition)), uint64(p.Generation))
	}
	last := bellows.Unit{}
	for i := range r.Results {
		b = keepUnit(b, &r.Results[i], &last)
	}
	for _, s := range r.Sent {
		b = put(put(put(b, uint64(s.Table)), uint64(s.Rows)), uint64(s.Bits))
	}
	if r.Control.Kind != bellows.NoControl {
		b = keepControl(b, &r.Control)
	}
	binary.LittleEndian.PutUint32(b[at:], uint32(len(b)-at))
	return b
}

// put adds a number.
func put(b []byte, x uint64) []byte {
	if x < 0x80 {
		return append(b, byte(x))
	}
	return binary.AppendUvarint(b, x)
}

// keepUnit adds a result, whose unit is likely to be near that of the last one.
func keepUnit(b []byte, r *wire.Result, last *bellows.Unit) []byte {
	u := &r.Unit
	split, clock, length := uint64(u.Split-last.Split), uint64(uint32(u.Clock-last.Clock)), uint64(u.Items.Len())
	begin, numbers := uint64(u.Items.Begin), uint64(len(r.Values))
	*last = *u
	if split|clock|begin|length|numbers < 0x80 {
		b = append(b, byte(split), byte(clock), byte(begin), byte(length), byte(numbers))
	} else {
		b = put(put(put(put(put(b, split), clock), begin), length), numbers)
	}
	for _, x := range r.Values {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b
}

func keepControl(b []byte, c *bellows.Control) []byte {
	for _, x := range [...]uint64{uint64(c.Kind), uint64(c.Table), uint64(uint32(c.Clocks)), uint64(uint32(c.Clock)), uint64(c.Route), uint64(c.Node),
		uint64(c.Lane), uint64(c.Partition), uint64(c.Generation), uint64(c.Split), uint64(c.Heir), uint64(c.HeirLane)} {
		b = put(b, x)
	}
	return b
}

// room returns a chunk with that much room.
func (l *Log) room(most int) *[]byte {
	n := len(l.chunks)
	if n > 0 && cap(l.chunks[n-1])-len(l.chunks[n-1]) >= most {
		return &l.chunks[n-1]
	}
	chunk := l.spare
	if l.spare = nil; cap(chunk) < most {
		chunk = make([]byte, 0, max(most, chunkRoom))
	}
	l.chunks = append(l.chunks, chunk)
	return &l.chunks[n]
}

// dropOldest lets the oldest record go, and a chunk with its last.
func (l *Log) dropOldest() {
	chunk := l.chunks[0]
	length := int(binary.LittleEndian.Uint32(chunk[l.head:]))
	l.first, l.n, l.bytes = l.first+1, l.n-1, l.bytes-length
	if l.head += length; l.head == len(chunk) {
		l.chunks, l.head = slices.Delete(l.chunks, 0, 1), 0
		if cap(chunk) == chunkRoom {
			l.spare = chunk[:0]
		}
	}
}

// Forget lets go of the records below a number.
func (l *Log) Forget(below bellows.CommitNumber) {
	for l.n > 0 && (l.first < below || l.n > 1 && planted.On("tail-freed-early")) {
		l.dropOldest()
	}
}

// Oldest returns the number of the first record that is kept; of the one after last, if none is.
func (l *Log) Oldest(last bellows.CommitNumber) bellows.CommitNumber {
	if l.n == 0 {
		return last + 1
	}
	return l.first
}

// sinceMost is how many records a message of Since has.
const sinceMost = 256

// Since yields messages with the records from a number on, made as they leave: the tail of a long job is many
// messages.
func (l *Log) Since(from bellows.CommitNumber, term bellows.Term, yield func(*wire.Records)) {
	var m *wire.Records
	number, head := l.first, l.head
	for _, chunk := range l.chunks {
		for rest := chunk[head:]; len(rest) > 0; number++ {
			length := binary.LittleEndian.Uint32(rest)
			one := rest[4:length]
			if rest = rest[length:]; number < from {
				continue
			}
			done, control := given(one)
			if m != nil && (len(m.List) == sinceMost || !m.Room(done)) {
				yield(m)
				m = nil
			}
			if m == nil {
				m = wire.New[wire.Records]()
				m.Term = term
			}
			if control.Kind != bellows.NoControl {
				m.AppendControl(number, control)
			} else {
				m.Append(number, done)
			}
			wire.Free(done)
		}
		head = 0
	}
	if m != nil {
		yield(m)
	}
}

// given returns what keep has made a record of.
func given(b []byte) (d *wire.Done, c bellows.Control) {
	next := func() (x uint64) {
		x, n := binary.Uvarint(b)
		b = b[n:]
		return x
	}
	d = wire.New[wire.Done]()
	d.Flush = bellows.FlushID{Client: bellows.NodeID(next()), Incarnation: uint32(next()), Seq: next()}
	pairs, results, sent := next(), next(), next()
	for range pairs {
		ref := bellows.PartitionRef{Table: bellows.TableID(next()), Partition: bellows.PartitionID(next())}
		d.Pairs = append(d.Pairs, wire.Pair{Ref: ref, Generation: bellows.Generation(next())})
	}
	u := bellows.Unit{}
	for range results {
		u.Split, u.Clock = u.Split+bellows.SplitID(next()), u.Clock+bellows.Clock(next())
		u.Items.Begin = int(next())
		u.Items.End = u.Items.Begin + int(next())
		values := make([]float64, next())
		for i := range values {
			values[i] = math.Float64frombits(binary.LittleEndian.Uint64(b))
			b = b[8:]
		}
		d.Append(u, values)
	}
	for range sent {
		d.Sent = append(d.Sent, audit.Sent{Table: bellows.TableID(next()), Rows: int64(next()), Bits: audit.Sum(next())})
	}
	if len(b) > 0 {
		c = bellows.Control{Kind: bellows.ControlKind(next()), Table: bellows.TableID(next()), Clocks: int32(next()), Clock: bellows.Clock(next()),
			Route: bellows.RouteVersion(next()), Node: bellows.NodeID(next()), Lane: uint16(next()), Partition: bellows.PartitionID(next()),
			Generation: bellows.Generation(next()), Split: bellows.SplitID(next()), Heir: bellows.NodeID(next()), HeirLane: uint16(next())}
	}
	return d, c
}
