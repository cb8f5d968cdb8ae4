package run

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"bellows"
	"bellows/core/store"
	"bellows/link/wire"
	"bellows/train"
)

// imageMagic begins a resume image; its last byte is the version of the format.
const imageMagic = "bellowsr\x03"

// WriteImage writes the bytes of a job at rest: the state of every partition of every table, as it was
// and as the driver last kept it, and of the controller. All numbers are little-endian; a list is its
// length as 32 bits, then its entries. Nothing is written at once that is larger than a table's row or a stretch of imageStretch.
func WriteImage(w io.Writer, im *train.Image) error {
	e := &encoder{to: w, b: append(make([]byte, 0, 2*imageStretch), imageMagic...)}
	tables.put(e, im.Tables)
	tables.put(e, im.Kept)
	clocks.put(e, im.State.Complete)
	tasks.put(e, im.State.Queue)
	lags.put(e, im.State.Staleness)
	doubles.put(e, im.State.Driver)
	e.spill()
	return e.err
}

// ImageBytes is how many bytes the values of an image have: nearly all that WriteImage writes.
func ImageBytes(im *train.Image) (n int64) {
	for _, side := range [][][]store.Image{im.Tables, im.Kept} {
		for _, table := range side {
			for i := range table {
				n += int64(4*len(table[i].Values) + 8*len(table[i].Keys))
				for _, slot := range table[i].Slots {
					n += int64(4 * len(slot))
				}
			}
		}
	}
	return n
}

// DecodeImage reads what WriteImage wrote. An error of kind BadData means that it did not. Memory
// is taken only for entries whose bytes are there.
func DecodeImage(b []byte) (*train.Image, error) {
	d := &decoder{rest: b}
	if string(d.take(len(imageMagic))) != imageMagic {
		d.fail("it does not begin like one of this version")
	}
	im := &train.Image{Tables: tables.get(d), Kept: tables.get(d)}
	s := &im.State
	s.Complete, s.Queue, s.Staleness, s.Driver = clocks.get(d), tasks.get(d), lags.get(d), doubles.get(d)
	if len(d.rest) > 0 {
		d.fail(fmt.Sprintf("%d bytes follow its end", len(d.rest)))
	}
	if d.err != nil {
		return nil, &bellows.Error{Kind: bellows.BadData, Op: "read resume image", Err: d.err,
			Hint: "add --fresh to start over"}
	}
	return im, nil
}

var order = binary.LittleEndian

// form is how a value lies in an image: what appends it, what takes it off the front, and the least bytes that it has.
type form[T any] struct {
	put   func(e *encoder, v T)
	get   func(d *decoder) T
	least int
}

// The forms of an image, from single numbers up.
var (
	doubles = listOf(form[float64]{
		put:   func(e *encoder, v float64) { e.long(math.Float64bits(v)) },
		get:   func(d *decoder) float64 { return math.Float64frombits(d.long()) },
		least: 8,
	})
	keys = listOf(form[bellows.Key]{
		put:   func(e *encoder, k bellows.Key) { e.long(uint64(k)) },
		get:   func(d *decoder) bellows.Key { return bellows.Key(d.long()) },
		least: 8,
	})
	clocks = listOf(form[bellows.Clock]{
		put:   func(e *encoder, c bellows.Clock) { e.word(uint32(c)) },
		get:   func(d *decoder) bellows.Clock { return bellows.Clock(d.word()) },
		least: 4,
	})
	lags = listOf(form[wire.Staleness]{
		put: func(e *encoder, s wire.Staleness) {
			e.word(uint32(s.Table))
			e.word(uint32(s.Clocks))
		},
		get:   func(d *decoder) wire.Staleness { return wire.Staleness{Table: d.table(), Clocks: int32(d.word())} },
		least: 8,
	})
	tasks = listOf(form[wire.Task]{
		put: func(e *encoder, t wire.Task) {
			e.word(uint32(t.Unit.Split))
			e.word(uint32(t.Unit.Clock))
			e.long(uint64(t.Unit.Items.Begin))
			e.long(uint64(t.Unit.Items.End))
			doubles.put(e, t.Args)
		},
		get: func(d *decoder) wire.Task {
			u := bellows.Unit{Split: bellows.SplitID(d.word()), Clock: bellows.Clock(d.word())}
			u.Items = bellows.Range{Begin: int(d.long()), End: int(d.long())}
			return wire.Task{Unit: u, Args: doubles.get(d)}
		},
		least: 28,
	})
	// floats are nearly all of an image: a list of them is written and read in one loop.
	floats = form[[]float32]{put: (*encoder).floats, get: (*decoder).floats, least: 4}
	slots  = listOf(floats)
	tables = listOf(listOf(form[store.Image]{
		put: func(e *encoder, p store.Image) {
			keys.put(e, p.Keys)
			floats.put(e, p.Values)
			slots.put(e, p.Slots)
		},
		get: func(d *decoder) store.Image {
			return store.Image{Keys: keys.get(d), Values: floats.get(d), Slots: slots.get(d)}
		},
		least: 12,
	}))
)

