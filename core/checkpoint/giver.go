package checkpoint

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/core/planted"
	"bellows/core/rowstore"
	"bellows/link/wire"
)

// A Giver is a lane's part of a cut, one at a time.
//
// It is idle, armed, or gives one away (commit). Messages about another cut are ignored: it is over.
type Giver struct {
	Most int // bytes that copies may take

	term    bellows.Term
	attempt uint64 // for which it was armed
	armed   bool   // and the record has not come
	unsaid  bool   // that it is armed
	commit  bellows.CommitNumber
	whole   bellows.CommitNumber // the last cut that is safe
	parts   []*part              // that are not stored
	copies  []*Mark              // have a copy, made since the cut was armed
	failed  string               // why it is given up; empty: it is not
	news    []News
	said    []*wire.Shard // that have not left
}

// Mark is what a cut knows of a partition. The zero value is of one that is in no cut.
type Mark struct {
	part   *part
	before *rowstore.Store      // as it was when the current exclusive lease was given, since a cut was armed
	same   bellows.CommitNumber // the first cut since the last write; 0: written since, or no cut
}

// part is a partition that is given away.
type part struct {
	ref   bellows.PartitionRef
	mark  *Mark
	image *rowstore.Snapshot
	kept  *rowstore.Image // that the driver kept; nil: none, or all of it was given
	table *rowstore.Store
	// gathered are copies of the deltas that wait for their clock, less those that were given.
	gathered []rowstore.Gathered
	given    int  // rows of the image, or of the one that was kept, or of the first of gathered
	live     bool // all of the image was given
	images   bool // all of both images was
	over     bool // all was
}

// News is what a lane's shell is to know of a cut.
type News struct {
	Commit    bellows.CommitNumber // the cut
	Ref       bellows.PartitionRef // is to be stored; if Over, none is
	Unchanged bellows.CommitNumber // above 0: it is as it was in that whole cut, and need not be stored again
	Over      bool                 // nothing of the cut is wanted any more
	Whole     bool                 // since it is safe
}

// Stored is the shell's report to a lane that a partition of a cut is safe.
type Stored struct {
	wire.Local
	Commit bellows.CommitNumber
	Ref    bellows.PartitionRef
	Name   string
	Bytes  uint64
	Sum    uint64
}

// Failed is the shell's report to a lane that a cut cannot be stored.
type Failed struct {
	wire.Local
	Commit bellows.CommitNumber
	Reason string
}

// Take takes the controller's word: a cut is to come, or is over.
func (g *Giver) Take(m *wire.Cut) {
	switch {
	case m.Commit > 0 && m.Commit != g.commit: // of one that this lane has given up, or never had
		if m.Whole && m.Commit > g.whole {
			g.whole = m.Commit
		}
		return
	case m.Commit > 0:
		if m.Whole {
			g.whole = m.Commit
		}
		g.End(m.Whole)
		return
	}
	g.End(false)
	if m.Attempt > 0 {
		g.term, g.attempt, g.armed, g.unsaid = m.Term, m.Attempt, true, true
	}
}

// Follow gives up the cut of a controller that is no more.
func (g *Giver) Follow() {
	if !planted.On("cut-of-another") {
		g.End(false)
	}
}

// End frees what the cut has.
func (g *Giver) End(whole bool) {
	if g.commit > 0 {
		g.news = append(g.news, News{Commit: g.commit, Over: true, Whole: whole})
	}
	for _, p := range g.parts {
		p.mark.part = nil
	}
	for _, m := range g.copies {
		m.before = nil
	}
	g.commit, g.parts, g.copies, g.armed, g.unsaid, g.failed, g.said = 0, nil, nil, false, false, "", nil
}

// Fail gives the cut up, for which the lane is armed or that it gives away.
func (g *Giver) Fail(reason string) {
	if (g.armed || g.commit > 0) && g.failed == "" {
		g.failed = reason
	}
}

// Cut begins a cut at a record. If the lane was not armed for it, it is ignored.
func (g *Giver) Cut(commit bellows.CommitNumber) {
	if g.armed {
		g.commit, g.armed, g.unsaid = commit, false, false
	}
}

// RecordNumber returns the record of the cut that the lane gives away; 0: none.
func (g *Giver) RecordNumber() bellows.CommitNumber { return g.commit }

