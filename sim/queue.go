package sim

// queue is virtual time: what happens when, in milliseconds. Events of one millisecond happen in the order
// in which they were asked for.
type queue struct {
	now    int64
	order  uint32
	heap   []turn // a binary heap
	events []event
	free   []uint32 // places in events
}

// event is something that happens at a node, or, without one, to the world. A crashed node's events
// do not happen; a paused node's wait for its end.
type event struct {
	node *node
	do   func()
}

// turn is when an event is due, and its place in events.
type turn struct {
	at           int64
	order, event uint32
}

func (a turn) before(b turn) bool { return a.at < b.at || a.at == b.at && a.order < b.order }

// after asks for something to happen at a node in so many milliseconds.
func (q *queue) after(millis int64, n *node, do func()) {
	var place uint32
	if last := len(q.free) - 1; last >= 0 {
		place, q.free = q.free[last], q.free[:last]
		q.events[place] = event{n, do}
	} else {
		place = uint32(len(q.events))
		q.events = append(q.events, event{n, do})
	}
	q.order++
	q.heap = append(q.heap, turn{q.now + millis, q.order, place})
	q.rise(len(q.heap) - 1)
}

// next takes the next event and moves the time to it.
func (q *queue) next() (event, bool) {
	if len(q.heap) == 0 {
		return event{}, false
	}
	t := q.heap[0]
	last := len(q.heap) - 1
	q.heap[0], q.heap = q.heap[last], q.heap[:last]
	q.sink()
	q.now = t.at
	e := q.events[t.event]
	q.events[t.event] = event{}
	q.free = append(q.free, t.event)
	return e, true
}

func (q *queue) rise(i int) {
	for i > 0 && q.heap[i].before(q.heap[(i-1)/2]) {
		up := (i - 1) / 2
		q.heap[i], q.heap[up] = q.heap[up], q.heap[i]
		i = up
	}
}

func (q *queue) sink() {
	for i := 0; ; {
		least := i
		for _, child := range [2]int{2*i + 1, 2*i + 2} {
			if child < len(q.heap) && q.heap[child].before(q.heap[least]) {
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
