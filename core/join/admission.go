package join

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/core/liveness"
)

// Newcomer is a node that is to join a job that runs.
type Newcomer struct {
	Node  bellows.NodeID
	Slots int // compute slots; 0: it runs no tasks
	Lanes int // server lanes; 0: it holds no partitions
}

// Outcome is what has become of a newcomer.
type Outcome struct {
	Newcomer
	Err error // why it takes no part, and its connections are to end; nil: it takes part
}

// Admission is node 0's half of joining a job that runs: it gives out numbers, lets one node come
// at a time, and says when it may take part, which is when it has said that it is ready: all its
// connections stand then, at their other ends, too. Until then nothing that becomes of it is the
// job's: a newcomer that shows another job, dies, or does not come is turned away by name, and
// nobody else is told.
//
// It is idle; expecting, from Invite on; ready, when the newcomer has said so; idle again when it
// takes part (Admitted) or was turned away. Invariants: a number is given once; every newcomer has
// one outcome; who takes part is nobody's guest any more, so that its loss is the job's (all:
// TestNodesJoinWhileOthersRun).
//
// Turned down: several at a time. Two that come at once would have to dial each other, each being
// perhaps turned away meanwhile; what takes long, to start and to read the data, could be done
// before the invitation.
type Admission struct {
	self  bellows.NodeID
	job   bellows.Fingerprint // what a newcomer must show; zero: it is not asked
	times liveness.Times
	next  bellows.NodeID   // the number of the next
	away  []bellows.NodeID // have been turned away
	who   *Newcomer        // on the way; nil: nobody
	ready bool             // it has said so
	wait  Wait
	doubt error // it perhaps cannot be reached any more; nil: it can
	due   int64 // when that is believed, if nobody says better why
}

// NewAdmission is node 0's half where numbers below nodes have been given.
func NewAdmission(self bellows.NodeID, nodes int, job bellows.Fingerprint, times liveness.Times) *Admission {
	return &Admission{self: self, job: job, times: times.Or(), next: bellows.NodeID(nodes)}
}

// NodesMost is how many nodes a job may have had at its end: their numbers are below.
const NodesMost = 1 << 14

// Invite gives a newcomer its number. It is waited for from now on.
func (a *Admission) Invite(slots, lanes int, nowMillis int64) (Newcomer, error) {
	switch {
	case a.who != nil:
		return Newcomer{}, bellows.Errorf(bellows.Unavailable, "add a node", "", "node %d is on its way, and one joins at a time", a.who.Node)
	case slots < 0 || lanes < 0 || slots+lanes == 0:
		return Newcomer{}, bellows.Errorf(bellows.Config, "add a node", "", "it would have %d compute slots and %d lanes", slots, lanes)
	case int(a.next) >= NodesMost:
		return Newcomer{}, bellows.Errorf(bellows.Config, "add a node", "", "the job has had %d nodes, and no more numbers", a.next)
	}
	a.who = &Newcomer{a.next, slots, lanes}
	a.ready, a.doubt = false, nil
	a.wait = NewWait(a.self, a.times, a.times.Ready, nowMillis)
	a.next++
	return *a.who, nil
}

// Guest reports whether a node takes no part in the job: what is said by it or of it is not the
// job's.
func (a *Admission) Guest(n bellows.NodeID) bool {
	return a.who != nil && n == a.who.Node || n >= a.next || slices.Contains(a.away, n)
}

// TakesPart notes that a node is one of the job's, whoever has admitted it.
func (a *Admission) TakesPart(n bellows.NodeID) {
	a.next = max(a.next, n+1)
	if a.who != nil && a.who.Node == n {
		a.who = nil
	}
}

// Ready tells that a guest has said that it is ready for a job of that fingerprint.
func (a *Admission) Ready(n bellows.NodeID, job bellows.Fingerprint) (away *Outcome) {
	if a.who == nil || a.who.Node != n {
		return nil
	}
	if a.job != (bellows.Fingerprint{}) && job != a.job {
		return a.turnAway(bellows.Errorf(bellows.Config, "add a node", name(n), "it has made another job than node %d: what differs is %s", a.self, a.job.Differs(job)))
	}
	a.ready = true
	return nil
}

// Due is a newcomer that is ready and may take part, as soon as the job lets it.
func (a *Admission) Due() (Newcomer, bool) {
	if a.who == nil || !a.ready || a.doubt != nil {
		return Newcomer{}, false
	}
	return *a.who, true
}

// Admitted tells that the newcomer takes part.
func (a *Admission) Admitted() Outcome {
	o := Outcome{Newcomer: *a.who}
	a.who = nil
	return o
}

// Lost tells that a guest is dead or cannot be reached, or that the job does not take it, and why.
func (a *Admission) Lost(n bellows.NodeID, reason error) (away *Outcome) {
	if a.who == nil || a.who.Node != n {
		return nil
	}
	return a.turnAway(bellows.Errorf(bellows.KindOf(reason), "add a node", name(n), "%w", reason))
}

// Suspect tells that a guest perhaps cannot be reached any more, and why: a better reason may come,
// as that of its process.
func (a *Admission) Suspect(n bellows.NodeID, reason error, nowMillis int64) {
	if a.who != nil && a.who.Node == n && a.doubt == nil {
		a.doubt, a.due = reason, nowMillis+a.times.Broken
	}
}

// Tick tells the time. A newcomer that does not come is named while it is waited for, and turned
// away in the end.
func (a *Admission) Tick(nowMillis int64) (notice string, away *Outcome) {
	if a.who == nil {
		return "", nil
	}
	if a.doubt != nil && nowMillis >= a.due {
		return "", a.Lost(a.who.Node, a.doubt)
	}
	if why := a.wait.Over(nowMillis); why != nil {
		return "", a.turnAway(bellows.Errorf(bellows.Lost, "add a node", name(a.who.Node), "%w", why))
	}
	return a.wait.Name(nowMillis, name(a.who.Node)+" to join", nil), nil
}

func (a *Admission) turnAway(err error) *Outcome {
	o := &Outcome{*a.who, err}
	a.away = append(a.away, a.who.Node)
	a.who = nil
	return o
}

func name(n bellows.NodeID) string { return fmt.Sprintf("node %d", n) }
