package model

import (
	"slices"

	"bellows"
	"bellows/link/wire"
)

// A divided job is another of its shape in which the clocks of splits are divided into units: some into two, some into
// three, some not at all. Each unit does its share of its split's work in the clock, table by table and row by row. So
// most tables end with the bits of the undivided job. Several units of a clock may add to the same rows of sums: their
// bits are those of the division alone, whichever nodes run the units (P7).
//
// How far a split is, is counted in steps: a unit is one. Consistency speaks of clocks: Steps and ClocksIn are the ways between the two.

// SplitsDivided is how many splits a job with divided clocks has at most: wide jobs have enough tasks.
const SplitsDivided = 8

// Step counts the units of a split from the job's beginning.
type Step int32

// Units returns into how many units the clock of a split is divided.
func (j *Job) Units(s bellows.SplitID, c bellows.Clock) int {
	if !j.Divided {
		return 1
	}
	return max(1, min(1+int(j.draw(drawUnits, s, c, 0)%4+1)/2, j.Items(s, c).Len()))
}

// divide counts the steps of every split before each clock, and the clocks before each step.
func (j *Job) divide() {
	for s := range j.Splits {
		steps := make([]Step, j.Clocks+1)
		var clocks []bellows.Clock
		for c := range j.Clocks {
			n := j.Units(bellows.SplitID(s), bellows.Clock(c))
			steps[c+1] = steps[c] + Step(n)
			clocks = append(clocks, slices.Repeat([]bellows.Clock{bellows.Clock(c)}, n)...)
		}
		j.steps, j.clocks = append(j.steps, steps), append(j.clocks, append(clocks, bellows.Clock(j.Clocks)))
	}
}

// Steps returns how many units the first clocks of a split have.
func (j *Job) Steps(s int, clocks bellows.Clock) Step { return j.steps[s][max(0, clocks)] }

// ClocksIn returns how many clocks the first units of a split make complete.
func (j *Job) ClocksIn(s int, n Step) bellows.Clock { return j.clocks[s][n] }

// Step returns how many units of the split come before a unit; false: the split has no such unit.
func (j *Job) Step(u bellows.Unit) (Step, bool) {
	if int(u.Split) >= j.Splits || u.Clock < 0 || int(u.Clock) >= j.Clocks {
		return 0, false
	}
	first, all, n := j.steps[u.Split][u.Clock], j.Items(u.Split, u.Clock), j.Units(u.Split, u.Clock)
	for i := range n {
		if all.Part(i, n) == u.Items {
			return first + Step(i), true
		}
	}
	return 0, false
}

// Saves returns how often in six ticks a controller of the job is saved: more often where that may be in the middle of a clock.
func (j *Job) Saves() int {
	if j.Divided {
		return 4
	}
	return 1
}

// Share returns which of how many units of its clock a unit is. One that has all items of a clock is the only one.
func (j *Job) Share(u bellows.Unit) (i, n int) {
	if !j.Divided {
		return 0, 1
	}
	all := j.Items(u.Split, u.Clock)
	if n = j.Units(u.Split, u.Clock); n == 1 || u.Items == all {
		return 0, 1
	}
	for all.Part(i, n).End <= u.Items.Begin {
		i++
	}
	return i, n
}

// ownerOf returns which of n units of a clock touches a row of a table. Several units may add to rows of sums
// (touches).
func ownerOf(t bellows.TableID, s bellows.SplitID, c bellows.Clock, row, n int) int {
	return (row + int(t) + int(c)) % n
}

// shares reports whether a unit touches a row of a table, if its clock does.
func (j *Job) shares(t bellows.TableID, u bellows.Unit, row int) bool {
	i, n := j.Share(u)
	if n > 1 && t == Sums && (j.wholeSums(u) || (row+i)%3 > 0) {
		return true
	}
	return n == 1 || ownerOf(t, u.Split, u.Clock, row, n) == i
}

// wholeSums reports whether a unit adds to all rows of sums that its clock touches.
func (j *Job) wholeSums(u bellows.Unit) bool {
	i, n := j.Share(u)
	return n == 1 || j.draw(drawUnits, u.Split, u.Clock, 1+i)%2 == 0
}

// Consecutive reports whether a unit adds to consecutive rows of a table where its clock does.
func (j *Job) Consecutive(t bellows.TableID, u bellows.Unit) bool {
	_, n := j.Share(u)
	return n == 1 || t == Sums && j.wholeSums(u)
}

// Division reports whether the units of a flush leave one of their clocks' units to another flush (apart), and whether
// they have several of a clock (together).
func (j *Job) Division(list []wire.Result) (apart, together bool) {
	for i := range list {
		u := list[i].Unit
		_, n := j.Share(u)
		if n == 1 {
			continue
		}
		here := 0
		for k := range list {
			if list[k].Unit.Split == u.Split {
				here++
			}
		}
		apart, together = apart || here < n, together || here > 1
	}
	return apart, together
}
