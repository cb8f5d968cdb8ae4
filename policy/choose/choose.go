package choose

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"bellows/policy/cost"
	"bellows/policy/gauge"
	"bellows/policy/shape"
)

// Choice is the best shape that was found.
type Choice struct {
	Counts
	shape.Shape
	cost.Prediction
	Rows    []Row
	Bound   float64      // likely seconds of an epoch that no shape can beat, as far as was proved
	known   []gauge.Node // of the job, when it was found
	predict func(Counts) cost.Prediction
}

// Predict returns what is expected of one of the rows.
func (c *Choice) Predict(r *Row) cost.Prediction { return c.predict(r.Counts) }

// Policy returns the choice as a decision about the job as it is then. If nodes have left, the others share their parts
// in proportion. Nodes that came since keep their roles, and get as much as the others in the mean.
func (c *Choice) Policy(reason string) shape.Policy {
	return func(now shape.Snapshot) (shape.Decision, error) {
		d := shape.Decision{Shape: c.Shape, Reason: reason, Shares: c.Shape.Shares(&now.Job)}
		nodes := slices.DeleteFunc(slices.Clone(c.Nodes), func(n shape.Node) bool {
			_, there := now.Node(n.ID)
			return !there && !slices.ContainsFunc(now.Hosts, func(h shape.Node) bool { return h.ID == n.ID })
		})
		news := slices.DeleteFunc(slices.Clone(now.Nodes), func(n shape.Node) bool {
			return slices.ContainsFunc(c.known, func(k gauge.Node) bool { return k.ID == n.ID })
		})
		if len(nodes) == len(c.Nodes) && len(news) == 0 {
			return d, nil
		}
		nodes = append(nodes, news...)
		slices.SortFunc(nodes, func(a, b shape.Node) int { return cmp.Compare(a.ID, b.ID) })
		dealt, err := d.Redeal(now, nodes)
		dealt.Reason = reason
		return dealt, err
	}
}

// check refuses what no shape can be.
func check(f *gauge.Figures, ask *Ask) error {
	if n := gauge.ClocksLeast - f.Clocks.Measured; n > 0 {
		return fmt.Errorf("%d clocks were measured, which is too few; it takes %d clocks more", f.Clocks.Measured, n)
	}
	for _, c := range []struct {
		what   string
		of     Bounds
		parts  int
		called string
	}{{"workers", ask.Workers, len(f.Splits), "splits"}, {"servers", ask.Servers, len(f.Partitions), "partitions"}} {
		if c.of.Low > c.parts {
			return fmt.Errorf("%d %s are asked for, and the job has %d %s; each needs one",
				c.of.Low, c.what, c.parts, c.called)
		}
		if c.of.Low > len(f.Nodes) {
			return fmt.Errorf("%d %s are asked for, and there are %d nodes", c.of.Low, c.what, len(f.Nodes))
		}
	}
	return nil
}

// families returns the sorts of shapes that are looked at: in the first (false) no node works and serves, in the second
// workers also serve.
func families(ask Ask) []bool {
	if ask.Apart {
		return []bool{false}
	}
	return []bool{false, true}
}

// realize deals the parts to nodes with so many roles, and predicts the shape.
func realize(f *gauge.Figures, m *cost.Model, list []place, c Counts) (shape.Shape, cost.Prediction, error) {
	d, err := shape.Deal(shape.Snapshot{Job: f.Job(), Shape: f.Shape()}, assign(f, list, c))
	if err != nil {
		return shape.Shape{}, cost.Prediction{}, err
	}
	groups := m.Loads(&d.Shape)
	return d.Shape, m.Predict(groups), m.CheckMemory(groups)
}

