// Package lease judges who is alive, given heartbeats and ticks.
//
// Add every node that must beat, report each beat with its time, and ask Expired on ticks. Times are
// milliseconds of a clock that the caller reads; the package reads none. A lease only decides whom to
// suspect; what a suspect may still do is decided by generations.
package lease

import "bellows"

// Table is the set of leases that one controller grants.
type Table struct {
	ttlMillis int64
	nodes     []bellows.NodeID // in the order of Add, so that verdicts come in a fixed order
	last      []int64
}

// NewTable makes an empty table of leases that last ttlMillis after each beat.
func NewTable(ttlMillis int64) *Table { return &Table{ttlMillis: ttlMillis} }

// Add grants a node its first lease.
func (t *Table) Add(n bellows.NodeID, nowMillis int64) {
	t.nodes, t.last = append(t.nodes, n), append(t.last, nowMillis)
}

// Beat renews a node's lease.
func (t *Table) Beat(n bellows.NodeID, nowMillis int64) {
	for i, m := range t.nodes {
		if m == n {
			t.last[i] = max(t.last[i], nowMillis)
		}
	}
}

// Quietest is the node that has been silent the longest, the first in the order of Add among equals.
func (t *Table) Quietest(nowMillis int64) (n bellows.NodeID, silentMillis int64) {
	silentMillis = -1
	for i, at := range t.last {
		if nowMillis-at > silentMillis {
			n, silentMillis = t.nodes[i], nowMillis-at
		}
	}
	return n, max(0, silentMillis)
}

// Expired is the first node, in the order of Add, whose lease has run out, and how long it has been
// silent.
func (t *Table) Expired(nowMillis int64) (n bellows.NodeID, silentMillis int64, found bool) {
	for i, at := range t.last {
		if nowMillis-at > t.ttlMillis {
			return t.nodes[i], nowMillis - at, true
		}
	}
	return 0, 0, false
}