// listOf is the form of a list, nil where it is empty.
func listOf[T any](entry form[T]) form[[]T] {
	return form[[]T]{
		put: func(e *encoder, list []T) {
			e.word(uint32(len(list)))
			for _, v := range list {
				entry.put(e, v)
			}
		},
		get: func(d *decoder) []T {
			list := make([]T, d.length(entry.least))
			for i := range list {
				list[i] = entry.get(d)
			}
			if len(list) == 0 || d.err != nil {
				return nil
			}
			return list
		},
		least: 4,
	}
}

// imageStretch is how many bytes of an image are collected before they are written.
const imageStretch = 256 << 10

// encoder writes values one behind the other; after the first failure it writes nothing.
type encoder struct {
	to  io.Writer
	b   []byte // not written
	err error
}

func (e *encoder) word(v uint32) {
	e.b = order.AppendUint32(e.b, v)
	e.spillFull()
}

func (e *encoder) long(v uint64) {
	e.b = order.AppendUint64(e.b, v)
	e.spillFull()
}

func (e *encoder) floats(list []float32) {
	e.word(uint32(len(list)))
	for len(list) > 0 {
		n := min(len(list), imageStretch/4)
		at := len(e.b)
		e.b = e.b[:at+4*n]
		to := e.b[at:]
		for i, v := range list[:n] {
			order.PutUint32(to[4*i:], math.Float32bits(v))
		}
		list = list[n:]
		e.spillFull()
	}
}

// spillFull makes room for another stretch.
func (e *encoder) spillFull() {
	if len(e.b) >= imageStretch {
		e.spill()
	}
}

func (e *encoder) spill() {
	if e.err == nil {
		_, e.err = e.to.Write(e.b)
	}
	e.b = e.b[:0]
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
		return make([]byte, n)
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

// length is that of a list that follows, whose entries have at least so many bytes; 0 when there are not so many.
func (d *decoder) length(least int) int {
	n := int(d.word())
	if n > len(d.rest)/least {
		d.fail("a list is longer than what follows")
		return 0
	}
	return n
}

func (d *decoder) floats() []float32 {
	n := d.length(4)
	if n == 0 {
		return nil
	}
	list, from := make([]float32, n), d.take(4*n)
	for i := range list {
		list[i] = math.Float32frombits(order.Uint32(from[4*i:]))
	}
	return list
}

func (d *decoder) word() uint32 { return order.Uint32(d.take(4)) }
func (d *decoder) long() uint64 { return order.Uint64(d.take(8)) }

// table is a table's number, of which there are at most 2^16.
func (d *decoder) table() bellows.TableID {
	n := d.word()
	if n > math.MaxUint16 {
		d.fail(fmt.Sprintf("there is no table %d", n))
	}
	return bellows.TableID(n)
}
