package shell

import (
	"errors"
	"fmt"
	"slices"

	"bellows"
	"bellows/core"
	"bellows/core/coord"
	"bellows/core/heartbeat"
	"bellows/core/join"
	"bellows/core/planted"
	"bellows/core/route"
	"bellows/link/wire"
)

// Nodes join while the job runs. Package join decides which node comes and when it may take part; then Lead has the
// controller add the node's actors. Until that is recorded, the node is a joiner. Nothing that a joiner sends, and no
// report about it, reaches the controller: it would take the joiner for a lost node of the job
// (TestLostJoinerHarmsNoNode).

// Call asks a newcomer to connect to all nodes of lower numbers, except those in Gone.
type Call struct {
	join.Newcomer
	Gone []bellows.NodeID
}

// Invite gives the next node that is to join its number. Calls says when it is to connect to the others, and Joins
// how its admission ended. A controller that follows another returns an error until it knows what was recorded.
func (l *Lead) Invite(slots, lanes int) (who join.Newcomer, err error) {
	if l.over {
		return who, errOver
	}
	if !l.knows() {
		return who, bellows.Errorf(bellows.Unavailable, "add a node", "", "the job's controller has been replaced, and does not know yet who takes part: ask again")
	}
	who, err = l.admission.Invite(slots, lanes)
	l.call()
	return who, err
}

// knows reports whether Lead knows which nodes take part, including those that the previous controller admitted.
func (l *Lead) knows() bool { return !l.follows || l.known }

// call sends the next joiner in the queue the nodes that it is not to call: no node of the job has those numbers now,
// or will not have them for long.
func (l *Lead) call() {
	for !l.over && l.knows() {
		who, ok := l.admission.Turn(l.nowMillis)
		if !ok {
			return
		}
		var gone []bellows.NodeID
		here := actors(l.Route())
		for n := range who.Node {
			if n != l.self && !slices.ContainsFunc(here, func(a wire.Address) bool { return a.Node == n }) {
				gone = append(gone, n)
			}
		}
		l.uncalled = gone
		l.Calls = append(l.Calls, Call{who, gone})
	}
}

// Uninvite turns away a newcomer with the given reason. Nodes that take part already are not affected.
func (l *Lead) Uninvite(n bellows.NodeID, why error) { l.turned(l.admission.Lost(n, why)) }

// Owner refuses the leave of a node, by what it owns still.
type Owner struct {
	Splits     []bellows.SplitID
	Partitions []bellows.PartitionRef
}

// Error returns the sentence for callers that do not know the names of tables.
func (o *Owner) Error() string {
	return fmt.Sprintf("it has splits %v and partitions %v: move them to other nodes first", o.Splits, o.Partitions)
}

// Remove removes a node from the job, with all of its actors. If the node still owns something, the error is an
// Owner. If it returns an error, nothing was removed (TestRemoveTakesAllOrNothing). Effects.Left reports when the
// node may exit.
func (l *Lead) Remove(n bellows.NodeID, fx *coord.Effects) error {
	r := l.Route()
	if n == l.self {
		return errors.New("it leads the job, and stays until the end")
	}
	if !slices.ContainsFunc(actors(r), func(a wire.Address) bool { return a.Node == n }) {
		return errors.New("it takes no part")
	}
	if splits, partitions := r.Owned(n); len(splits)+len(partitions) > 0 {
		return &Owner{splits, partitions}
	}
	if err := l.waitForJoiner(); err != nil {
		return err
	}
	var leaving []wire.Address
	if slices.Contains(r.Clients(), wire.ClientAt(n)) {
		leaving = append(leaving, wire.ClientAt(n))
	}
	leaving = append(leaving, lanesAt(core.Job{Lanes: r.Lanes()}, n)...)
	if err := l.CheckRemoval(leaving, fx); err != nil && !planted.On("half-removed") {
		return err
	}
	for _, a := range leaving {
		remove := l.RemoveLane
		if a.Role == wire.Client {
			remove = func(a wire.Address, fx *coord.Effects) error { return l.RemoveClient(a.Node, fx) }
		}
		if err := remove(a, fx); err != nil {
			return err
		}
	}
	return nil
}

