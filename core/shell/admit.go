package shell

import (
	"slices"

	"bellows"
	"bellows/core"
	"bellows/core/coord"
	"bellows/core/join"
	"bellows/core/members"
	"bellows/link/wire"
)

// Nodes join while the job runs: package join says who comes and when it may take part, and Lead
// has the controller add its actors then. Until that is recorded a newcomer is a guest, and nothing
// that it says, or that others say of it, is told the controller, to which it would be a node of the
// job that is lost (TestAGuestThatIsLostHarmsNobody).

// Invite gives the next node that is to join its number. What becomes of it is told in Joins.
func (l *Lead) Invite(slots, lanes int) (join.Newcomer, error) {
	return l.admission.Invite(slots, lanes, l.nowMillis)
}

// Uninvite turns away a newcomer that is not to come any more, as when the job is over, and says
// why. Who takes part stays.
func (l *Lead) Uninvite(n bellows.NodeID, why error) { l.turned(l.admission.Lost(n, why)) }

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

// turned notes a newcomer that is turned away, if there is one.
func (l *Lead) turned(away *join.Outcome) {
	if away != nil {
		l.Joins = append(l.Joins, *away)
	}
}

// admit lets a newcomer take part that is ready, when the job has begun.
func (l *Lead) admit(fx *coord.Effects) {
	if fx.Route != nil {
		for _, a := range slices.Concat(fx.Route.Lanes(), fx.Route.Clients()) {
			l.admission.TakesPart(a.Node)
		}
	}
	who, ok := l.admission.Due()
	if !ok || !l.Begun() {
		return
	}
	err := l.add(who, fx)
	if err != nil {
		l.turned(l.admission.Lost(who.Node, err))
		return
	}
	l.Joins = append(l.Joins, l.admission.Admitted())
}

// add adds a newcomer's actors: lanes first, as every node makes them.
func (l *Lead) add(who join.Newcomer, fx *coord.Effects) error {
	for i := range who.Lanes {
		if err := l.AddLane(wire.LaneAt(who.Node, i), fx); err != nil {
			return err
		}
	}
	if who.Slots == 0 {
		return nil
	}
	return l.AddClient(who.Node, fx)
}

// NewGuest is NewMember for a node that joins a job which runs: its lanes are not of the job's first
// route.
func NewGuest(job core.Job, who join.Newcomer) *Member {
	m := &Member{follower: members.NewFollower(who.Node, job.Controller, job.Times)}
	for i := range who.Lanes {
		m.lanes = append(m.lanes, wire.LaneAt(who.Node, i))
	}
	return m
}
