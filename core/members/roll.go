package members

import (
	"fmt"
	"slices"
	"strings"

	"bellows"
	"bellows/core/liveness"
	"bellows/core/planted"
	"bellows/link/wire"
)

// Roll is the membership: the other nodes of a job as node 0 knows them.
//
// Each node is first awaited, until it announces that it is ready; then alive, as long as it is heard once in a
// lease; perhaps suspected, while a better reason for a connection that ended may still come; and lost, for good.
// Without leases, in one process, no node is awaited, and only nodes named to Lose are lost.
//
// Invariants:
//
//   - Nothing that the lost say later makes them alive again (TestTheLostStayLost).
//   - A suspect is lost when its time has come, or is silent for a lease, whichever is first
//   - A suspect is lost when its time has come, or is silent for a lease, whichever is first
//     (TestASuspectHasItsTime); suspicions are no more than nodes (TestSuspicionsTakeNoMemory).
//   - Time in which its caller slept is part of no wait and of no silence
//     (TestSleepIsNoSilence). A caller that is always slow still comes to the end
//     (TestSlowCallerStillEndsItsWaits).
//
// Rejected: to lose a node at once when its connection ends. The end of a connection is the least informative reason.
// A process that died is known by its exit, and one that broke the protocol by a complaint, some milliseconds later.
type Roll struct {
	self     bellows.NodeID
	leased   bool // silence has consequences: there are other processes
	times    liveness.Times
	leases   *liveness.Detector
	nodes    []bellows.NodeID
	contact  []wire.Address // of each, an actor to speak to
	awaited  []bellows.NodeID
	suspects []suspect
	left     []bellows.NodeID // nodes that have left: the job has nothing of theirs any more
	lost     []bellows.NodeID
	reasons  []string // of each lost node: why
	heard    []uint64 // by node: bytes received by the last tick
	now      int64
	readied  int // how many announcements of readiness have come

	beganMillis int64 // when the first were awaited; later by what the caller slept
	namedMillis int64 // when the awaited nodes were last named
}

// suspect is a node that may be unreachable; a better reason may come until it is due.
type suspect struct {
	node      bellows.NodeID
	reason    string
	dueMillis int64
	own       bool             // node 0 itself has lost it
	by        []bellows.NodeID // the nodes that have reported it
}

// Loss is a node that is lost from now on, and why.
type Loss struct {
	Node   bellows.NodeID
	Reason string
}

// NewRoll makes the membership of the nodes that host some actors, except self. Times without a lease are those of
// one process.
func NewRoll(self bellows.NodeID, actors []wire.Address, times liveness.Times) *Roll {
	r := &Roll{self: self, leased: times.Lease > 0, times: times.Or()}
	r.leases = liveness.NewDetector(r.times.Lease)
	for _, a := range actors {
		if r.leased && a.Node != self && !slices.Contains(r.nodes, a.Node) {
			r.nodes, r.contact = append(r.nodes, a.Node), append(r.contact, a)
		}
	}
	r.awaited = slices.Sorted(slices.Values(r.nodes))
	return r
}

// Add adds the node of an actor that takes part from now on, and has been heard. A known node stays as it is.
func (r *Roll) Add(a wire.Address) {
	if !r.leased || a.Node == r.self || slices.Contains(r.nodes, a.Node) {
		return
	}
	r.left = slices.DeleteFunc(r.left, func(m bellows.NodeID) bool { return m == a.Node })
	r.nodes, r.contact = append(r.nodes, a.Node), append(r.contact, a)
	r.leases.Add(a.Node, r.now)
}

// Leave removes a node of which the job has nothing any more. It is not watched, and no event of it is a loss
// (TestNodeThatLeftIsNotLost).
func (r *Roll) Leave(n bellows.NodeID) {
	if r.HasLeft(n) {
		return
	}
	r.leases.Remove(n)
	if i := slices.Index(r.nodes, n); i >= 0 {
		r.nodes, r.contact = slices.Delete(r.nodes, i, i+1), slices.Delete(r.contact, i, i+1)
	}
	r.awaited = slices.DeleteFunc(r.awaited, func(m bellows.NodeID) bool { return m == n })
	r.suspects = slices.DeleteFunc(r.suspects, func(s suspect) bool { return s.node == n })
	r.left = append(r.left, n)
}

// AllLeft returns the nodes that have left. The caller must not change the list.
func (r *Roll) AllLeft() []bellows.NodeID { return r.left }

