package archive

import (
	"fmt"
	"math"
	"slices"

	"bellows"
	"bellows/core/rowstore"
	"bellows/core/rule"
	"bellows/link/wire"
	"bellows/table"
)

// mold is what the image of a partition must be: by its table, which the job declares, and not by what a shard says.
type mold struct {
	cut    table.Cut
	part   bellows.PartitionID
	widths []int // of a row's values, and of each slot
	row    int   // values of a row in all
	sparse bool  // rows have keys
}

// moldOf returns the mold of a partition's image.
func (a *Archive) moldOf(ref bellows.PartitionRef) *mold {
	s := &mold{cut: a.cuts[ref.Table], part: ref.Partition, widths: a.widths[ref.Table],
		sparse: a.tables[ref.Table].Sparse}
	for _, w := range s.widths {
		s.row += w
	}
	return s
}

// fixed returns the number of rows of the image; false: as many as keys.
func (s *mold) fixed() (int, bool) {
	first, end := s.cut.Rows(s.part)
	return int(end - first), !s.sparse
}

// bytes returns the size of a number of rows in a block.
func (s *mold) bytes(rows int) int64 {
	n := int64(4 * s.row)
	if s.sparse {
		n += 8
	}
	return int64(rows) * n
}

// sumBytes returns the size of a number of rows in a block of deltas.
func (s *mold) sumBytes(rows int) int64 {
	n := int64(4 + 4*s.widths[0])
	if s.sparse {
		n += 4
	}
	return sumBytes + int64(rows)*n
}

// takeSum adds the rows of a block of deltas to those of an image.
func (s *mold) takeSum(im *rowstore.Image, rows int, b []byte) error {
	one := rowstore.Gathered{Clock: bellows.Clock(order.Uint32(b))}
	index, level := order.Uint32(b[4:]), order.Uint32(b[8:])
	begin, end := order.Uint64(b[12:]), order.Uint64(b[20:])
	if one.Clock < 0 || level > 32 || uint64(index)>>(32-level) != 0 || begin > end || end > math.MaxInt ||
		end > begin && level > 0 || rows == 0 {
		return fmt.Errorf("%d rows of deltas of clock %d, subtree %d of level %d, items %d to %d", rows, one.Clock,
			index, level, begin, end)
	}
	one.Of = wire.Subtree{Level: uint8(level), Index: index, Items: bellows.Range{Begin: int(begin), End: int(end)}}
	last := len(im.Gathered) - 1
	if last < 0 || im.Gathered[last].Clock != one.Clock || im.Gathered[last].Of != one.Of {
		im.Gathered = append(im.Gathered, one)
		last++
	}
	g := &im.Gathered[last]
	b = b[sumBytes:]
	have, fixed := s.fixed()
	for range rows {
		if s.sparse {
			k := bellows.Key(order.Uint64(b))
			if s.cut.FindKey(k) != s.part {
				return fmt.Errorf("the key %d of deltas is not of its partition", k)
			}
			g.Keys, b = append(g.Keys, k), b[8:]
			continue
		}
		r := order.Uint32(b)
		if fixed && int64(r) >= int64(have) {
			return fmt.Errorf("row %d of deltas, and the partition has %d", r, have)
		}
		g.Rows, b = append(g.Rows, r), b[4:]
	}
	for range rows * s.widths[0] {
		g.Values, b = append(g.Values, math.Float32frombits(order.Uint32(b))), b[4:]
	}
	return nil
}

// most returns the maximum size of the rows of a block.
func (s *mold) most() int64 { return max(blockMost, s.bytes(1), s.sumBytes(1)) }

// empty returns an image without content. A sparse one has a list of keys, even if it is empty.
func (s *mold) empty() *rowstore.Image {
	im := &rowstore.Image{Slots: make([][]float32, len(s.widths)-1)}
	if s.sparse {
		im.Keys = []bellows.Key{}
		return im
	}
	rows, _ := s.fixed()
	im.Values = make([]float32, 0, rows*s.widths[0])
	for i := range im.Slots {
		im.Slots[i] = make([]float32, 0, rows*s.widths[i+1])
	}
	return im
}

// take adds the rows of a block to an image. It takes no more memory than the partition may have.
func (s *mold) take(im *rowstore.Image, rows int, b []byte) error {
	have := len(im.Values) / s.widths[0]
	if n, fixed := s.fixed(); fixed && have+rows > n {
		return fmt.Errorf("%d rows follow %d, and the partition has %d", rows, have, n)
	}
	if s.sparse {
		if have+rows > s.cut.Most() {
			return fmt.Errorf("%d rows follow %d, and the partition has at most %d", rows, have, s.cut.Most())
		}
		for ; rows > len(im.Keys)-have; b = b[8:] {
			k := bellows.Key(order.Uint64(b))
			if n := len(im.Keys); n > 0 && k <= im.Keys[n-1] || s.cut.FindKey(k) != s.part {
				return fmt.Errorf("the key %d does not follow its predecessor, or is not of its partition", k)
			}
			im.Keys = append(im.Keys, k)
		}
	}
	for i, w := range s.widths {
		to := &im.Values
		if i > 0 {
			to = &im.Slots[i-1]
		}
		n := rows * w
		*to = slices.Grow(*to, n)
		have := len(*to)
		*to = (*to)[:have+n]
		from := b[:4*n]
		for i := range (*to)[have:] {
			(*to)[have+i] = math.Float32frombits(order.Uint32(from[4*i:]))
		}
		b = b[4*n:]
	}
	return nil
}

// whole refuses an image with missing parts.
func (s *mold) whole(im *rowstore.Image) error {
	have := len(im.Values) / s.widths[0]
	if rows, fixed := s.fixed(); fixed && have != rows {
		return fmt.Errorf("it has %d rows of %d", have, rows)
	}
	return nil
}

// widthsOf returns the widths of a table's rows, and of the slots of its rule.
func widthsOf(s *table.Schema) ([]int, error) {
	r, err := rule.For(s)
	if err != nil {
		return nil, err
	}
	return append([]int{s.Width}, r.Slots()...), nil
}