// RemoveLane calls the controller's RemoveLane, unless a joiner is connecting: a joiner calls all nodes that take
// part.
func (l *Lead) RemoveLane(a wire.Address, fx *coord.Effects) error {
	if err := l.waitForJoiner(); err != nil {
		return err
	}
	err := l.Controller.Remove(a, fx)
	l.leaves(a, err)
	return err
}

// RemoveClient calls the controller's RemoveClient under the same condition as RemoveLane.
func (l *Lead) RemoveClient(n bellows.NodeID, fx *coord.Effects) error {
	if err := l.waitForJoiner(); err != nil {
		return err
	}
	err := l.Controller.Remove(wire.ClientAt(n), fx)
	l.leaves(wire.ClientAt(n), err)
	return err
}

// waitForJoiner returns an error while a joiner connects to the others (TestNodeStaysWhileJoinerCallsIt).
func (l *Lead) waitForJoiner() error {
	if who, some := l.admission.Calling(); some && !planted.On("callee-removed") {
		return bellows.Errorf(bellows.Unavailable, "remove a node", "", "node %d is about to join, and calls all that are there: ask again when it has", who.Node)
	}
	return nil
}

// leaves notes the removal of an actor, if err is nil: a controller that follows does not admit it again.
func (l *Lead) leaves(a wire.Address, err error) {
	if err == nil {
		l.came = slices.DeleteFunc(l.came, func(b wire.Address) bool { return a == b })
	}
}

// actors returns all actors that take part.
func actors(r *route.Route) []wire.Address { return slices.Concat(r.Lanes(), r.Clients()) }

// Step passes all messages to the controller except those that concern joiners.
func (l *Lead) Step(batch []wire.Envelope, fx *coord.Effects) {
	if slices.ContainsFunc(batch, l.concernsJoiner) {
		all := batch
		batch = nil
		for _, e := range all {
			if !l.concernsJoiner(e) {
				batch = append(batch, e)
				continue
			}
			l.hearJoiner(e)
		}
	}
	l.Controller.Step(batch, fx)
	l.admit(fx)
}

// concernsJoiner reports whether a message is from a joiner or about one. Heartbeats and reports of a joiner are
// passed on: they change nothing.
func (l *Lead) concernsJoiner(e wire.Envelope) bool {
	switch m := e.Message.(type) {
	case *wire.Ready:
		return l.admission.Guest(e.From.Node)
	case *wire.Complaint:
		return l.admission.Guest(e.From.Node) || l.admission.Guest(m.Node)
	}
	return false
}

// hearJoiner handles a message of a joiner, or a complaint about one. A joiner that complains about another node
// cannot join.
func (l *Lead) hearJoiner(e wire.Envelope) {
	switch m := e.Message.(type) {
	case *wire.Ready:
		l.turned(l.admission.Ready(e.From.Node, m.Fingerprint))
	case *wire.Complaint:
		if !l.joinerLost(e.From.Node, m.Reason) {
			l.suspectJoiner(m.Node, m.Reason)
		}
	}
}

// Lost reports a process that is dead, and why. The controller handles it unless the process is a joiner.
func (l *Lead) Lost(n bellows.NodeID, reason string, fx *coord.Effects) {
	if !l.joinerLost(n, reason) {
		l.Controller.Lost(n, reason, fx)
		l.admit(fx)
	}
}

// joinerLost reports whether a lost node is a joiner. Its loss affects no other node.
func (l *Lead) joinerLost(n bellows.NodeID, reason string) bool {
	if !l.admission.Guest(n) {
		return false
	}
	l.turned(l.admission.Lost(n, bellows.Errorf(bellows.Lost, "join", "", "%s", reason)))
	return true
}

// suspectJoiner reports whether a node that may be lost is a joiner.
func (l *Lead) suspectJoiner(n bellows.NodeID, reason string) bool {
	if !l.admission.Guest(n) {
		return false
	}
	l.admission.Suspect(n, bellows.Errorf(bellows.Lost, "join", "", "%s", reason), l.nowMillis)
	return true
}

// turned notes a newcomer that is turned away, if there is one. The next may call.
func (l *Lead) turned(away *join.Outcome) {
	if away != nil {
		l.Joins = append(l.Joins, *away)
		l.Calls = slices.DeleteFunc(l.Calls, func(c Call) bool { return c.Node == away.Node })
		l.call()
	}
}

