// Package virtual is virtual time: a queue of what happens when.
//
// Ask for events with After, from outside or from within an event; take them with Next, which moves the time on, and do them.
// The package refuses to know where events happen: a caller skips those of a node that has crashed.
package virtual

// Queue is virtual time: what happens when, in milliseconds. Events of one millisecond happen in the order
// in which they were asked for. Those of the next second lie in lists, one for each millisecond, which cost nothing to
// put in order; the few that are later, in a heap.
type Queue[N any] struct {
	Now    int64
	order  uint64
	near   [nearMillis]list // by the time modulo nearMillis
	nearby int              // how many events lie there
	heap   []uint32         // a binary heap of places in events
	events []Event[N]
	free   []uint32 // places in events
}

const nearMillis = 1024

// Event is something that happens at a node, or, without one, to the world. A crashed node's events
// do not happen; a paused node's wait for its end.
type Event[N any] struct {
	Node  N
	Do    func()
	at    int64
	order uint64
	next  uint32 // in its list: a place in events plus 1; 0: none
}

// list is events of one millisecond, as places in events plus 1; 0: none.
type list struct{ first, last uint32 }

func (e *Event[N]) before(o *Event[N]) bool { return e.at < o.at || e.at == o.at && e.order < o.order }

// After asks for something to happen at a node in so many milliseconds.
func (q *Queue[N]) After(millis int64, n N, do func()) {
	q.order++
	e := Event[N]{Node: n, Do: do, at: q.Now + millis, order: q.order}
	var place uint32
	if last := len(q.free) - 1; last >= 0 {
		place, q.free = q.free[last], q.free[:last]
		q.events[place] = e
	} else {
		place = uint32(len(q.events))
		q.events = append(q.events, e)
	}
	if millis >= nearMillis {
		q.heap = append(q.heap, place)
		q.rise(len(q.heap) - 1)
		return
	}
	q.nearby++
	l := &q.near[e.at%nearMillis]
	if l.first == 0 {
		l.first = place + 1
	} else {
		q.events[l.last-1].next = place + 1
	}
	l.last = place + 1
}

// Next takes the next event and moves the time to it.
func (q *Queue[N]) Next() (Event[N], bool) {
	place := q.soonest()
	switch {
	case place == 0 && len(q.heap) == 0:
		return Event[N]{}, false
	case place == 0 || len(q.heap) > 0 && q.events[q.heap[0]].before(&q.events[place-1]):
		place = q.pop() + 1
	default:
		l := &q.near[q.events[place-1].at%nearMillis]
		l.first = q.events[place-1].next
		q.nearby--
	}
	e := q.events[place-1]
	q.events[place-1] = Event[N]{}
	q.free = append(q.free, place-1)
	q.Now = e.at
	return e, true
}

// soonest is the first event of the lists, plus 1; 0: they are empty. All of them are at most nearMillis away.
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

// pop takes the first event of the heap.
func (q *Queue[N]) pop() uint32 {
	place := q.heap[0]
	last := len(q.heap) - 1
	q.heap[0], q.heap = q.heap[last], q.heap[:last]
	q.sink()
	return place
}

func (q *Queue[N]) less(i, j int) bool { return q.events[q.heap[i]].before(&q.events[q.heap[j]]) }

func (q *Queue[N]) rise(i int) {
	for i > 0 && q.less(i, (i-1)/2) {
		up := (i - 1) / 2
		q.heap[i], q.heap[up] = q.heap[up], q.heap[i]
		i = up
	}
}

func (q *Queue[N]) sink() {
	for i := 0; ; {
		least := i
		for _, child := range [2]int{2*i + 1, 2*i + 2} {
			if child < len(q.heap) && q.less(child, least) {
				least = child
			}
		}
		if least == i {
			return
		}
		q.heap[i], q.heap[least] = q.heap[least], q.heap[i]
		i = least
	}
}
