// Package virtual has the virtual time of the simulation: a Queue of what happens when at the nodes, and an Agenda of
// events of any type.
//
// Ask for events with After, from outside or from within an event; take them with Next, which moves the time on, and do them.
// The package refuses to know where events happen: a caller skips those of a node that has crashed.
package virtual

// Queue is virtual time: what happens when, in milliseconds. Events of one millisecond happen in the order
// in which they were asked for. Those of the next second lie in lists, one for each millisecond, which cost nothing to
// put in order; the few that are later, in an agenda.
type Queue[N any] struct {
	Now    int64
	near   [nearMillis]list // by the time modulo nearMillis
	nearby int              // how many events lie there
	events pool[Event[N]]   // of the lists
	far    Agenda[Event[N]]
}

const nearMillis = 1024

// Event is something that happens at a node, or, without one, to the world. A crashed node's events
// do not happen; a paused node's wait for its end.
type Event[N any] struct {
	Node N
	Do   func()
	at   int64
	next uint32 // in its list: a place in events plus 1; 0: none
}

// list is events of one millisecond, as places in events plus 1; 0: none.
type list struct{ first, last uint32 }

// After asks for something to happen at a node in so many milliseconds.
func (q *Queue[N]) After(millis int64, n N, do func()) {
	e := Event[N]{Node: n, Do: do, at: q.Now + millis}
	if millis >= nearMillis {
		q.far.After(e.at-q.far.Time(), e)
		return
	}
	place := q.events.put(e)
	q.nearby++
	l := &q.near[e.at%nearMillis]
	if l.first == 0 {
		l.first = place + 1
	} else {
		q.events.events[l.last-1].next = place + 1
	}
	l.last = place + 1
}

// Next takes the next event and moves the time to it. Events that were far away were scheduled before all others that
// are due at the same time.
func (q *Queue[N]) Next() (e Event[N], ok bool) {
	place := q.soonest()
	if at, far := q.far.Soonest(); far && (place == 0 || at <= q.events.events[place-1].at) {
		e, _ = q.far.Next()
		q.Now = e.at
		return e, true
	}
	if place == 0 {
		return e, false
	}
	e = q.events.take(place - 1)
	q.near[e.at%nearMillis].first = e.next
	q.nearby--
	q.Now = e.at
	return e, true
}

// soonest returns the first event of the lists, plus 1; 0: they are empty. All of them are at most nearMillis away.
func (q *Queue[N]) soonest() uint32 {
	if q.nearby == 0 {
		return 0
	}
	for at := q.Now; ; at++ {
		if first := q.near[at%nearMillis].first; first > 0 {
			return first
		}
	}
}
