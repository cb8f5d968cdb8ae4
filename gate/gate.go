// Package gate decides what may be seen when: it follows the clocks of all splits through the
// commits, and admits reads (BSP, SSP, async; Bösen §2.2 and Litz §4).
//
// Feed every record to Progress in the order of commit numbers; ask Admits before a read is served. Give the flush of each to Counted,
// which knows it when it comes again.
// The package knows nothing of rows, messages or nodes.
package gate

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/planted"
	"bellows/wire"
)

// Items are the items of a split in a clock, fixed for a job.
type Items func(split bellows.SplitID, clock bellows.Clock) bellows.Range

// Progress is how far every split has come, by committed units. A split's clock is complete with the one unit that has all of its items; only then
// its next clock may begin.
type Progress struct {
	items    Items
	splits   []bellows.Clock // the last that each has completed
	complete bellows.Clock   // every split has completed the clocks up to this
	atFloor  int             // splits that have completed no more than that
}

// NewProgress starts before the first clock.
func NewProgress(splits int, items Items) *Progress {
	p := &Progress{items: items, splits: make([]bellows.Clock, splits), complete: bellows.NoClock, atFloor: splits}
	for i := range p.splits {
		p.splits[i] = bellows.NoClock
	}
	return p
}

// Complete is the last clock that every split has completed.
func (p *Progress) Complete() bellows.Clock { return p.complete }

// Split is the last clock that one split has completed.
func (p *Progress) Split(s bellows.SplitID) bellows.Clock { return p.splits[s] }

// Check refuses a unit that is out of its split's order, or has other items than its clock: a task is all of a clock.
func (p *Progress) Check(u bellows.Unit) error {
	if int(u.Split) >= len(p.splits) {
		return fmt.Errorf("%v: the job has %d splits", u, len(p.splits))
	}
	if planted.On("overlap-accepted") {
		return nil
	}
	if next := p.splits[u.Split] + 1; u.Clock != next {
		return fmt.Errorf("%v: the split is at clock %d", u, next)
	}
	if all := p.items(u.Split, u.Clock); u.Items != all {
		return fmt.Errorf("%v: the clock's items are %v", u, all)
	}
	return nil
}

// Commit counts a unit that Check has passed.
func (p *Progress) Commit(u bellows.Unit) {
	if planted.On("overlap-accepted") && u.Clock <= p.splits[u.Split] {
		return
	}
	p.splits[u.Split] = u.Clock
	if u.Clock-1 == p.complete {
		p.atFloor--
		if p.atFloor == 0 {
			p.raiseFloor()
		}
	}
}

func (p *Progress) raiseFloor() {
	p.complete = slices.Min(p.splits)
	for _, c := range p.splits {
		if c == p.complete {
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
	copy(p.splits, complete)
	p.atFloor = 0
	p.raiseFloor()
	return nil
}
