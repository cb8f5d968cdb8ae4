package epochs

import (
	"bellows"
	"bellows/table"
)

// Layout is the work of a run: splits, and what their clocks are for.
type Layout struct {
	Opens  int // the first clocks of the job, which belong to no epoch: tasks prepare the tables, each clock from the previous clock's result
	Splits int
	Clocks int // of an epoch that train; one more scores
}

// Opening is the place of the clocks before the first epoch.
const Opening = -1

// Place returns what a clock is for: Opening, a training clock of its epoch from 0, or Clocks to score.
func (l Layout) Place(c bellows.Clock) int {
	if int(c) < l.Opens {
		return Opening
	}
	return (int(c) - l.Opens) % (l.Clocks + 1)
}

// Order says which training tasks of an epoch may be out together.
type Order interface {
	// Ready says whether a split may begin a clock of the epoch, given the clocks that each split has done.
	Ready(split, clock int, done []int) bool
	// Next returns the other split that may be ready when this one has done a clock.
	Next(split int) int
}

// OrderOf returns the order of tasks that read and write tables of one consistency. Under BSP the gate of the tables
// makes a split's tasks wait for the same commits however early they were dispatched. Else a task sees what was
// committed when it was dispatched, and later is fresher.
func OrderOf(c table.Consistency) Order {
	if c == table.BSP {
		return AtOnce{}
	}
	return InTurn{}
}

// AtOnce dispatches all clocks of an epoch together, and leaves it to the gate of the tables to hold tasks back.
type AtOnce struct{}

// Ready implements Order.
func (AtOnce) Ready(int, int, []int) bool { return true }

// Next implements Order.
func (AtOnce) Next(split int) int { return split }

// InTurn makes each clock of a split wait for its predecessor.
type InTurn struct{}

// Ready implements Order.
func (InTurn) Ready(split, clock int, done []int) bool { return done[split] == clock }

// Next implements Order.
func (InTurn) Next(split int) int { return split }
