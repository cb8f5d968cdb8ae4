package archive

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"bellows"
	"bellows/core/audit"
	"bellows/core/coord"
	"bellows/core/join"
	"bellows/link/wire"
)

// stateMagic begins the bytes of a controller's state; its last byte is the version of the format.
const stateMagic = "bellowsq\x03"

// stateBefore begins a state of the version before, which has one more clock: it was cut between clocks.
const stateBefore = "bellowsq\x02"

// encodeState encodes a saved controller: the state from which another attempt starts, and from which another
// controller of the same attempt continues. All numbers are little-endian; a list is its length as 32 bits, then its
// entries.
func encodeState(s *coord.Saved) []byte {
	e := encoder{b: []byte(stateMagic)}
	clocks.put(&e, s.Complete)
	tasks.put(&e, s.Queue)
	lags.put(&e, s.Staleness)
	doubles.put(&e, s.Driver)
	outs.put(&e, s.Out)
	e.word(uint32(bit(s.Finishing)))
	e.long(uint64(s.Commit))
	e.long(uint64(s.Route))
	controls.put(&e, s.Lost)
	words.put(&e, s.Sent)
	controls.put(&e, s.Leaving)
	controls.put(&e, s.Whole)
	unitLists.put(&e, s.Open)
	recorded.put(&e, s.Counted.List())
	e.word(uint32(s.Horizon))
	e.word(uint32(bit(s.Draining)))
	return e.b
}

// decodeState reads what encodeState wrote. Memory is taken only for entries whose bytes are there.
func decodeState(b []byte) (s coord.Saved, err error) {
	d := &decoder{rest: b}
	magic := string(d.take(len(stateMagic)))
	if magic != stateMagic && magic != stateBefore {
		d.fail("its state does not begin like one of this version")
	}
	s.Complete, s.Queue, s.Staleness, s.Driver, s.Out = clocks.get(d), tasks.get(d), lags.get(d), doubles.get(d),
		outs.get(d)
	s.Finishing = d.bit("that the driver has tasks nor that it has none")
	s.Commit, s.Route = bellows.CommitNumber(d.long()), bellows.RouteVersion(d.half())
	s.Lost, s.Sent, s.Leaving, s.Whole, s.Open = controls.get(d), words.get(d), controls.get(d), controls.get(d),
		unitLists.get(d)
	s.Counted.Load(recorded.get(d))
	if s.Horizon = bellows.Clock(d.word()); magic == stateBefore {
		d.word()
	}
	s.Draining = d.bit("neither that an interrupt was requested nor that none was")
	if len(d.rest) > 0 {
		d.fail(fmt.Sprintf("%d bytes follow the end of its state", len(d.rest)))
	}
	return s, d.err
}

var order = binary.LittleEndian

// form is how a value lies in a state: what appends it, what takes it off the front, and the least bytes that it has.
type form[T any] struct {
	put   func(e *encoder, v T)
	get   func(d *decoder) T
	least int
}

