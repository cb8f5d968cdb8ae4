package checkpoint

import (
	"cmp"
	"fmt"
	"slices"

	"bellows"
	"bellows/core/planted"
	"bellows/core/rowstore"
	"bellows/core/rule"
	"bellows/link/wire"
	"bellows/table"
)

// Piece is some rows of a partition as it was at a cut. All of the table comes first, then all of the image that the driver kept, if it did. Of each
// there is one piece at least, though it has no rows. Then come the deltas that are gathered for open clocks, one sum
// after the other: pieces that follow each other and have one clock and subtree are of one sum.
type Piece struct {
	Kept     bool          // of the image that was kept
	Gathered bool          // deltas of an open clock
	Clock    bellows.Clock // of these
	Of       wire.Subtree  // the splits or units of these
	First    int           // rows of the image or of the sum before it
	Count    int           // rows
	Rows     []uint32      // of deltas, of a dense table
	Keys     []bellows.Key // of a sparse table: in an image ascending, from piece to piece; else nil
	Values   []float32     // all rows' values, then slot by slot what the rule keeps of them; or deltas
	Last     bool          // nothing follows
}

// pieceValues is about how many values a piece has: 256 KiB of them.
const pieceValues = 64 << 10

// Piece gives the next piece of a partition, in memory that to has from the piece before. It fails when the cut is over, or all was given.
func (g *Giver) Piece(commit bellows.CommitNumber, ref bellows.PartitionRef, most int, to *Piece) error {
	i := slices.IndexFunc(g.parts, func(p *part) bool { return p.ref == ref })
	if commit != g.commit || i < 0 || g.parts[i].over {
		return bellows.Errorf(bellows.Unavailable, "give away partition", ref.String(), "the cut at record %d is over, or has no more of it", commit)
	}
	most = cmp.Or(most, pieceValues)
	p := g.parts[i]
	*to = Piece{Rows: to.Rows[:0], Keys: to.Keys[:0], Values: to.Values[:0], First: p.given, Kept: p.live}
	if p.images {
		p.nextGathered(most, to)
		return nil
	}
	all := p.image.Len()
	if !p.live {
		to.Count, to.Keys, to.Values = p.image.Next(most, to.Keys, to.Values)
	} else {
		rows, beside := p.table.ImageRows(p.kept)
		all = rows
		to.Count = min(max(1, most/beside), rows-p.given)
		to.Keys, to.Values = slices.Grow(to.Keys, to.Count), slices.Grow(to.Values, to.Count*beside)[:to.Count*beside]
		if p.kept.Keys != nil {
			to.Keys = to.Keys[:to.Count]
		}
		p.table.CopyImage(p.kept, p.given, to.Count, to.Keys, to.Values)
	}
	switch {
	case !p.table.Keyed():
		to.Keys = nil
	case to.Keys == nil:
		to.Keys = []bellows.Key{}
	}
	if p.given += to.Count; p.given < all {
		return nil
	}
	if p.live || p.kept == nil || planted.On("cut-kept-forgotten") {
		p.images, p.given = true, 0
		p.over = len(p.gathered) == 0
		to.Last = p.over
		return nil
	}
	p.live, p.given = true, 0
	return nil
}

// nextGathered gives some rows of the first sum of deltas that was not given.
func (p *part) nextGathered(most int, to *Piece) {
	g := &p.gathered[0]
	rows := max(len(g.Rows), len(g.Keys))
	width := len(g.Values) / max(rows, 1)
	to.Kept, to.Gathered, to.Clock, to.Of = false, true, g.Clock, g.Of
	to.Count = min(max(1, most/max(width, 1)), rows-p.given)
	end := p.given + to.Count
	if p.table.Keyed() {
		to.Rows, to.Keys = nil, append(to.Keys, g.Keys[p.given:end]...)
	} else {
		to.Rows, to.Keys = append(to.Rows, g.Rows[p.given:end]...), nil
	}
	to.Values = append(to.Values, g.Values[p.given*width:end*width]...)
	if p.given = end; p.given == rows {
		p.gathered, p.given = p.gathered[1:], 0
	}
	p.over = len(p.gathered) == 0
	to.Last = p.over
}

