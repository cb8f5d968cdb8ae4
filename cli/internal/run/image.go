package run

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"bellows"
	"bellows/core/store"
	"bellows/link/wire"
	"bellows/train"
)

// imageMagic begins a resume image; its last byte is the version of the format.
const imageMagic = "bellowsr\x03"

// EncodeImage is the bytes of a job at rest: the state of every partition of every table, as it was
// and as the driver last kept it, and of the controller. All numbers are little-endian; a list is its
// length as 32 bits, then its entries.
func EncodeImage(im *train.Image) []byte {
	b := tables.put([]byte(imageMagic), im.Tables)
	b = tables.put(b, im.Kept)
	b = clocks.put(b, im.State.Complete)
	b = tasks.put(b, im.State.Queue)
	b = lags.put(b, im.State.Staleness)
	return doubles.put(b, im.State.Driver)
}

// DecodeImage reads what EncodeImage wrote. An error of kind BadData means that it did not. Memory
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
	put   func(b []byte, v T) []byte
	get   func(d *decoder) T
	least int
}

// The forms of an image, from single numbers up.
var (
	doubles = listOf(form[float64]{
		put:   func(b []byte, v float64) []byte { return order.AppendUint64(b, math.Float64bits(v)) },
		get:   func(d *decoder) float64 { return math.Float64frombits(d.long()) },
		least: 8,
	})
	floats = listOf(form[float32]{
		put:   func(b []byte, v float32) []byte { return order.AppendUint32(b, math.Float32bits(v)) },
		get:   func(d *decoder) float32 { return math.Float32frombits(d.word()) },
		least: 4,
	})
	keys = listOf(form[bellows.Key]{
		put:   func(b []byte, k bellows.Key) []byte { return order.AppendUint64(b, uint64(k)) },
		get:   func(d *decoder) bellows.Key { return bellows.Key(d.long()) },
		least: 8,
	})
	clocks = listOf(form[bellows.Clock]{
		put:   func(b []byte, c bellows.Clock) []byte { return order.AppendUint32(b, uint32(c)) },
		get:   func(d *decoder) bellows.Clock { return bellows.Clock(d.word()) },
		least: 4,
	})
	lags = listOf(form[wire.Staleness]{
		put: func(b []byte, s wire.Staleness) []byte {
			return order.AppendUint32(order.AppendUint32(b, uint32(s.Table)), uint32(s.Clocks))
		},
		get:   func(d *decoder) wire.Staleness { return wire.Staleness{Table: d.table(), Clocks: int32(d.word())} },
		least: 8,
	})
	tasks = listOf(form[wire.Task]{
		put: func(b []byte, t wire.Task) []byte {
			b = order.AppendUint32(b, uint32(t.Unit.Split))
			b = order.AppendUint32(b, uint32(t.Unit.Clock))
			b = order.AppendUint64(b, uint64(t.Unit.Items.Begin))
			b = order.AppendUint64(b, uint64(t.Unit.Items.End))
			return doubles.put(b, t.Args)
		},
		get: func(d *decoder) wire.Task {
			u := bellows.Unit{Split: bellows.SplitID(d.word()), Clock: bellows.Clock(d.word())}
			u.Items = bellows.Range{Begin: int(d.long()), End: int(d.long())}
			return wire.Task{Unit: u, Args: doubles.get(d)}
		},
		least: 28,
	})
	slots  = listOf(floats)
	tables = listOf(listOf(form[store.Image]{
		put: func(b []byte, p store.Image) []byte {
			return slots.put(floats.put(keys.put(b, p.Keys), p.Values), p.Slots)
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
		put: func(b []byte, list []T) []byte {
			b = order.AppendUint32(slices.Grow(b, 4+entry.least*len(list)), uint32(len(list)))
			for _, v := range list {
				b = entry.put(b, v)
			}
			return b
		},
		get: func(d *decoder) []T {
			n := int(d.word())
			if n > len(d.rest)/entry.least {
				d.fail("a list is longer than what follows")
			}
			if n == 0 || d.err != nil {
				return nil
			}
			list := make([]T, n)
			for i := range list {
				list[i] = entry.get(d)
			}
			return list
		},
		least: 4,
	}
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
