package lab

import (
	"slices"
	"time"

	"bellows"
	"bellows/core/client"
	"bellows/core/heartbeat"
	"bellows/core/join"
	"bellows/core/migration"
	"bellows/core/server"
	"bellows/core/shell"
	"bellows/core/slots"
	"bellows/core/tally"
	"bellows/link/wire"
	"bellows/sim/lab/cores"
	"bellows/train"
)

// node is a process: its actors, the mail that it has not handled, and its tasks.
type node struct {
	w         *world
	id        bellows.NodeID
	machine   *machine
	runner    *train.Runner // nil: runs no tasks
	lanes     []lane
	client    *actor
	lead      *lead         // nil: not node 0
	shell     *shell.Member // nil: node 0, or it hosts nothing
	alive     int           // tasks that have begun and not ended
	places    int           // compute slots
	gone      bool          // its process has left or died
	stores    int64         // when it has stored what it has of cuts
	computing int           // tasks that compute
	closed    bool          // no task runs any more, and lanes know it

	inbox, taking   []mail   // come, and being handled
	outbox, sending []*frame // to go, and being sent
	serving         bool     // a job handles taking, or sends sending
	service         job
	rested          int64   // when the last service ended
	waking          float64 // what waking up costs, to be paid with the next mail
	wakes           int64
	stepped         []*actor // have mail of taking, in order

	slots slots.Scheduler
	turns []slots.Turn // given, and not carried out
	meter tally.Meter

	newcomers *join.Newcomers // who else is let in

	processor float64 // nanoseconds of cores that its finished jobs have had
	lanework  lanework

	sent, received tally.Traffic
	heard          []uint64   // by node: bytes that have come
	local          tally.Flow // messages, and the bytes of deltas in them
}

// actor is a state machine of a node.
type actor struct {
	batch []wire.Envelope
	step  func(batch []wire.Envelope)
}

// lane is a server lane and its actor.
type lane struct {
	*server.Lane
	actor *actor
}

// addLanes makes the lanes of a node.
func (n *node) addLanes(count int) error {
	for i := range count {
		a := wire.LaneAt(n.id, i)
		l, err := server.NewLane(n.w.common, a, server.Options{})
		if err != nil {
			return err
		}
		var out wire.Outbox
		var pace migration.Pace
		n.lanes = append(n.lanes, lane{l, &actor{step: func(batch []wire.Envelope) {
			l.Step(n.due(batch, l, &pace), &out)
			n.post(&out)
			n.store(n.lanes[i], a)
		}}})
	}
	return nil
}

// due returns the part of a batch that is for a lane now: reports about copies rest as in production.
func (n *node) due(batch []wire.Envelope, l *server.Lane, pace *migration.Pace) []wire.Envelope {
	now := batch[:0]
	for _, e := range batch {
		m, ok := e.Message.(*wire.Taken)
		if !ok {
			now = append(now, e)
			continue
		}
		switch what, rest := pace.Take(m, l.CopyOf(e.From, m), n.w.elapsed()); what {
		case migration.Deliver:
			now = append(now, e)
		case migration.Rest:
			n.w.posted(m)
			n.w.agenda.After(int64(rest), event{what: later, do: func() {
				if n.gone {
					n.w.took(m)
					return
				}
				n.inbox = append(n.inbox, mail{envelope: e})
				n.settle()
			}})
		}
	}
	return now
}

// addClient makes the client of a node and what runs its tasks.
func (n *node) addClient(places int) error {
	job := &n.w.cfg.Job
	c := client.New(n.w.common, wire.ClientAt(n.id), client.Options{})
	var active []bellows.SplitID
	for s := range bellows.SplitID(job.Splits) {
		if n.w.common.Route.Node(s) == n.id { // none of a node that joins later
			n.w.coroutines[s] = &taskCoroutine{node: n}
			active = append(active, s)
		}
	}
	r, err := train.NewRunner(c, job, active, places, bus{n}, func(string) {})
	if err != nil {
		return err
	}
	r.GiveTurns(turns{n})
	n.places = places
	n.runner, n.slots, n.meter = r, slots.New(places, job.Splits), tally.NewMeter(places)
	n.client = &actor{step: r.Step}
	return nil
}

// bus takes the messages of a node's client.
type bus struct{ node *node }

// Enqueue implements train.Bus.
func (b bus) Enqueue(out *wire.Outbox) { b.node.post(out) }

// Drain implements train.Bus: messages are handled in their own time.
func (bus) Drain() {}

// Leave implements train.Bus.
func (bus) Leave() {}

// actor returns the receiver of a message.
func (n *node) actor(a wire.Address) *actor {
	switch {
	case a.Role == wire.Lane && int(a.Index) < len(n.lanes):
		return n.lanes[a.Index].actor
	case a.Role == wire.Client:
		return n.client
	case a.Role == wire.Controller && n.lead != nil:
		return n.lead.actor
	}
	return nil
}

