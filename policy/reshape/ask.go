package reshape

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"bellows"
	"bellows/figures"
	"bellows/policy/plan"
	"bellows/policy/shape"
)

// Ask takes a request; its Outcome comes with the effects of this step or of a later one. It supersedes earlier
// requests, except drains: a node that was asked to leave leaves.
func (m *Machine) Ask(a Ask, fx *Effects) AskID { return m.ask([]Ask{a}, fx)[0] }

// AskDrains asks for several nodes to leave, by one plan, so that nothing moves from one of them to another one. Each has its own AskID and Outcome.
func (m *Machine) AskDrains(list []Drain, fx *Effects) []AskID {
	asks := make([]Ask, len(list))
	for i := range list {
		asks[i].Drain = &list[i]
	}
	return m.ask(asks, fx)
}

// ask takes one Ask, or several drains.
func (m *Machine) ask(list []Ask, fx *Effects) (ids []AskID) {
	var news []asked
	for _, a := range list {
		m.lastAsk++
		ids = append(ids, m.lastAsk)
		news = append(news, asked{m.lastAsk, a, m.clock})
	}
	news = slices.DeleteFunc(news, func(n asked) bool {
		o := Outcome{}
		switch {
		case m.over != "":
			o.Err = m.over
		case !m.known:
			o.Err = "the job has not begun"
		case n.Drain != nil:
			if err := m.canLeave(n.Drain); err != nil {
				o = Outcome{Err: err.Error(), Bad: true}
			}
		}
		if o.Err != "" {
			m.answer(&n, o, fx)
		}
		return o.Err != ""
	})
	if len(news) == 0 {
		return ids
	}
	want, leaves, err := m.decide(news)
	if err != nil {
		for i := range news {
			m.answer(&news[i], Outcome{Err: err.Error(), Bad: true}, fx)
		}
		return ids
	}
	m.asks = slices.DeleteFunc(m.asks, func(old asked) bool {
		if old.Drain != nil && !slices.ContainsFunc(news, func(n asked) bool { return n.Drain != nil && n.Drain.Node == old.Drain.Node }) {
			return false
		}
		m.answer(&old, Outcome{Err: "something else was asked since", Superseded: true}, fx)
		return true
	})
	m.asks = append(m.asks, news...)
	m.last = want
	m.goal = &goal{want: want, leaves: leaves, stale: true, began: m.clock, places: map[OpID]int{}, stuck: map[subject]stuck{}, tries: map[subject]tries{}}
	for i := range news {
		m.forgive(news[i].Drain)
	}
	for _, n := range m.now.Nodes {
		m.goal.newest = max(m.goal.newest, n.ID)
	}
	m.advance(fx)
	return ids
}

// canLeave returns an error if a node cannot be asked to leave.
func (m *Machine) canLeave(d *Drain) error {
	switch {
	case d.Node == Leader:
		return fmt.Errorf("node %d leads the job and cannot leave", d.Node)
	case !m.hasNode(d.Node):
		return fmt.Errorf("there is no node %d", d.Node)
	case d.NoticeMillis < 0:
		return fmt.Errorf("a notice of %d ms", d.NoticeMillis)
	}
	return nil
}

// forgive allows nodes whose notice has run out to be emptied, if no request waits for that any more, or a new one
// does: they were asked to leave and are still there (TestUnfinishedLeaveContinuesLater).
func (m *Machine) forgive(anew *Drain) {
	for n := range m.dead {
		if anew != nil && anew.Node == n || m.noticed(n) == nil {
			delete(m.dead, n)
			m.late[n] = true
		}
	}
}

// base returns the nodes to start from: those present, with the roles that they are to have, and those on their way,
// but not those that are to leave.
func (m *Machine) base(leaves []bellows.NodeID) (nodes []shape.Node) {
	for _, n := range m.now.Nodes {
		if slices.Contains(leaves, n.ID) {
			continue
		}
		role := m.roles[n.ID]
		if m.goal != nil {
			if to, found := m.goal.want.Node(n.ID); found {
				role = to
			}
		}
		nodes = append(nodes, role)
	}
	for _, u := range m.open {
		if u.Kind == plan.Add && !u.abandoned {
			nodes = append(nodes, shape.Node{ID: u.Node, Slots: u.Slots, Lanes: u.Lanes})
		}
	}
	slices.SortFunc(nodes, func(a, b shape.Node) int { return int(a.ID) - int(b.ID) })
	return nodes
}

