package shell

import (
	"errors"
	"fmt"
	"slices"

	"bellows"
	"bellows/core"
	"bellows/core/coord"
	"bellows/core/join"
	"bellows/core/members"
	"bellows/core/planted"
	"bellows/core/route"
	"bellows/link/wire"
)

// Nodes join while the job runs: package join says who comes and when it may take part, and Lead
// has the controller add its actors then. Until that is recorded a newcomer is a guest, and nothing
// that it says, or that others say of it, is told the controller, to which it would be a node of the
// job that is lost (TestAGuestThatIsLostHarmsNobody).

// Call is a newcomer whose turn it is: it is to call all of lower number but those that are gone.
type Call struct {
	join.Newcomer
	Gone []bellows.NodeID
}

// Invite gives the next node that is to join its number. When it is to call the others is told in
// Calls, and what becomes of it in Joins. A controller that follows another invites nobody before it
// knows what was recorded.
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

// knows reports whether it is known who takes part: also who was admitted by the controller before.
func (l *Lead) knows() bool { return !l.follows || l.known }

// call tells the guest whose turn it is whom it is not to call: no node of the job has those numbers
// now, or will not have them for long.
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

// Uninvite turns away a newcomer that is not to come any more, and says why. Who takes part stays.
func (l *Lead) Uninvite(n bellows.NodeID, why error) { l.turned(l.admission.Lost(n, why)) }

// Owner refuses the leave of a node, by what it owns still.
type Owner struct {
	Splits     []bellows.SplitID
	Partitions []bellows.PartitionRef
}

// Error is the sentence for who does not know the tables' names.
func (o *Owner) Error() string {
	return fmt.Sprintf("it has splits %v and partitions %v: move them to other nodes first", o.Splits, o.Partitions)
}

// Remove lets a node leave, with all of its actors. The node must own nothing, else the error is an Owner. If it returns an
// error, nothing was removed (TestRemoveTakesAllOrNothing). Effects.Left says when the node may go.
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
	if err := l.awaitsGuest(); err != nil {
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

// RemoveLane is the controller's, but while it is the turn of a node that joins, which calls all that are there.
func (l *Lead) RemoveLane(a wire.Address, fx *coord.Effects) error {
	if err := l.awaitsGuest(); err != nil {
		return err
	}
	err := l.Controller.Remove(a, fx)
	l.leaves(a, err)
	return err
}

// RemoveClient is likewise.
func (l *Lead) RemoveClient(n bellows.NodeID, fx *coord.Effects) error {
	if err := l.awaitsGuest(); err != nil {
		return err
	}
	err := l.Controller.Remove(wire.ClientAt(n), fx)
	l.leaves(wire.ClientAt(n), err)
	return err
}

// awaitsGuest refuses to let anybody leave while a node calls (TestNobodyLeavesWhoIsCalled).
func (l *Lead) awaitsGuest() error {
	if who, some := l.admission.Calling(); some && !planted.On("callee-removed") {
		return bellows.Errorf(bellows.Unavailable, "remove a node", "", "node %d is about to join, and calls all that are there: ask again when it has", who.Node)
	}
	return nil
}

// leaves notes that an actor was told to leave, if it was: no controller that follows lets it take part again.
func (l *Lead) leaves(a wire.Address, err error) {
	if err == nil {
		l.came = slices.DeleteFunc(l.came, func(b wire.Address) bool { return a == b })
	}
}

// actors are all that take part.
func actors(r *route.Route) []wire.Address { return slices.Concat(r.Lanes(), r.Clients()) }

// Step is the controller's, without what concerns guests.
func (l *Lead) Step(batch []wire.Envelope, fx *coord.Effects) {
	if slices.ContainsFunc(batch, l.concernsGuest) {
		all := batch
		batch = nil
		for _, e := range all {
			if !l.concernsGuest(e) {
				batch = append(batch, e)
				continue
			}
			l.hearGuest(e)
		}
	}
	l.Controller.Step(batch, fx)
	l.admit(fx)
}

// concernsGuest reports whether a message is by or of a guest. Signs of life and reports are what they
// are for others, and change nothing.
func (l *Lead) concernsGuest(e wire.Envelope) bool {
	switch m := e.Message.(type) {
	case *wire.Ready:
		return l.admission.Guest(e.From.Node)
	case *wire.Complaint:
		return l.admission.Guest(e.From.Node) || l.admission.Guest(m.Node)
	}
	return false
}

// hearGuest takes what a guest says, or what others have against it. A guest that has something
// against another node cannot join.
func (l *Lead) hearGuest(e wire.Envelope) {
	switch m := e.Message.(type) {
	case *wire.Ready:
		l.turned(l.admission.Ready(e.From.Node, m.Fingerprint))
	case *wire.Complaint:
		if !l.guestLost(e.From.Node, m.Reason) {
			l.suspectGuest(m.Node, m.Reason)
		}
	}
}

// Lost tells that a process is dead, and why: the controller's, if it is no guest's.
func (l *Lead) Lost(n bellows.NodeID, reason string, fx *coord.Effects) {
	if !l.guestLost(n, reason) {
		l.Controller.Lost(n, reason, fx)
		l.admit(fx)
	}
}

// guestLost reports whether a node that is lost is a guest, whose loss is nobody else's.
func (l *Lead) guestLost(n bellows.NodeID, reason string) bool {
	if !l.admission.Guest(n) {
		return false
	}
	l.turned(l.admission.Lost(n, bellows.Errorf(bellows.Lost, "join", "", "%s", reason)))
	return true
}

// suspectGuest reports whether a node that perhaps is lost is a guest.
func (l *Lead) suspectGuest(n bellows.NodeID, reason string) bool {
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

// admit lets a newcomer take part that is ready, when the job has begun, and turns it away when the
// job is over.
func (l *Lead) admit(fx *coord.Effects) {
	l.mourn(fx)
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

// mourn takes note of nodes that are lost while the job goes on: no controller that follows lets them take
// part again, and a guest that calls one of them cannot join (TestAGuestThatCallsTheLostIsTurnedAway).
func (l *Lead) mourn(fx *coord.Effects) {
	for _, b := range fx.Buried {
		l.leaves(wire.ClientAt(b.Node), nil)
		if who, some := l.admission.Calling(); some && !l.over && !slices.Contains(l.uncalled, b.Node) && b.Node < who.Node && !planted.On("lost-called") {
			l.turned(l.admission.Lost(who.Node, bellows.Errorf(bellows.Unavailable, "join", "", "node %d, which it is to call, is lost: invite another", b.Node)))
		}
	}
}

// admitAgain lets those take part whom the controller before has admitted, and of whom no record is
// left: they were told that they do (TestWhoWasAdmittedTakesPartUnderTheNextController).
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

// refuseUnjoined turns a guest away that has not called somebody who takes part: whose removal had no
// record when the controller was lost (TestAGuestThatHasNotCalledAllIsTurnedAway).
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

// Brings are a newcomer's actors: lanes first, as every node makes them.
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

// NewGuest is NewMember for a node that joins a job which runs: its lanes are not of the job's first
// route.
func NewGuest(job core.Job, who join.Newcomer) *Member {
	m := &Member{follower: members.NewFollower(who.Node, job.Controller, job.Times)}
	m.lanes = lanesAt(core.Job{Lanes: Brings(who)}, who.Node)
	return m
}
