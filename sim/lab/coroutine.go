package lab

import (
	"bellows"
	"bellows/random"
	"bellows/sim/lab/cores"
	"bellows/train"
)

// taskCoroutine runs the tasks of one split on a separate goroutine, which the world resumes and waits for: it is a
// coroutine. While a task computes between two questions to its client, the world may continue.
type taskCoroutine struct {
	node   *node
	task   *train.Task
	begin  chan *train.Task // to the goroutine: a task; nil until the first
	turn   chan struct{}    // to it: it may ask
	said   chan word        // from it
	word   word             // the last one that has not been acted on
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

// word is a message from the goroutine of a task.
type word struct {
	what said
	ask  train.Ask
}

// said is a kind of word.
type said uint8

const (
	asks  said = iota // it wants to ask
	left              // it has been answered
	waits             // the answer has not come
	ended             // the task has returned
)

// turns is how a node's runner leaves its tasks to the world.
type turns struct{ node *node }

// Begin implements train.Turns. It is called when the runner is stepped, or by a task that has its turn.
func (s turns) Begin(t *train.Task) {
	c := s.node.w.coroutines[t.Split()]
	if c.node != s.node { // the split has come here
		c.dismiss()
		c = &taskCoroutine{node: s.node, learnt: c.learnt}
		s.node.w.coroutines[t.Split()] = c
	}
	c.task = t
	s.node.give(s.node.slots.Begin(t.Split()))
}

// Wake implements train.Turns, and is called as Begin is.
func (s turns) Wake(t *train.Task) { s.node.give(s.node.slots.Wake(t.Split())) }

// Enter implements train.Turns, on the goroutine of the task.
func (s turns) Enter(t *train.Task, ask train.Ask) {
	c := s.node.w.coroutines[t.Split()]
	c.said <- word{asks, ask}
	<-c.turn
}

// Leave implements train.Turns, on the goroutine of the task.
func (s turns) Leave(t *train.Task) { s.node.w.coroutines[t.Split()].said <- word{what: left} }

// Wait implements train.Turns, on the goroutine of the task.
func (s turns) Wait(t *train.Task) {
	c := s.node.w.coroutines[t.Split()]
	c.said <- word{what: waits}
	<-c.turn
}

// run runs the goroutine of a task.
func (c *taskCoroutine) run() {
	for t := range c.begin {
		t.Run()
		c.said <- word{what: ended}
	}
}

// listen returns the next message of the goroutine, which is about to come.
func (c *taskCoroutine) listen() word {
	if !c.heard {
		c.word = <-c.said
	}
	c.heard = false
	return c.word
}

// start begins the coroutine's task.
func (c *taskCoroutine) start() {
	if c.begin == nil {
		c.begin, c.turn, c.said = make(chan *train.Task, 1), make(chan struct{}, 1), make(chan word, 1)
		c.node.w.goroutines.Go(c.run)
	}
	c.alive, c.spent, c.calls, c.seen = true, false, 0, c.seen[:0]
	c.node.alive++
	c.node.w.traceUnit(1, c.task)
	c.begin <- c.task
	if c.computes() {
		c.compute()
		return
	}
	c.follow(c.listen())
}

// resume lets the task ask again.
func (c *taskCoroutine) resume() {
	c.asleep = false
	c.turn <- struct{}{}
	c.follow(c.listen())
}

// computes reports whether the task, which has just begun or was answered, computes now, as the last one did. If so,
// the world continues meanwhile.
func (c *taskCoroutine) computes() bool {
	k := c.kind()
	return !c.spent && k.known && k.calls == c.calls
}

// follow acts on the messages of the task until it waits, computes or has ended.
func (c *taskCoroutine) follow(now word) {
	for {
		switch now.what {
		case asks:
			if !c.spent && c.endsComputing(now.ask) {
				*c.kind() = learnt{true, c.calls}
				c.word, c.heard = now, true
				c.compute()
				return
			}
			c.turn <- struct{}{}
		case left:
			if c.calls++; c.computes() {
				c.compute()
				return
			}
		case waits:
			c.asleep = true
			c.node.give(c.node.slots.Park(c.task.Split()))
			return
		case ended:
			c.alive = false
			c.node.alive--
			c.node.give(c.node.slots.End(c.task.Split()))
			c.node.w.traceUnit(2, c.task)
			return
		}
		now = c.listen()
	}
}

// endsComputing reports whether a question is the first after the task has computed: it ends, or reads again what
// it has read.
func (c *taskCoroutine) endsComputing(ask train.Ask) bool {
	switch ask.Kind {
	case train.AskEnd:
		return true
	case train.AskRead:
		for i := range c.seen {
			s := &c.seen[i]
			if s.table == ask.Table {
				again := ask.First <= s.first
				s.first = max(s.first, ask.First)
				return again
			}
		}
		c.seen = append(c.seen, seen{ask.Table, ask.First})
	}
	return false
}

// kind returns what was learned from tasks such as this one.
func (c *taskCoroutine) kind() *learnt {
	if c.task.Items().Len() > 0 {
		return &c.learnt[0]
	}
	return &c.learnt[1]
}

// compute makes the task's cost due.
func (c *taskCoroutine) compute() {
	c.spent = true
	c.job = job{Owner: owner{c.node, c}, Rest: c.node.w.cost(c.task)}
	if c.job.Rest < cores.Done {
		c.follow(c.listen())
		return
	}
	c.node.meter.Compute(c.node.w.elapsed(), 1)
	c.node.computing++
	c.node.w.stirs(1)
	c.node.w.begins(c.node.machine, &c.job)
}

// computed continues a task with a paid cost.
func (n *node) computed(c *taskCoroutine) {
	n.meter.Compute(n.w.elapsed(), -1)
	n.computing--
	n.w.stirs(-1)
	c.follow(c.listen())
	n.settle()
}

// cost returns the cost of a task, in nanoseconds of a core.
func (w *world) cost(t *train.Task) float64 {
	c := &w.cfg.Costs
	ns := c.Score
	if items := t.Items().Len(); items > 0 {
		ns = c.Task + c.Item*float64(items)
	}
	if w.cfg.Jitter == 0 {
		return ns
	}
	chance := random.Derive(w.cfg.Seed^uint64(t.Split()), uint64(t.Clock()))
	return ns * (1 + w.cfg.Jitter*float64(chance>>11)/(1<<53))
}

// abandon takes a task of a job that has ended to its end: it is unwound when it asks for more.
func (c *taskCoroutine) abandon() {
	if c.begin == nil {
		return
	}
	for c.alive {
		if c.asleep {
			c.asleep = false
			c.turn <- struct{}{}
		}
		switch c.listen().what {
		case asks, waits:
			c.turn <- struct{}{}
		case ended:
			c.alive = false
		}
	}
	close(c.begin)
}

// dismiss ends the goroutine of a split that runs at another node from now on. No task of it is out.
func (c *taskCoroutine) dismiss() {
	if c.begin != nil {
		close(c.begin)
	}
}
