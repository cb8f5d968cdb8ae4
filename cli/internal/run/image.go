package run

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"bellows"
	"bellows/core/store"
	"bellows/link/wire"
	"bellows/train"
)

// imageMagic begins a resume image; its last byte is the version of the format.
const imageMagic = "bellowsr\x03"

var order = binary.LittleEndian

// EncodeImage is the bytes of a job at rest: the state of every partition of every table, as it was
// and as the driver last kept it, and of the controller. All numbers are little-endian; a list is its
// length as 32 bits, then its entries.
func EncodeImage(im *train.Image) []byte {
	b := appendTables([]byte(imageMagic), im.Tables)
	b = appendTables(b, im.Kept)
	s := &im.State
	b = order.AppendUint32(b, uint32(len(s.Complete)))
	for _, c := range s.Complete {
		b = order.AppendUint32(b, uint32(c))
	}
	b = order.AppendUint32(b, uint32(len(s.Queue)))
	for _, t := range s.Queue {
		b = order.AppendUint32(b, uint32(t.Unit.Split))
		b = order.AppendUint32(b, uint32(t.Unit.Clock))
		b = order.AppendUint64(b, uint64(t.Unit.Items.Begin))
		b = order.AppendUint64(b, uint64(t.Unit.Items.End))
		b = appendDoubles(b, t.Args)
	}
	b = order.AppendUint32(b, uint32(len(s.Staleness)))
	for _, c := range s.Staleness {
		b = order.AppendUint32(b, uint32(c.Table))
		b = order.AppendUint32(b, uint32(c.Clocks))
	}
	return appendDoubles(b, s.Driver)
}

func appendTables(b []byte, tables [][]store.Image) []byte {
	b = order.AppendUint32(b, uint32(len(tables)))
	for _, parts := range tables {
		b = order.AppendUint32(b, uint32(len(parts)))
		for i := range parts {
			b = appendKeys(b, parts[i].Keys)
			b = appendFloats(b, parts[i].Values)
			b = order.AppendUint32(b, uint32(len(parts[i].Slots)))
			for _, slot := range parts[i].Slots {
				b = appendFloats(b, slot)
			}
		}
	}
	return b
}

func appendKeys(b []byte, list []bellows.Key) []byte {
	b = order.AppendUint32(b, uint32(len(list)))
	for _, k := range list {
		b = order.AppendUint64(b, uint64(k))
	}
	return b
}

func appendFloats(b []byte, values []float32) []byte {
	b = order.AppendUint32(b, uint32(len(values)))
	for _, v := range values {
		b = order.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func appendDoubles(b []byte, values []float64) []byte {
	b = order.AppendUint32(b, uint32(len(values)))
	for _, v := range values {
		b = order.AppendUint64(b, math.Float64bits(v))
	}
	return b
}

// DecodeImage reads what EncodeImage wrote. An error of kind BadData means that it did not. Memory
// is taken only for entries whose bytes are there.
func DecodeImage(b []byte) (*train.Image, error) {
	d := &decoder{rest: b}
	if string(d.take(len(imageMagic))) != imageMagic {
		d.fail("it does not begin like one of this version")
	}
	im := &train.Image{Tables: d.tables(), Kept: d.tables()}
	s := &im.State
	for range d.count(4) {
		s.Complete = append(s.Complete, bellows.Clock(d.word()))
	}
	for range d.count(28) {
		s.Queue = append(s.Queue, d.task())
	}
	for range d.count(8) {
		s.Staleness = append(s.Staleness, wire.Staleness{Table: d.table(), Clocks: int32(d.word())})
	}
	s.Driver = d.doubles()
	if len(d.rest) > 0 {
		d.fail(fmt.Sprintf("%d bytes follow its end", len(d.rest)))
	}
	if d.err != nil {
		return nil, &bellows.Error{Kind: bellows.BadData, Op: "read resume image", Err: d.err,
			Hint: "add --fresh to start over"}
	}
	return im, nil
}

// decoder takes values off the front of its bytes; after the first failure it returns zeros.
type decoder struct {
	rest []byte
	err  error
}

func (d *decoder) fail(why string) {
	if d.err == nil {
		d.err = errors.New(why)
	}
	d.rest = nil
}

func (d *decoder) take(n int) []byte {
	if n > len(d.rest) {
		d.fail("it is cut short")
		return nil
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

func (d *decoder) word() uint32 {
	if b := d.take(4); b != nil {
		return order.Uint32(b)
	}
	return 0
}

func (d *decoder) long() uint64 {
	if b := d.take(8); b != nil {
		return order.Uint64(b)
	}
	return 0
}

// count is the length of a list whose entries take at least entryBytes each; 0 for one that the
// rest cannot hold.
func (d *decoder) count(entryBytes int) int {
	n := int(d.word())
	if n > len(d.rest)/entryBytes {
		d.fail("a list is longer than what follows")
		return 0
	}
	return n
}

// peek is the count that follows, without taking it.
func (d *decoder) peek(entryBytes int) int {
	ahead := *d
	return ahead.count(entryBytes)
}

func (d *decoder) tables() [][]store.Image {
	var tables [][]store.Image
	for range d.count(4) {
		parts := make([]store.Image, 0, d.peek(12))
		for range d.count(12) {
			im := store.Image{Keys: d.keys()}
			im.Values = d.floats()
			for range d.count(4) {
				im.Slots = append(im.Slots, d.floats())
			}
			parts = append(parts, im)
		}
		tables = append(tables, parts)
	}
	return tables
}

// table is a table's number, of which there are at most 2^16.
func (d *decoder) table() bellows.TableID {
	n := d.word()
	if n > math.MaxUint16 {
		d.fail(fmt.Sprintf("there is no table %d", n))
	}
	return bellows.TableID(n)
}

// keys are those of a sparse table, or nil.
func (d *decoder) keys() []bellows.Key {
	n := d.count(8)
	if n == 0 {
		return nil
	}
	list := make([]bellows.Key, n)
	for i := range list {
		list[i] = bellows.Key(d.long())
	}
	return list
}

func (d *decoder) floats() []float32 {
	values := make([]float32, d.count(4))
	for i := range values {
		values[i] = math.Float32frombits(d.word())
	}
	return values
}

func (d *decoder) doubles() []float64 {
	values := make([]float64, d.count(8))
	for i := range values {
		values[i] = math.Float64frombits(d.long())
	}
	return values
}

func (d *decoder) task() wire.Task {
	t := wire.Task{Unit: bellows.Unit{Split: bellows.SplitID(d.word()), Clock: bellows.Clock(d.word())}}
	t.Unit.Items = bellows.Range{Begin: int(d.long()), End: int(d.long())}
	t.Args = d.doubles()
	return t
}
