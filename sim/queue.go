package sim

// queue is virtual time: what happens when, in milliseconds. Events of one millisecond happen in the order in
// which they were asked for.
type queue struct {
	now    int64
	order  uint64
	events []event // a binary heap
}

// event is something that happens at a node, or, without one, to the world. A crashed node's events
// do not happen; a paused node's wait for its end.
type event struct {
	at    int64
	order uint64
	node  *node
	do    func()
}

func (e *event) before(o *event) bool {
	return e.at < o.at || e.at == o.at && e.order < o.order
}

// after asks for something to happen at a node in so many milliseconds.
func (q *queue) after(millis int64, n *node, do func()) {
	q.order++
	q.push(event{q.now + millis, q.order, n, do})
}

func (q *queue) push(e event) {
	q.events = append(q.events, e)
	i := len(q.events) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !q.events[i].before(&q.events[up]) {
			return
		}
		q.events[i], q.events[up] = q.events[up], q.events[i]
		i = up
	}
}

// pop takes the next event and moves the time to it.
func (q *queue) pop() (event, bool) {
	if len(q.events) == 0 {
		return event{}, false
	}
	e := q.events[0]
	last := len(q.events) - 1
	q.events[0] = q.events[last]
	q.events[last] = event{}
	q.events = q.events[:last]
	q.sink()
	q.now = e.at
	return e, true
}

func (q *queue) sink() {
	for i := 0; ; {
		least := i
		for _, child := range [2]int{2*i + 1, 2*i + 2} {
			if child < len(q.events) && q.events[child].before(&q.events[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		q.events[i], q.events[least] = q.events[least], q.events[i]
		i = least
	}
}
