package fence

import (
	"slices"

	"bellows"
	"bellows/core/planted"
	"bellows/link/wire"
)

// Process is a process of a node that was declared gone, and with it all before it on that node.
type Process struct {
	Node        bellows.NodeID
	Incarnation uint32 // counted from 1
}

// Covers reports whether a process of an address is gone with p. Fences are for clients: a lane that
// is lost takes its partitions with it.
func (p Process) Covers(a wire.Address, incarnation uint32) bool {
	return a.Role == wire.Client && a.Node == p.Node && incarnation <= p.Incarnation
}

// Clients is what a lane knows of the processes of the job's clients. The zero value knows none.
//
// A client is unknown until Add. Then its newest process is known, by the incarnation. A process is
// outlived when a newer one of its client is known, and fenced when a Fence covers it.
//
// Invariants:
//   - The newest incarnation of a client never falls (TestNewestIncarnationNeverFalls).
//   - A fence stays for good, and covers every earlier process of its node (TestFencesStay).
//   - A process that starts after a fence is heard (TestProcessAfterFenceIsHeard).
//
// A message that names its incarnation is judged by that. Any other is taken to be of the newest
// process known, which is right as long as no node is added twice (docs/decisions/0031).
//
// Turned down: fences by node, which would shut out a node that is started again.
type Clients struct {
	known []client
	gone  []Process // in the order of the fences
}

// client is a client of the job.
type client struct {
	address wire.Address
	newest  uint32 // its newest incarnation
}

// Encounter says how a process relates to those of its client that are known.
type Encounter uint8

const (
	// Current is the newest known process of its client, or the sender is not a client of the job.
	Current Encounter = iota
	// Newer has replaced the process that was known before.
	Newer
	// Outlived has been replaced. Its flushes that are not wholly held now never will be.
	Outlived
)

// Add makes a client known. One that is known stays as it is.
func (c *Clients) Add(a wire.Address, incarnation uint32) {
	if c.find(a) < 0 {
		c.known = append(c.known, client{a, incarnation})
	}
}

// Knows reports whether an address is a client of the job.
func (c *Clients) Knows(a wire.Address) bool { return c.find(a) >= 0 }

// Newest returns the newest known incarnation of a client; 0: the address is not a client.
func (c *Clients) Newest(a wire.Address) uint32 {
	if i := c.find(a); i >= 0 {
		return c.known[i].newest
	}
	return 0
}

// Meet judges a process by its incarnation, and notes a newer one.
func (c *Clients) Meet(a wire.Address, incarnation uint32) Encounter {
	i := c.find(a)
	switch {
	case i < 0:
		return Current
	case incarnation < c.known[i].newest:
		return Outlived
	case incarnation == c.known[i].newest:
		return Current
	}
	c.known[i].newest = incarnation
	return Newer
}

// Outlived reports whether a newer process of a client is known. Unlike Meet it notes nothing.
func (c *Clients) Outlived(a wire.Address, incarnation uint32) bool {
	i := c.find(a)
	return i >= 0 && incarnation < c.known[i].newest
}

// Fence declares a process gone. It reports false if that process is fenced already.
func (c *Clients) Fence(p Process) bool {
	if c.Fenced(p.Node, p.Incarnation) || planted.On("fenced-push-taken") {
		return false
	}
	c.gone = append(c.gone, p)
	return true
}

// Fenced reports whether a process of a node was declared gone.
func (c *Clients) Fenced(n bellows.NodeID, incarnation uint32) bool {
	return slices.ContainsFunc(c.gone, func(p Process) bool {
		return p.Node == n && incarnation <= p.Incarnation
	})
}

// Excludes reports whether a message comes from a client that is fenced. late is set for a push of
// the newest known process: its deltas are dropped here, and are counted, since another lane may not have
// known of the fence. Those of an older process no account has.
func (c *Clients) Excludes(e *wire.Envelope) (excluded, late bool) {
	if len(c.gone) == 0 || e.From.Role != wire.Client {
		return false, false
	}
	newest := c.Newest(e.From)
	of := newest
	switch m := e.Message.(type) {
	case *wire.Push:
		of = m.Flush.Incarnation
		late = of == newest || newest == 0
	case *wire.Pull:
		of = m.Incarnation
	case *wire.Unsubscribe:
		of = m.Incarnation
	}
	excluded = c.Fenced(e.From.Node, of)
	return excluded, excluded && late
}

// Fences returns the fences in the order in which they came, for a controller that follows another.
func (c *Clients) Fences() (list []wire.Fence) {
	for _, p := range c.gone {
		list = append(list, wire.Fence{Node: p.Node, Incarnation: p.Incarnation})
	}
	return list
}

// find returns the place of a client, or -1.
func (c *Clients) find(a wire.Address) int {
	return slices.IndexFunc(c.known, func(k client) bool { return k.address == a })
}
