package validate

import (
	"fmt"
	"slices"
	"sync/atomic"

	"bellows"
	"bellows/core"
	"bellows/core/planted"
	"bellows/core/route"
	"bellows/core/rule"
	"bellows/link/wire"
)

// Checker knows what a job's nodes may say. It may be used by many goroutines at once: what it has
// learned is one pointer, replaced as a whole (TestReadersAskWhileTheRouteChanges). Turned down: a
// lock, which every frame of every connection would take, for a value that changes a few times in a
// job.
//
// It goes by the newest route that has passed it: it learns a change, or a route as a whole, when
// it judges the message that brings it, before the actor for whom that is. So it is never behind
// the actors of its node, but for those that have not been told yet that they take part (Host);
// nodes that send to it may be ahead of it, which what they send says. What it judges by the route
// is true of the newer ones, too: a pair has one owner in all routes, and a split moves only when
// nothing of it is under way but what counts already, such as the word of its client behind that of
// a lane: so a node may speak of splits that it ran before (TestWhoRanASplitMaySpeakOfIt). Turned
// down: to be told by the shell, which learns of a route when an actor does; frames behind it in
// the same stream have been judged by then.
type Checker struct {
	self  bellows.NodeID
	cfg   core.Job
	slots []int // by table: slots of its rule
	above []int // by table: values that these keep of a row
	now   atomic.Pointer[known]
}

// known is a route and what follows from it. It is never changed, only replaced.
type known struct {
	route *route.Route
	lanes [][]bool       // by node and index: it takes part, or has; those behind do not
	works []bool         // by node: it runs tasks, or has; those behind run none
	here  []wire.Address // actors of this node, whether or not the route has them; no route makes one (TestNoRouteMakesAnActor)
	ran   []ran          // splits that have moved
	met   []wire.Address // who was asked by a controller that did not know whether he takes part, whatever the route
	lost  []bellows.NodeID

	follows bool // routes have come and gone of which this checker has not heard
}

// ran is a split and a node that ran it by an earlier route.
type ran struct {
	split bellows.SplitID
	node  bellows.NodeID
}

// with is what is known with another route, or other actors here.
func (k *known) with(r *route.Route, here []wire.Address) *known {
	to := &known{route: r, here: here, ran: k.ran, met: k.met, lost: k.lost, follows: k.follows}
	for s := bellows.SplitID(0); k.route != nil && int(s) < r.Splits(); s++ {
		if one := (ran{s, k.route.Node(s)}); one.node != r.Node(s) && !slices.Contains(to.ran, one) {
			to.ran = append(slices.Clip(to.ran), one)
		}
	}
	if k.route != nil && k.route.Version() <= r.Version() {
		for _, list := range k.lanes { // who was removed may still speak
			to.lanes = append(to.lanes, slices.Clone(list))
		}
	}
	for _, a := range r.Lanes() {
		to.takesPart(a)
	}
	for _, a := range r.Clients() {
		*at(&to.works, a.Node) = true
	}
	for n, works := range k.works { // a job's clients may be more than its route has
		if works {
			*at(&to.works, bellows.NodeID(n)) = true
		}
	}
	to.hears(k.met)
	return to
}

// hears enters actors that take part, whatever the route.
func (k *known) hears(actors []wire.Address) {
	for _, a := range actors {
		if a.Role == wire.Lane {
			k.takesPart(a)
		} else {
			*at(&k.works, a.Node) = true
		}
	}
}

// takesPart enters a lane into what is known and nobody has yet.
func (k *known) takesPart(a wire.Address) {
	list := at(&k.lanes, a.Node)
	for len(*list) <= int(a.Index) {
		*list = append(*list, false)
	}
	(*list)[a.Index] = true
}

// at is what a list says of a node. The list is as long as it has to be.
func at[T any](list *[]T, n bellows.NodeID) *T {
	if short := int(n) + 1 - len(*list); short > 0 {
		*list = append(*list, make([]T, short)...)
	}
	return &(*list)[n]
}

// worksAt reports whether a node runs tasks.
func (k *known) worksAt(n bellows.NodeID) bool { return int(n) < len(k.works) && k.works[n] }