// HasLeft reports whether a node has left.
func (r *Roll) HasLeft(n bellows.NodeID) bool { return slices.Contains(r.left, n) }

// AllReady reports whether no node is awaited.
func (r *Roll) AllReady() bool { return len(r.awaited) == 0 }

// Expect grants every node a lease from the next tick on. A process that follows another node 0 knows that they took
// part, so a silent one is lost even if it has not announced that it is ready.
func (r *Roll) Expect() {
	for _, n := range r.nodes {
		r.leases.Add(n, r.now)
	}
}

// Awaits reports whether a node has not announced yet that it is ready.
func (r *Roll) Awaits(n bellows.NodeID) bool { return slices.Contains(r.awaited, n) }

// Lost reports whether a node is lost.
func (r *Roll) Lost(n bellows.NodeID) bool { return slices.Contains(r.lost, n) }

// AllLost returns the nodes that are lost, in the order of their loss. The caller must not change the list.
func (r *Roll) AllLost() []bellows.NodeID { return r.lost }

// Ready notes that a node has announced that it is ready.
func (r *Roll) Ready(n bellows.NodeID) {
	if !slices.Contains(r.nodes, n) || r.Lost(n) {
		return
	}
	r.leases.Add(n, r.now)
	r.awaited = slices.DeleteFunc(r.awaited, func(m bellows.NodeID) bool { return m == n })
	if r.readied++; planted.On("ready-by-count") && r.readied == len(r.nodes) {
		r.awaited = nil
	}
}

// Heard renews a node's lease: it has sent something.
func (r *Roll) Heard(n bellows.NodeID) {
	r.leases.Beat(n, r.now)
}

// Suspect notes that a node may be unreachable. If it is suspected already, the first reason stays, so that reports
// of others take no more memory than the number of nodes; the sooner of the two times counts.
func (r *Roll) Suspect(n bellows.NodeID, reason string, patienceMillis int64) {
	if s := r.suspect(n, reason, patienceMillis); s != nil {
		s.own = true
	}
}

// Accuse works like Suspect, on the report of another node. Retract takes it back if that node is lost.
func (r *Roll) Accuse(by, n bellows.NodeID, reason string, patienceMillis int64) {
	if s := r.suspect(n, reason, patienceMillis); s != nil && !slices.Contains(s.by, by) {
		s.by = append(s.by, by)
	}
}

// Retract takes back the reports of a node that is lost itself: most likely that node was the unreachable one
// (TestLostNodeAccusesNoOther).
func (r *Roll) Retract(by bellows.NodeID) {
	r.suspects = slices.DeleteFunc(r.suspects, func(s suspect) bool {
		s.by = slices.DeleteFunc(slices.Clone(s.by), func(n bellows.NodeID) bool { return n == by })
		return len(s.by) == 0 && !s.own
	})
}

// suspect returns the suspicion of a node, which it makes if necessary; nil: the node has left.
func (r *Roll) suspect(n bellows.NodeID, reason string, patienceMillis int64) *suspect {
	if r.HasLeft(n) {
		return nil
	}
	due := r.now + patienceMillis
	for i := range r.suspects {
		if s := &r.suspects[i]; s.node == n {
			s.dueMillis = min(s.dueMillis, due)
			return s
		}
	}
	r.suspects = append(r.suspects, suspect{node: n, reason: reason, dueMillis: due})
	return &r.suspects[len(r.suspects)-1]
}

// Tick passes the time, and by node the number of bytes received so far, or nil if they are not counted. It returns
// how much of the time since the last tick is no part of any wait because the caller slept.
func (r *Roll) Tick(nowMillis int64, heard []uint64) (sleptMillis int64) {
	r.now = nowMillis
	slept := r.leases.Tick(nowMillis)
	slept -= r.times.Awake(slept)
	r.namedMillis += slept
	r.beganMillis += slept
	for n, bytes := range heard {
		for len(r.heard) <= n {
			r.heard = append(r.heard, 0)
		}
		if bytes != r.heard[n] {
			r.heard[n] = bytes
			r.leases.Beat(bellows.NodeID(n), nowMillis)
		}
	}
	return slept
}

