package membership

import (
	"slices"

	"bellows"
	"bellows/core/audit"
	"bellows/core/planted"
	"bellows/link/wire"
)

// Needs returns why the job cannot continue without a node; empty: as far as the group knows, it can.
func (g *Group) Needs(n bellows.NodeID) string {
	is := func(a wire.Address) bool { return a.Node == n }
	switch {
	case slices.ContainsFunc(g.lanes, is):
		return "it has a part of the model"
	case slices.ContainsFunc(g.Leavers(), is):
		return "it was leaving, and what it has counted is with nobody else"
	case !g.Runs(n):
		return "it has left"
	case !slices.ContainsFunc(g.clients, func(a wire.Address) bool { return a.Node != n && !g.Lost(a.Node) }):
		return "nobody else runs tasks"
	case g.opt.Stays != "":
		return "its splits cannot go to others: " + g.opt.Stays
	}
	return ""
}

// RemoveLost removes a lost node that the job does not need: each of its splits goes to another
// node, and then it takes part no more. It returns these changes, to be recorded in their order.
//
// The last change is the fence: after it no lane holds anything of the node, takes anything more of it, or keeps a
// lease for it. So the log has a point before which what is recorded of the node counts, and after which nothing
// does. Its final counts are what its records have (AddLostCounts).
func (g *Group) RemoveLost(n bellows.NodeID) (changes []bellows.Control) {
	owned, _ := g.route.Owned(n)
	for _, s := range owned {
		changes = append(changes, g.mustChange(g.route.MoveSplit(s, g.leastLoaded(n))))
	}
	lost := g.mustChange(g.route.LoseClient(n))
	g.NoteLost(lost)
	g.Remove(wire.ClientAt(n))
	return append(changes, lost)
}

// leastLoaded returns the node that gets a split of a lost one: that with the fewest splits, and of these the first.
func (g *Group) leastLoaded(lost bellows.NodeID) (to bellows.NodeID) {
	fewest := -1
	for _, a := range g.clients {
		if a.Node == lost || g.Lost(a.Node) {
			continue
		}
		if own, _ := g.route.Owned(a.Node); fewest < 0 || len(own) < fewest {
			to, fewest = a.Node, len(own)
		}
	}
	return to
}

// NoteLost notes that a node is lost by a record.
func (g *Group) NoteLost(lost bellows.Control) {
	g.lost, g.removed = append(g.lost, lost), append(g.removed, wire.ClientAt(lost.Node))
	g.Retract(lost.Node)
}

// IsRemoved reports whether a node was lost while the job continued: its messages are ignored.
func (g *Group) IsRemoved(n bellows.NodeID) bool {
	return slices.ContainsFunc(g.lost, func(l bellows.Control) bool { return l.Node == n })
}

// Removed returns the nodes that were lost while the job continued, in order.
func (g *Group) Removed() (list []bellows.NodeID) {
	for _, l := range g.lost {
		list = append(list, l.Node)
	}
	return list
}

// AddSent adds up what a client's records have, for the case that it is lost.
func (g *Group) AddSent(client bellows.NodeID, list []audit.Sent) {
	for len(g.sent) <= int(client) {
		g.sent = append(g.sent, nil)
	}
	to := g.sent[client]
	for _, s := range list {
		i := slices.IndexFunc(to, func(o audit.Sent) bool { return o.Table == s.Table })
		if i < 0 {
			to = append(to, s)
			continue
		}
		to[i].Rows, to[i].Bits = to[i].Rows+s.Rows, to[i].Bits+s.Bits
	}
	g.sent[client] = to
}

// AddLostCounts adds what the lost have sent and what counts: they have no last word.
func (g *Group) AddLostCounts(to *wire.Counts) {
	for _, l := range g.lost {
		if int(l.Node) >= len(g.sent) || planted.On("word-of-the-lost-missing") {
			continue
		}
		to.Ledgers = audit.Add(to.Ledgers, make([]audit.Ledger, g.tables))
		for _, s := range g.sent[l.Node] {
			to.Sent += s.Rows
			to.Ledgers[s.Table].Sent += s.Bits
		}
	}
}