// decide makes a shape of what is asked: of one Ask, or of several drains.
func (m *Machine) decide(news []asked) (want shape.Decision, leaves []bellows.NodeID, err error) {
	for i := range m.asks {
		if d := m.asks[i].Drain; d != nil && m.hasNode(d.Node) {
			leaves = append(leaves, d.Node)
		}
	}
	for _, late := range []map[bellows.NodeID]bool{m.dead, m.late} {
		for _, n := range slices.Sorted(maps.Keys(late)) {
			if !slices.Contains(leaves, n) {
				leaves = append(leaves, n)
			}
		}
	}
	a := &news[0]
	for i := range news {
		if d := news[i].Drain; d != nil && !slices.Contains(leaves, d.Node) {
			leaves = append(leaves, d.Node)
		}
	}
	nodes := m.base(leaves)
	w := shape.Want{Slots: m.limits.Host.Slots, Lanes: m.limits.Host.Lanes, Stays: Leader, Next: m.newcomer + 1}
	switch {
	case a.Shape != nil:
		s := m.snapshot(w)
		s.Want.Workers, s.Want.Servers = s.Counts()
		if want, err = a.Shape(s); err == nil {
			want, err = m.able(s, want, leaves)
		}
	case a.Switch != nil:
		if nodes, err = m.switched(nodes, a.Switch); err == nil {
			want, err = m.last.Redeal(m.snapshot(w), nodes)
			want.Reason = fmt.Sprintf("node-%d is to be %v", a.Switch.Node, a.Switch.Role)
		}
	default:
		m.counts(&w, nodes, leaves, a)
		s := m.snapshot(w)
		if nodes, err = shape.Resize(nodes, m.now.Nodes, w); err == nil {
			want, err = m.last.Redeal(s, nodes)
		}
		if err == nil {
			want.Reason = m.reason(news, &want.Shape)
		}
	}
	if err != nil {
		return want, nil, err
	}
	for _, n := range want.Nodes {
		m.newcomer = max(m.newcomer, n.ID)
	}
	return want, leaves, nil
}

// dropNewcomer takes a node that has not come out of the goal. Fewer says whether as many nodes fewer are wanted, at least
// one of each role; otherwise another node takes its place. It returns false if no shape is possible then.
func (m *Machine) dropNewcomer(n bellows.NodeID, fewer bool) bool {
	g := m.goal
	of, wanted := g.want.Node(n)
	if !wanted {
		return true
	}
	w := shape.Want{Slots: m.limits.Host.Slots, Lanes: m.limits.Host.Lanes, Stays: Leader, Next: m.newcomer + 1}
	w.Workers, w.Servers = g.want.Counts()
	if fewer {
		w.Workers, w.Servers = max(1, w.Workers-min(1, of.Slots)), max(1, w.Servers-min(1, of.Lanes))
	}
	rest := slices.DeleteFunc(slices.Clone(g.want.Nodes), func(o shape.Node) bool { return o.ID == n })
	w.Beside = haveBothRoles(rest)
	nodes, err := shape.Resize(rest, m.now.Nodes, w)
	if err != nil {
		return false
	}
	want, err := g.want.Redeal(m.snapshot(w), nodes)
	if err != nil {
		return false
	}
	want.Reason = g.want.Reason
	g.want = want
	for _, o := range nodes {
		m.newcomer = max(m.newcomer, o.ID)
	}
	return true
}

// haveBothRoles reports whether each node has both roles.
func haveBothRoles(nodes []shape.Node) bool {
	return !slices.ContainsFunc(nodes, func(n shape.Node) bool { return (n.Slots > 0) != (n.Lanes > 0) })
}

// able returns what a policy wants, dealt anew where nodes are to leave, or can not run what they are to.
func (m *Machine) able(s shape.Snapshot, want shape.Decision, leaves []bellows.NodeID) (shape.Decision, error) {
	var nodes []shape.Node
	for _, n := range want.Nodes {
		for _, host := range m.now.Nodes {
			if host.ID == n.ID {
				n.Slots, n.Lanes = min(n.Slots, host.Slots), min(n.Lanes, host.Lanes)
			}
		}
		if !slices.Contains(leaves, n.ID) && (n.Slots+n.Lanes > 0 || n.ID == Leader) {
			nodes = append(nodes, n)
		}
	}
	if slices.Equal(nodes, want.Nodes) {
		return want, nil
	}
	dealt, err := want.Redeal(s, nodes)
	dealt.Reason = want.Reason
	return dealt, err
}

