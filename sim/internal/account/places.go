package account

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/core/slots"
)

// Places models the compute slots of a node: it asks the shipped scheduler for each turn, keeps its own account of
// which tasks compute and which want to, and returns an error for a turn that the account does not allow.
type Places struct {
	scheduler slots.Scheduler
	count     int
	taken     int
	at        []place // by split
	Early     bool    // a task was woken before it had parked
}

// place is the state of a split's task between the queue for a slot and the slot.
type place uint8

const (
	away     place = iota // no task
	fresh                 // wants a slot to begin
	computes              // has one
	asks                  // has one, and what it asked for is under way; it parks next
	told                  // has one, and was answered before it parked
	parked                // has none and waits
	woken                 // wants one to continue
)

// NewPlaces makes the slots of a node.
func NewPlaces(count, splits int) Places {
	return Places{scheduler: slots.New(count, splits), count: count, at: make([]place, splits)}
}

// Begin records that a split has a new task. The error, here as below, says what is wrong with the turn.
func (p *Places) Begin(s bellows.SplitID) (slots.Turn, error) {
	p.at[s] = fresh
	return p.check(p.scheduler.Begin(s))
}

// Wake records that a task has been answered.
func (p *Places) Wake(s bellows.SplitID) (slots.Turn, error) {
	if p.at[s] == asks {
		p.at[s], p.Early = told, true
	} else {
		p.at[s] = woken
	}
	return p.check(p.scheduler.Wake(s))
}

// Ask records that a task has asked for something; it parks next.
func (p *Places) Ask(s bellows.SplitID) { p.at[s] = asks }

// Park gives the slot of a task that has asked to the next task that wants one: to itself, if its answer has come.
func (p *Places) Park(s bellows.SplitID) (slots.Turn, error) {
	p.taken--
	if p.at[s] == told {
		p.at[s] = woken
	} else {
		p.at[s] = parked
	}
	return p.check(p.scheduler.Park(s))
}

// Finish records that the task of a split does nothing more. End gives its slot away: the split may Begin another task
// before that.
func (p *Places) Finish(s bellows.SplitID) { p.at[s] = away }

// End gives away the slot of a finished task.
func (p *Places) End(s bellows.SplitID) (slots.Turn, error) {
	p.taken--
	return p.check(p.scheduler.End(s))
}

// Longest returns the split whose task has computed for longest, when so much more time has passed.
func (p *Places) Longest(passedMillis int64) (s bellows.SplitID, millis int64, any bool) {
	p.scheduler.Pass(passedMillis)
	return p.scheduler.Longest()
}

// Close records that the job has ended.
func (p *Places) Close() { p.scheduler.Close() }

// Computes reports whether the task of a split has a slot and has not asked for anything.
func (p *Places) Computes(s bellows.SplitID) bool { return p.at[s] == computes }

// check compares a turn with the account: slots are given while some are free and tasks want one (P9), first to tasks
// that were woken.
func (p *Places) check(turn slots.Turn) (slots.Turn, error) {
	if turn.Do != slots.Nothing {
		want := fresh
		if turn.Do == slots.Resume {
			want = woken
		}
		switch p.taken++; {
		case p.at[turn.Split] != want:
			return turn, fmt.Errorf("split %d gets a slot that it does not want: %+v", turn.Split, turn)
		case p.taken > p.count:
			return turn, fmt.Errorf("split %d computes and all of %d slots are taken", turn.Split, p.count)
		case want == fresh && slices.Contains(p.at, woken):
			return turn, fmt.Errorf("split %d begins before another goes on that was woken", turn.Split)
		}
		p.at[turn.Split] = computes
	}
	if p.taken < p.count && (slices.Contains(p.at, woken) || slices.Contains(p.at, fresh) && !p.scheduler.Closed()) {
		return turn, fmt.Errorf("P9: a task waits for a slot, and %d of %d are free", p.count-p.taken, p.count)
	}
	return turn, nil
}
