package join

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/core/liveness"
	"bellows/core/planted"
)

// Newcomer is a node that is to join a running job.
type Newcomer struct {
	Node  bellows.NodeID
	Slots int // compute slots; 0: it runs no tasks
	Lanes int // server lanes; 0: it holds no partitions
}

// Outcome is the result of a newcomer's admission.
type Outcome struct {
	Newcomer
	Err error // why it takes no part, and its connections are to end; nil: it takes part
}

// Admission is node 0's half of joining a running job. It gives out numbers, decides which newcomer calls the others
// next, and when a newcomer may take part: once it has announced that it is ready. All its connections stand then,
// also at their other ends. Until then its fate is not the job's: a newcomer that shows another job, dies, or does
// not come is turned away by name, and no other node hears of it.
//
// Several nodes may be joining at a time: their processes start, and read their data, in parallel. They call one
// after the other, in the order of their numbers. Each calls when the previous ones take part or were turned away. So
// each knows which nodes to call, namely all that take part, and no two joiners call each other. Calling takes
// milliseconds.
//
// A newcomer is invited, from Invite on; calling, when it has its Turn; ready, when it has announced that; and then
// takes part (Admitted). It may be turned away in any of these states. Invariants: a number is given once; every
// newcomer has one outcome; at most one is calling; a node that takes part is no joiner any more, so that its loss is
// the job's (all: TestNodesJoinWhileOthersRun).
//
// An Admission belongs to node 0, not to a controller. It outlives controllers that are lost (shell.RecoverLead),
// since a number is never given twice.
//
// Rejected: joiners that call in parallel. Two of them would have to call each other, while each may be turned away.
// Rejected: the next turn for the newcomer that has first read its data. The ones that it passed would need other
// numbers, since a node takes a call as one of a later node (Newcomers).
type Admission struct {
	self   bellows.NodeID
	job    bellows.Fingerprint // what a newcomer must show; zero: any job is accepted
	times  liveness.Times
	next   bellows.NodeID   // the number of the next
	away   []bellows.NodeID // were turned away
	guests []guest          // on the way, by number
}

// guest is a newcomer on its way: a joiner.
type guest struct {
	Newcomer
	calls bool  // it was its turn
	ready bool  // it has announced that
	wait  Wait  // for it, while it calls
	doubt error // why it may be unreachable; nil: it is reachable
	due   int64 // when doubt becomes its loss, unless a better reason comes first
}

// NewAdmission returns node 0's half, where numbers below nodes have been given.
func NewAdmission(self bellows.NodeID, nodes int, job bellows.Fingerprint, times liveness.Times) *Admission {
	return &Admission{self: self, job: job, times: times.Or(), next: bellows.NodeID(nodes)}
}

const (
	// NodesMost is how many nodes a job may have had at its end: their numbers are below.
	NodesMost = 1 << 14
	// GuestsMost is how many nodes may be on their way at a time.
	GuestsMost = 16
)

// WaitMillis returns how long a newcomer waits for its turn: the previous ones may use all of their time.
func WaitMillis(times liveness.Times) int64 { return GuestsMost * times.Or().Ready }

// Invite gives a newcomer its number.
func (a *Admission) Invite(slots, lanes int) (Newcomer, error) {
	switch {
	case len(a.guests) >= GuestsMost:
		return Newcomer{}, bellows.Errorf(bellows.Unavailable, "add a node", "", "%d nodes are on their way, and no more may be at a time: ask again when node %d has joined", len(a.guests), a.guests[0].Node)
	case slots < 0 || lanes < 0 || slots+lanes == 0:
		return Newcomer{}, bellows.Errorf(bellows.Config, "add a node", "", "it would have %d compute slots and %d lanes", slots, lanes)
	case int(a.next) >= NodesMost:
		return Newcomer{}, bellows.Errorf(bellows.Config, "add a node", "", "the job has had %d nodes, and no more numbers", a.next)
	}
	who := Newcomer{a.next, slots, lanes}
	a.guests = append(a.guests, guest{Newcomer: who})
	a.next++
	return who, nil
}

// Turn returns the newcomer that is to call all nodes that take part, once: the first on its way, if none is calling.
// The wait for it begins.
func (a *Admission) Turn(nowMillis int64) (Newcomer, bool) {
	for i := range a.guests {
		g := &a.guests[i]
		if !g.calls {
			g.calls = true
			g.wait = NewWait(a.self, a.times, a.times.Ready, nowMillis)
			return g.Newcomer, true
		}
		if !planted.On("two-called") {
			break
		}
	}
	return Newcomer{}, false
}