// Builder makes of pieces the images of a partition that they are of.
type Builder struct {
	width      int
	slots      []int
	sparse     bool
	live, kept rowstore.Image
	state      int // what comes next
	rows       int // of the image that is being made
}

// The states of a Builder.
const (
	building = iota
	buildingKept
	built
	builtKept
)

// NewBuilder begins a partition of a table.
func NewBuilder(s *table.Schema) (*Builder, error) {
	r, err := rule.For(s)
	if err != nil {
		return nil, err
	}
	b := &Builder{width: s.Width, slots: r.Slots(), sparse: s.Sparse}
	return b, nil
}

// addGathered takes deltas of an open clock.
func (b *Builder) addGathered(p *Piece) error {
	list := b.live.Gathered
	if p.First == 0 {
		list = append(list, rowstore.Gathered{Clock: p.Clock, Of: p.Of})
	}
	last := len(list) - 1
	named := max(len(p.Rows), len(p.Keys))
	switch {
	case b.state >= built || last < 0 || list[last].Clock != p.Clock || list[last].Of != p.Of ||
		p.First != max(len(list[last].Rows), len(list[last].Keys)):
		return fmt.Errorf("deltas of clock %d, from row %d on, follow other ones", p.Clock, p.First)
	case p.Count < 1 || named != p.Count || (p.Keys != nil) != b.sparse || len(p.Values) != p.Count*b.width:
		return fmt.Errorf("%d rows, %d keys and %d values of %d rows of deltas", len(p.Rows), len(p.Keys),
			len(p.Values), p.Count)
	}
	g := &list[last]
	g.Rows, g.Keys = append(g.Rows, p.Rows...), append(g.Keys, p.Keys...)
	g.Values = append(g.Values, p.Values...)
	if b.live.Gathered = list; p.Last {
		b.state += built
	}
	return nil
}

// Add takes the next piece. It refuses one that does not follow, or does not have what it says.
func (b *Builder) Add(p *Piece) error {
	if p.Gathered {
		return b.addGathered(p)
	}
	if p.Kept && b.state == building {
		b.state, b.rows = buildingKept, 0
	}
	im, beside := &b.live, b.width
	if p.Kept {
		im = &b.kept
	}
	for _, w := range b.slots {
		beside += w
	}
	bare := p.Kept && p.Count > 0 && len(p.Values) == p.Count*b.width // one that was loaded may be without slots
	switch {
	case b.state >= built, len(b.live.Gathered) > 0, p.Kept != (b.state == buildingKept), p.First != b.rows,
		p.Count < 0:
		return fmt.Errorf("rows from %d on, kept %v, behind %d", p.First, p.Kept, b.rows)
	case b.sparse && len(p.Keys) != p.Count, !b.sparse && p.Keys != nil:
		return fmt.Errorf("%d keys of %d rows", len(p.Keys), p.Count)
	case !bare && len(p.Values) != p.Count*beside:
		return fmt.Errorf("%d values of %d rows of %d", len(p.Values), p.Count, beside)
	}
	if b.sparse && im.Keys == nil {
		im.Keys = []bellows.Key{}
	}
	im.Keys = append(im.Keys, p.Keys...)
	im.Values = append(im.Values, p.Values[:p.Count*b.width]...)
	if rest := p.Values[p.Count*b.width:]; !bare || len(b.slots) == 0 {
		if im.Slots == nil {
			im.Slots = make([][]float32, len(b.slots))
		}
		for i, w := range b.slots {
			im.Slots[i] = append(im.Slots[i], rest[:p.Count*w]...)
			rest = rest[p.Count*w:]
		}
	}
	b.rows += p.Count
	if p.Last {
		b.state += built
	}
	return nil
}

// Images returns what was built: the table, and the image that was kept, or nil.
func (b *Builder) Images() (live rowstore.Image, kept *rowstore.Image, err error) {
	switch b.state {
	case built:
		return b.live, nil, nil
	case builtKept:
		return b.live, &b.kept, nil
	}
	return live, nil, fmt.Errorf("pieces end behind %d rows, and there are more", b.rows)
}
