// Package slots schedules the compute slots of a node: it decides which task computes next while others wait. This is
// co-operative multitasking (Litz §4). The package has none of the goroutines that it schedules.
//
// The caller's duties, in order:
//
//  1. Begin when a split has a new task, Wake when one that waits may try again. Both come from the
//     client.
//  2. Park when a running task must wait, End when one is over. Both come from whatever runs the
//     task.
//
// 3. Carry out the Turn that each of them returns, for any task: begin it, or let it continue.
//  4. Close when the job has ended. Tasks that wait are still woken, to be unwound; new ones are
//     dropped.
//
// 5. Pass reports the time that has passed, so that Longest is known.
//
// A split has one task at a time: the next may Begin before the last has called End, but not while the last may still
// Park. The package does not know what a task is; it holds no lock, and calls no function of its caller.
package slots

import (
	"bellows"
	"bellows/core/planted"
)

// Do is what is to be done with a task.
type Do uint8

// The things to do.
const (
	Nothing Do = iota
	Begin      // the new task of the split has a slot
	Resume     // the task of the split, which waits, has a slot again and may try once more
)

// Turn is a slot that a task has got. One call gives away one slot at most, so that there is never more to do.
type Turn struct {
	Do    Do
	Split bellows.SplitID
}

// Scheduler is the compute slots of a node and the tasks that want one.
//
// A task is queued (new or woken), running, or parked; one that is running may have been woken
// already, when the answer to what it asked came while it was still about to park. Such a task
// keeps its slot: Park gives it its turn at once.
//
// Invariants, held by TestAnyOrderOfEvents:
//
//   - free slots and those of tasks that run or begin are the number of slots;
//   - while a slot is free no task is queued;
//   - a slot goes to the task woken first, and to a new one only when none that was woken is queued;
//   - every Wake is followed by one turn of its task, at once or when a slot is free, or before its
//     next Park ends.
//
// An early wake that took a second slot, to be given back at Park, was turned down: it idles a slot
// for as long as the question is on its way, and a caller that forgets to give it back has one slot
// less for good.
type Scheduler struct {
	free   int
	woken  queue
	fresh  queue // that have not begun
	states []state
	since  []int64 // by split: 1 + when its task got its slot, or last asked for something; 0: it has none
	newer  []bool  // by split: it is the slot of the next task, and the last has still to say End
	now    int64   // of the time that has passed
	closed bool
}

// state is what a wake means to a split's task.
type state uint8

const (
	running state = iota // or queued, or not there
	early                // woken before it has parked
	parked
)

// New makes the scheduler of a number of slots, for tasks of so many splits.
func New(slots, splits int) Scheduler {
	return Scheduler{free: slots, states: make([]state, splits), since: make([]int64, splits), newer: make([]bool, splits)}
}

// Begin says that a split has a new task.
func (s *Scheduler) Begin(split bellows.SplitID) Turn {
	if s.closed {
		return Turn{}
	}
	s.states[split] = running
	s.fresh.push(split)
	return s.next()
}

// Wake says that a split's task may try again what it waits for, or is about to wait for.
func (s *Scheduler) Wake(split bellows.SplitID) Turn {
	if s.states[split] != parked {
		if !planted.On("wake-lost") {
			s.states[split] = early
		}
		return Turn{}
	}
	s.states[split] = running
	s.woken.push(split)
	return s.next()
}

// Retry reports whether a split's task, which runs, has been woken already: it may try again and need not Park.
func (s *Scheduler) Retry(split bellows.SplitID) bool {
	if s.states[split] != early {
		return false
	}
	s.states[split], s.since[split] = running, s.now+1
	return true
}

// Park says that a split's task, which runs, waits from now on. The turn may be its own.
func (s *Scheduler) Park(split bellows.SplitID) Turn {
	if s.Retry(split) {
		return Turn{Resume, split}
	}
	s.states[split], s.since[split] = parked, 0
	s.free++
	return s.next()
}

// End says that a split's task, which ran, is over. The split may have begun another, which wants a slot.
func (s *Scheduler) End(split bellows.SplitID) Turn {
	if !s.newer[split] {
		s.since[split] = 0
	}
	s.newer[split] = false
	if !planted.On("slot-leaked") || s.woken.length+s.fresh.length > 0 {
		s.free++
	}
	return s.next()
}

// Close drops the tasks that have not begun, now and from now on.
func (s *Scheduler) Close() { s.closed, s.fresh = true, queue{} }

// Closed reports whether no task will begin any more.
func (s *Scheduler) Closed() bool { return s.closed }

// Pass says that so much time has passed, in which tasks could compute.
func (s *Scheduler) Pass(millis int64) { s.now += millis }

// Longest returns the split whose task has computed longest without waiting, and for how long; false: no task
// computes.
func (s *Scheduler) Longest() (longest bellows.SplitID, millis int64, any bool) {
	for split, since := range s.since {
		if since > 0 && (!any || s.now+1-since > millis) {
			longest, millis, any = bellows.SplitID(split), s.now+1-since, true
		}
	}
	return longest, millis, any
}

// next gives a free slot to a queued task.
func (s *Scheduler) next() Turn {
	switch {
	case s.free == 0:
		return Turn{}
	case s.woken.length > 0 && !(planted.On("woken-last") && s.fresh.length > 0):
		s.free--
		return s.hand(Resume, s.woken.pop())
	case s.fresh.length > 0:
		s.free--
		return s.hand(Begin, s.fresh.pop())
	}
	return Turn{}
}

// hand gives a slot to a task.
func (s *Scheduler) hand(what Do, split bellows.SplitID) Turn {
	s.newer[split] = s.since[split] > 0
	s.since[split] = s.now + 1
	return Turn{what, split}
}

// queue is splits, first in, first out, in memory that stays (TestSchedulingTakesNoMemory).
type queue struct {
	ring   []bellows.SplitID
	head   int
	length int
}

func (q *queue) push(s bellows.SplitID) {
	if q.length == len(q.ring) {
		grown := make([]bellows.SplitID, max(8, 2*len(q.ring)))
		n := copy(grown, q.ring[q.head:])
		copy(grown[n:], q.ring[:q.head])
		q.ring, q.head = grown, 0
	}
	q.ring[(q.head+q.length)%len(q.ring)] = s
	q.length++
}

func (q *queue) pop() bellows.SplitID {
	s := q.ring[q.head]
	q.head, q.length = (q.head+1)%len(q.ring), q.length-1
	return s
}
