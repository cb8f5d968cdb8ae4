package client

import (
	"slices"

	"bellows"
	"bellows/core/pending"
	"bellows/core/planted"
	"bellows/link/wire"
)

// A wait at a lane ends, whatever becomes of the question. When it has lasted for half of the time after which it is
// named, the client asks the lane what it has of it, and again while it lasts (wire.Inquiry). Answers come in order,
// so there are three cases:
//
//   - The lane has it, and says what it is behind. That has an end: a task that computes, which may take Times.Task;
//     or a record, which the controller makes as soon as it can, and it gives a job up in which none has been made
//     for so long.
//   - The lane has nothing of it, and the client still waits: the question or its answer is lost. The job ends at
//     once (TestAQuestionThatIsLostEndsTheJob; planted: loss-overlooked).
//   - The lane says nothing at all for Times.Answer. The job ends then (TestALaneThatSaysNothingEndsTheJob; planted:
//     silence-accepted).
//
// So no wait needs a deadline that guesses how long others compute (TestAWaitForASlowTaskGoesOn). What waits for a
// route is not asked after: no lane has it (route.go).
//
// Turned down: a deadline for each question, which would have to be longer than all tasks that may come before it;
// and asking the question itself again, which a lane would answer twice.

// enquiry is what a client has asked a lane of its waits.
type enquiry struct {
	open         int   // questions under way
	askedMillis  int64 // when the last left
	silentMillis int64 // how long the lane has said nothing since then, without what the node slept
}

// enquiries are what a client asks of its waits, and what it names of them.
type enquiries struct {
	lanes           []enquiry    // by the lane's number
	open            int          // inquiries under way, of all lanes
	nowMillis       int64        // the time of the last tick
	routeless       int64        // milliseconds for which something has waited for a route
	computing       bellows.Unit // the unit that the controller was told last to compute for long
	computingMillis int64        // when it was told
}

// enquire asks lanes about waits that last, a lane at most once in half of Times.Notice, and gives the job up when
// one has said nothing for too long. It is told how long the node was awake since the last call: while it slept,
// nobody could be heard.
func (c *Client) enquire(awakeMillis int64, fx *Effects) {
	now := c.enquiries.nowMillis
	c.cache.Tick(now)
	c.flush.Tick(now)
	for lane := range c.enquiries.lanes {
		e := &c.enquiries.lanes[lane]
		if e.open == 0 {
			if e.askedMillis == 0 || now-e.askedMillis > c.cfg.Times.Notice/2 {
				c.inquire(lane, fx)
			}
			continue
		}
		if e.silentMillis += awakeMillis; e.silentMillis > c.cfg.Times.Answer && !planted.On("silence-accepted") {
			c.giveUp(fx, "%v has said nothing for %.1f s, though it was asked what it has of that for which tasks wait", c.lanes[lane], float64(e.silentMillis)/1000)
			return
		}
	}
}

// inquire asks a lane about all old waits there, in as many messages as they take.
func (c *Client) inquire(lane int, fx *Effects) {
	var list []pending.Wait
	add := func(w pending.Wait) {
		if list = append(list, w); len(list) == pending.Most {
			c.sendInquiry(lane, list, fx)
			list = nil
		}
	}
	now, most := c.enquiries.nowMillis, c.cfg.Times.Notice/2
	for w := range c.cache.Overdue(lane, now, most) {
		add(w)
	}
	for w := range c.flush.Overdue(lane, now, most) {
		add(w)
	}
	if len(list) > 0 {
		c.sendInquiry(lane, list, fx)
	}
}

// sendInquiry asks a lane of some waits. Its silence counts from here.
func (c *Client) sendInquiry(lane int, list []pending.Wait, fx *Effects) {
	e := &c.enquiries.lanes[lane]
	e.open++
	c.enquiries.open++
	e.askedMillis, e.silentMillis = c.enquiries.nowMillis, 0
	fx.Send(c.cfg.Self, c.lanes[lane], &wire.Inquiry{Incarnation: c.cfg.Incarnation, List: list})
}

// hears notes that a lane has said something.
func (c *Client) hears(a wire.Address) {
	if lane := slices.Index(c.lanes, a); lane >= 0 {
		c.enquiries.lanes[lane].silentMillis = 0
	}
}

// takeStanding learns what a lane has of the waits that it was asked about. What has been answered meanwhile is not
// waited for any more, and is passed over.
func (c *Client) takeStanding(m *wire.Standing, from wire.Address, fx *Effects) {
	lane := slices.Index(c.lanes, from)
	if m.Incarnation != c.cfg.Incarnation { // for the process before this one
		return
	}
	if lane < 0 || c.enquiries.lanes[lane].open == 0 {
		c.breach(from, fx, "what it has of waits, which it was not asked")
		return
	}
	c.enquiries.lanes[lane].open--
	c.enquiries.open--
	for i := range m.List {
		w, lost := &m.List[i], ""
		if w.Of == pending.Flush {
			lost = c.flush.Stands(lane, w)
		} else {
			lost = c.cache.Stands(lane, w)
		}
		if lost != "" {
			c.lost(lost, fx)
		}
	}
}