// Verdict returns the next node that is lost by now and not spared: a suspect whose time has come, or a node whose
// lease has run out. The caller passes it to Lose, and asks again: each loss changes what the next one means to the
// job.
//
// If two nodes have lost each other, and no other node has lost either, one must go. The job may spare one and need
// the other (spare reports which it can spare). Then the one that it can spare goes, whichever reported first
// (TestSpareableNodeGoesOfTwo). With its loss its own reports are taken back.
func (r *Roll) Verdict(spared, spare func(bellows.NodeID) bool) (Loss, bool) {
	for i, s := range r.suspects {
		if s.dueMillis <= r.now && !spared(s.node) && !planted.On("rumour-ignored") {
			if by, alone := r.accuser(s); alone && !spare(s.node) && !spared(by) && spare(by) {
				return Loss{by, fmt.Sprintf("node %d is gone: only it has lost node %d, which is heard and which the job needs (%s)", by, s.node, s.reason)}, true
			}
			r.suspects = slices.Delete(r.suspects, i, i+1)
			if r.Lost(s.node) {
				return r.Verdict(spared, spare)
			}
			return Loss{s.node, s.reason}, true
		}
	}
	if planted.On("silence-ignored") {
		return Loss{}, false
	}
	n, silent, found := r.leases.ExpiredBut(r.now, func(n bellows.NodeID) bool { return r.Lost(n) || r.HasLeft(n) || spared(n) }) // once (TestTheLostAreLostOnce)
	return Loss{n, fmt.Sprintf("node %d has been silent for %.1f s and is declared gone; nothing of its unfinished clock counts", n,
		float64(silent)/1000)}, found
}

// accuser returns the only node that suspects a node which node 0 hears, if that accuser is not lost itself.
func (r *Roll) accuser(s suspect) (by bellows.NodeID, alone bool) {
	if s.own || len(s.by) != 1 || r.Lost(s.by[0]) || r.HasLeft(s.by[0]) || r.Lost(s.node) ||
		r.leases.Silent(s.node, r.now) > r.times.Notice || planted.On("accused-needed-lost") {
		return 0, false
	}
	return s.by[0], true
}

// Due reports whether a node is lost by now if it is not spared.
func (r *Roll) Due(n bellows.NodeID) bool {
	_, _, expired := r.leases.ExpiredBut(r.now, func(m bellows.NodeID) bool { return m != n })
	return expired || slices.ContainsFunc(r.suspects, func(s suspect) bool { return s.node == n && s.dueMillis <= r.now })
}

// Why returns the reason for which a node is lost.
func (r *Roll) Why(n bellows.NodeID) string { return r.reasons[slices.Index(r.lost, n)] }

// Lose notes that a node is lost, and why, and reports whether it was not before.
func (r *Roll) Lose(n bellows.NodeID, reason string) bool {
	if r.Lost(n) || r.HasLeft(n) {
		return false
	}
	r.lost, r.reasons = append(r.lost, n), append(r.reasons, reason)
	r.leases.Remove(n)
	return true
}

// Beat sends node 0's heartbeat to the others.
func (r *Roll) Beat(self wire.Address, out *wire.Outbox) {
	for i, a := range r.contact {
		if !r.Lost(r.nodes[i]) {
			out.Send(self, a, &wire.Beat{})
		}
	}
}

// NameAwaited returns a sentence about the nodes that keep the job from starting, whenever its patience has passed;
// or the first of them as lost, when it has been awaited too long.
func (r *Roll) NameAwaited() (sentence string, late Loss, isLate bool) {
	waited := r.now - r.beganMillis
	if len(r.awaited) == 0 {
		return "", Loss{}, false
	}
	if waited > r.times.Ready {
		n := r.awaited[0]
		return "", Loss{n, fmt.Sprintf("node %d has not been ready after %.1f s", n, float64(waited)/1000)}, true
	}
	if r.now < r.namedMillis+r.times.Notice {
		return "", Loss{}, false
	}
	r.namedMillis = r.now
	var names []string
	for _, n := range r.awaited {
		names = append(names, fmt.Sprintf("node %d", n))
	}
	return fmt.Sprintf("the job has waited %.1f s for %s to be ready, and gives up after %.1f s", float64(waited)/1000,
		strings.Join(names, ", "), float64(r.times.Ready)/1000), Loss{}, false
}

// NameSilent returns a sentence about a node that has been silent for long, once per silence; empty if none is left
// to name.
func (r *Roll) NameSilent() string {
	n, silent, found := r.leases.Suspect(r.now, r.times.Notice)
	if !found {
		return ""
	}
	return fmt.Sprintf("node %d has been silent for %.1f s; after %.1f s it is declared gone", n, float64(silent)/1000,
		float64(r.times.Lease)/1000)
}
