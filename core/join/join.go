package join

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"bellows"
	"bellows/core/liveness"
)

// Cluster says which nodes join which.
type Cluster struct {
	Self        bellows.NodeID
	Nodes       int
	Connections int // of each pair
	// Gone has the numbers of nodes that exist no more, if this one joins a running job or follows node 0 of one.
	Gone []bellows.NodeID
}

// lower returns the nodes that this one dials.
func (c Cluster) lower() (list []bellows.NodeID) {
	for n := range c.Self {
		if !slices.Contains(c.Gone, n) {
			list = append(list, n)
		}
	}
	return list
}

// Place returns the place of a call of node n, for connection number of so many. Places are ordered by connection and
// then by node. It returns -1 for an unexpected call: node n does not call this one, or no node has that number.
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

// redialMillis is the wait before a node is dialled again that does not listen yet.
const redialMillis = 20

// Joining is a node on its way into a cluster.
//
// It dials until all nodes of lower number have answered on all connections, then accepts calls until all others have
// come, then is over. Invariants: one call is out at a time; a place is taken once; it is over by the end of its
// wait, and has no effect afterwards (all: TestJoiningInAnyOrder).
type Joining struct {
	Cluster
	addresses []string // by node
	wait      Wait
	lower     []bellows.NodeID
	there     []bool // by place
	dialled   int    // calls that were answered
	last      error  // why the last call failed, or the last caller was turned away
	over      bool
}

// New returns a node before it joins, which it does within times.Join.
func New(c Cluster, addresses []string, times liveness.Times, nowMillis int64) *Joining {
	return &Joining{Cluster: c, addresses: addresses, lower: c.lower(), wait: NewWait(c.Self, times, times.Or().Join, nowMillis), there: make([]bool, c.Nodes*c.Connections)}
}

// Begin makes the first call.
func (j *Joining) Begin(fx *Effects) { j.advance(0, fx) }

// Awaits reports whether calls are to be taken.
func (j *Joining) Awaits() bool { return !j.over && !j.dialling() }

// Next returns when Tick is due.
func (j *Joining) Next() int64 { return j.wait.Next() }

func (j *Joining) dialling() bool { return j.dialled < len(j.lower)*j.Connections }

// callee returns the node to dial and the connection: all nodes on the first connection, then all on the second.
func (j *Joining) callee() (n bellows.NodeID, number int) {
	return j.lower[j.dialled%len(j.lower)], j.dialled / len(j.lower)
}

// whom returns the nodes that are awaited, and what they are to do.
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

// advance makes the next call, or ends when no node is missing.
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

// giveUp ends the wait for missing nodes.
func (j *Joining) giveUp(why error, fx *Effects) {
	if j.last != nil && !errors.Is(j.last, why) {
		why = fmt.Errorf("%w; the last try: %w", why, j.last)
	}
	whom, _ := j.whom()
	j.end(bellows.Errorf(bellows.Lost, joins, whom, "%w", why), fx)
}

// Answered reports which node has answered the call that is out. It returns whether that connection stands.
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

// Failed reports why the call that is out has failed. It is made again, unless it is hopeless.
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

// Called reports a call for connection number of so many. It returns whether that connection stands.
func (j *Joining) Called(n bellows.NodeID, number, of int, fx *Effects) (keep bool) {
	at := j.Place(n, number, of)
	if !j.Awaits() || at < 0 || j.there[at] {
		return false
	}
	j.there[at] = true
	j.advance(0, fx)
	return true
}

// TurnedAway reports why a caller was turned away before it could send its number. It may call again.
func (j *Joining) TurnedAway(err error) { j.last = err }

// Closed reports that no more calls will come, and why.
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

// Tick passes the time.
func (j *Joining) Tick(nowMillis int64, fx *Effects) {
	if j.over {
		return
	}
	if why := j.wait.Expired(nowMillis); why != nil {
		j.giveUp(why, fx)
		return
	}
	whom, whatFor := j.whom()
	fx.Notice = j.wait.Name(nowMillis, whom+whatFor, j.last)
}
