package sim

import (
	"slices"

	"bellows/core/slots"
)

// places is the compute slots of a worker: the scheduler that production asks, and what the world itself sees of them.
type places struct {
	scheduler slots.Scheduler
	count     int
	taken     int
}

func newPlaces(count, splits int) places {
	return places{scheduler: slots.New(count, splits), count: count}
}

// place is where a script is on its way to a slot and back.
type place int

const (
	fresh    place = iota // wants a slot to begin
	computes              // has one
	asks                  // has one, and what it asked for is under way; it parks next
	told                  // likewise, and was answered meanwhile
	parked                // has none and waits
	woken                 // wants one to go on
)

// begin lets a script begin when there is a slot.
func (k *worker) begin(s *script) { k.give(k.slots.scheduler.Begin(s.unit.Split)) }

// wake lets a script go on that has been answered, when there is a slot.
func (k *worker) wake(s *script) {
	s.checkNamed()
	s.waiting = false
	if s.place == asks {
		s.place = told
	} else {
		s.place = woken
	}
	k.give(k.slots.scheduler.Wake(s.unit.Split))
}

// ask has a script wait for an answer. What it asked has left, and sometimes time passes before it gives its slot away.
func (k *worker) ask(s *script) {
	s.place = asks
	if k.w.Rng.IntN(3) == 0 {
		k.w.happened[askedSlowly] = true
		k.w.After(1+k.w.Rng.Int64N(12), k.node, s.park)
		return
	}
	s.park()
}

// park gives the script's slot to the next that wants one: to itself, if it has been answered meanwhile.
func (s *script) park() {
	k := s.k
	k.slots.taken--
	if s.place == told {
		s.place = woken
		k.w.happened[answeredEarly] = true
	} else {
		s.place = parked
	}
	k.give(k.slots.scheduler.Park(s.unit.Split))
}

// end gives away the slot of a script that is over.
func (k *worker) end() {
	k.slots.taken--
	k.give(k.slots.scheduler.End())
}

// give carries out a turn, and sees that it is the right one: a slot is given while there are any that are free and
// scripts that want one (P9), and to those that were woken first.
func (k *worker) give(turn slots.Turn) {
	if turn.Do != slots.Nothing {
		s := k.scripts[turn.Split]
		want := fresh
		if turn.Do == slots.Resume {
			want = woken
		}
		switch k.slots.taken++; {
		case s == nil || s.place != want:
			k.w.violated("node %d gives a slot to split %d, which does not want one: %+v", k.node.id, turn.Split, turn)
			return
		case k.slots.taken > k.slots.count:
			k.w.violated("%v computes on node %d, whose %d slots are taken", s.unit, k.node.id, k.slots.count)
		case want == fresh && k.queued(woken):
			k.w.violated("%v begins on node %d before another goes on that was woken", s.unit, k.node.id)
		}
		s.place = computes
		k.w.After(int64(k.w.Rng.IntN(3)), k.node, s.run)
	}
	if k.slots.taken < k.slots.count && (k.queued(woken) || k.queued(fresh) && k.client.Ended() == nil) {
		k.w.violated("P9: a task on node %d waits for a slot, and %d of %d are free", k.node.id, k.slots.count-k.slots.taken, k.slots.count)
	}
}

// queued reports whether a script is at a place.
func (k *worker) queued(at place) bool {
	return slices.ContainsFunc(k.scripts, func(s *script) bool { return s != nil && s.place == at })
}