// counts sets how many nodes of each role are wanted: the current numbers, changed by the request and by nodes that
// leave.
func (m *Machine) counts(w *shape.Want, nodes []shape.Node, leaves []bellows.NodeID, a *asked) {
	s := shape.Shape{Nodes: nodes}
	w.Workers, w.Servers = s.Counts()
	w.Beside = haveBothRoles(nodes)
	if m.goal != nil { // nodes that the goal has yet to add
		w.Workers, w.Servers = m.goal.want.Counts()
		for _, n := range leaves {
			if of, still := m.goal.want.Node(n); still {
				w.Workers, w.Servers = w.Workers-min(1, of.Slots), w.Servers-min(1, of.Lanes)
			}
		}
	}
	if a.Scale != nil {
		if a.Scale.Workers != 0 {
			w.Workers = a.Scale.Workers
		}
		if a.Scale.Servers != 0 {
			w.Servers, w.Beside = a.Scale.Servers, false
		}
		return
	}
	w.Workers, w.Servers = max(1, w.Workers), max(1, w.Servers)
}

// reason says why the shape is wanted.
func (m *Machine) reason(news []asked, want *shape.Shape) string {
	a := &news[0]
	if a.Drain == nil {
		now := m.shape()
		w, s := now.Counts()
		workers, servers := want.Counts()
		text := fmt.Sprintf("%d workers and %d servers are wanted, there are %d and %d", workers, servers, w, s)
		if idle := figures.Surplus(workers, len(m.now.Splits)); idle != "" {
			text += "; " + idle
		}
		return text
	}
	var names []string
	for i := range news {
		names = append(names, fmt.Sprintf("node-%d", news[i].Drain.Node))
	}
	leave := strings.Join(names, " and ") + " is to leave"
	if len(names) > 1 {
		leave = strings.Join(names, " and ") + " are to leave"
	}
	if a.Drain.NoticeMillis == 0 {
		return leave
	}
	return fmt.Sprintf("%s within %.1f s", leave, float64(a.Drain.NoticeMillis)/1000)
}

// switched returns the nodes with one node's role changed.
func (m *Machine) switched(nodes []shape.Node, s *Switch) ([]shape.Node, error) {
	if s.Role == 0 || s.Role > Both {
		return nil, fmt.Errorf("there is no %v", s.Role)
	}
	i := slices.IndexFunc(nodes, func(n shape.Node) bool { return n.ID == s.Node })
	host := slices.IndexFunc(m.now.Nodes, func(n shape.Node) bool { return n.ID == s.Node })
	if i < 0 || host < 0 {
		return nil, fmt.Errorf("node %d does not exist or is leaving", s.Node)
	}
	can := m.now.Nodes[host]
	switch {
	case s.Role&Worker != 0 && can.Slots == 0:
		return nil, fmt.Errorf("node %d cannot be %v: it was started without compute slots", s.Node, s.Role)
	case s.Role&Server != 0 && can.Lanes == 0:
		return nil, fmt.Errorf("node %d cannot be %v: it was started without lanes", s.Node, s.Role)
	}
	if s.Role&Worker == 0 {
		can.Slots = 0
	}
	if s.Role&Server == 0 {
		can.Lanes = 0
	}
	nodes[i] = can
	return nodes, nil
}

// snapshot returns what a policy looks at.
func (m *Machine) snapshot(w shape.Want) shape.Snapshot {
	return shape.Snapshot{Job: m.now.Job, Shape: m.shape(), Want: w, Hosts: m.now.Nodes}
}

// answer tells what has become of an Ask.
func (m *Machine) answer(a *asked, o Outcome, fx *Effects) {
	o.Ask, o.Millis = a.AskID, m.clock-a.since
	if g := m.goal; g != nil {
		o.Moved, o.Bytes = g.moved, g.bytes
	}
	fx.Outcomes = append(fx.Outcomes, o)
}
