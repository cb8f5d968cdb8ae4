package heartbeat

import (
	"fmt"
	"slices"
	"strings"

	"bellows"
	"bellows/core/liveness"
	"bellows/core/planted"
	"bellows/link/wire"
)

// A Monitor watches the other nodes of a job at node 0.
//
// Each node is first awaited, until it announces that it is ready; then alive, as long as it is heard once in a
// lease; perhaps suspected, while a better reason for a connection that ended may still come; and lost, for good.
// Without leases, in one process, no node is awaited, and only nodes named to Lose are lost.
//
// Invariants:
//
//   - Nothing that the lost say later makes them alive again (TestTheLostStayLost).
//   - A suspect is lost when its time has come, or is silent for a lease, whichever is first
//     (TestASuspectHasItsTime); suspicions are no more than nodes (TestSuspicionsTakeNoMemory).
//   - Time in which its caller slept is part of no wait and of no silence
//     (TestSleepIsNoSilence). A caller that is always slow still comes to the end
//     (TestSlowCallerStillEndsItsWaits).
//
// Rejected: to lose a node at once when its connection ends. The end of a connection is the least informative reason.
// A process that died is known by its exit, and one that broke the protocol by a complaint, some milliseconds later.
type Monitor struct {
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

// NewMonitor returns a monitor of the nodes that host some actors, except self. Times without a lease are those of
// one process.
func NewMonitor(self bellows.NodeID, actors []wire.Address, times liveness.Times) *Monitor {
	m := &Monitor{self: self, leased: times.Lease > 0, times: times.Or()}
	m.leases = liveness.NewDetector(m.times.Lease)
	for _, a := range actors {
		if m.leased && a.Node != self && !slices.Contains(m.nodes, a.Node) {
			m.nodes, m.contact = append(m.nodes, a.Node), append(m.contact, a)
		}
	}
	m.awaited = slices.Sorted(slices.Values(m.nodes))
	return m
}

// Add adds the node of an actor that takes part from now on, and has been heard. A known node stays as it is.
func (m *Monitor) Add(a wire.Address) {
	if !m.leased || a.Node == m.self || slices.Contains(m.nodes, a.Node) {
		return
	}
	m.left = slices.DeleteFunc(m.left, func(other bellows.NodeID) bool { return other == a.Node })
	m.nodes, m.contact = append(m.nodes, a.Node), append(m.contact, a)
	m.leases.Add(a.Node, m.now)
}

// Leave removes a node of which the job has nothing any more. It is not watched, and no event of it is a loss
// (TestNodeThatLeftIsNotLost).
func (m *Monitor) Leave(n bellows.NodeID) {
	if m.HasLeft(n) {
		return
	}
	m.leases.Remove(n)
	if i := slices.Index(m.nodes, n); i >= 0 {
		m.nodes, m.contact = slices.Delete(m.nodes, i, i+1), slices.Delete(m.contact, i, i+1)
	}
	m.awaited = slices.DeleteFunc(m.awaited, func(other bellows.NodeID) bool { return other == n })
	m.suspects = slices.DeleteFunc(m.suspects, func(s suspect) bool { return s.node == n })
	m.left = append(m.left, n)
}

// AllLeft returns the nodes that have left. The caller must not change the list.
func (m *Monitor) AllLeft() []bellows.NodeID { return m.left }

// HasLeft reports whether a node has left.
func (m *Monitor) HasLeft(n bellows.NodeID) bool { return slices.Contains(m.left, n) }

// AllReady reports whether no node is awaited.
func (m *Monitor) AllReady() bool { return len(m.awaited) == 0 }

// Expect grants every node a lease from the next tick on. A process that follows another node 0 knows that they took
// part, so a silent one is lost even if it has not announced that it is ready.
func (m *Monitor) Expect() {
	for _, n := range m.nodes {
		m.leases.Add(n, m.now)
	}
}

// Awaits reports whether a node has not announced yet that it is ready.
func (m *Monitor) Awaits(n bellows.NodeID) bool { return slices.Contains(m.awaited, n) }

// Lost reports whether a node is lost.
func (m *Monitor) Lost(n bellows.NodeID) bool { return slices.Contains(m.lost, n) }

// AllLost returns the nodes that are lost, in the order of their loss. The caller must not change the list.
func (m *Monitor) AllLost() []bellows.NodeID { return m.lost }

// Ready notes that a node has announced that it is ready.
func (m *Monitor) Ready(n bellows.NodeID) {
	if !slices.Contains(m.nodes, n) || m.Lost(n) {
		return
	}
	m.leases.Add(n, m.now)
	m.awaited = slices.DeleteFunc(m.awaited, func(other bellows.NodeID) bool { return other == n })
	if m.readied++; planted.On("ready-by-count") && m.readied == len(m.nodes) {
		m.awaited = nil
	}
}

// Heard renews a node's lease: it has sent something.
func (m *Monitor) Heard(n bellows.NodeID) {
	m.leases.Beat(n, m.now)
}

// Suspect notes that a node may be unreachable. If it is suspected already, the first reason stays, so that reports
// of others take no more memory than the number of nodes; the sooner of the two times counts.
func (m *Monitor) Suspect(n bellows.NodeID, reason string, patienceMillis int64) {
	if s := m.suspect(n, reason, patienceMillis); s != nil {
		s.own = true
	}
}

// Accuse works like Suspect, on the report of another node. Retract takes it back if that node is lost. It ignores
// reports of a node that is lost already, because such a node may have been asleep.
func (m *Monitor) Accuse(by, n bellows.NodeID, reason string, patienceMillis int64) {
	if m.Lost(by) {
		return
	}
	if s := m.suspect(n, reason, patienceMillis); s != nil && !slices.Contains(s.by, by) {
		s.by = append(s.by, by)
	}
}

// Retract takes back the reports of a node that is lost itself: most likely that node was the unreachable one
// (TestLostNodeAccusesNoOther).
func (m *Monitor) Retract(by bellows.NodeID) {
	m.suspects = slices.DeleteFunc(m.suspects, func(s suspect) bool {
		s.by = slices.DeleteFunc(slices.Clone(s.by), func(n bellows.NodeID) bool { return n == by })
		return len(s.by) == 0 && !s.own
	})
}

// suspect returns the suspicion of a node, which it makes if necessary; nil: the node has left.
func (m *Monitor) suspect(n bellows.NodeID, reason string, patienceMillis int64) *suspect {
	if m.HasLeft(n) {
		return nil
	}
	due := m.now + patienceMillis
	for i := range m.suspects {
		if s := &m.suspects[i]; s.node == n {
			s.dueMillis = min(s.dueMillis, due)
			return s
		}
	}
	m.suspects = append(m.suspects, suspect{node: n, reason: reason, dueMillis: due})
	return &m.suspects[len(m.suspects)-1]
}

// Tick passes the time, and by node the number of bytes received so far, or nil if they are not counted. It returns
// how much of the time since the last tick is no part of any wait because the caller slept.
func (m *Monitor) Tick(nowMillis int64, heard []uint64) (sleptMillis int64) {
	m.now = nowMillis
	slept := m.leases.Tick(nowMillis)
	slept -= m.times.Awake(slept)
	m.namedMillis += slept
	m.beganMillis += slept
	for n, bytes := range heard {
		for len(m.heard) <= n {
			m.heard = append(m.heard, 0)
		}
		if bytes != m.heard[n] {
			m.heard[n] = bytes
			m.leases.Beat(bellows.NodeID(n), nowMillis)
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
func (m *Monitor) Verdict(spared, spare func(bellows.NodeID) bool) (Loss, bool) {
	for i, s := range m.suspects {
		if s.dueMillis <= m.now && !spared(s.node) && !planted.On("rumour-ignored") {
			if by, alone := m.accuser(s); alone && !spare(s.node) && !spared(by) && spare(by) {
				return Loss{by, fmt.Sprintf("node %d is gone: only it has lost node %d, which is heard and which the job needs (%s)", by, s.node, s.reason)}, true
			}
			m.suspects = slices.Delete(m.suspects, i, i+1)
			if m.Lost(s.node) {
				return m.Verdict(spared, spare)
			}
			return Loss{s.node, s.reason}, true
		}
	}
	if planted.On("silence-ignored") {
		return Loss{}, false
	}
	n, silent, found := m.leases.ExpiredBut(m.now, func(n bellows.NodeID) bool { return m.Lost(n) || m.HasLeft(n) || spared(n) }) // once (TestTheLostAreLostOnce)
	return Loss{n, fmt.Sprintf("node %d has been silent for %.1f s and is declared gone; nothing of its unfinished clock counts", n,
		float64(silent)/1000)}, found
}

// accuser returns the only node that suspects a node which node 0 hears, if that accuser is not lost itself.
func (m *Monitor) accuser(s suspect) (by bellows.NodeID, alone bool) {
	if s.own || len(s.by) != 1 || m.Lost(s.by[0]) || m.HasLeft(s.by[0]) || m.Lost(s.node) ||
		m.leases.Silent(s.node, m.now) > m.times.Notice || planted.On("accused-needed-lost") {
		return 0, false
	}
	return s.by[0], true
}

// Due reports whether a node is lost by now if it is not spared.
func (m *Monitor) Due(n bellows.NodeID) bool {
	_, _, expired := m.leases.ExpiredBut(m.now, func(other bellows.NodeID) bool { return other != n })
	return expired || slices.ContainsFunc(m.suspects, func(s suspect) bool { return s.node == n && s.dueMillis <= m.now })
}

// Why returns the reason for which a node is lost.
func (m *Monitor) Why(n bellows.NodeID) string { return m.reasons[slices.Index(m.lost, n)] }

// Lose notes that a node is lost, and why, and reports whether it was not before.
func (m *Monitor) Lose(n bellows.NodeID, reason string) bool {
	if m.Lost(n) || m.HasLeft(n) {
		return false
	}
	m.lost, m.reasons = append(m.lost, n), append(m.reasons, reason)
	m.leases.Remove(n)
	return true
}

// Beat sends node 0's heartbeat to the others.
func (m *Monitor) Beat(self wire.Address, out *wire.Outbox) {
	for i, a := range m.contact {
		if !m.Lost(m.nodes[i]) {
			out.Send(self, a, &wire.Beat{})
		}
	}
}

// NameAwaited returns a sentence about the nodes that keep the job from starting, whenever its patience has passed;
// or the first of them as lost, when it has been awaited too long.
func (m *Monitor) NameAwaited() (sentence string, late Loss, isLate bool) {
	waited := m.now - m.beganMillis
	if len(m.awaited) == 0 {
		return "", Loss{}, false
	}
	if waited > m.times.Ready {
		n := m.awaited[0]
		return "", Loss{n, fmt.Sprintf("node %d has not been ready after %.1f s", n, float64(waited)/1000)}, true
	}
	if m.now < m.namedMillis+m.times.Notice {
		return "", Loss{}, false
	}
	m.namedMillis = m.now
	var names []string
	for _, n := range m.awaited {
		names = append(names, fmt.Sprintf("node %d", n))
	}
	return fmt.Sprintf("the job has waited %.1f s for %s to be ready, and gives up after %.1f s", float64(waited)/1000,
		strings.Join(names, ", "), float64(m.times.Ready)/1000), Loss{}, false
}

// NameSilent returns a sentence about a node that has been silent for long, once per silence; empty if none is left
// to name.
func (m *Monitor) NameSilent() string {
	n, silent, found := m.leases.Suspect(m.now, m.times.Notice)
	if !found {
		return ""
	}
	return fmt.Sprintf("node %d has been silent for %.1f s; after %.1f s it is declared gone", n, float64(silent)/1000,
		float64(m.times.Lease)/1000)
}