// refuse says why no row can be.
func refuse(rows []Row) error {
	if len(rows) == 0 {
		return errors.New("no numbers of workers and servers are within what is asked; widen them, or pin fewer nodes")
	}
	least := &rows[0]
	for i := range rows {
		if short(&rows[i]) < short(least) {
			least = &rows[i]
		}
	}
	const most = "every shape needs more memory than there is; with %d workers and %d servers, which need the least, %w"
	return fmt.Errorf(most, least.works(), least.serves(), least.Memory)
}

// short returns how many times its memory a node needs.
func short(r *Row) float64 {
	if m, ok := r.Memory.(*cost.MemoryError); ok {
		return m.Needed / float64(m.Have)
	}
	return 0
}

// pool returns figures in which each node that may have a role has the mean of all of them, and one such node.
func pool(f *gauge.Figures, list []place) (*gauge.Figures, int) {
	var of []*gauge.Node
	node := 0
	for i := range list {
		if p := &list[i]; p.role != Unused || !p.fixed {
			of, node = append(of, &f.Nodes[p.node]), p.node
		}
	}
	pooled := *f
	pooled.Nodes = slices.Clone(f.Nodes)
	pooled.Nodes[node] = meanNode(of)
	return &pooled, node
}

// meanNode returns a node with the mean figures of some.
func meanNode(of []*gauge.Node) gauge.Node {
	n := *of[0]
	for _, figure := range figuresOf {
		to := figure(&n)
		*to = gauge.Interval{Low: math.Inf(1)}
		for _, m := range of {
			v := figure(m)
			to.Value += v.Value / float64(len(of))
			to.Low, to.High = min(to.Low, v.Low), max(to.High, v.High)
		}
	}
	for _, m := range of {
		if m.Memory > 0 && (n.Memory == 0 || m.Memory < n.Memory) {
			n.Memory = m.Memory
		}
	}
	return n
}

// figuresOf are the measured figures of a node.
var figuresOf = []func(*gauge.Node) *gauge.Interval{
	func(n *gauge.Node) *gauge.Interval { return &n.Item },
	func(n *gauge.Node) *gauge.Interval { return &n.Row },
	func(n *gauge.Node) *gauge.Interval { return &n.Others },
	func(n *gauge.Node) *gauge.Interval { return &n.In },
	func(n *gauge.Node) *gauge.Interval { return &n.Out },
}

// assign gives roles to nodes, so that few of them change theirs: those that have a role keep it, then free nodes get
// one, then nodes switch. It returns the nodes of the shape.
func assign(f *gauge.Figures, list []place, c Counts) []shape.Node {
	roles := make([]Role, len(list))
	var free []*place
	for i := range list {
		if p := &list[i]; p.fixed {
			roles[i] = p.role
			c.add(p.role, -1)
		} else {
			free = append(free, p)
		}
	}
	for _, want := range []struct {
		role Role
		n    int
	}{{Both, c.Both}, {Worker, c.Workers}, {Server, c.Servers}} {
		rank := func(p *place) int { // among the nodes that may get the role
			now := roleOf(&f.Nodes[p.node])
			switch {
			case now == want.role:
				return 0
			case now.works() && want.role.works() || now.serves() && want.role.serves():
				return 1
			case now == Unused:
				return 2
			}
			return 3
		}
		slices.SortStableFunc(free, func(a, b *place) int {
			return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.node, b.node))
		})
		for _, p := range free[:want.n] {
			roles[p.node] = want.role
		}
		free = free[want.n:]
	}
	return nodesOf(f, roles)
}

// nodesOf returns the nodes of a shape, by their roles. The node that leads is one of them, whatever it does.
func nodesOf(f *gauge.Figures, roles []Role) []shape.Node {
	var nodes []shape.Node
	for i, r := range roles {
		n := &f.Nodes[i]
		m := shape.Node{ID: n.ID}
		if r.works() {
			m.Slots = n.Slots
		}
		if r.serves() {
			m.Lanes = n.Lanes
		}
		if r != Unused || n.ID == f.Leads {
			nodes = append(nodes, m)
		}
	}
	return nodes
}
