package join

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/core/liveness"
	"bellows/core/planted"
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

// Admission is node 0's half of joining a job that runs: it gives out numbers, says whose turn it is
// to call the others, and when a newcomer may take part, which is when it has said that it is ready:
// all its connections stand then, at their other ends, too. Until then nothing that becomes of it is
// the job's: a newcomer that shows another job, dies, or does not come is turned away by name, and
// nobody else is told.
//
// Several are guests at a time: their processes start, and read their data, side by side. They call
// one after the other, in the order of their numbers, each when those before it take part or were
// turned away: so each knows whom to call, all who take part, and no two guests call each other. A
// call takes milliseconds.
//
// Each is invited, from Invite on; calling, when it has its Turn; ready, when it has said so; and
// then takes part (Admitted), or was turned away at any time. Invariants: a number is given once;
// every newcomer has one outcome; at most one is calling; who takes part is nobody's guest any more,
// so that its loss is the job's (all: TestNodesJoinWhileOthersRun).
//
// It is node 0's, and no controller's: it outlives those that are lost (shell.RecoverLead), since a
// number that was given is given for good.
//
// Turned down: that guests call side by side. Two of them would have to call each other, each being
// perhaps turned away meanwhile. And the turn of whoever has read its data first: those whom it has
// passed would need another number, since a call is taken as that of a later node (Newcomers).
type Admission struct {
	self   bellows.NodeID
	job    bellows.Fingerprint // what a newcomer must show; zero: it is not asked
	times  liveness.Times
	next   bellows.NodeID   // the number of the next
	away   []bellows.NodeID // have been turned away
	guests []guest          // on the way, by number
}

// guest is a newcomer on its way.
type guest struct {
	Newcomer
	calls bool  // it was its turn
	ready bool  // it has said so
	wait  Wait  // of who calls
	doubt error // it perhaps cannot be reached any more; nil: it can
	due   int64 // when that is believed, if nobody says better why
}

// NewAdmission is node 0's half where numbers below nodes have been given.
func NewAdmission(self bellows.NodeID, nodes int, job bellows.Fingerprint, times liveness.Times) *Admission {
	return &Admission{self: self, job: job, times: times.Or(), next: bellows.NodeID(nodes)}
}

const (
	// NodesMost is how many nodes a job may have had at its end: their numbers are below.
	NodesMost = 1 << 14
	// GuestsMost is how many nodes may be on their way at a time.
	GuestsMost = 16
)

// WaitMillis is how long a newcomer waits for its turn: those before it may use all of their time.
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

// Turn is the newcomer whose turn it is to call all who take part, once: the first, when nobody
// calls. It is waited for from now on.
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

// Calling is the newcomer whose turn it is, if there is one.
func (a *Admission) Calling() (Newcomer, bool) {
	if len(a.guests) == 0 || !a.guests[0].calls {
		return Newcomer{}, false
	}
	return a.guests[0].Newcomer, true
}

// Coming are those that are on their way, by number.
func (a *Admission) Coming() (list []Newcomer) {
	for i := range a.guests {
		list = append(list, a.guests[i].Newcomer)
	}
	return list
}

// at is the guest of a number; nil: there is none.
func (a *Admission) at(n bellows.NodeID) *guest {
	for i := range a.guests {
		if a.guests[i].Node == n {
			return &a.guests[i]
		}
	}
	return nil
}

// Guest reports whether a node takes no part in the job: what is said by it or of it is not the
// job's.
func (a *Admission) Guest(n bellows.NodeID) bool {
	return a.at(n) != nil || n >= a.next || slices.Contains(a.away, n) && !planted.On("refused-mourned")
}

// TakesPart notes that a node is one of the job's, whoever has admitted it.
func (a *Admission) TakesPart(n bellows.NodeID) {
	a.next = max(a.next, n+1)
	a.forget(n)
}

func (a *Admission) forget(n bellows.NodeID) {
	a.guests = slices.DeleteFunc(a.guests, func(g guest) bool { return g.Node == n })
}

// Ready tells that a guest has said that it is ready for a job of that fingerprint.
func (a *Admission) Ready(n bellows.NodeID, job bellows.Fingerprint) (away *Outcome) {
	g := a.at(n)
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

// Due is a newcomer that is ready and may take part, as soon as the job lets it.
func (a *Admission) Due() (Newcomer, bool) {
	for i := range a.guests {
		if g := &a.guests[i]; g.calls && g.doubt == nil && (g.ready || planted.On("unready-admitted")) {
			return g.Newcomer, true
		}
	}
	return Newcomer{}, false
}

// Admitted tells that the newcomer that is due takes part.
func (a *Admission) Admitted() Outcome {
	who, _ := a.Due()
	a.forget(who.Node)
	return Outcome{Newcomer: who}
}

// Lost tells that a guest is dead or cannot be reached, or that the job does not take it, and why.
func (a *Admission) Lost(n bellows.NodeID, reason error) (away *Outcome) {
	g := a.at(n)
	if g == nil {
		return nil
	}
	return a.turnAway(g, bellows.Errorf(bellows.KindOf(reason), "add a node", name(n), "%w", reason))
}

// Suspect tells that a guest perhaps cannot be reached any more, and why: a better reason may come,
// as that of its process.
func (a *Admission) Suspect(n bellows.NodeID, reason error, nowMillis int64) {
	if g := a.at(n); g != nil && g.doubt == nil {
		g.doubt, g.due = reason, nowMillis+a.times.Broken
	}
}

// Tick tells the time. Newcomers that do not come are named while they are waited for; who calls is
// turned away in the end, and then it is the next one's turn. Of several one is turned away in a
// Tick, the others in the next.
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
	if why := g.wait.Over(nowMillis); why != nil {
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