// The forms of a state, from single numbers up.
var (
	doubles = listOf(form[float64]{
		put:   func(e *encoder, v float64) { e.long(math.Float64bits(v)) },
		get:   func(d *decoder) float64 { return math.Float64frombits(d.long()) },
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
	units = form[bellows.Unit]{
		put: func(e *encoder, u bellows.Unit) {
			e.word(uint32(u.Split))
			e.word(uint32(u.Clock))
			e.long(uint64(u.Items.Begin))
			e.long(uint64(u.Items.End))
		},
		get: func(d *decoder) bellows.Unit {
			u := bellows.Unit{Split: bellows.SplitID(d.word()), Clock: bellows.Clock(d.word())}
			u.Items = bellows.Range{Begin: int(d.long()), End: int(d.long())}
			return u
		},
		least: 24,
	}
	task = form[wire.Task]{
		put: func(e *encoder, t wire.Task) {
			units.put(e, t.Unit)
			doubles.put(e, t.Args)
		},
		get: func(d *decoder) wire.Task {
			u := units.get(d)
			return wire.Task{Unit: u, Args: doubles.get(d)}
		},
		least: 28,
	}
	tasks = listOf(task)
	outs  = listOf(form[coord.Out]{
		put: func(e *encoder, o coord.Out) {
			task.put(e, o.Task)
			e.long(uint64(o.Commit))
		},
		get: func(d *decoder) coord.Out {
			t := task.get(d)
			return coord.Out{Task: t, Commit: bellows.CommitNumber(d.long())}
		},
		least: 36,
	})
	unitLists = listOf(units)
	controls  = listOf(form[bellows.Control]{
		put: func(e *encoder, c bellows.Control) {
			for _, v := range [...]uint32{uint32(c.Kind), uint32(c.Table), uint32(c.Clocks), uint32(c.Clock),
				uint32(c.Node), uint32(c.Lane), uint32(c.Partition),
				uint32(c.Split), uint32(c.Heir), uint32(c.HeirLane)} {
				e.word(v)
			}
			e.long(uint64(c.Route))
			e.long(uint64(c.Generation))
		},
		get: func(d *decoder) (c bellows.Control) {
			c.Kind, c.Table, c.Clocks, c.Clock = bellows.ControlKind(d.small(math.MaxUint8)), d.table(),
				int32(d.word()), bellows.Clock(d.word())
			c.Node, c.Lane, c.Partition = bellows.NodeID(d.small(math.MaxUint16)), uint16(d.small(math.MaxUint16)),
				bellows.PartitionID(d.word())
			c.Split, c.Heir, c.HeirLane = bellows.SplitID(d.word()), bellows.NodeID(d.small(math.MaxUint16)),
				uint16(d.small(math.MaxUint16))
			c.Route, c.Generation = bellows.RouteVersion(d.half()), bellows.Generation(d.half())
			return c
		},
		least: 56,
	})
	words = listOf(listOf(form[audit.Sent]{
		put: func(e *encoder, s audit.Sent) {
			e.word(uint32(s.Table))
			e.long(uint64(s.Rows))
			e.long(uint64(s.Bits))
		},
		get: func(d *decoder) audit.Sent {
			return audit.Sent{Table: d.table(), Rows: int64(d.long()), Bits: audit.Sum(d.long())}
		},
		least: 20,
	}))
	longs = listOf(form[uint64]{
		put:   func(e *encoder, v uint64) { e.long(v) },
		get:   func(d *decoder) uint64 { return d.long() },
		least: 8,
	})
	recorded = listOf(form[wire.Recorded]{
		put: func(e *encoder, r wire.Recorded) {
			e.word(uint32(r.Client))
			e.word(r.Incarnation)
			e.long(r.UpTo)
			longs.put(e, r.Above)
		},
		get: func(d *decoder) wire.Recorded {
			return wire.Recorded{Client: d.client(), Incarnation: d.word(), UpTo: d.long(), Above: longs.get(d)}
		},
		least: 20,
	})
)

// listOf returns the form of a list, nil where it is empty.
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

// encoder writes values one after another.
type encoder struct{ b []byte }

func (e *encoder) word(v uint32) { e.b = order.AppendUint32(e.b, v) }
func (e *encoder) long(v uint64) { e.b = order.AppendUint64(e.b, v) }

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
		d.fail("its state is cut short")
		return make([]byte, n)
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

// length returns the length of the list that follows, 0 if the rest is too short for so many entries of at least the
// given size.
func (d *decoder) length(least int) int {
	n := int(d.word())
	if n > len(d.rest)/least {
		d.fail("a list of its state is longer than what follows")
		return 0
	}
	return n
}

func (d *decoder) word() uint32 { return order.Uint32(d.take(4)) }
func (d *decoder) long() uint64 { return order.Uint64(d.take(8)) }

// bit returns 0 or 1. Any other value is an error about what.
func (d *decoder) bit(what string) bool {
	n := d.word()
	if n > 1 {
		d.fail("its state says neither " + what)
	}
	return n == 1
}

// small returns a number up to a maximum.
func (d *decoder) small(most uint32) uint32 {
	n := d.word()
	if n > most {
		d.fail(fmt.Sprintf("its state has %d where at most %d can be", n, most))
	}
	return n
}

// half returns a 32-bit number that is stored in 64 bits.
func (d *decoder) half() uint32 {
	n := d.long()
	if n > math.MaxUint32 {
		d.fail(fmt.Sprintf("its state has %d where at most %d can be", n, uint32(math.MaxUint32)))
	}
	return uint32(n)
}

// client returns the number of a node with counts. Such nodes are few, and a list is allocated by this number.
func (d *decoder) client() bellows.NodeID { return bellows.NodeID(d.small(join.NodesMost)) }

// table returns a table's number. There are at most 2^16 tables.
func (d *decoder) table() bellows.TableID {
	n := d.word()
	if n > math.MaxUint16 {
		d.fail(fmt.Sprintf("its state has no table %d", n))
	}
	return bellows.TableID(n)
}
