package coord

import (
	"fmt"
	"slices"
	"strings"

	"bellows"
	"bellows/planted"
	"bellows/wire"
)

// roll is the other nodes of the job as the controller knows them: not ready yet, alive, perhaps lost, lost.
type roll struct {
	nodes    []bellows.NodeID // all, by number
	contact  []wire.Address   // of each, an actor to speak to
	awaited  []bellows.NodeID // have not said that they are ready
	rumours  []rumour
	lost     []bellows.NodeID // cannot answer any more
	opened   bool             // Start was called
	begun    bool             // the first tasks have left
	readied  int              // how often somebody has said that he is ready
	endNamed bool             // so is who keeps the job from ending

	namedMillis int64 // when those who are not ready were last named
}

// rumour is a node that perhaps cannot be reached any more: a better reason may come until it is due.
type rumour struct {
	node      bellows.NodeID
	reason    string
	dueMillis int64
}

// How long a broken connection waits for a better reason: that the process died, or, where two other nodes
// have lost each other, that one of them is lost to the controller too.
const (
	brokenMillis  = 1000
	severedMillis = 3000
)

// noticeMillis is how long a wait may last before it is named.
const noticeMillis = 2000

// enter takes the other nodes of the job, which are all awaited.
func (r *roll) enter(cfg *Config) {
	for _, a := range slices.Concat(cfg.Clients, cfg.Lanes) {
		if a.Node != cfg.Self.Node && !slices.Contains(r.nodes, a.Node) {
			r.nodes, r.contact = append(r.nodes, a.Node), append(r.contact, a)
		}
	}
	r.awaited = slices.Sorted(slices.Values(r.nodes))
}

func (r *roll) isLost(n bellows.NodeID) bool { return slices.Contains(r.lost, n) }

// takeReady counts a node as alive, and lets the job begin when it was the last.
func (c *Controller) takeReady(n bellows.NodeID) {
	if c.leases == nil || c.roll.isLost(n) {
		return
	}
	c.leases.Add(n, c.nowMillis)
	c.roll.awaited = slices.DeleteFunc(c.roll.awaited, func(m bellows.NodeID) bool { return m == n })
	if c.roll.readied++; planted.On("ready-by-count") && c.roll.readied == len(c.roll.nodes) {
		c.roll.awaited = nil
	}
	c.begin()
}

// suspect notes that a node perhaps cannot be reached.
func (c *Controller) suspect(n bellows.NodeID, reason string, patienceMillis int64) {
	c.roll.rumours = append(c.roll.rumours, rumour{n, reason, c.nowMillis + patienceMillis})
}

// Broken tells the controller that the connection to a node has ended, and why: the node is lost soon, if
// no better reason comes.
func (c *Controller) Broken(n bellows.NodeID, reason string) { c.suspect(n, reason, brokenMillis) }

// believe acts on the rumours that are due, and on the leases that have run out.
func (c *Controller) believe() {
	for i := 0; i < len(c.roll.rumours); i++ {
		if r := c.roll.rumours[i]; r.dueMillis <= c.nowMillis && !planted.On("rumour-ignored") {
			c.roll.rumours = slices.Delete(c.roll.rumours, i, i+1)
			c.lose(r.node, r.reason)
			i--
		}
	}
	if c.ending != nil && planted.On("ending-unwatched") {
		return
	}
	if n, silent, found := c.leases.Expired(c.nowMillis); found && !planted.On("silence-ignored") {
		c.lose(n, fmt.Sprintf("node %d has been silent for %.1f s and is declared gone; nothing of its unfinished clock counts", n, float64(silent)/1000))
	}
}

// Lost tells the controller that a node is dead, and why: the job ends, and nothing is expected of the
// node any more.
func (c *Controller) Lost(n bellows.NodeID, reason string, fx *Effects) {
	c.fx = fx
	c.lose(n, reason)
}

func (c *Controller) lose(n bellows.NodeID, reason string) {
	if c.roll.isLost(n) {
		return
	}
	c.roll.lost = append(c.roll.lost, n)
	if c.leases != nil {
		c.leases.Remove(n)
	}
	c.fx.Losses = append(c.fx.Losses, reason)
	if c.ending == nil {
		c.end(&Outcome{Kind: bellows.Lost, Reason: reason})
		return
	}
	c.open = slices.DeleteFunc(c.open, func(a wire.Address) bool { return a.Node == n })
	for _, a := range c.open {
		if a.Role == wire.Lane { // one that was told of the end may wait for the lost node to pass it on
			c.sendEnd(a)
		}
	}
	c.closeWhenAll()
}

// beat tells the other nodes that this one lives.
func (c *Controller) beat() {
	for i, a := range c.roll.contact {
		if !c.roll.isLost(c.roll.nodes[i]) {
			c.fx.Send(c.cfg.Self, a, &wire.Beat{})
		}
	}
}

// awaitReady names the nodes that keep the job from starting, every two seconds.
func (c *Controller) awaitReady() {
	if c.nowMillis < c.roll.namedMillis+noticeMillis || len(c.roll.awaited) == 0 {
		return
	}
	c.roll.namedMillis = c.nowMillis
	var late []string
	for _, n := range c.roll.awaited {
		late = append(late, fmt.Sprintf("node %d", n))
	}
	c.fx.Notices = append(c.fx.Notices, fmt.Sprintf("the job waits for %s to be ready since %.1f s", strings.Join(late, ", "),
		float64(c.nowMillis)/1000))
}

// awaitEnd names those who keep the job from ending, once, and after two leases waits no longer: one may pass until
// a silent node is lost, and those who waited for it then have their last word.
func (c *Controller) awaitEnd() {
	waited := c.nowMillis - c.endMillis
	if waited > 2*c.cfg.LeaseMillis {
		c.open = nil
		c.closeWhenAll()
		return
	}
	if waited <= noticeMillis || c.roll.endNamed {
		return
	}
	c.roll.endNamed = true
	var late []string
	for _, a := range c.open {
		late = append(late, a.String())
	}
	c.fx.Notices = append(c.fx.Notices, fmt.Sprintf("the end of the job waits for the last word of %s since %.1f s",
		strings.Join(late, ", "), float64(waited)/1000))
}

// nameSilence says who is silent for long, once each time.
func (c *Controller) nameSilence() {
	for {
		n, silent, found := c.leases.Suspect(c.nowMillis, noticeMillis)
		if !found {
			return
		}
		c.fx.Notices = append(c.fx.Notices, fmt.Sprintf("node %d has been silent for %.1f s; after %.1f s it is declared gone",
			n, float64(silent)/1000, float64(c.cfg.LeaseMillis)/1000))
	}
}