// post takes what an actor of the node wants sent.
func (n *node) post(out *wire.Outbox) {
	for _, e := range out.Envelopes {
		if n.gone {
			break
		}
		if _, mark := e.Message.(*wire.Mark); mark { // what is on a link is the link's: nothing waits for a reader
			e.From, e.To = e.To, e.From
		}
		n.w.posted(e.Message)
		if e.To.Node == n.id {
			n.inbox = append(n.inbox, mail{envelope: e, bytes: deltaBytes(e.Message)})
			continue
		}
		f, err := n.w.pack(n, e)
		if err != nil {
			n.w.fail(err)
			continue
		}
		n.outbox = append(n.outbox, f)
	}
	clear(out.Envelopes)
	out.Envelopes = out.Envelopes[:0]
}

// arrives takes a frame off the link.
func (n *node) arrives(f *frame) {
	if n.gone || f.from.gone && f.from.id != 0 && f.copying != nil {
		if f.copying == nil {
			n.w.took(f.envelope.Message)
		}
		return
	}
	n.received.Count(f.class(), f.len())
	n.heard[f.from.id] += uint64(f.len())
	n.inbox = append(n.inbox, mail{frame: f, bytes: f.len()})
	n.settle()
}

// served continues when the node has handled a batch.
func (n *node) served() {
	n.serving = false
	n.lanework.end(n.w.agenda.Time())
	n.finishService()
	n.settle()
}

// settle takes all steps that need no time: it begins to send and to handle what has come, and resumes tasks that have a slot.
// Nothing begins after the outcome.
func (n *node) settle() {
	if n.gone || n.w.nodes[0].lead.outcome != nil {
		return
	}
	for n.serveNext() || n.takeTurn() || n.close() {
	}
	if n.runner != nil {
		n.meter.Wait(n.w.elapsed(), n.runner.Waits())
	}
}

// serveNext begins the node's next piece of service: sending comes first. It reports whether it is done already.
func (n *node) serveNext() bool {
	c := &n.w.cfg.Costs
	n.service.Rest, n.lanework.cost = 0, 0
	switch {
	case n.serving:
		return false
	case len(n.outbox) > 0:
		n.sending, n.outbox = n.outbox, n.sending[:0]
		for _, f := range n.sending {
			n.service.Rest += c.Send + c.SendByte*float64(f.len())
		}
	case len(n.inbox) > 0:
		if n.naps() {
			return false
		}
		n.service.Rest += n.waking
		n.waking = 0
		n.taking, n.inbox = n.inbox, n.taking[:0]
		for i := range n.taking {
			cost := n.taking[i].cost(c)
			n.service.Rest += cost
			if n.taking[i].receiver().Role == wire.Lane {
				n.lanework.cost += cost
			}
		}
	default:
		return false
	}
	if n.service.Rest < cores.Done {
		n.finishService()
		return true
	}
	n.serving = true
	n.lanework.begin(n.w.agenda.Time(), n.service.Rest)
	n.w.begins(n.machine, &n.service)
	return false
}

// naps reports whether the node is asleep, and wakes it: what it has got is handled when it is awake.
func (n *node) naps() bool {
	now, site := n.w.agenda.Time(), &n.w.cfg.Site
	if n.inbox[0].frame == nil || n.machine.Full() || now-n.rested <= int64(site.Nap) {
		return false
	}
	n.wakes++
	n.waking = n.w.cfg.Costs.Wake
	n.serving = true
	n.w.agenda.After(int64(site.WakeLatency), event{what: nodeWakes, node: n})
	return true
}

// awake continues a node that was asleep.
func (n *node) awake() {
	n.serving, n.rested = false, n.w.agenda.Time()
	n.settle()
}

// cost returns the cost of handling a message.
func (m *mail) cost(c *Costs) float64 {
	if m.frame == nil {
		return c.Local + (c.LocalByte+c.ApplyByte)*float64(m.bytes)
	}
	return c.Receive + c.ReceiveByte*float64(m.bytes) + c.ApplyByte*float64(m.frame.deltas)
}

// finishService sends what was to be sent, and steps the actors that have mail.
func (n *node) finishService() {
	n.rested = n.w.agenda.Time()
	for _, f := range n.sending {
		n.w.transmit(f)
	}
	clear(n.sending)
	n.sending = n.sending[:0]
	for i := range n.taking {
		n.open(&n.taking[i])
	}
	clear(n.taking)
	n.taking = n.taking[:0]
	for _, a := range n.stepped {
		a.step(a.batch)
		clear(a.batch)
		a.batch = a.batch[:0]
	}
	n.stepped = n.stepped[:0]
}

