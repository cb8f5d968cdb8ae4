package roster

import (
	"slices"

	"bellows"
	"bellows/core/audit"
	"bellows/core/planted"
	"bellows/link/wire"
)

// Needs returns why the job cannot continue without a node; empty: as far as the roster knows, it can.
func (r *Roster) Needs(n bellows.NodeID) string {
	is := func(a wire.Address) bool { return a.Node == n }
	switch {
	case slices.ContainsFunc(r.lanes, is):
		return "it has a part of the model"
	case slices.ContainsFunc(r.Leavers(), is):
		return "it was leaving, and what it has counted is with nobody else"
	case !r.Runs(n):
		return "it has left"
	case !slices.ContainsFunc(r.clients, func(a wire.Address) bool { return a.Node != n && !r.Lost(a.Node) }):
		return "nobody else runs tasks"
	case r.opt.Stays != "":
		return "its splits cannot go to others: " + r.opt.Stays
	}
	return ""
}

// RemoveLost removes a lost node that the job does not need: each of its splits goes to another
// node, and then it takes part no more. It returns these changes, to be recorded in their order.
//
// The last change is the fence: after it no lane holds anything of the node, takes anything more of it, or keeps a
// lease for it. So the log has a point before which what is recorded of the node counts, and after which nothing
// does. Its final counts are what its records have (AddLostCounts).
func (r *Roster) RemoveLost(n bellows.NodeID) (changes []bellows.Control) {
	owned, _ := r.route.Owned(n)
	for _, s := range owned {
		changes = append(changes, r.mustChange(r.route.MoveSplit(s, r.leastLoaded(n))))
	}
	lost := r.mustChange(r.route.LoseClient(n))
	r.NoteLost(lost)
	r.Remove(wire.ClientAt(n))
	return append(changes, lost)
}

// leastLoaded returns the node that gets a split of a lost one: that with the fewest splits, and of these the first.
func (r *Roster) leastLoaded(lost bellows.NodeID) (to bellows.NodeID) {
	fewest := -1
	for _, a := range r.clients {
		if a.Node == lost || r.Lost(a.Node) {
			continue
		}
		if own, _ := r.route.Owned(a.Node); fewest < 0 || len(own) < fewest {
			to, fewest = a.Node, len(own)
		}
	}
	return to
}

// NoteLost notes that a node is lost by a record.
func (r *Roster) NoteLost(lost bellows.Control) {
	r.lost, r.removed = append(r.lost, lost), append(r.removed, wire.ClientAt(lost.Node))
	r.Retract(lost.Node)
}

// IsRemoved reports whether a node was lost while the job continued: its messages are ignored.
func (r *Roster) IsRemoved(n bellows.NodeID) bool {
	return slices.ContainsFunc(r.lost, func(l bellows.Control) bool { return l.Node == n })
}

// Removed returns the nodes that were lost while the job continued, in order.
func (r *Roster) Removed() (list []bellows.NodeID) {
	for _, l := range r.lost {
		list = append(list, l.Node)
	}
	return list
}

// AddSent adds up what a client's records have, for the case that it is lost.
func (r *Roster) AddSent(client bellows.NodeID, list []audit.Sent) {
	for len(r.sent) <= int(client) {
		r.sent = append(r.sent, nil)
	}
	to := r.sent[client]
	for _, s := range list {
		i := slices.IndexFunc(to, func(o audit.Sent) bool { return o.Table == s.Table })
		if i < 0 {
			to = append(to, s)
			continue
		}
		to[i].Rows, to[i].Bits = to[i].Rows+s.Rows, to[i].Bits+s.Bits
	}
	r.sent[client] = to
}

// AddLostCounts adds what the lost have sent and what counts: they have no last word.
func (r *Roster) AddLostCounts(to *wire.Counts) {
	for _, l := range r.lost {
		if int(l.Node) >= len(r.sent) || planted.On("word-of-the-lost-missing") {
			continue
		}
		to.Ledgers = audit.Add(to.Ledgers, make([]audit.Ledger, r.tables))
		for _, s := range r.sent[l.Node] {
			to.Sent += s.Rows
			to.Ledgers[s.Table].Sent += s.Bits
		}
	}
}
