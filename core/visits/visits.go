// Package visits is what proves that a job has visited each item as often as it says: what counted, told in few words, what the
// job says of its clocks, and the proof of one by the other.
//
// Its callers' duties, in order:
//
//  1. State, once for a job: what its clocks are for, as its Items say.
//  2. Gatherer.Add each unit with the number of its flush, when that has got it: from then on it counts. Take a Batch now and then,
//     and write it down.
//  3. Whoever has statement and batches makes a Proof, gives it the batches in order, tells it where the job stopped and went on, and
//     asks at the end what it came to.
//
// The two sides share no decision: a Gatherer puts down what it is told, whether that makes sense or not, and only a Proof
// judges. The package knows no file and no text format.
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

// Passage is units of a split that follow each other: their clocks without a gap from First to Last, and their items, each beginning
// where the one before ended. A clock that visits nothing adds itself and no item; a passage that begins with one has no items.
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
	case u.Items.Len() == 0 && u.Clock == s.Last: // nothing can be visited once more, and is to be seen
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

// of is the passage of one unit.
func of(u bellows.Unit) Passage { return Passage{u.Split, u.Clock, u.Clock, u.Items} }

// Batch is what counted by records that follow each other.
type Batch struct {
	First, Last bellows.CommitNumber // records; what else has a number among them visits nothing
	List        []Passage            // of each split in the order of their numbers
	Stop        bool                 // the job may go on from behind it
}

// Items is how many items a list of passagees visits.
func Items(list []Passage) (n int64) {
	for i := range list {
		n += int64(list[i].Items.Len())
	}
	return n
}

// Splits is how many splits a list of passagees is of.
func Splits(list []Passage) int {
	seen := make([]bellows.SplitID, len(list))
	for i := range list {
		seen[i] = list[i].Split
	}
	slices.Sort(seen)
	return len(slices.Compact(seen))
}

// Gatherer puts units together to batches. Its memory is as large as a batch.
//
// Invariant: a unit is in one passage, once, and those of a split are in the order of their Adds, so that a batch says no less than
// the units (TestABatchIsItsUnits).
type Gatherer struct {
	first, last bellows.CommitNumber // of the batch; first is that behind the batch before
	list        []Passage
	open        []int // by split: 1 + the place of its last passage in list; 0: it has none
}

// NewGatherer makes one for a job of so many splits, of which nothing counts yet.
func NewGatherer(splits int) *Gatherer { return &Gatherer{first: 1, open: make([]int, splits)} }

// Behind has the next batch begin behind a record, up to which others have told. It is called before the first Add.
func (g *Gatherer) Behind(told bellows.CommitNumber) { g.first = told + 1 }

// Add puts down a unit. Numbers do not fall. It allocates nothing but the memory of the batch.
func (g *Gatherer) Add(v Visit) {
	g.last = v.Commit
	at := &g.open[v.Split]
	if *at > 0 && g.list[*at-1].add(v.Unit) {
		return
	}
	g.list = append(g.list, of(v.Unit))
	*at = len(g.list)
}

// Len is how many passagees wait for Take.
func (g *Gatherer) Len() int { return len(g.list) }

// Take is what was added since the last time; false: nothing was.
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