// Calling returns the newcomer that is calling, if one is.
func (a *Admission) Calling() (Newcomer, bool) {
	if len(a.guests) == 0 || !a.guests[0].calls {
		return Newcomer{}, false
	}
	return a.guests[0].Newcomer, true
}

// Coming returns the newcomers that are on their way, by number.
func (a *Admission) Coming() (list []Newcomer) {
	for i := range a.guests {
		list = append(list, a.guests[i].Newcomer)
	}
	return list
}

// find returns the joiner with a number, or nil.
func (a *Admission) find(n bellows.NodeID) *guest {
	for i := range a.guests {
		if a.guests[i].Node == n {
			return &a.guests[i]
		}
	}
	return nil
}

// Guest reports whether a node is joining and does not take part in the job: its messages, and reports about it, do
// not concern the job.
func (a *Admission) Guest(n bellows.NodeID) bool {
	return a.find(n) != nil || n >= a.next || slices.Contains(a.away, n) && !planted.On("refused-mourned")
}

// TakesPart notes that a node takes part in the job, whichever controller has admitted it.
func (a *Admission) TakesPart(n bellows.NodeID) {
	a.next = max(a.next, n+1)
	a.forget(n)
}

func (a *Admission) forget(n bellows.NodeID) {
	a.guests = slices.DeleteFunc(a.guests, func(g guest) bool { return g.Node == n })
}

// Ready notes that a joiner announces that it is ready for a job of that fingerprint.
func (a *Admission) Ready(n bellows.NodeID, job bellows.Fingerprint) (away *Outcome) {
	g := a.find(n)
	switch {
	case g == nil:
	case a.job != (bellows.Fingerprint{}) && job != a.job && !planted.On("other-job-admitted"):
		return a.turnAway(g, bellows.Errorf(bellows.Config, "add a node", name(n), "it has made another job than node %d: what differs is %s", a.self, a.job.Differs(job)))
	case !g.calls:
		return a.turnAway(g, bellows.Errorf(bellows.Bug, "add a node", name(n), "it says that it is ready before it was told whom to call"))
	default:
		g.ready = true
	}
	return nil
}

// Due returns a newcomer that is ready and may take part, as soon as the job lets it.
func (a *Admission) Due() (Newcomer, bool) {
	for i := range a.guests {
		if g := &a.guests[i]; g.calls && g.doubt == nil && (g.ready || planted.On("unready-admitted")) {
			return g.Newcomer, true
		}
	}
	return Newcomer{}, false
}

// Admitted notes that the newcomer that is due takes part.
func (a *Admission) Admitted() Outcome {
	who, _ := a.Due()
	a.forget(who.Node)
	return Outcome{Newcomer: who}
}

// Lost notes that a joiner is dead, unreachable, or refused by the job, and why.
func (a *Admission) Lost(n bellows.NodeID, reason error) (away *Outcome) {
	g := a.find(n)
	if g == nil {
		return nil
	}
	return a.turnAway(g, bellows.Errorf(bellows.KindOf(reason), "add a node", name(n), "%w", reason))
}

// Suspect notes that a joiner may be unreachable, and why. A better reason may come, such as the end of its process.
func (a *Admission) Suspect(n bellows.NodeID, reason error, nowMillis int64) {
	if g := a.find(n); g != nil && g.doubt == nil {
		g.doubt, g.due = reason, nowMillis+a.times.Broken
	}
}

// Tick passes the time. It returns a notice that names a newcomer for which node 0 waits. A newcomer that calls for
// too long is turned away, and then the next has its turn. A Tick turns away at most one; the next Tick may turn away
// another.
func (a *Admission) Tick(nowMillis int64) (notice string, away *Outcome) {
	for i := range a.guests {
		if g := &a.guests[i]; g.doubt != nil && nowMillis >= g.due {
			return "", a.Lost(g.Node, g.doubt)
		}
	}
	if _, some := a.Calling(); !some {
		return "", nil
	}
	g := &a.guests[0]
	if why := g.wait.Expired(nowMillis); why != nil {
		return "", a.turnAway(g, bellows.Errorf(bellows.Lost, "add a node", name(g.Node), "%w", why))
	}
	what := name(g.Node) + " to join"
	if others := len(a.guests) - 1; others > 0 {
		what = fmt.Sprintf("%s, and %d more behind it", what, others)
	}
	return g.wait.Name(nowMillis, what, nil), nil
}

func (a *Admission) turnAway(g *guest, err error) *Outcome {
	o := &Outcome{g.Newcomer, err}
	a.away = append(a.away, o.Node)
	if planted.On("number-given-again") {
		a.next = o.Node
	}
	a.forget(o.Node)
	return o
}

func name(n bellows.NodeID) string { return fmt.Sprintf("node %d", n) }
