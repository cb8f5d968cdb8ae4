package reshaping

import (
	"errors"
	"math/rand/v2"
	"slices"

	"bellows"
	"bellows/core/coord"
	"bellows/core/join"
	"bellows/core/shell"
	"bellows/link/wire"
	"bellows/policy/reshape"
	"bellows/policy/shape"
	"bellows/sim/internal/admission"
	"bellows/sim/internal/lifecycle"
	"bellows/sim/internal/nodestate"
	"bellows/sim/internal/schedule"
)

// Commands are what a Shaper asks of one controller, as package node gives them to package elastic.
type Commands struct {
	Lead  func() *shell.Lead
	Fx    *coord.Effects
	Term  bellows.Term        // of the controller
	Leads func() bellows.Term // of the controller that leads now; if it is another, commands are refused
	Life  *lifecycle.Watch
	Nodes *nodestate.Watch
	Rng   *rand.Rand
	World World
}

// World is what commands cause outside the controller.
type World struct {
	Obey     func() // carries out what the controller wants
	Come     func(g schedule.Guest, who join.Newcomer)
	Uninvite func(n bellows.NodeID)
	Leave    func(actors []wire.Address) // they were asked to leave
	After    func(millis int64, do func())
	Millis   func() int64
}

// errGone is for a command to a controller that another has followed, or to a job that is over.
var errGone = bellows.Errorf(bellows.Interrupted, "reshape", "", "the job is over")

// known reports whether the controller leads, knows the job, and does not end it.
func (c *Commands) known() bool {
	return c.Term == c.Leads() && !c.Life.IsOver() && c.Lead().Begun()
}

// IsOver reports whether the job is over, or another controller leads.
func (c *Commands) IsOver() bool { return c.Life.IsOver() || c.Term != c.Leads() }

// Version implements Job.
func (c *Commands) Version() (uint64, bool) {
	return uint64(c.Lead().Route().Version()), c.known()
}

// Facts implements Job.
func (c *Commands) Facts() (f reshape.Facts, known bool) {
	if !c.known() {
		return f, false
	}
	r := c.Lead().Route()
	f.Version = uint64(r.Version())
	for _, n := range c.Nodes.All {
		if !admission.TakesPart(r, n.Number) || c.Lead().Gone(n.Number) {
			continue
		}
		m := shape.Node{ID: n.Number}
		for _, a := range r.Lanes() {
			if a.Node == n.Number {
				m.Lanes++
			}
		}
		if slices.Contains(r.Clients(), wire.ClientAt(n.Number)) {
			m.Slots = 1
		}
		f.Nodes = append(f.Nodes, m)
	}
	for s := range bellows.SplitID(r.Splits()) {
		f.Splits = append(f.Splits, r.Node(s))
	}
	for ref := range r.Each() {
		for len(f.Tables) <= int(ref.Table) {
			f.Tables = append(f.Tables, 0)
		}
		f.Tables[ref.Table]++
		f.Partitions = append(f.Partitions, r.Owner(ref).Lane.Node)
		f.Sizes.Partitions = append(f.Sizes.Partitions, int64(1+r.Number(ref)%3))
	}
	return f, true
}

// give gives a command, and carries out what follows from it.
func (c *Commands) give(kind bellows.Kind, do func() error) error {
	if !c.known() {
		return errGone
	}
	err := do()
	c.World.Obey()
	if err != nil && bellows.KindOf(err) != bellows.Unavailable {
		return bellows.Errorf(kind, "reshape", "", "%w", err)
	}
	return err
}

// Add implements Job. Some nodes meet with a mishap on their way.
func (c *Commands) Add(slots, lanes int) (n bellows.NodeID, err error) {
	g := schedule.Guest{Slots: slots, Lanes: lanes, Start: c.Rng.Int64N(30), Stays: schedule.Forever, Fate: "sound"}
	if c.Rng.IntN(4) == 0 {
		g.Fate, g.At = schedule.Fates[c.Rng.IntN(len(schedule.Fates))], c.Rng.Int64N(1<<c.Rng.IntN(9))
	}
	err = c.give(bellows.Unavailable, func() error {
		who, err := c.Lead().Invite(g.Slots, g.Lanes)
		if n = who.Node; err == nil {
			c.World.Come(g, who)
		}
		return err
	})
	return n, err
}

