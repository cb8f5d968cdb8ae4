// Package gate decides what may be seen when: it follows the clocks of all splits through the
// commits, and admits reads (BSP, SSP, async; Bösen §2.2 and Litz §4).
//
// Feed every record to Progress in the order of commit numbers; ask Admits before a read is served. Give the flush of each to Counted,
// which knows it when it comes again.
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

// Progress is how far every split has come, by committed units. A split's clock is complete when its
// committed units cover the clock's items exactly once; only then its next clock may begin.
type Progress struct {
	items    Items
	splits   []split
	complete bellows.Clock // every split has completed the clocks up to this
	atFloor  int           // splits that have completed no more than that
}

type split struct {
	complete bellows.Clock
	covered  []bellows.Range // units committed of the clock after it
	items    int             // how many items they cover
}

// NewProgress starts before the first clock.
func NewProgress(splits int, items Items) *Progress {
	p := &Progress{items: items, splits: make([]split, splits), complete: bellows.NoClock, atFloor: splits}
	for i := range p.splits {
		p.splits[i].complete = bellows.NoClock
	}
	return p
}

// Complete is the last clock that every split has completed.
func (p *Progress) Complete() bellows.Clock { return p.complete }

// Split is the last clock that one split has completed.
func (p *Progress) Split(s bellows.SplitID) bellows.Clock { return p.splits[s].complete }

// Check refuses a unit that is out of its split's order or overlaps what is committed.
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
	if s.items < p.items(u.Split, u.Clock).Len() {
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
// complete may answer a read.
func Admits(n wire.Need, applied bellows.CommitNumber, complete bellows.Clock) bool {
	if planted.On("staleness-plus-one") {
		n.Clock--
	}
	if planted.On("version-ignored") {
		n.Commit = 0
	}
	return applied >= n.Commit && complete >= n.Clock
}

// Restore takes the clocks of a saved run: the last one that each split had completed.
func (p *Progress) Restore(complete []bellows.Clock) error {
	if len(complete) != len(p.splits) {
		return fmt.Errorf("the saved run has %d splits, this one %d", len(complete), len(p.splits))
	}
	for i, c := range complete {
		p.splits[i].complete = c
	}
	p.atFloor = 0
	p.raiseFloor()
	return nil
}
