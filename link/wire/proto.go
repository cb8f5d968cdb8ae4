package wire

import (
	"errors"
	"math"

	"bellows"
	"bellows/core/audit"
	"bellows/link/wire/internal/fields"

	"google.golang.org/protobuf/encoding/protowire"
)

// Descriptions of protobuf payloads in terms of package fields.
const listMax = fields.ListMax

var (
	errNumber = fields.ErrNumber
	errMany   = fields.ErrMany
	errText   = fields.ErrText
	errNoUnit = errors.New("an element names no unit")
)

// errorKind encodes or decodes a kind of error; an unknown one of a later version becomes a bug.
func errorKind(c *fields.Codec, number protowire.Number, k *bellows.Kind) {
	n := uint64(*k)
	if fields.Num(c, number, &n); !c.Reads() {
		return
	}
	if *k = bellows.Bug; n <= uint64(bellows.Interrupted) {
		*k = bellows.Kind(n)
	}
}

// flushID encodes or decodes a flush; none is omitted, as protobuf omits a message that is not set.
func flushID(c *fields.Codec, number protowire.Number, f *bellows.FlushID) {
	c.Message(number, *f != bellows.FlushID{}, func() error {
		fields.Num(c, 1, &f.Client)
		fields.Num(c, 2, &f.Seq)
		fields.Num(c, 3, &f.Incarnation)
		return nil
	})
}

func (p *Pair) fields(c *fields.Codec) error {
	fields.Num(c, 1, &p.Ref.Table)
	fields.Num(c, 2, &p.Ref.Partition)
	fields.Num(c, 3, &p.Generation)
	return nil
}

// unit encodes or decodes a unit of work. wholeUnit checks whether its items are a range, once it is complete.
func unit(c *fields.Codec, number protowire.Number, u *bellows.Unit) {
	c.Message(number, true, func() error {
		unitFields(c, u)
		return nil
	})
}

func unitFields(c *fields.Codec, u *bellows.Unit) {
	fields.Num(c, 1, &u.Split)
	fields.Zigzag(c, 2, &u.Clock)
	fields.Num(c, 3, &u.Items.Begin)
	fields.Num(c, 4, &u.Items.End)
}

func wholeUnit(u *bellows.Unit) error {
	if u.Items.Begin < 0 || u.Items.End < u.Items.Begin {
		return errNumber
	}
	return nil
}

// numbered encodes or decodes a unit with numbers, in the memory of several: a Result or a Task.
func numbered(c *fields.Codec, u *bellows.Unit, list, memory *[]float64) error {
	unit(c, 1, u)
	c.Doubles(2, list, memory)
	if !c.HasField(1) {
		return errNoUnit
	}
	return wholeUnit(u)
}

// results encodes or decodes a list of them, with their numbers, in the memory of several.
func results(c *fields.Codec, number protowire.Number, list, memory *[]Result, numbers *[]float64) {
	fields.ListIn(c, number, list, memory, func(r *Result) error { return numbered(c, &r.Unit, &r.Values, numbers) })
}

// sent encodes or decodes what flushes contain per table, in the memory of several lists.
func sent(c *fields.Codec, number protowire.Number, list, memory *[]audit.Sent) {
	fields.ListIn(c, number, list, memory, func(s *audit.Sent) error {
		fields.Num(c, 1, &s.Table)
		fields.Num(c, 2, &s.Rows)
		fields.Num(c, 3, &s.Bits)
		if s.Rows < 0 {
			return errNumber
		}
		return nil
	})
}

// runs encodes or decodes pairs as a packed list of four numbers for each run of partitions of one table and
// generation: the table, the first of them, the generation, and how many there are. A flush of a dense table names all
// of its partitions in few bytes. The pairs lie in the memory of several lists, which together have no more elements
// than other lists.
func runs(c *fields.Codec, number protowire.Number, list, memory *[]Pair) {
	pairs, runs, next := *list, 0, 0
	for i := range pairs {
		if i == 0 || pairs[i] != pairs[i-1].after(1) {
			runs++
		}
	}
	var run [4]uint64
	at := func(i int) uint64 {
		if i%len(run) == 0 {
			p, n := pairs[next], 1
			for next+n < len(pairs) && pairs[next+n] == p.after(n) {
				n++
			}
			run = [...]uint64{uint64(p.Ref.Table), uint64(p.Ref.Partition), uint64(p.Generation), uint64(n)}
			next += n
		}
		return run[i%len(run)]
	}
	begin, came := len(*memory), 0
	c.Varints(number, runs*len(run), at, func(x uint64) {
		if limit := [...]uint64{math.MaxUint16, math.MaxUint32, math.MaxUint32, listMax}[came]; x > limit {
			c.Fail(errNumber)
		}
		run[came] = x
		if came = (came + 1) % len(run); came == 0 {
			c.Fail(addRun(run, memory))
		}
	})
	if came != 0 {
		c.Fail(errNumber)
	}
	if len(*memory) > begin {
		fields.Piece(list, memory, begin)
	}
}

// addRun appends the pairs of a run to a list.
func addRun(run [4]uint64, to *[]Pair) error {
	switch {
	case run[3] == 0 || run[3] > listMax || run[1]+run[3]-1 > math.MaxUint32:
		return errNumber
	case uint64(len(*to))+run[3] > listMax:
		return errMany
	}
	p := Pair{bellows.PartitionRef{Table: bellows.TableID(run[0]), Partition: bellows.PartitionID(run[1])}, bellows.Generation(run[2])}
	for n := range int(run[3]) {
		*to = append(*to, p.after(n))
	}
	return nil
}

// after returns the pair n partitions further.
func (p Pair) after(n int) Pair {
	p.Ref.Partition += bellows.PartitionID(n)
	return p
}
