// Package cutting takes checkpoints of a simulated job in place of its shells, at any moment, and compares them with
// the model. It begins cuts (package checkpoint), takes the pieces of partitions one after the other in memory, and
// keeps the images that they make. It compares each partition with the model at the cut's record as soon as it is
// complete.
//
// Tell Shells of the time (Tick), of the news of lanes (Hear) and of the controller's (Done). It refuses to look at
// anything that an archive would not be given.
package cutting

import (
	"math/rand/v2"
	"slices"

	"bellows"
	"bellows/core/checkpoint"
	"bellows/core/coord"
	"bellows/core/route"
	"bellows/core/rowstore"
	"bellows/link/wire"
	"bellows/table"
)

// World is what the shells of a life are in.
type World struct {
	Rng    *rand.Rand
	Route  *route.Route // that the life began with
	Tables []table.Schema
	After  func(millis int64, n bellows.NodeID, do func()) // at a node
	Say    func(to wire.Address, m wire.Message)           // to a lane of its own node
	Check  func(at wire.Address, ref bellows.PartitionRef, live, kept *rowstore.Image, n bellows.CommitNumber)
	Driver func() any   // a copy of the driver, to be kept with a cut
	Kept   func(c *Cut) // the controller may learn that a cut is kept
	Wrong  func(format string, args ...any)
	Hit    func(event string)
}

// Shells are those of all nodes in one life of a job.
type Shells struct {
	World
	Chance int  // of a tick to begin a cut, in hundredths; 0: never
	Loss   bool // all nodes are lost when there is a cut
	cuts   []*Cut
	Last   *Cut // the newest that was kept; nil: none
}

// Cut is a cut as it is kept.
type Cut struct {
	coord.Saved
	commit     bellows.CommitNumber
	live, kept []*rowstore.Image // by route.Number
	whole      bool
	Driver     any // what the caller keeps with it
}

// Tick reports whether a cut is to begin now.
func (s *Shells) Tick() bool { return s.Chance > 0 && s.Rng.IntN(100) < s.Chance }

// numbered returns a cut by its number, and makes it if it is new.
func (s *Shells) numbered(n bellows.CommitNumber) *Cut {
	if i := slices.IndexFunc(s.cuts, func(c *Cut) bool { return c.commit == n }); i >= 0 {
		return s.cuts[i]
	}
	c := &Cut{commit: n, live: make([]*rowstore.Image, s.Route.Partitions()), kept: make([]*rowstore.Image, s.Route.Partitions())}
	s.cuts = append(s.cuts, c)
	return c
}

// Posted keeps the driver with every cut that is recorded, as it is when the record first leaves.
func (s *Shells) Posted(e wire.Envelope) {
	m, ok := e.Message.(*wire.Records)
	if !ok {
		return
	}
	for i := range m.List {
		if m.List[i].Control.Kind == bellows.CutTables {
			if c := s.numbered(m.List[i].Number); c.Driver == nil {
				c.Driver = s.Driver()
			}
		}
	}
}

// Gives is what the shell of a lane needs of it.
type Gives interface {
	CutNews() []checkpoint.News
	CutPiece(commit bellows.CommitNumber, ref bellows.PartitionRef, to *checkpoint.Piece) error
}

// Hear takes a lane's news, after a step.
func (s *Shells) Hear(l Gives, a wire.Address) {
	for _, n := range l.CutNews() {
		switch {
		case n.Over:
		case n.Unchanged > 0:
			s.Hit("partition-unchanged")
			from, to, at := s.numbered(n.Unchanged), s.numbered(n.Commit), s.Route.Number(n.Ref)
			if !from.whole {
				s.Wrong("P6: %v says that %v is as it was at cut %d, which is not whole", a, n.Ref, n.Unchanged)
				return
			}
			to.live[at], to.kept[at] = from.live[at], from.kept[at]
			s.Check(a, n.Ref, to.live[at], to.kept[at], n.Commit)
		default:
			b, err := checkpoint.NewBuilder(&s.Tables[n.Ref.Table])
			if err != nil {
				s.Wrong("%v", err)
				return
			}
			s.take(l, a, n, b, &checkpoint.Piece{})
		}
	}
}

