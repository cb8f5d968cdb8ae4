// Package gate counts the complete clocks of all splits, and decides by a table's staleness whether a read may be
// answered. Reads are admitted under BSP, SSP and async (Bösen §2.2, Litz §4). Credits bounds how much unread data a
// client is sent.
//
// Lanes and the controller each have a Progress and feed it every record, in the order of commit numbers, so that all
// come to the same clocks without messages about them. Its callers' duties, in order: Check and then Commit each unit
// of a flush, one after the other (a refused unit ends the job, so that nothing is ever undone); then look at
// Complete; ask Admits before a read is served, with the state that would answer it. Counted is independent of that:
// it knows a flush that comes again.
//
// The staleness of a table is not here: what a read needs of it is a pure function of schema and
// clock (table.Consistency.Needs), computed by the client that asks. So a lane compares two
// numbers.
//
// The package knows nothing of rows, messages or nodes.
package gate

import (
	"fmt"

	"bellows"
	"bellows/core/planted"
	"bellows/link/wire"
)

// Items are the items of a split in a clock, fixed for a job.
type Items func(split bellows.SplitID, clock bellows.Clock) bellows.Range

// Progress is how far every split has come, by committed units. A split's clock is complete when
// its committed units cover the clock's items exactly once; only then its next clock may begin.
//
// Invariants:
//   - Of a clock, an item is committed at most once, and all are before it is complete
//     (TestClockCompletesWhenItemsAreCoveredOnce, P1 of the simulation; planted:
//     overlap-accepted).
//   - A clock without items needs one empty unit (TestClockWithoutItemsNeedsEmptyUnit): someone
//     has to say that it is over. One with items is not completed by that
//     (TestClockWithItemsRefusesEmptyUnit).
//   - Complete never falls, but by Restore, and is the least clock of all splits
//     (TestCompleteIsTheSlowestSplit compares it with that).
//
// The splits that stand at the least clock are counted, so that a commit costs the same for any
// number of splits; all are looked at once per clock, when the last of them leaves it.
type Progress struct {
	items    Items
	splits   []split
	complete bellows.Clock // every split has completed the clocks up to this
	atFloor  int           // splits that have completed no more than that
}

type split struct {
	complete bellows.Clock
	covered  []bellows.Range // units committed of the clock after it: they do not overlap
	items    int             // how many items they cover
}

// NewProgress starts before the first clock. It calls items for clocks in any order, repeatedly, and needs the same
// result each time.
func NewProgress(splits int, items Items) *Progress {
	p := &Progress{items: items, splits: make([]split, splits), complete: bellows.NoClock, atFloor: splits}
	for i := range p.splits {
		p.splits[i].complete = bellows.NoClock
	}
	return p
}

// Complete returns the last clock that every split has completed.
func (p *Progress) Complete() bellows.Clock { return p.complete }

// Split returns the last clock that one split has completed.
func (p *Progress) Split(s bellows.SplitID) bellows.Clock { return p.splits[s].complete }

// Check refuses a unit that is out of its split's order or overlaps what is committed. It changes
// nothing.
func (p *Progress) Check(u bellows.Unit) error {
	if int(u.Split) >= len(p.splits) {
		return fmt.Errorf("%v: the job has %d splits", u, len(p.splits))
	}
	s := &p.splits[u.Split]
	if planted.On("overlap-accepted") {
		return nil
	}
	if u.Clock != s.complete+1 {
		return fmt.Errorf("%v: the split is at clock %d", u, s.complete+1)
	}
	all := p.items(u.Split, u.Clock)
	if u.Items.Begin < all.Begin || u.Items.End > all.End || u.Items.Len() < 0 || (u.Items.Len() == 0 && all.Len() > 0) {
		return fmt.Errorf("%v: the clock's items are %v", u, all)
	}
	for _, r := range s.covered {
		if r.Overlaps(u.Items) {
			return fmt.Errorf("%v: items %v are committed already", u, r)
		}
	}
	return nil
}

// Commit counts a unit that Check has passed.
func (p *Progress) Commit(u bellows.Unit) {
	s := &p.splits[u.Split]
	if planted.On("overlap-accepted") && u.Clock <= s.complete {
		return
	}
	s.covered = append(s.covered, u.Items)
	s.items += u.Items.Len()
	if s.items < p.items(u.Split, u.Clock).Len() && !planted.On("clock-over-with-first-unit") {
		return
	}
	s.complete, s.covered, s.items = u.Clock, s.covered[:0], 0
	if u.Clock-1 == p.complete {
		p.atFloor--
		if p.atFloor == 0 {
			p.raiseFloor()
		}
	}
}

// raiseFloor finds the least clock of all splits, and counts those that stand there.
func (p *Progress) raiseFloor() {
	p.complete = p.splits[0].complete
	for i := range p.splits {
		p.complete = min(p.complete, p.splits[i].complete)
	}
	for i := range p.splits {
		if p.splits[i].complete == p.complete {
			p.atFloor++
		}
	}
}

// Admits reports whether a state that contains the commits up to applied and the clocks up to
// complete may answer a read: at a lane the partition's, at a client that of what is cached.
func Admits(n wire.Need, applied bellows.CommitNumber, complete bellows.Clock) bool {
	if planted.On("staleness-plus-one") {
		n.Clock--
	}
	if planted.On("version-ignored") {
		n.Commit = 0
	}
	return applied >= n.Commit && complete >= n.Clock
}

// Open returns the committed units of clocks that are not complete, those of a split in the order of their commits.
func (p *Progress) Open() (list []bellows.Unit) {
	for i := range p.splits {
		for _, r := range p.splits[i].covered {
			list = append(list, bellows.Unit{Split: bellows.SplitID(i), Clock: p.splits[i].complete + 1, Items: r})
		}
	}
	return list
}

// Restore takes the clocks of a saved run, or of one that another joins late: the last one that
// each split had completed, and the units that count of the next (Open).
func (p *Progress) Restore(complete []bellows.Clock, open []bellows.Unit) error {
	if len(complete) != len(p.splits) {
		return fmt.Errorf("the saved run has %d splits, this one %d", len(complete), len(p.splits))
	}
	for i, c := range complete {
		p.splits[i] = split{complete: c}
	}
	p.atFloor = 0
	p.raiseFloor()
	for _, u := range open {
		if err := p.Check(u); err != nil {
			return err
		}
		p.Commit(u)
	}
	return nil
}