// open puts a message before its actor.
func (n *node) open(m *mail) {
	e := m.envelope
	if f := m.frame; f != nil && f.copying != nil {
		n.w.trace(uint64(f.from.id)<<32|uint64(n.id), uint64(f.copying.split)<<32|uint64(f.len()))
		n.w.pieceCame(f)
		return
	}
	if f := m.frame; f != nil {
		n.w.trace(uint64(f.from.id)<<32|uint64(n.id), uint64(f.header().Checksum)<<32|uint64(f.header().Kind))
		var err error
		if e, err = f.unpack(&n.w.codec.joiner); err != nil {
			n.w.fail(err)
			return
		}
	} else {
		n.w.trace(uint64(n.id), uint64(m.bytes))
		n.local.Add(tally.Flow{Frames: 1, Bytes: int64(m.bytes)})
	}
	n.w.took(e.Message)
	a := n.actor(e.To)
	if a == nil {
		n.w.fail(bellows.Errorf(bellows.Bug, "run experiment", "", "%T from %v is for %v, who is not there", e.Message, e.From, e.To))
		return
	}
	if len(a.batch) == 0 {
		n.stepped = append(n.stepped, a)
	}
	a.batch = append(a.batch, e)
}

// give takes note of a slot that a task has got, for when the node settles.
func (n *node) give(t slots.Turn) {
	if t.Do != slots.Nothing {
		n.turns = append(n.turns, t)
	}
}

// takeTurn lets the next task with a slot begin or continue, and reports whether it found one.
func (n *node) takeTurn() bool {
	if len(n.turns) == 0 {
		return false
	}
	t := n.turns[0]
	n.turns = append(n.turns[:0], n.turns[1:]...)
	if c := n.w.coroutines[t.Split]; t.Do == slots.Resume {
		c.resume()
	} else {
		c.start()
	}
	return true
}

// begin says that the node is ready: all its roles are there.
func (n *node) begin() {
	switch {
	case n.lead != nil:
		n.lead.Start(&n.lead.fx)
		n.lead.obey()
	case n.runner != nil || len(n.lanes) > 0:
		n.shell = shell.NewMember(n.w.common, n.id)
		n.member(func(fx *heartbeat.Effects) { n.shell.Start(bellows.Fingerprint{}, fx) })
	}
	n.settle()
}

// member carries out what the shell of a node that does not lead wants. It never leaves: the experiment ends with the outcome.
func (n *node) member(step func(*heartbeat.Effects)) {
	var fx heartbeat.Effects
	step(&fx)
	n.post(&fx.Outbox)
	if fx.Leave != nil {
		n.w.fail(bellows.Errorf(bellows.Bug, "run experiment", "", "node %d leaves: %s", n.id, fx.Leave.Reason))
	}
}

// tick tells the actors of a node the time.
func (n *node) tick() {
	if n.gone {
		return
	}
	now := int64(n.w.elapsed() / time.Millisecond)
	if n.runner != nil {
		n.runner.Tick(now)
	}
	switch {
	case n.lead != nil:
		n.lead.Tick(now, n.heard, n.finished(), n.unfinished(), &n.lead.fx)
		n.lead.obey()
		n.w.takeCut()
		if n.w.shape != nil {
			n.w.shape.Tick()
		}
	case n.shell != nil:
		n.member(func(fx *heartbeat.Effects) { n.shell.Tick(now, n.heard[0], n.finished(), n.unfinished(), fx) })
	}
	n.settle()
}

// finished reports whether the node knows that the job is over.
func (n *node) finished() bool {
	if n.runner == nil {
		return slices.ContainsFunc(n.lanes, func(l lane) bool { return l.Ending() })
	}
	select {
	case <-n.runner.Ended():
		return true
	default:
		return false
	}
}

// unfinished returns the tasks that continue though the job is over.
func (n *node) unfinished() (list []bellows.Unit) {
	if n.finished() {
		for _, c := range n.w.coroutines {
			if c != nil && c.node == n && c.alive {
				list = append(list, bellows.Unit{Split: c.task.Split(), Clock: c.task.Clock(), Items: c.task.Items()})
			}
		}
	}
	return list
}

// endJob lets the runner know that the job is over.
func (n *node) endJob() {
	n.runner.Step([]wire.Envelope{{From: wire.ControllerAt(), To: wire.ClientAt(n.id), Message: &wire.End{}}})
}

// departs ends the process of a node that leaves, or has died, with whatever its tasks do.
func (n *node) departs() {
	n.gone = true
	if n.runner == nil || n.closed {
		return
	}
	n.endJob()
	for s, c := range n.w.coroutines {
		if c != nil && c.node == n {
			c.abandon()
			n.w.coroutines[s] = &taskCoroutine{node: n, learnt: c.learnt}
		}
	}
	if err := n.runner.Close(); err != nil {
		n.w.fail(err)
	}
	n.closed = true
}

// close closes the executors when no task runs any more, and lets lanes look at what tasks may have worked on in place. It reports whether
// it has.
func (n *node) close() bool {
	switch {
	case n.closed, n.lead == nil && n.shell == nil, n.runner != nil && !n.finished():
		return false // it is closed, has not joined yet, or still works
	case n.runner != nil:
		n.slots.Close()
		if n.alive > 0 {
			return false
		}
		if err := n.runner.Close(); err != nil {
			n.w.fail(err)
		}
	}
	n.closed = true
	switch {
	case n.lead != nil:
		n.lead.TasksEnded(&n.lead.fx)
		n.lead.obey()
	case n.shell != nil:
		n.member(n.shell.TasksEnded)
	}
	return true
}
