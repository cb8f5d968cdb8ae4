package account

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/core/slots"
)

// Places is the compute slots of a node: it asks the scheduler that ships whose turn it is, keeps its own account of which
// tasks compute and which want to, and returns an error for a turn that the account does not allow.
type Places struct {
	scheduler slots.Scheduler
	count     int
	taken     int
	at        []place // by split
	Early     bool    // a task was woken before it had parked
}

// place is where the task of a split is on its way to a slot and back.
type place uint8

const (
	away     place = iota // there is none
	fresh                 // wants a slot to begin
	computes              // has one
	asks                  // has one, and what it asked for is under way; it parks next
	told                  // likewise, and was answered meanwhile
	parked                // has none and waits
	woken                 // wants one to go on
)

// NewPlaces makes the slots of a node.
func NewPlaces(count, splits int) Places {
	return Places{scheduler: slots.New(count, splits), count: count, at: make([]place, splits)}
}

// Begin says that a split has a new task. The error, here as below, is what is wrong with the turn.
func (p *Places) Begin(s bellows.SplitID) (slots.Turn, error) {
	p.at[s] = fresh
	return p.check(p.scheduler.Begin(s))
}

// Wake says that a task has been answered.
func (p *Places) Wake(s bellows.SplitID) (slots.Turn, error) {
	if p.at[s] == asks {
		p.at[s], p.Early = told, true
	} else {
		p.at[s] = woken
	}
	return p.check(p.scheduler.Wake(s))
}

// Ask says that a task has asked for something, and parks next.
func (p *Places) Ask(s bellows.SplitID) { p.at[s] = asks }

// Park gives the slot of a task that has asked to the next that wants one: to itself, if it has been answered meanwhile.
func (p *Places) Park(s bellows.SplitID) (slots.Turn, error) {
	p.taken--
	if p.at[s] == told {
		p.at[s] = woken
	} else {
		p.at[s] = parked
	}
	return p.check(p.scheduler.Park(s))
}

// Over says that the task of a split does nothing more. Its slot is given away by End: the split may Begin another before.
func (p *Places) Over(s bellows.SplitID) { p.at[s] = away }

// End gives away the slot of a split's task that is over.
func (p *Places) End(s bellows.SplitID) (slots.Turn, error) {
	p.taken--
	return p.check(p.scheduler.End(s))
}

// Longest returns the split whose task has computed for longest, when so much more time has passed.
func (p *Places) Longest(passedMillis int64) (s bellows.SplitID, millis int64, any bool) {
	p.scheduler.Pass(passedMillis)
	return p.scheduler.Longest()
}

// Close says that the job has ended.
func (p *Places) Close() { p.scheduler.Close() }

// Computes reports whether the task of a split has a slot and has not asked for anything.
func (p *Places) Computes(s bellows.SplitID) bool { return p.at[s] == computes }

// check holds a turn against the account: slots are given while there are any that are free and tasks that want one (P9),
// first to those that were woken.
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
