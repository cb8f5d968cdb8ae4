// Package visits collects which items each committed unit visited, and proves that a job visited each item as often as
// it states. It keeps what counted in a compact form, the statement of the job about its clocks, and the proof of one
// by the other.
//
// Its callers' duties, in order:
//
//  1. State, once for a job: what its clocks are for, as its Items say.
//  2. Gatherer.Add each unit with the number of its flush, when that has got it: from then on it counts. Take a Batch now and then,
//     and write it down.
//  3. A reader of statement and batches makes a Proof, gives it the batches in order, reports where the
//     job stopped and resumed, and asks for the Account at the end.
//
// The two sides share no decision. A Gatherer notes what it receives, whether that makes sense or not, and only a
// Proof judges. The package knows no file and no text format.
package visits

import (
	"slices"

	"bellows"
)

// Visit is a unit that counts from its commit on.
type Visit struct {
	Commit bellows.CommitNumber
	bellows.Unit
}

// Passage is a run of units of a split: their clocks without a gap from First to Last, and their items, each
// beginning where the previous one ended. A clock that visits nothing adds itself and no item; a passage that begins
// with one has no items.
type Passage struct {
	Split       bellows.SplitID
	First, Last bellows.Clock
	Items       bellows.Range
}

// add makes a unit the last of the passage, and reports whether it follows.
func (s *Passage) add(u bellows.Unit) bool {
	if u.Split != s.Split || u.Clock != s.Last && u.Clock != s.Last+1 {
		return false
	}
	switch {
	case u.Items.Len() == 0 && u.Clock == s.Last: // nothing visited once more, which the proof must see
		return false
	case u.Items.Len() == 0:
	case s.Items.Len() == 0 || u.Items.Begin != s.Items.End:
		return false
	default:
		s.Items.End = u.Items.End
	}
	s.Last = u.Clock
	return true
}

// passageOf returns the passage of one unit.
func passageOf(u bellows.Unit) Passage { return Passage{u.Split, u.Clock, u.Clock, u.Items} }

// Batch is what counted by consecutive records.
type Batch struct {
	First, Last bellows.CommitNumber // records; what else has a number among them visits nothing
	List        []Passage            // of each split in the order of their numbers
	Stop        bool                 // the job may resume after it
}

// Items returns how many items a list of passages visits.
func Items(list []Passage) (n int64) {
	for i := range list {
		n += int64(list[i].Items.Len())
	}
	return n
}

// Splits returns the number of different splits in a list of passages.
func Splits(list []Passage) int {
	seen := make([]bellows.SplitID, len(list))
	for i := range list {
		seen[i] = list[i].Split
	}
	slices.Sort(seen)
	return len(slices.Compact(seen))
}

// Gatherer combines units into batches. Its memory is as large as a batch.
//
// Invariant: a unit is in one passage, once, and those of a split are in the order of their Adds, so that a batch says no less than
// the units (TestABatchIsItsUnits).
type Gatherer struct {
	first, last bellows.CommitNumber // of the batch; first is the one after the previous batch
	list        []Passage
	open        []int // by split: 1 + the place of its last passage in list; 0: it has none
}

// NewGatherer returns a Gatherer for a job of so many splits, of which nothing counts yet.
func NewGatherer(splits int) *Gatherer { return &Gatherer{first: 1, open: make([]int, splits)} }

// StartAfter makes the next batch begin after a record that earlier batches include. It is called before the first
// Add.
func (g *Gatherer) StartAfter(told bellows.CommitNumber) { g.first = told + 1 }

// Add notes a unit. Numbers do not fall. It allocates nothing but the memory of the batch.
func (g *Gatherer) Add(v Visit) {
	g.last = v.Commit
	at := &g.open[v.Split]
	if *at > 0 && g.list[*at-1].add(v.Unit) {
		return
	}
	g.list = append(g.list, passageOf(v.Unit))
	*at = len(g.list)
}

// Len returns how many passages wait for Take.
func (g *Gatherer) Len() int { return len(g.list) }

// Take returns what was added since the last time; false: nothing was.
func (g *Gatherer) Take() (Batch, bool) {
	if len(g.list) == 0 {
		return Batch{}, false
	}
	b := Batch{First: g.first, Last: g.last, List: g.list}
	for i := range g.list {
		g.open[g.list[i].Split] = 0
	}
	g.first, g.list = g.last+1, nil
	return b, true
}
