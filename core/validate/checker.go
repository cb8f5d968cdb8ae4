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

// Checker knows what a job's nodes may send. Many goroutines may use it at once: what it has learned is behind one
// pointer, which is replaced as a whole (TestReadersAskWhileTheRouteChanges). Rejected: a lock, which every frame of
// every connection would take for a value that changes a few times in a job.
//
// It goes by the newest route that has passed it. It learns a change, or a whole route, when it judges the message
// that brings it, before the receiving actor does. So it is never older than the actors of its node, except those
// that have not heard yet that they take part (Host). Nodes that send to it may know a newer route; their messages
// name it.
//
// What a Checker judges by its route holds for newer routes. A pair has one owner in all routes. A split moves only
// when nothing of it is under way except what counts already, such as a client's Done that a lane has passed on
// before. So a node may send messages about splits that it ran before (TestFormerOwnerMayReportItsSplit).
//
// Rejected: to learn routes from the shell, which learns of a route when an actor does. By then, later frames of the
// same stream have been judged.
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
	lanes [][]bool       // by node and index: the lane takes part, or did; lanes beyond the end do not
	works []bool         // by node: it runs tasks, or did; nodes beyond the end run none
	here  []wire.Address // actors of this node, whether or not the route has them; no route makes one (TestRouteAloneMakesNoActor)
	ran   []ran          // splits that have moved
	met   []wire.Address // actors asked by a controller that did not know whether they take part, whatever the route
	lost  []bellows.NodeID

	follows bool // there were routes that this checker has not seen
}

// ran is a split and a node that ran it by an earlier route.
type ran struct {
	split bellows.SplitID
	node  bellows.NodeID
}

