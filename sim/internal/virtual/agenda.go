package virtual

// Agenda is virtual time for events of one type, in any unit: ask for them with After, and take them with Next, one at a time,
// which moves the time. Events of one time happen in the order in which they were asked for, so that a run repeats. The zero
// Agenda is empty and at time 0.
type Agenda[E any] struct {
	now    int64
	order  uint32
	heap   []turn // a binary heap
	events pool[E]
}

// turn is when an event is due, and its place in events.
type turn struct {
	at           int64
	order, event uint32
}

// before compares by time, and then by order, which may have begun anew.
func (a turn) before(b turn) bool {
	return a.at < b.at || a.at == b.at && int32(a.order-b.order) < 0
}

// Time returns the current time.
func (a *Agenda[E]) Time() int64 { return a.now }

// Len returns the number of events to come.
func (a *Agenda[E]) Len() int { return len(a.heap) }

// Soonest returns when the next event is due, if there is one.
func (a *Agenda[E]) Soonest() (at int64, ok bool) {
	if len(a.heap) == 0 {
		return 0, false
	}
	return a.heap[0].at, true
}

// After asks for an event in so many units of time, at least 0.
func (a *Agenda[E]) After(delay int64, e E) {
	a.order++
	a.heap = append(a.heap, turn{a.now + delay, a.order, a.events.put(e)})
	a.rise(len(a.heap) - 1)
}

// Next takes the next event, if there is one, and moves the time to it.
func (a *Agenda[E]) Next() (e E, ok bool) {
	if len(a.heap) == 0 {
		return e, false
	}
	t := a.heap[0]
	last := len(a.heap) - 1
	a.heap[0], a.heap = a.heap[last], a.heap[:last]
	a.sink()
	a.now = t.at
	return a.events.take(t.event), true
}

func (a *Agenda[E]) rise(i int) {
	for i > 0 && a.heap[i].before(a.heap[(i-1)/2]) {
		up := (i - 1) / 2
		a.heap[i], a.heap[up] = a.heap[up], a.heap[i]
		i = up
	}
}

func (a *Agenda[E]) sink() {
	for i := 0; ; {
		least := i
		for _, child := range [2]int{2*i + 1, 2*i + 2} {
			if child < len(a.heap) && a.heap[child].before(a.heap[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		a.heap[i], a.heap[least] = a.heap[least], a.heap[i]
		i = least
	}
}

// pool keeps events at places that are used again.
type pool[E any] struct {
	events []E
	free   []uint32
}

// put keeps an event and returns its place.
func (p *pool[E]) put(e E) uint32 {
	last := len(p.free) - 1
	if last < 0 {
		p.events = append(p.events, e)
		return uint32(len(p.events) - 1)
	}
	place := p.free[last]
	p.free, p.events[place] = p.free[:last], e
	return place
}

// take returns the event of a place, which is free from then on.
func (p *pool[E]) take(place uint32) (e E) {
	e, p.events[place] = p.events[place], e
	p.free = append(p.free, place)
	return e
}
