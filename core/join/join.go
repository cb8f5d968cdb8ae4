package join

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"bellows"
	"bellows/core/liveness"
)

// Cluster is who joins whom.
type Cluster struct {
	Self        bellows.NodeID
	Nodes       int
	Connections int // of each pair
	// Gone are numbers of nodes that are not there any more, where this one joins a job that runs, or
	// follows node 0 of one.
	Gone []bellows.NodeID
}

// lower are the nodes that this one dials.
func (c Cluster) lower() (list []bellows.NodeID) {
	for n := range c.Self {
		if !slices.Contains(c.Gone, n) {
			list = append(list, n)
		}
	}
	return list
}

// Place is where a call of a node, for the connection of that number of so many, belongs:
// connections are by number and, of each number, by node. -1: it is not expected, since that node
// does not call this one, or there is none.
func (c Cluster) Place(n bellows.NodeID, number, of int) int {
	if n <= c.Self || int(n) >= c.Nodes || number >= of || of != c.Connections || slices.Contains(c.Gone, n) {
		return -1
	}
	return number*c.Nodes + int(n)
}

// Dial is a call to make.
type Dial struct {
	Node        bellows.NodeID
	Number      int
	AfterMillis int64 // from now
}

// Over is the end of joining: all are there, or there is an error.
type Over struct{ Err error }

// Effects are what a Joining wants done.
type Effects struct {
	Dial   *Dial
	Notice string // a wait that lasts; empty: none
	Over   *Over  // set once
}

// redialMillis is how long is waited before somebody is dialled again who does not listen yet.
const redialMillis = 20

// Joining is a node on its way into a cluster.
//
// It is dialling until all nodes of lower number have answered on all connections, then taking
// calls until all others have come, then over. Invariants: one call is out at a time; a place is
// taken once; it is over by the end of its wait, and says nothing behind (all:
// TestJoiningInAnyOrder).
type Joining struct {
	Cluster
	addresses []string // by node
	wait      Wait
	lower     []bellows.NodeID
	there     []bool // by place
	dialled   int    // calls that were answered
	last      error  // why the last call failed, or the last that came was turned away
	over      bool
}

// New is a node before it joins, within times.Join.
func New(c Cluster, addresses []string, times liveness.Times, nowMillis int64) *Joining {
	return &Joining{Cluster: c, addresses: addresses, lower: c.lower(), wait: NewWait(c.Self, times, times.Or().Join, nowMillis), there: make([]bool, c.Nodes*c.Connections)}
}

// Begin makes the first call.
func (j *Joining) Begin(fx *Effects) { j.advance(0, fx) }

// Awaits reports whether calls are to be taken.
func (j *Joining) Awaits() bool { return !j.over && !j.dialling() }

// Next is when Tick is due.
func (j *Joining) Next() int64 { return j.wait.Next() }

func (j *Joining) dialling() bool { return j.dialled < len(j.lower)*j.Connections }

// callee is who is dialled: on the first connection all, then on the second.
func (j *Joining) callee() (n bellows.NodeID, number int) {
	return j.lower[j.dialled%len(j.lower)], j.dialled / len(j.lower)
}

// whom names for whom is waited, and whatFor is what that one is to do.
func (j *Joining) whom() (whom, whatFor string) {
	if j.dialling() {
		n, _ := j.callee()
		return fmt.Sprintf("node %d at %s", n, j.addresses[n]), " to answer"
	}
	return j.missing(), " to join"
}

// missing names the nodes above this one that have not all connections yet.
func (j *Joining) missing() string {
	var list []string
	for n := int(j.Self) + 1; n < j.Nodes; n++ {
		for at := n; at < len(j.there); at += j.Nodes {
			if !j.there[at] && !slices.Contains(j.Gone, bellows.NodeID(n)) {
				list = append(list, fmt.Sprintf("node %d", n))
				break
			}
		}
	}
	return strings.Join(list, ", ")
}

// advance makes the next call, or ends when nobody is missing.
func (j *Joining) advance(afterMillis int64, fx *Effects) {
	if j.dialling() {
		n, number := j.callee()
		fx.Dial = &Dial{n, number, afterMillis}
	} else if j.missing() == "" {
		j.end(nil, fx)
	}
}

func (j *Joining) end(err error, fx *Effects) { j.over, fx.Over = true, &Over{err} }

const joins = "join the nodes of the job"

// giveUp ends the wait for who is missing.
func (j *Joining) giveUp(why error, fx *Effects) {
	if j.last != nil && !errors.Is(j.last, why) {
		why = fmt.Errorf("%w; the last try: %w", why, j.last)
	}
	whom, _ := j.whom()
	j.end(bellows.Errorf(bellows.Lost, joins, whom, "%w", why), fx)
}

// Answered tells who has answered the call that is out, and reports whether that connection stands.
func (j *Joining) Answered(n bellows.NodeID, fx *Effects) (keep bool) {
	if j.over {
		return false
	}
	if want, _ := j.callee(); n != want {
		whom, _ := j.whom()
		j.end(bellows.Errorf(bellows.Config, joins, whom, "node %d answers there", n), fx)
		return false
	}
	j.dialled++
	j.last = nil
	j.advance(0, fx)
	return true
}

// Failed tells why the call that is out has failed. It is made again, unless it would fail again
// however often it is.
func (j *Joining) Failed(err error, hopeless bool, fx *Effects) {
	switch {
	case j.over:
	case hopeless:
		j.end(err, fx)
	default:
		j.last = err
		j.advance(redialMillis, fx)
	}
}

// Called tells of a call for the connection of that number of so many, and reports whether that
// connection stands.
func (j *Joining) Called(n bellows.NodeID, number, of int, fx *Effects) (keep bool) {
	at := j.Place(n, number, of)
	if !j.Awaits() || at < 0 || j.there[at] {
		return false
	}
	j.there[at] = true
	j.advance(0, fx)
	return true
}

// TurnedAway tells why somebody who called was turned away before it could say who it is. It may come again.
func (j *Joining) TurnedAway(err error) { j.last = err }

// Closed tells that no more calls will come, and why.
func (j *Joining) Closed(err error, fx *Effects) {
	if !j.over {
		whom, _ := j.whom()
		j.end(bellows.Errorf(bellows.Lost, joins, whom, "%w", err), fx)
	}
}

// Cancel gives up, for a reason of the caller's.
func (j *Joining) Cancel(why error, fx *Effects) {
	if !j.over {
		j.giveUp(why, fx)
	}
}

// Tick tells the time.
func (j *Joining) Tick(nowMillis int64, fx *Effects) {
	if j.over {
		return
	}
	if why := j.wait.Over(nowMillis); why != nil {
		j.giveUp(why, fx)
		return
	}
	whom, whatFor := j.whom()
	fx.Notice = j.wait.Name(nowMillis, whom+whatFor, j.last)
}