// Uninvite implements Job.
func (c *Commands) Uninvite(n bellows.NodeID) { c.World.Uninvite(n) }

// MoveSplit implements Job.
func (c *Commands) MoveSplit(s bellows.SplitID, to bellows.NodeID) error {
	return c.give(bellows.Config, func() error { return c.Lead().MoveSplit(s, to, c.Fx) })
}

// StaySplit implements Job.
func (c *Commands) StaySplit(s bellows.SplitID) error {
	return c.MoveSplit(s, c.Lead().Route().Node(s))
}

// ref returns a partition by its number.
func (c *Commands) ref(p int) (ref bellows.PartitionRef) {
	r := c.Lead().Route()
	for ref = range r.Each() {
		if r.Number(ref) == p {
			break
		}
	}
	return ref
}

// MovePartition implements Job.
func (c *Commands) MovePartition(p int, to bellows.NodeID, urgent bool) error {
	return c.give(bellows.Config, func() error {
		r := c.Lead().Route()
		at := slices.IndexFunc(r.Lanes(), func(a wire.Address) bool { return a.Node == to })
		if at < 0 {
			return errors.New("the node has no lane")
		}
		return c.Lead().MovePartition(c.ref(p), r.Lanes()[at], urgent, c.Fx)
	})
}

// StayPartition implements Job.
func (c *Commands) StayPartition(p int) error {
	return c.give(bellows.Config, func() error {
		c.Lead().CancelMove(c.ref(p), c.Fx)
		return nil
	})
}

// Remove implements Job.
func (c *Commands) Remove(n bellows.NodeID) error {
	return c.give(bellows.Config, func() error {
		r := c.Lead().Route()
		err := c.Lead().Remove(n, c.Fx)
		if err == nil {
			if j := c.Nodes.All[n].Joiner; j != nil {
				j.Removed = true
			}
			c.World.Leave(slices.DeleteFunc(slices.Concat(r.Lanes(), r.Clients()), func(a wire.Address) bool { return a.Node != n }))
		}
		return err
	})
}

// Joined implements Job.
func (c *Commands) Joined(n bellows.NodeID) (known bool, err error) {
	if o := c.Nodes.All[n].Joiner.Outcome; o != nil {
		return true, o.Err
	}
	return false, nil
}

// HasLeft implements Job.
func (c *Commands) HasLeft(n bellows.NodeID) bool { return c.Nodes.All[n].Departed }

// Later implements Job.
func (c *Commands) Later(do func()) {
	c.World.After(c.Rng.Int64N(4), func() {
		if c.Term == c.Leads() {
			do()
		}
	})
}

// Millis implements Job.
func (c *Commands) Millis() int64 { return c.World.Millis() }

// Want returns what a schedule asks for, in a job as it is. It returns false if no node can be asked to leave or to switch.
func Want(e schedule.Reshape, f reshape.Facts) (a reshape.Ask, some bool) {
	others := slices.DeleteFunc(slices.Clone(f.Nodes), func(n shape.Node) bool { return n.ID == reshape.Leader })
	now := shape.Shape{Nodes: f.Nodes}
	workers, servers := now.Counts()
	switch {
	case e.What == "scale":
		a.Scale = &reshape.Scale{Workers: max(1, workers+e.Workers), Servers: max(1, servers+e.Servers)}
		if !slices.ContainsFunc(f.Nodes, func(n shape.Node) bool { return (n.Slots > 0) != (n.Lanes > 0) }) {
			a.Scale.Servers = 0 // every node does both
		}
	case len(others) == 0:
		return a, false
	case e.What == "drain":
		a.Drain = &reshape.Drain{Node: others[e.Node%len(others)].ID, NoticeMillis: e.Notice}
	default:
		a.Switch = &reshape.Switch{Node: others[e.Node%len(others)].ID, Role: e.Role}
	}
	return a, true
}