// Begin starts to give a partition away: its table in the state of the cut's record, the image that the driver has kept
// (if kept), and the deltas that are gathered for open clocks, which the giver owns from then on. If still, nothing
// writes to the table. Another cut does not refer to a partition with such deltas as unchanged.
func (g *Giver) Begin(ref bellows.PartitionRef, m *Mark, t *rowstore.Store, still, kept bool, image *rowstore.Image,
	gathered []rowstore.Gathered,
) {
	if g.commit == 0 {
		return
	}
	if len(gathered) > 0 {
		m.same = 0
	}
	if !still && m.same > 0 && (m.same <= g.whole || planted.On("cut-unchanged-unwhole")) {
		g.news = append(g.news, News{Commit: g.commit, Ref: ref, Unchanged: g.whole})
		g.said = append(g.said, &wire.Shard{Commit: g.commit, Ref: ref, Unchanged: g.whole})
		return
	}
	p := &part{ref: ref, mark: m, image: t.Snapshot(), table: t, gathered: gathered}
	if kept {
		was := *image // its lists are not written while they are given away (Mark.Keep)
		p.kept = &was
	}
	if still {
		p.image.Still()
	}
	if m.same == 0 && !still && len(gathered) == 0 {
		m.same = g.commit
	}
	m.part, m.before = p, nil
	g.parts = append(g.parts, p)
	g.news = append(g.news, News{Commit: g.commit, Ref: ref})
}

// Write notes that rows are about to be written: as Apply names them, nil: all.
func (m *Mark) Write(rows []uint32) {
	if !planted.On("cut-change-unseen") {
		m.same = 0
	}
	if m.part != nil && !planted.On("cut-not-copied") {
		m.part.image.Touch(rows)
	}
}

// InPlace records that an exclusive lease is about to be given to a holder that works on the table itself. A cut for
// which the lane is armed may need the table as it was before.
func (g *Giver) InPlace(m *Mark, t *rowstore.Store) {
	m.Write(nil)
	if m.before = nil; !g.armed {
		return
	}
	if m.before = t.Clone(); !slices.Contains(g.copies, m) {
		g.copies = append(g.copies, m)
	}
}

// Before returns the table as it was when the current lease was given; nil: the lane was not armed then.
func (m *Mark) Before() *rowstore.Store { return m.before }

// Keep notes that the image that was kept is about to be replaced: while it is given away, its memory is not used again.
func (m *Mark) Keep(image *rowstore.Image) {
	m.Write([]uint32{})
	if m.part != nil && !planted.On("cut-kept-late") {
		*image = rowstore.Image{}
	}
}

// Ended notes that the exclusive lease has ended.
func (m *Mark) Ended() { m.before = nil }

// Memory returns how many bytes copies take.
func (g *Giver) Memory() (n int) {
	for _, p := range g.parts {
		n += p.image.Memory()
		if p.image.IsStill() {
			n += 4 * len(p.table.Values())
		}
		for i := range p.gathered {
			n += 4*len(p.gathered[i].Values) + 4*len(p.gathered[i].Rows) + 8*len(p.gathered[i].Keys)
		}
	}
	for _, m := range g.copies {
		if m.before != nil {
			n += 4 * m.before.Numbers() * m.before.RowValues()
		}
	}
	return n
}

// Say returns the messages to the controller. ready: no exclusive lease on a table of this node is out that was given
// before the lane was armed.
func (g *Giver) Say(ready func() bool) (list []*wire.Shard) {
	if g.Most > 0 && g.failed == "" && (g.commit > 0 || g.armed) {
		if n := g.Memory(); n > g.Most {
			g.Fail(fmt.Sprintf("what has changed since takes %d MiB, more than the %d MiB that copies may take", n>>20, g.Most>>20))
		}
	}
	if g.failed != "" {
		m := &wire.Shard{Term: g.term, Attempt: g.attempt, Commit: g.commit, Reason: g.failed}
		g.End(false)
		return append(list, m)
	}
	if g.unsaid && (ready() || planted.On("cut-old-lease")) {
		g.unsaid = false
		list = append(list, &wire.Shard{Term: g.term, Attempt: g.attempt})
	}
	for _, m := range g.said {
		m.Term, m.Attempt = g.term, g.attempt
		list = append(list, m)
	}
	g.said = nil
	return list
}

// Stored takes the report that a partition is safe, and forgets it.
func (g *Giver) Stored(m *Stored) {
	for i, p := range g.parts {
		if m.Commit == g.commit && p.ref == m.Ref {
			p.mark.part = nil
			g.parts = append(g.parts[:i], g.parts[i+1:]...)
			g.said = append(g.said, &wire.Shard{Commit: m.Commit, Ref: m.Ref, Name: m.Name, Bytes: m.Bytes, Sum: m.Sum})
			return
		}
	}
}

// News returns the events since the last call.
func (g *Giver) News() []News {
	list := g.news
	g.news = nil
	return list
}