// replaced returns what is known, with another route or other actors here.
func (k *known) replaced(r *route.Route, here []wire.Address) *known {
	to := &known{route: r, here: here, ran: k.ran, met: k.met, lost: k.lost, follows: k.follows}
	for s := bellows.SplitID(0); k.route != nil && int(s) < r.Splits(); s++ {
		if one := (ran{s, k.route.Node(s)}); one.node != r.Node(s) && !slices.Contains(to.ran, one) {
			to.ran = append(slices.Clip(to.ran), one)
		}
	}
	for _, list := range k.lanes { // a removed lane may still send
		to.lanes = append(to.lanes, slices.Clone(list))
	}
	if k.route != nil && k.route.Version() > r.Version() { // no node goes by the later route, which may have added lanes
		for _, a := range k.route.Lanes() {
			to.lanes[a.Node][a.Index] = false
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

// takesPart enters a lane, if it is not yet known to take part.
func (k *known) takesPart(a wire.Address) {
	list := at(&k.lanes, a.Node)
	for len(*list) <= int(a.Index) {
		*list = append(*list, false)
	}
	(*list)[a.Index] = true
}

// at returns a node's element of a list, which grows as needed.
func at[T any](list *[]T, n bellows.NodeID) *T {
	if short := int(n) + 1 - len(*list); short > 0 {
		*list = append(*list, make([]T, short)...)
	}
	return &(*list)[n]
}

// worksAt reports whether a node runs tasks.
func (k *known) worksAt(n bellows.NodeID) bool { return int(n) < len(k.works) && k.works[n] }

// New returns the checker of a node.
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
	ck.now.Store(first.replaced(cfg.Route, here))
	for i := range cfg.Tables {
		slots, above := 0, 0
		if r, err := rule.For(&cfg.Tables[i]); err == nil { // else a lane refuses the table
			slots = len(r.Slots())
			for _, width := range r.Slots() {
				above += width
			}
		}
		ck.slots, ck.above = append(ck.slots, slots), append(ck.above, above)
	}
	return ck
}

// Host lets frames pass to an actor of this node that the route may not have yet. The first message to the actor
// comes from the controller, and says that it takes part.
func (ck *Checker) Host(a wire.Address) {
	ck.replace(func(k *known) *known { return k.replaced(k.route, append(slices.Clip(k.here), a)) })
}

// Follow notes, on the controller's node, that the job has run under another leading process. The checker does not
// know which nodes have run a split since the route that it was made with. So it leaves that check to the controller,
// which compares the units of clients' messages with those that it dispatched (TestFollowerDoesNotKnowFormerOwners).
func (ck *Checker) Follow() {
	ck.replace(func(k *known) *known {
		to := *k
		to.follows = !planted.On("splits-of-the-past-judged")
		return &to
	})
}

// Learn takes a route on the node of the controller, before the controller's messages leave. Other nodes' checkers
// learn it from these. The route may be older than the previous one, if the previous controller has not sent its last
// route to any node (TestCheckerReturnsToRecordedRoute).
func (ck *Checker) Learn(r *route.Route) {
	ck.replace(func(k *known) *known { return k.replaced(r, k.here) })
}

// Lose takes, at node 0, the nodes that are lost to a job that ends, before its end is announced. Others learn them
// from that message (TestLostNodeIsParted).
func (ck *Checker) Lose(nodes []bellows.NodeID) {
	if len(nodes) == 0 {
		return
	}
	ck.replace(func(k *known) *known {
		to := k.replaced(k.route, k.here)
		to.lost = slices.Clone(nodes)
		return to
	})
}

// Parted reports whether nothing is left to send to a node. Either it is lost, or it ran tasks by an earlier route
// and takes no part by the newest, because it was lost while the job continued or has left.
func (ck *Checker) Parted(n bellows.NodeID) bool {
	k := ck.now.Load()
	if slices.Contains(k.lost, n) {
		return true
	}
	at := func(a wire.Address) bool { return a.Node == n }
	return k.worksAt(n) && !slices.ContainsFunc(k.route.Clients(), at) && !slices.ContainsFunc(k.route.Lanes(), at)
}

// hear takes a whole route from a message, if it is newer.
func (ck *Checker) hear(r *route.Route) {
	ck.replace(func(k *known) *known {
		if r.Version() <= k.route.Version() {
			return nil
		}
		return k.replaced(r, k.here)
	})
}

// Meet takes actors that take part by a route which is not known here. A controller that follows another in a new
// process asks them, and knows the route only when they have answered. An actor may answer so late that the
// controller already goes by a route that is older than the one known here. Meet is called before the question leaves
// (TestNewProcessHearsActorsItAsked).
func (ck *Checker) Meet(actors []wire.Address) {
	ck.replace(func(k *known) *known {
		if len(actors) == 0 {
			return nil
		}
		to := k.replaced(k.route, k.here)
		to.hears(actors)
		to.met = append(slices.Clip(to.met), actors...)
		return to
	})
}

// replace replaces what is known by the result of by, unless that is nil. Two that replace at once take turns, so
// that no change is lost.
func (ck *Checker) replace(by func(*known) *known) {
	for {
		k := ck.now.Load()
		if to := by(k); to == nil || ck.now.CompareAndSwap(k, to) {
			return
		}
	}
}

// Header refuses a frame whose sender is not at the peer that it came from, whose receiver is not here, or whose
// sender's role may not send that kind to the receiver's role.
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

// between reports whether a frame is from a lane to a lane, of a node that the job may have. The sender may take part
// by a newer route than is known here. The receiving lane judges the message; it drops one that it has not asked for.
func (ck *Checker) between(h wire.Header) bool {
	return h.From.Role == wire.Lane && h.To.Role == wire.Lane && int(h.From.Node) < ck.cfg.Numbers()
}

// refuse returns the error about a header. Nothing of the frame has been decoded.
func refuse(peer bellows.NodeID, h wire.Header, field string, value any, want string) error {
	return bellows.Errorf(bellows.Lost, "take", fmt.Sprintf("%v, which came from node %d", h, peer), "%s is %v, not %s", field, value, want)
}

// exists reports whether the job has an actor of that address. Every node sends as a client, about itself if it runs
// no tasks.
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

// violation is a field with an invalid value. It is made only for an invalid field, so that valid messages allocate
// nothing (TestSteadyStateAllocatesNothing).
type violation struct {
	field string
	at    int // which of several parts; -1: there is one
	value string
	want  string
}

func (b *violation) Error() string {
	of := ""
	if b.at >= 0 {
		of = fmt.Sprintf(" of part %d", b.at)
	}
	return fmt.Sprintf("%s%s is %s, not %s", b.field, of, b.value, b.want)
}

// within refuses a field's value outside of least to most.
func within(field string, at int, value, least, most int64) *violation {
	if value < least || value > most {
		return outside(field, at, value, least, most)
	}
	return nil
}

// outside returns the violation of a field that is not from least to most.
func outside(field string, at int, value, least, most int64) *violation {
	return &violation{field, at, fmt.Sprint(value), fmt.Sprintf("from %d to %d", least, most)}
}

// exactly refuses a field that has not the one value that it can have.
func exactly(field string, at int, value, want int64) *violation {
	if value != want {
		return &violation{field, at, fmt.Sprint(value), fmt.Sprint(want)}
	}
	return nil
}

// Message refuses a message that names something the job does not have, or that is not shaped as the job is. e was
// decoded from a frame whose header has passed Header.
func (ck *Checker) Message(h wire.Header, e wire.Envelope) error {
	if b := ck.message(e); b != nil {
		return &bellows.Error{Kind: bellows.Lost, Op: "take", Subject: h.String(), Err: b}
	}
	return nil
}

// message returns the first violation of a message, by the check of its kind. A message that a client sends because
// it runs tasks is refused from a node that runs none. The exception is a client that goes by a newer route, which
// may have it: then the lane is the judge, since it knows that route before it takes the message.
func (ck *Checker) message(e wire.Envelope) *violation {
	c := &checks[e.Kind()]
	switch {
	case c.judge == nil:
		return &violation{"the kind", -1, fmt.Sprintf("%T", e.Message), "one that is checked"}
	case e.From.Role == wire.Client && !c.idle && !ck.now.Load().worksAt(e.From.Node) && !ck.ahead(e.Message):
		return &violation{"the sender", -1, e.From.String(), "a node that runs tasks"}
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
