// Package liveness measures silence and waits: it decides from beats and ticks which leases of nodes have expired, and
// has all time limits.
//
// Add every node that must beat, report each beat with its time, call Tick a few times a second,
// and ask Expired. Times are milliseconds of a clock that the caller reads; the package reads none.
// A caller that slept suspects no node: what came meanwhile is still in its queues. A caller that is always slow
// still finds dead nodes: a silent node is found within the lease + 2 s + twice the longest time between two ticks,
// in any rhythm. A lease only decides which node is suspected; generations decide what a suspect may still do.
package liveness

import (
	"slices"

	"bellows"
	"bellows/core/planted"
)

// Detector is a failure detector: the leases that one node grants, in the order of Add, so that
// verdicts come in a fixed order.
//
// A lease is renewed by a beat, and runs out ttlMillis after the last, by a clock that leaves out
// what the caller slept: Tick moves last on, but in one silence by no more than excusedMillis and
// the gap that reaches it (TestASilenceIsExcusedForTwoSeconds,
// TestSilentNodeIsFoundInAnyRhythm).
type Detector struct {
	ttlMillis  int64
	tickMillis int64 // of the last Tick
	peers      []peer
	places     []int // by node: 1 + its place in peers; 0: it has none
}

// peer is a node that must beat.
type peer struct {
	node    bellows.NodeID
	last    int64 // when it beat, or later by what is excused
	excused int64 // by how much last was moved on since the last beat, because the caller slept
	named   bool  // the silence since last has been
}

// NewDetector returns a detector of no nodes, with leases that last ttlMillis after each beat.
func NewDetector(ttlMillis int64) *Detector { return &Detector{ttlMillis: ttlMillis} }

// sleepMillis is the time between two ticks from which the caller is taken to have slept. It is several times the
// interval of ticks, and short compared with a lease.
const sleepMillis = 1000

// excusedMillis is how much of one silence may be excused before a further gap excuses no more. A caller that slept
// takes the beats that have come before it ticks again, so a second gap without a beat is the node's. It does not
// excuse the first gap alone, since a caller that was a little late may sleep next.
const excusedMillis = 2000

// Tick tells the time, and returns how long the caller has slept since the last Tick: leases are longer
// by that, since beats that came meanwhile may not have been reported yet. A silence that has been excused for
// excusedMillis already is not excused again until a beat ends it.
func (t *Detector) Tick(nowMillis int64) (sleptMillis int64) {
	gap := nowMillis - t.tickMillis
	t.tickMillis = nowMillis
	if gap <= sleepMillis || planted.On("sleeper-blames") {
		return 0
	}
	for i := range t.peers {
		if l := &t.peers[i]; l.excused < excusedMillis {
			by := min(gap, nowMillis-l.last)
			l.last, l.excused = l.last+by, l.excused+by
		}
	}
	return gap
}

// Add grants a node its first lease, or another after Remove. A node that has one keeps it.
func (t *Detector) Add(n bellows.NodeID, nowMillis int64) {
	if t.place(n) >= 0 {
		return
	}
	t.peers = append(t.peers, peer{node: n, last: nowMillis})
	for len(t.places) <= int(n) {
		t.places = append(t.places, 0)
	}
	t.places[n] = len(t.peers)
}

// Remove forgets a node: nothing is expected of it any more.
func (t *Detector) Remove(n bellows.NodeID) {
	i := t.place(n)
	if i < 0 {
		return
	}
	t.peers = slices.Delete(t.peers, i, i+1)
	t.places[n] = 0
	for ; i < len(t.peers); i++ {
		t.places[t.peers[i].node] = i + 1
	}
}

// place returns where a node is in the list; negative: it has no lease.
func (t *Detector) place(n bellows.NodeID) int {
	if int(n) >= len(t.places) {
		return -1
	}
	return t.places[n] - 1
}

// Beat renews a node's lease.
func (t *Detector) Beat(n bellows.NodeID, nowMillis int64) {
	if i := t.place(n); i >= 0 {
		t.peers[i] = peer{node: n, last: max(t.peers[i].last, nowMillis)}
	}
}

// Silent returns how long a node has been silent; 0 for one without a lease.
func (t *Detector) Silent(n bellows.NodeID, nowMillis int64) int64 {
	if i := t.place(n); i >= 0 {
		return nowMillis - t.peers[i].last
	}
	return 0
}

// Suspect returns a node that has been silent for longer than the given patience, and for how long. It names every
// silence once; call it until it finds none.
func (t *Detector) Suspect(nowMillis, patienceMillis int64) (n bellows.NodeID, silentMillis int64, found bool) {
	for i := range t.peers {
		if l := &t.peers[i]; nowMillis-l.last > patienceMillis && !l.named {
			l.named = true
			return l.node, nowMillis - l.last, true
		}
	}
	return 0, 0, false
}

// Expired returns the first node, in the order of Add, whose lease has run out, and how long it has been silent.
func (t *Detector) Expired(nowMillis int64) (n bellows.NodeID, silentMillis int64, found bool) {
	return t.ExpiredBut(nowMillis, func(bellows.NodeID) bool { return false })
}

// ExpiredBut returns the first such node that is not spared.
func (t *Detector) ExpiredBut(nowMillis int64, spared func(bellows.NodeID) bool) (n bellows.NodeID, silentMillis int64, found bool) {
	for _, l := range t.peers {
		if nowMillis-l.last > t.ttlMillis && !spared(l.node) {
			return l.node, nowMillis - l.last, true
		}
	}
	return 0, 0, false
}
