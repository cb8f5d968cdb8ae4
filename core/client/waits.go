package client

import (
	"fmt"

	"bellows"
	"bellows/core/pending"
	"bellows/core/tally"
	"bellows/link/wire"
)

// Whatever lasts longer than Times.Notice is named, once, with whom it is for and until when (P8 of the simulation):
// the first task that waits, with how many others do; each flush that some lane does not hold; a route that does not
// come. By then the lane has been asked what it is behind (enquire.go).

// Waits is what the node waits for, as it is measured (docs/decisions/0021): tasks that wait for a read or a lease,
// flushes that some lane does not hold yet, and flushes that are held and not yet visible everywhere. Of a flush for
// one lane, which passes its done on, the client learns that it is held when it is recorded.
func (c *Client) Waits() tally.Waits {
	preparing := c.flush.Preparing()
	return tally.Waits{Tasks: c.cache.Waiting(), Pushes: preparing, Commits: c.flush.Open() - preparing}
}

// Tick tells the client the time: it names waits that last, with until when, and ends those that cannot end
// otherwise. It returns how much of the time since the last tick counts for a wait: the node may have slept.
func (c *Client) Tick(nowMillis int64, fx *Effects) (awakeMillis int64) {
	fx.Era = c.cfg.Era
	awake := c.cfg.Times.Awake(nowMillis - c.enquiries.nowMillis)
	c.enquiries.nowMillis = nowMillis
	if c.closing.ended == nil && !c.closing.broken {
		c.enquire(awake, fx)
		c.nameReads(fx)
		c.nameFlushes(fx)
		c.awaitRoute(awake, fx)
	}
	return awake
}

// Computes tells the client which task of the node has computed for longest, and for how long: what others wait for
// in the end. The controller is told where that is long, and a task that has not ended after Times.Task, nor asked
// for anything, ends the job (TestATaskThatComputesForTooLongEndsTheJob).
func (c *Client) Computes(s bellows.SplitID, millis int64, fx *Effects) {
	if at := c.splits[s]; at == nil || !at.running { // its task has ended meanwhile, and the split may have gone
		return
	}
	u := c.splits[s].task.Unit
	switch {
	case c.closing.ended != nil || c.closing.broken:
	case millis > c.cfg.Times.Task:
		c.stop(&wire.Failed{Unit: u, Kind: bellows.Lost, Reason: fmt.Sprintf("it has computed for %s without an end", seconds(millis))}, fx)
	case millis > c.cfg.Times.Notice/2 && (u != c.enquiries.computing || c.enquiries.nowMillis-c.enquiries.computingMillis > c.cfg.Times.Notice/2):
		c.enquiries.computing, c.enquiries.computingMillis = u, c.enquiries.nowMillis
		fx.Send(c.cfg.Self, c.cfg.Controller, &wire.Computing{Unit: u, Millis: millis})
	}
}

// nameReads names the first task that has waited for an answer for long, and counts the others.
func (c *Client) nameReads(fx *Effects) {
	first, late := c.cache.NameLate(c.enquiries.nowMillis, c.cfg.Times.Notice)
	if late == 0 {
		return
	}
	until := c.givesUp(first.Lane, &first.At)
	sentence := fmt.Sprintf("%v has waited %s for %s%s", first.Unit, seconds(first.Millis), first.For, until)
	if late > 1 {
		sentence += fmt.Sprintf("; %d other splits of node %d wait too", late-1, c.cfg.Self.Node)
	}
	fx.Notices = append(fx.Notices, sentence)
}

// nameFlushes names the lanes that have not said for long that they hold their part of a flush.
func (c *Client) nameFlushes(fx *Effects) {
	for u := range c.flush.NameUnheld(c.enquiries.nowMillis, c.cfg.Times.Notice) {
		fx.Notices = append(fx.Notices, fmt.Sprintf("%v has waited %s for %v to hold its part%s",
			u.Flush, seconds(u.Millis), c.lanes[u.Lane], c.givesUp(u.Lane, &u.At)))
	}
}

// givesUp says behind what a wait at a lane stands, and when it is given up.
func (c *Client) givesUp(lane int, w *pending.At) string {
	if !w.Known {
		return fmt.Sprintf(", and gives up after %s without a word of that lane", seconds(c.cfg.Times.Answer))
	}
	task := seconds(c.cfg.Times.Task)
	switch split := bellows.SplitID(w.Who); {
	case w.Behind == pending.Clock && int(split) < c.cfg.Route.Splits():
		return fmt.Sprintf(", behind split %d on node %d, and gives up when a task has taken %s", split, c.now.Route.Node(split), task)
	case w.Behind == pending.Lease:
		return fmt.Sprintf(", behind a lease of node %d, and gives up when a task has taken %s", w.Who, task)
	case w.Behind == pending.Silence:
		return fmt.Sprintf(", and gives up after %s without a word of the controller there", seconds(c.cfg.Times.Leader))
	case w.Behind == pending.Room:
		return fmt.Sprintf(", behind others for whom there is room, and gives up after %s without a commit", task)
	}
	return fmt.Sprintf(", behind commits to come, and gives up after %s without one", task)
}

// seconds is how sentences have a time.
func seconds(millis int64) string { return fmt.Sprintf("%.1f s", float64(millis)/1000) }
