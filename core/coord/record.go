package coord

import (
	"bellows"
	"bellows/core/planted"
	"bellows/link/wire"
)

// The log of decisions. A record gets the next number and becomes part of one message that goes to
// every lane, shared, not copied. It need not leave in its step: records that nobody waits for wait
// for the one that completes their clock (pressing), so that a clock of many nodes is one message
// for each lane.

// record gives a flush its number. From here it counts, whoever is lost: the record reaches every
// lane that is left, or, if it reaches none, a controller that follows numbers the flush again,
// since it is still held.
func (c *Controller) record(m *wire.Done, fx *Effects) {
	if c.records != nil && !c.records.Room(m) {
		c.sendRecords(fx)
	}
	c.number++
	c.counted.Add(m.Flush)
	c.gather(m.Pairs, m.Results)
	c.counts(m.Flush.Client, m.Sent)
	c.tellVisits(m.Results, fx)
	c.more().Append(c.number, m)
	c.measure()
}

// measure adds the newest record to the meter of the tails.
func (c *Controller) measure() { c.meter.Add(&c.records.List[len(c.records.List)-1]) }

// control numbers a control record, but for one that was numbered by the controller before. Lanes
// need it before anything that follows, so that it does not wait.
func (c *Controller) control(r bellows.Control) {
	c.number++
	if c.repeats(r) {
		return
	}
	c.more().AppendControl(c.number, r)
	c.measure()
	c.urgent = true
}

// more is the message that the next record belongs to.
func (c *Controller) more() *wire.Records {
	if c.records == nil {
		c.records = wire.New[wire.Records]()
		c.records.Term = c.cfg.Term
		if c.forgotten > 0 {
			c.records.Keep = c.forgotten + 1
		}
	}
	return c.records
}

// staleness is the control record of a change.
func staleness(m wire.Staleness) bellows.Control {
	return bellows.Control{Kind: bellows.SetStaleness, Table: m.Table, Clocks: m.Clocks}
}

// conclude sends what the step has gathered: records before the routes and the dispatches that rely
// on them, so that whoever follows this controller, and is told by lanes what was recorded, knows
// of every route that a client can have heard of. Then it sees whether the job is over.
func (c *Controller) conclude(fx *Effects) {
	c.tryCut(fx)
	if planted.On("route-told-first") {
		c.announceRoute(fx)
	}
	if c.pressing() {
		c.sendRecords(fx)
	}
	c.announce(fx)
	for _, d := range c.dispatches {
		fx.Send(c.cfg.Controller, c.cfg.Clients[d.client], d.message)
		c.newest[d.client] = 0
	}
	clear(c.dispatches)
	c.dispatches = c.dispatches[:0]
	c.tell(fx)
	if c.ending == nil && c.tasks == 0 && c.begun {
		c.idle(fx)
	}
}

// pressing reports whether somebody needs the records that have not left: who is dispatched relies
// on them, they show or end a lease or a clock, or are of control. Others wait for their clock, so
// that a clock of many nodes takes one message for each lane.
func (c *Controller) pressing() bool {
	return c.records != nil && (c.urgent || len(c.records.List) >= c.cfg.Limits.Records || len(c.dispatches) > 0)
}

// sendRecords sends every lane the records that have not left: one message for all of them.
func (c *Controller) sendRecords(fx *Effects) {
	if c.records == nil {
		return
	}
	c.records.Share(len(c.cfg.Lanes))
	for _, a := range c.cfg.Lanes {
		fx.Send(c.cfg.Controller, a, c.records)
	}
	c.records, c.urgent = nil, false
}

// announce tells clients of changes of the route and of staleness, before the tasks that are to see
// them. To lanes they are records.
func (c *Controller) announce(fx *Effects) {
	c.announceRoute(fx)
	for ; c.announced < len(c.staleness); c.announced++ {
		for _, a := range c.cfg.Clients {
			m := c.staleness[c.announced]
			m.Term = c.cfg.Term
			fx.Send(c.cfg.Controller, a, &m)
		}
	}
}

// idle decides what it means that no task is out: the user wanted out, the driver has finished, or
// it has forgotten to dispatch, upon which nothing would ever come.
func (c *Controller) idle(fx *Effects) {
	switch {
	case len(c.queue) > 0:
		c.end(&Outcome{Interrupted: true, Kind: bellows.Interrupted, Reason: "interrupted"}, fx)
	case c.finishing:
		c.end(&Outcome{}, fx)
	default:
		c.end(&Outcome{Kind: bellows.Lost, Reason: "the driver dispatched no task and did not finish"}, fx)
	}
}