// admit adds a newcomer that is ready, once the job has begun. It turns away all newcomers when the job is over.
func (l *Lead) admit(fx *coord.Effects) {
	l.removeLost(fx)
	if l.over = l.over || fx.Outcome != nil; l.over {
		for _, who := range l.admission.Coming() {
			l.turned(l.admission.Lost(who.Node, errOver))
		}
		return
	}
	if fx.Route != nil {
		for _, a := range actors(fx.Route) {
			l.admission.TakesPart(a.Node)
		}
	}
	if !l.Begun() {
		return
	}
	l.admitAgain(fx)
	l.refuseUnjoined()
	l.call()
	who, ok := l.admission.Due()
	if !ok {
		return
	}
	actors := Brings(who)
	if planted.On("newcomer-divided") {
		actors = actors[:1]
	}
	if added, err := l.add(actors, fx); added == 0 { // else the job has ended in the midst of it, and waits for those that were added
		l.turned(l.admission.Lost(who.Node, err))
		return
	}
	l.came = append(l.came, actors...)
	l.Joins = append(l.Joins, l.admission.Admitted())
	l.call()
}

// removeLost notes nodes that are lost while the job continues. No controller that follows admits them again, and a
// joiner that calls one of them cannot join (TestJoinerIsRefusedWhenCalleeIsLost).
func (l *Lead) removeLost(fx *coord.Effects) {
	for _, b := range fx.Buried {
		l.leaves(wire.ClientAt(b.Node), nil)
		if who, some := l.admission.Calling(); some && !l.over && !slices.Contains(l.uncalled, b.Node) && b.Node < who.Node && !planted.On("lost-called") {
			l.turned(l.admission.Lost(who.Node, bellows.Errorf(bellows.Unavailable, "join", "", "node %d, which it is to call, is lost: invite another", b.Node)))
		}
	}
}

// admitAgain adds the actors that the previous controller admitted and of which no record is left: they already know
// that they take part (TestAdmittedNodeTakesPartAfterFailover).
func (l *Lead) admitAgain(fx *coord.Effects) {
	if l.knows() {
		return
	}
	l.known = true
	if planted.On("admission-unrepeated") {
		return
	}
	for _, a := range l.came {
		if !slices.Contains(actors(l.Route()), a) {
			l.add([]wire.Address{a}, fx) // or the job is over, or its node is lost
		}
	}
}

// refuseUnjoined turns away a joiner that has not called a node that takes part. The removal of that node had no
// record when the controller was lost (TestJoinerIsRefusedWithUncalledNode).
func (l *Lead) refuseUnjoined() {
	who, some := l.admission.Calling()
	if !some || !l.follows {
		return
	}
	for _, a := range actors(l.Route()) {
		if slices.Contains(l.uncalled, a.Node) {
			l.turned(l.admission.Lost(who.Node, bellows.Errorf(bellows.Unavailable, "join", "", "it has not called node %d, which was about to leave when it was invited, and takes part: invite another", a.Node)))
			return
		}
	}
}

var errOver = bellows.Errorf(bellows.Interrupted, "join", "", "the job is over")

// Brings returns a newcomer's actors: lanes first, as every node makes them.
func Brings(who join.Newcomer) (list []wire.Address) {
	for i := range who.Lanes {
		list = append(list, wire.LaneAt(who.Node, i))
	}
	if who.Slots > 0 {
		list = append(list, wire.ClientAt(who.Node))
	}
	return list
}

// add adds actors, and returns how many it has.
func (l *Lead) add(list []wire.Address, fx *coord.Effects) (added int, err error) {
	for ; added < len(list); added++ {
		if a := list[added]; a.Role == wire.Lane {
			err = l.AddLane(a, fx)
		} else {
			err = l.AddClient(a.Node, fx)
		}
		if err != nil {
			return added, err
		}
	}
	return added, nil
}

// NewGuest makes the Member of a node that joins a running job: its lanes are not in the job's first route.
func NewGuest(job core.Job, who join.Newcomer) *Member {
	m := &Member{follower: heartbeat.NewFollower(who.Node, job.Controller, job.Times)}
	m.lanes = lanesAt(core.Job{Lanes: Brings(who)}, who.Node)
	return m
}
