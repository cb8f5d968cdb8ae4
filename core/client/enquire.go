package client

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/core/cache"
	"bellows/core/flush"
	"bellows/core/liveness"
	"bellows/core/pending"
	"bellows/core/planted"
	"bellows/link/wire"
)

// A wait at a lane ends, even if the question is lost. When it has lasted for half of the time after which it is named,
// the client asks the lane about it, and again while it lasts (wire.Inquiry). Answers come in order, so there are three
// cases:
//
//   - The lane has it, and reports what it waits for. That ends: a task that computes may take Times.Task; the
//     controller makes a record as soon as it can, and gives up a job without a record for so long.
//   - The lane has nothing of it, and the client still waits: the question or its answer is lost. The job ends at
//     once (TestLostQuestionEndsJob; planted: loss-overlooked).
//   - The lane says nothing at all for Times.Answer. The job ends then (TestSilentLaneEndsJob; planted:
//     silence-accepted).
//
// So no wait needs a deadline that guesses how long others compute (TestWaitForSlowTaskContinues). The client does not
// ask about parts that wait for a route: no lane has them (route.go).
//
// Rejected: a deadline for each question, which would have to be longer than all tasks that may come before it; and
// asking the question itself again, which a lane would answer twice.

// enquiry is what a client has asked a lane of its waits.
type enquiry struct {
	lane         wire.Address
	open         int   // questions under way
	askedMillis  int64 // when the last left
	silentMillis int64 // how long the lane has said nothing since then, without what the node slept
}

// enquiries are what a client asks of its waits, and what it names of them. The cache and the
// coordinator of flushes say what it waits for.
type enquiries struct {
	self            wire.Address
	process         uint32         // the incarnation of the client
	times           liveness.Times // how long what may last
	lanes           []enquiry      // by the lane's number
	open            int            // inquiries under way, of all lanes
	nowMillis       int64          // the time of the last tick
	routeless       int64          // milliseconds since something began to wait for a route
	computing       bellows.Unit   // the unit that was last reported to compute for long
	computingMillis int64          // when it was reported
}

// tick takes the time, and returns how much of it since the last tick counts for a wait: the node may have slept.
func (e *enquiries) tick(nowMillis int64) (awakeMillis int64) {
	awake := e.times.Awake(nowMillis - e.nowMillis)
	e.nowMillis = nowMillis
	return awake
}

// ask asks lanes about waits that last, a lane at most once in half of Times.Notice. It returns a sentence if one has
// said nothing for too long: the job is given up. The caller says how long the node was awake since the last call: while it
// slept, nothing could be heard.
func (e *enquiries) ask(awakeMillis int64, c *cache.Cache, f *flush.Coordinator, out *wire.Outbox) (silent string) {
	c.Tick(e.nowMillis)
	f.Tick(e.nowMillis)
	for i := range e.lanes {
		l := &e.lanes[i]
		if l.open == 0 {
			if l.askedMillis == 0 || e.nowMillis-l.askedMillis > e.times.Notice/2 {
				e.inquire(i, c, f, out)
			}
			continue
		}
		l.silentMillis += awakeMillis
		if l.silentMillis > e.times.Answer && !planted.On("silence-accepted") {
			return fmt.Sprintf("%v has said nothing for %s, though it was asked what it has of that for which tasks wait",
				l.lane, seconds(l.silentMillis))
		}
	}
	return ""
}

// inquire asks a lane about all old waits there, in as many messages as they take.
func (e *enquiries) inquire(lane int, c *cache.Cache, f *flush.Coordinator, out *wire.Outbox) {
	var list []pending.Wait
	add := func(w pending.Wait) {
		if list = append(list, w); len(list) == pending.Most {
			e.send(lane, list, out)
			list = nil
		}
	}
	for w := range c.Overdue(lane, e.nowMillis, e.times.Notice/2) {
		add(w)
	}
	for w := range f.Overdue(lane, e.nowMillis, e.times.Notice/2) {
		add(w)
	}
	if len(list) > 0 {
		e.send(lane, list, out)
	}
}

// send asks a lane of some waits. Its silence counts from here.
func (e *enquiries) send(lane int, list []pending.Wait, out *wire.Outbox) {
	l := &e.lanes[lane]
	l.open++
	e.open++
	l.askedMillis, l.silentMillis = e.nowMillis, 0
	out.Send(e.self, l.lane, &wire.Inquiry{Incarnation: e.process, List: list})
}

// find returns the number of a lane; -1: it is none.
func (e *enquiries) find(a wire.Address) int {
	return slices.IndexFunc(e.lanes, func(l enquiry) bool { return l.lane == a })
}

// hears notes that a lane has said something.
func (e *enquiries) hears(a wire.Address) {
	if lane := e.find(a); lane >= 0 {
		e.lanes[lane].silentMillis = 0
	}
}

// answered notes that a lane has said what it has of waits, and returns its number; false: it was not asked.
func (e *enquiries) answered(a wire.Address) (lane int, asked bool) {
	lane = e.find(a)
	if lane < 0 || e.lanes[lane].open == 0 {
		return 0, false
	}
	e.lanes[lane].open--
	e.open--
	return lane, true
}

// takeStanding takes a lane's report on the waits that it was asked about. It ignores those that have been answered
// meanwhile.
func (c *Client) takeStanding(m *wire.Standing, from wire.Address, fx *Effects) {
	if m.Incarnation != c.cfg.Incarnation { // for the process before this one
		return
	}
	lane, asked := c.enquiries.answered(from)
	if !asked {
		c.breach(from, fx, "what it has of waits, which it was not asked")
		return
	}
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

// seconds returns a time as sentences have it.
func seconds(millis int64) string { return fmt.Sprintf("%.1f s", float64(millis)/1000) }
