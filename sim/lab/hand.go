package lab

import (
	"bellows"
	"bellows/random"
	"bellows/train"
)

// hand runs the tasks of one split on a goroutine of its own, which the world lets go on and waits for: it is a
// coroutine. While a task computes between two questions to its client, the world may go on.
type hand struct {
	node   *node
	task   *train.Task
	begin  chan *train.Task // to the goroutine: a task; nil until the first
	turn   chan struct{}    // to it: it may ask
	said   chan word        // from it
	word   word             // what it said last and has not been acted on
	heard  bool             // word is there
	alive  bool             // a task is in Run
	asleep bool             // it waits for an answer
	job    job              // what the task computes
	spent  bool             // the cost of the task is paid
	calls  int              // questions of this task that were answered
	learnt [2]learnt        // where tasks compute: those that visit items, and those that do not
	seen   []seen           // what the task has read
}

// learnt is how many questions a split's last task asked before it computed.
type learnt struct {
	known bool
	calls int
}

// seen is the highest row that a task has begun a read of a table with.
type seen struct {
	table train.Table
	first bellows.RowID
}

// word is what the goroutine of a hand says.
type word struct {
	what said
	ask  train.Ask
}

// said is a kind of word.
type said uint8

const (
	asks  said = iota // it wants to ask
	left              // it has been answered
	waits             // there is no answer yet
	ended             // the task has returned
)

// turns is how a node's runner leaves its tasks to the world.
type turns struct{ node *node }

// Begin implements train.Turns. It is called when the runner is stepped, or by a task in its turn.
func (s turns) Begin(t *train.Task) {
	s.node.w.hands[t.Split()].task = t
	s.node.give(s.node.slots.Begin(t.Split()))
}

// Wake implements train.Turns, and is called as Begin is.
func (s turns) Wake(t *train.Task) { s.node.give(s.node.slots.Wake(t.Split())) }

// Enter implements train.Turns, on the goroutine of the task.
func (s turns) Enter(t *train.Task, ask train.Ask) {
	h := s.node.w.hands[t.Split()]
	h.said <- word{asks, ask}
	<-h.turn
}

// Leave implements train.Turns, on the goroutine of the task.
func (s turns) Leave(t *train.Task) { s.node.w.hands[t.Split()].said <- word{what: left} }

// Wait implements train.Turns, on the goroutine of the task.
func (s turns) Wait(t *train.Task) {
	h := s.node.w.hands[t.Split()]
	h.said <- word{what: waits}
	<-h.turn
}

// run is the goroutine of a hand.
func (h *hand) run() {
	for t := range h.begin {
		t.Run()
		h.said <- word{what: ended}
	}
}

// listen is the next word of the goroutine, which is on its way to it.
func (h *hand) listen() word {
	if !h.heard {
		h.word = <-h.said
	}
	h.heard = false
	return h.word
}

// start begins the hand's task.
func (h *hand) start() {
	if h.begin == nil {
		h.begin, h.turn, h.said = make(chan *train.Task, 1), make(chan struct{}, 1), make(chan word, 1)
		h.node.w.goroutines.Go(h.run)
	}
	h.alive, h.spent, h.calls, h.seen = true, false, 0, h.seen[:0]
	h.node.alive++
	h.node.w.traceUnit(1, h.task)
	h.begin <- h.task
	if h.computes() {
		h.compute()
		return
	}
	h.follow(h.listen())
}

// resume lets the task ask again.
func (h *hand) resume() {
	h.asleep = false
	h.turn <- struct{}{}
	h.follow(h.listen())
}

// computes reports whether the task, which has just begun or was answered, computes now, as the last one did. Then
// the world goes on meanwhile.
func (h *hand) computes() bool {
	k := h.kind()
	return !h.spent && k.known && k.calls == h.calls
}

// follow acts on the words of the task until it waits, computes or has ended.
func (h *hand) follow(now word) {
	for {
		switch now.what {
		case asks:
			if !h.spent && h.endsComputing(now.ask) {
				*h.kind() = learnt{true, h.calls}
				h.word, h.heard = now, true
				h.compute()
				return
			}
			h.turn <- struct{}{}
		case left:
			if h.calls++; h.computes() {
				h.compute()
				return
			}
		case waits:
			h.asleep = true
			h.node.give(h.node.slots.Park(h.task.Split()))
			return
		case ended:
			h.alive = false
			h.node.alive--
			h.node.give(h.node.slots.End(h.task.Split()))
			h.node.w.traceUnit(2, h.task)
			return
		}
		now = h.listen()
	}
}

// endsComputing reports whether a question is the first after the task has computed: it ends, or reads again what
// it has read.
func (h *hand) endsComputing(ask train.Ask) bool {
	switch ask.Kind {
	case train.AskEnd:
		return true
	case train.AskRead:
		for i := range h.seen {
			s := &h.seen[i]
			if s.table == ask.Table {
				again := ask.First <= s.first
				s.first = max(s.first, ask.First)
				return again
			}
		}
		h.seen = append(h.seen, seen{ask.Table, ask.First})
	}
	return false
}

// kind is what has been learnt of tasks such as this one.
func (h *hand) kind() *learnt {
	if h.task.Items().Len() > 0 {
		return &h.learnt[0]
	}
	return &h.learnt[1]
}

// compute makes the task's cost due.
func (h *hand) compute() {
	h.spent = true
	h.job = job{node: h.node, hand: h, rest: h.node.w.cost(h.task)}
	if h.job.rest < done {
		h.follow(h.listen())
		return
	}
	h.node.meter.Compute(h.node.w.now(), 1)
	h.node.w.stirs(1)
	h.node.machine.begin(&h.job)
}

// computed goes on with a task whose cost is paid.
func (n *node) computed(h *hand) {
	n.meter.Compute(n.w.now(), -1)
	n.w.stirs(-1)
	h.follow(h.listen())
	n.settle()
}

// cost is what a task costs, in nanoseconds of a core.
func (w *world) cost(t *train.Task) float64 {
	c := &w.cfg.Costs
	ns := c.Score
	if items := t.Items().Len(); items > 0 {
		ns = c.Task + c.Item*float64(items)
	}
	if w.cfg.Jitter == 0 {
		return ns
	}
	chance := random.Of(w.cfg.Seed^uint64(t.Split()), uint64(t.Clock()))
	return ns * (1 + w.cfg.Jitter*float64(chance>>11)/(1<<53))
}

// abandon takes a task of a job that has ended to its end: it is unwound when it asks for more.
func (h *hand) abandon() {
	if h.begin == nil {
		return
	}
	for h.alive {
		if h.asleep {
			h.asleep = false
			h.turn <- struct{}{}
		}
		switch h.listen().what {
		case asks, waits:
			h.turn <- struct{}{}
		case ended:
			h.alive = false
		}
	}
	close(h.begin)
}
