// Package guard judges what comes from other nodes against the shape of the job: the last step before anything acts on
// a frame. Behind it tables, partitions, rows, splits and addresses are ones that the job has, and lengths fit them.
//
// The caller makes one Guard for a job's node; asks Header before a frame is decoded, and Message before what it says
// is delivered. An error names the sender, the kind, the field, its value and its limit: the caller ends the connection,
// since a peer that sends such things does not run this job.
//
// The package knows no state. Whether a message comes when it may is for its receiver: a lane, a client or the controller
// answers what cannot be with wire.Severed. Who owns a partition at which generation is for the lane too. Messages within
// one process are not asked about.
package guard

import (
	"fmt"

	"bellows"
	"bellows/core"
	"bellows/rule"
	"bellows/wire"
)

// Guard knows what a job's nodes may say. It may be used by many goroutines at once.
type Guard struct {
	self  bellows.NodeID
	cfg   core.Job
	lanes []int  // by node: how many it hosts
	works []bool // by node: it runs tasks
	slots []int  // by table: slots of its rule
}

// New makes the guard of a node.
func New(cfg core.Job, self bellows.NodeID) *Guard {
	g := &Guard{self: self, cfg: cfg, lanes: make([]int, cfg.Nodes), works: make([]bool, cfg.Nodes)}
	for _, a := range cfg.Route.Lanes() {
		g.lanes[a.Node]++
	}
	for _, a := range cfg.Clients {
		g.works[a.Node] = true
	}
	for i := range cfg.Tables {
		slots := 0
		if r, err := rule.For(&cfg.Tables[i]); err == nil { // a lane refuses the table else
			slots = len(r.Slots())
		}
		g.slots = append(g.slots, slots)
	}
	return g
}

// Header refuses a frame whose sender is not at the peer that it came from, whose receiver is not here, or whose
// sender's role may not say that to its receiver's.
func (g *Guard) Header(peer bellows.NodeID, h wire.Header) error {
	switch {
	case h.From.Node != peer || !g.exists(h.From):
		return refuse(peer, h, "the sender", h.From, fmt.Sprintf("an actor of node %d", peer))
	case h.To.Node != g.self || !g.exists(h.To) || (h.To.Role == wire.Client && !g.works[h.To.Node]):
		return refuse(peer, h, "the receiver", h.To, fmt.Sprintf("an actor of node %d", g.self))
	case !h.Allowed():
		return refuse(peer, h, "the way", fmt.Sprintf("from %v to %v", h.From, h.To), "one that its kind takes")
	}
	return nil
}

func refuse(peer bellows.NodeID, h wire.Header, field string, value any, want string) error {
	return bellows.Errorf(bellows.Lost, "take", fmt.Sprintf("%v, which came from node %d", h, peer), "%s is %v, not %s", field, value, want)
}

// exists reports whether the job has an actor of that address. Every node speaks as a client, of itself if not of tasks.
func (g *Guard) exists(a wire.Address) bool {
	switch a.Role {
	case wire.Client:
		return int(a.Node) < g.cfg.Nodes && a.Index == 0
	case wire.Lane:
		return int(a.Node) < g.cfg.Nodes && int(a.Index) < g.lanes[a.Node]
	}
	return a == wire.ControllerAt()
}

// breach is a field that is not as it must be.
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

// Message refuses a message that names what the job does not have, or is not shaped as the job is. It is what was
// decoded of the frame whose header Header has passed.
func (g *Guard) Message(h wire.Header, e wire.Envelope) error {
	if b := g.message(e); b != nil {
		return &bellows.Error{Kind: bellows.Lost, Op: "take", Subject: h.String(), Err: b}
	}
	return nil
}

func (g *Guard) message(e wire.Envelope) *breach {
	c := &checks[e.Kind()]
	switch {
	case c.judge == nil:
		return &breach{"the kind", -1, fmt.Sprintf("%T", e.Message), "one that is checked"}
	case e.From.Role == wire.Client && !c.idle && !g.works[e.From.Node]:
		return &breach{"the sender", -1, e.From.String(), "a node that runs tasks"}
	}
	return c.judge(g, e)
}