// New makes the checker of a node.
func New(cfg core.Job, self bellows.NodeID) *Checker {
	ck := &Checker{self: self, cfg: cfg}
	first := &known{}
	for _, a := range cfg.Clients {
		*at(&first.works, a.Node) = true
	}
	var here []wire.Address
	for _, a := range slices.Concat(cfg.Lanes, cfg.Clients, cfg.Route.Lanes(), cfg.Route.Clients()) {
		if a.Node == self && !slices.Contains(here, a) {
			here = append(here, a)
		}
	}
	ck.now.Store(first.with(cfg.Route, here))
	for i := range cfg.Tables {
		slots, above := 0, 0
		if r, err := rule.For(&cfg.Tables[i]); err == nil { // a lane refuses the table else
			slots = len(r.Slots())
			for _, width := range r.Slots() {
				above += width
			}
		}
		ck.slots, ck.above = append(ck.slots, slots), append(ck.above, above)
	}
	return ck
}

// Host lets frames to an actor of this node pass that the route may not have yet: its first word is
// from the controller, and says so.
func (ck *Checker) Host(a wire.Address) {
	ck.replace(func(k *known) *known { return k.with(k.route, append(slices.Clip(k.here), a)) })
}

// Follow tells a checker of the controller's node that the job has run without it: another process led. Who has run a split since the route with
// which it was made it does not know, so that it leaves to the controller, which compares, whose the units are of which clients speak
// (TestWhoFollowsDoesNotKnowWhoRanASplit).
func (ck *Checker) Follow() {
	ck.replace(func(k *known) *known {
		to := *k
		to.follows = !planted.On("splits-of-the-past-judged")
		return &to
	})
}

// Learn takes note of a route: on the node of the controller, before the controller's messages
// leave. On others the checker learns from these. It may be older than that of before, where
// another controller follows one that has told nobody of its last route
// (TestACheckerGoesBackToARouteThatWasRecorded).
func (ck *Checker) Learn(r *route.Route) {
	ck.replace(func(k *known) *known { return k.with(r, k.here) })
}

// Lose takes note of nodes that are lost to a job that ends: at node 0, before its end is told. Others hear of them by that (TestWhoIsLostIsParted).
func (ck *Checker) Lose(nodes []bellows.NodeID) {
	if len(nodes) == 0 {
		return
	}
	ck.replace(func(k *known) *known {
		to := k.with(k.route, k.here)
		to.lost = slices.Clone(nodes)
		return to
	})
}

// Parted reports whether nothing is left to say to a node: it is lost, or it ran tasks by an earlier route and takes no part by the newest, since it was lost while the job went on, or has left.
func (ck *Checker) Parted(n bellows.NodeID) bool {
	k := ck.now.Load()
	if slices.Contains(k.lost, n) {
		return true
	}
	at := func(a wire.Address) bool { return a.Node == n }
	return k.worksAt(n) && !slices.ContainsFunc(k.route.Clients(), at) && !slices.ContainsFunc(k.route.Lanes(), at)
}

// hear takes note of a route that a message has as a whole, if it is newer.
func (ck *Checker) hear(r *route.Route) {
	ck.replace(func(k *known) *known {
		if r.Version() <= k.route.Version() {
			return nil
		}
		return k.with(r, k.here)
	})
}

// Meet takes note of actors that take part by a route which is not known here: those that a controller asks which follows another in
// a new process, and knows the route only when they have answered: one may answer so late that the controller goes by a route already, older than what was
// known here. It is told before the question leaves (TestWhoIsAskedByANewProcessIsHeard).
func (ck *Checker) Meet(actors []wire.Address) {
	ck.replace(func(k *known) *known {
		if len(actors) == 0 {
			return nil
		}
		to := k.with(k.route, k.here)
		to.hears(actors)
		to.met = append(slices.Clip(to.met), actors...)
		return to
	})
}

// replace puts something else in the place of what is known, unless that is nil. Two that replace
// at once are put one behind the other, so that no change is lost.
func (ck *Checker) replace(by func(*known) *known) {
	for {
		k := ck.now.Load()
		if to := by(k); to == nil || ck.now.CompareAndSwap(k, to) {
			return
		}
	}
}

// Header refuses a frame whose sender is not at the peer that it came from, whose receiver is not
// here, or whose sender's role may not say that to its receiver's.
func (ck *Checker) Header(peer bellows.NodeID, h wire.Header) error {
	switch {
	case h.From.Node != peer || !ck.exists(h.From, ck.now.Load()) && !ck.between(h):
		return refuse(peer, h, "the sender", h.From, fmt.Sprintf("an actor of node %d", peer))
	case h.To.Node != ck.self || !ck.hosts(h.To, ck.now.Load()):
		return refuse(peer, h, "the receiver", h.To, fmt.Sprintf("an actor of node %d", ck.self))
	case !h.Allowed():
		return refuse(peer, h, "the way", fmt.Sprintf("from %v to %v", h.From, h.To), "one that its kind takes")
	}
	return nil
}