// take asks for the next piece of a partition, sometime. Now and then a disk is full, or stands.
func (s *Shells) take(l Gives, a wire.Address, n checkpoint.News, b *checkpoint.Builder, p *checkpoint.Piece) {
	s.After(s.Rng.Int64N(12), a.Node, func() {
		switch err := l.CutPiece(n.Commit, n.Ref, p); {
		case err != nil:
			return // it is over
		case s.Rng.IntN(4000) == 0:
			s.Say(a, &checkpoint.Failed{Commit: n.Commit, Reason: "no space left on device"})
			return
		case s.Rng.IntN(8000) == 0:
			return
		}
		if err := b.Add(p); err != nil {
			s.Wrong("P6: a piece of %v at cut %d: %v", n.Ref, n.Commit, err)
			return
		}
		if !p.Last {
			s.take(l, a, n, b, p)
			return
		}
		live, kept, err := b.Images()
		if err != nil {
			s.Wrong("P6: %v at cut %d: %v", n.Ref, n.Commit, err)
			return
		}
		s.Check(a, n.Ref, &live, kept, n.Commit)
		c, at := s.numbered(n.Commit), s.Route.Number(n.Ref)
		c.live[at], c.kept[at] = &live, kept
		s.After(s.Rng.Int64N(20), a.Node, func() {
			s.Say(a, &checkpoint.Stored{Commit: n.Commit, Ref: n.Ref, Name: n.Ref.String(), Bytes: 1, Sum: 2})
		})
	})
}

// Done takes a cut that is stored, or was given up.
func (s *Shells) Done(d *coord.CutDone) {
	if d.Reason != "" {
		s.Hit("cut-given-up")
		return
	}
	c := s.numbered(d.Saved.Commit)
	c.Saved = d.Saved
	if slices.Contains(c.live, nil) {
		s.Wrong("P6: cut %d is said to be stored, and partition %d is not", c.commit, slices.Index(c.live, nil))
		return
	}
	for i := range d.Shards {
		if u := d.Shards[i].Unchanged; u > 0 && !s.numbered(u).whole {
			s.Wrong("P6: cut %d has a partition of cut %d, which is not whole", c.commit, u)
		}
	}
	if n := len(c.kept) - count(c.kept, nil); n > 0 && n < len(c.kept) {
		s.Wrong("keep: cut %d has %d of %d images that were kept", c.commit, n, len(c.kept))
	}
	s.After(s.Rng.Int64N(60), 0, func() {
		c.whole = true
		s.Last = c
		s.Hit("cut-kept")
		if slices.ContainsFunc(c.Complete, func(clock bellows.Clock) bool { return clock != c.Complete[0] }) {
			s.Hit("cut-between-clocks")
		}
		s.hitHalves(c)
		s.Kept(c)
	})
}

// hitHalves counts cuts in the middle of clocks: those with open units, and those with deltas that wait for their clock.
func (s *Shells) hitHalves(c *Cut) {
	if len(c.Open) > 0 {
		s.Hit("cut-with-open-units")
	}
	if slices.ContainsFunc(c.live, func(im *rowstore.Image) bool { return len(im.Gathered) > 0 }) {
		s.Hit("cut-with-gathered-deltas")
	}
}

func count(list []*rowstore.Image, x *rowstore.Image) (n int) {
	for _, i := range list {
		if i == x {
			n++
		}
	}
	return n
}

// Lost returns the cut from which a job continues after it has lost all nodes.
func (s *Shells) Lost() *Cut {
	s.Hit("all-lost")
	return s.Last
}

// Image returns all partitions of a cut.
func (c *Cut) Image(r *route.Route) *Image {
	var im Image
	for ref := range r.Each() {
		for len(im.Live) <= int(ref.Table) {
			im.Live, im.Kept = append(im.Live, nil), append(im.Kept, nil)
		}
		at := r.Number(ref)
		im.Live[ref.Table] = append(im.Live[ref.Table], *c.live[at])
		if c.kept[at] != nil {
			im.Kept[ref.Table] = append(im.Kept[ref.Table], *c.kept[at])
		}
	}
	if c.kept[0] == nil {
		im.Kept = nil
	}
	return &im
}