// between reports whether a frame is from a lane to a lane, of a node that the job may have: the sender may take part by a newer route than is known here, and what it says
// is for the lane, which has not asked for it then.
func (ck *Checker) between(h wire.Header) bool {
	return h.From.Role == wire.Lane && h.To.Role == wire.Lane && int(h.From.Node) < ck.cfg.Numbers()
}

// refuse is the error about a header: nothing of its frame has been decoded.
func refuse(peer bellows.NodeID, h wire.Header, field string, value any, want string) error {
	return bellows.Errorf(bellows.Lost, "take", fmt.Sprintf("%v, which came from node %d", h, peer), "%s is %v, not %s", field, value, want)
}

// exists reports whether the job has an actor of that address. Every node speaks as a client, of
// itself if not of tasks.
func (ck *Checker) exists(a wire.Address, k *known) bool {
	switch a.Role {
	case wire.Client:
		return int(a.Node) < ck.cfg.Numbers() && a.Index == 0
	case wire.Lane:
		return int(a.Node) < len(k.lanes) && int(a.Index) < len(k.lanes[a.Node]) && k.lanes[a.Node][a.Index]
	}
	return a == wire.ControllerAt()
}

// hosts reports whether an actor is one of this node.
func (ck *Checker) hosts(a wire.Address, k *known) bool {
	return a == wire.ControllerAt() || slices.Contains(k.here, a) || planted.On("route-makes-actors") && ck.exists(a, k)
}

// breach is a field that is not as it must be. It is made only where one is not, so that a message
// that is right costs no text (TestSteadyStateAllocatesNothing).
type breach struct {
	field string
	at    int // which of several parts; -1: there is one
	value string
	want  string
}

func (b *breach) Error() string {
	of := ""
	if b.at >= 0 {
		of = fmt.Sprintf(" of part %d", b.at)
	}
	return fmt.Sprintf("%s%s is %s, not %s", b.field, of, b.value, b.want)
}

// within refuses a field's value outside of least to most.
func within(field string, at int, value, least, most int64) *breach {
	if value < least || value > most {
		return outside(field, at, value, least, most)
	}
	return nil
}

// outside is the breach of a field that is not from least to most.
func outside(field string, at int, value, least, most int64) *breach {
	return &breach{field, at, fmt.Sprint(value), fmt.Sprintf("from %d to %d", least, most)}
}

// exactly refuses a field that has not the one value that it can have.
func exactly(field string, at int, value, want int64) *breach {
	if value != want {
		return &breach{field, at, fmt.Sprint(value), fmt.Sprint(want)}
	}
	return nil
}

// Message refuses a message that names what the job does not have, or is not shaped as the job is.
// It is what was decoded of the frame whose header Header has passed.
func (ck *Checker) Message(h wire.Header, e wire.Envelope) error {
	if b := ck.message(e); b != nil {
		return &bellows.Error{Kind: bellows.Lost, Op: "take", Subject: h.String(), Err: b}
	}
	return nil
}

// message is the first breach of a message, by the check of its kind. What a client says as one
// that runs tasks is refused from a node that runs none, but for one that goes by a newer route,
// which may have that node: then the lane, which knows that route before it takes the message, is
// the judge.
func (ck *Checker) message(e wire.Envelope) *breach {
	c := &checks[e.Kind()]
	switch {
	case c.judge == nil:
		return &breach{"the kind", -1, fmt.Sprintf("%T", e.Message), "one that is checked"}
	case e.From.Role == wire.Client && !c.idle && !ck.now.Load().worksAt(e.From.Node) && !ck.ahead(e.Message):
		return &breach{"the sender", -1, e.From.String(), "a node that runs tasks"}
	}
	return c.judge(ck, e)
}

// ahead reports whether a client goes by a newer route than this checker, which may have that client.
func (ck *Checker) ahead(m wire.Message) bool {
	v := ck.now.Load().route.Version()
	switch m := m.(type) {
	case *wire.Pull:
		return m.Route > v
	case *wire.Acquire:
		return m.Route > v
	case *wire.Push:
		return m.Route > v
	}
	return false
}
