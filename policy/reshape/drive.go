package reshape

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"bellows"
	"bellows/core/planted"
	"bellows/policy/plan"
	"bellows/policy/shape"
)

// advance begins what may begin, and answers what has come about.
func (m *Machine) advance(fx *Effects) {
	m.expire(fx)
	for m.goal != nil {
		g := m.goal
		if g.stale && !m.replan(fx) {
			return
		}
		list := g.run.BeginIf(m.mayBegin)
		for _, i := range list {
			m.begin(i, fx)
		}
		if len(list) == 0 && !m.hopeless(fx) {
			break
		}
	}
	m.conclude(fx)
}

// begin begins a step of the plan. A role belongs to this Machine alone, and changes at once.
func (m *Machine) begin(i int, fx *Effects) {
	g := m.goal
	s := g.run.Plan.Steps[i]
	if s.Kind == plan.Switch {
		m.roles[s.Node] = shape.Node{ID: s.Node, Slots: s.Slots, Lanes: s.Lanes}
		g.run.Done(i)
		return
	}
	m.lastOp++
	op := Op{m.lastOp, s, s.Kind == plan.Move && m.leaves(s.From.Node)}
	m.open = append(m.open, &under{Op: op, since: m.clock})
	g.places[op.ID] = i
	if op.Kind == plan.Add { // it can be switched later
		op.Slots, op.Lanes = m.limits.Host.Slots, m.limits.Host.Lanes
	}
	fx.Begin = append(fx.Begin, op)
}

// mayBegin reports whether a step of the plan may begin, given the operations under way and the time.
func (m *Machine) mayBegin(s *plan.Step) bool {
	if t, refused := m.goal.tries[subjectOf(s)]; refused && t.notBefore > m.clock {
		return false
	}
	for _, u := range m.open {
		switch {
		case subjectOf(&u.Step) == subjectOf(s) && !planted.On("moved-twice-at-once"):
			return false
		case s.Kind == plan.Delete && u.involves(s.Node), s.Kind == plan.Switch && m.loses(s) && u.involves(s.Node):
			return false
		case s.Kind == plan.Move && u.Kind == plan.Delete && (u.Node == s.Node || u.Node == s.From.Node):
			return false
		}
	}
	return m.fits(s)
}

// loses reports whether a switch takes a role away.
func (m *Machine) loses(s *plan.Step) bool {
	now := m.roles[s.Node]
	return s.Slots < now.Slots || s.Lanes < now.Lanes
}

func (u *under) involves(n bellows.NodeID) bool {
	return u.Node == n || u.Kind == plan.Move && u.From.Node == n
}

// fits reports whether a move is thought to end before its node has to be gone.
func (m *Machine) fits(s *plan.Step) bool {
	if s.Kind != plan.Move {
		return true
	}
	a := m.noticed(s.From.Node)
	return a == nil || m.clock+m.pace.millisOf(s) < a.moveBy()
}

// leaves reports whether a node is to leave: a request waits for the last of its parts.
func (m *Machine) leaves(n bellows.NodeID) bool {
	_, stays := m.goal.want.Node(n)
	return !stays
}

// noticed returns a node's drain with notice; nil: none.
func (m *Machine) noticed(n bellows.NodeID) *asked {
	for i := range m.asks {
		if _, has := m.asks[i].deadline(); has && m.asks[i].Drain.Node == n {
			return &m.asks[i]
		}
	}
	return nil
}

// heldBy returns what a node has, as the moves that would empty it, without a receiver.
func (m *Machine) heldBy(n bellows.NodeID) (list []plan.Step) {
	for p, at := range m.now.Partitions {
		if at == n {
			s := plan.Step{Kind: plan.Move, From: shape.Place{Node: n}, Partition: p, Split: -1}
			if p < len(m.now.Sizes.Partitions) {
				s.Bytes = m.now.Sizes.Partitions[p]
			}
			list = append(list, s)
		}
	}
	for p, at := range m.now.Splits {
		if at == n {
			list = append(list, plan.Step{Kind: plan.Move, From: shape.Place{Node: n}, Partition: -1, Split: p})
		}
	}
	return list
}

// expire gives up what nodes have whose notice runs out, and answers their requests when it has.
func (m *Machine) expire(fx *Effects) {
	m.asks = slices.DeleteFunc(m.asks, func(a asked) bool {
		deadline, has := a.deadline()
		if !has || !m.hasNode(a.Drain.Node) || m.clock < a.moveBy() {
			return false
		}
		n := a.Drain.Node
		m.leave(n, fx)
		list := m.heldBy(n)
		open := slices.ContainsFunc(m.open, func(u *under) bool { return u.involves(n) })
		if m.clock < deadline && (open || len(list) == 0) {
			return false
		}
		o := Outcome{Err: fmt.Sprintf("node %d has not left yet", n)}
		if len(list) > 0 {
			o.Err = fmt.Sprintf("node %d still has %s, which did not fit into its notice of %.1f s", n, counted(list), float64(a.Drain.NoticeMillis)/1000)
			for _, s := range list {
				o.Left = append(o.Left, Left{s, "it did not fit into the notice"})
			}
		}
		m.answer(&a, o, fx)
		return true
	})
}

// leave gives up what is still at a node whose notice runs out.
func (m *Machine) leave(n bellows.NodeID, fx *Effects) {
	if m.dead[n] {
		return
	}
	m.dead[n] = true
	for _, u := range m.open {
		if u.Kind == plan.Move && u.involves(n) {
			u.abandon(fx)
		}
	}
	if m.goal != nil {
		m.goal.stale = true
	}
}

// hopeless gives up what nodes have that is not thought to fit into their notice, when nothing else of theirs is under way.
func (m *Machine) hopeless(fx *Effects) (found bool) {
	g := m.goal
	for i := range m.asks {
		a := &m.asks[i]
		if _, has := a.deadline(); !has || m.dead[a.Drain.Node] {
			continue
		}
		n := a.Drain.Node
		if slices.ContainsFunc(m.open, func(u *under) bool { return u.involves(n) }) {
			continue
		}
		waits, fits := false, false
		for _, i := range g.run.Waiting() {
			if s := &g.run.Plan.Steps[i]; s.Kind == plan.Move && s.From.Node == n {
				waits, fits = true, fits || m.fits(s)
			}
		}
		if waits && !fits {
			m.leave(n, fx)
			found = true
		}
	}
	if found {
		m.expire(fx)
	}
	return found
}

// counted returns a list of moves in words.
func counted(list []plan.Step) string {
	partitions, splits := 0, 0
	for _, s := range list {
		if s.Split < 0 {
			partitions++
		} else {
			splits++
		}
	}
	var words []string
	for _, c := range []struct {
		n    int
		what string
	}{{partitions, "partition"}, {splits, "split"}} {
		switch {
		case c.n == 1:
			words = append(words, "1 "+c.what)
		case c.n > 1:
			words = append(words, fmt.Sprintf("%d %ss", c.n, c.what))
		}
	}
	if len(words) == 0 {
		return "nothing"
	}
	return strings.Join(words, " and ")
}

// replan makes a plan from what there is to what is wanted, and lets what is under way be part of it. It reports false where nothing can come
// of it.
func (m *Machine) replan(fx *Effects) bool {
	g := m.goal
	g.stale = false
	if err := m.redeal(); err != nil {
		m.fail(err.Error(), fx)
		return false
	}
	m.match(fx)
	now := m.shape()
	p := plan.Between(now, m.wanted(), m.now.Job, m.now.Sizes)
	for i := range m.asks {
		if _, has := m.asks[i].deadline(); has {
			p, _ = plan.Within(p, m.asks[i].Drain.Node, math.MaxInt64, func(s *plan.Step) bool { return s.Split >= 0 })
		}
	}
	g.run = plan.NewRun(p, m.limits.Limits)
	clear(g.places)
	for _, u := range m.open {
		at := slices.IndexFunc(p.Steps, func(s plan.Step) bool { return subjectOf(&s) == subjectOf(&u.Step) && s.Node == u.Node })
		switch {
		case at >= 0 && !u.abandoned:
			g.run.Adopt(at)
			g.places[u.ID] = at
			continue
		case !m.made(u):
			u.abandon(fx)
		}
		g.run.Carry(&u.Step, 1)
	}
	if !g.told {
		g.told = true
		m.announce(p, fx)
	}
	return true
}

// announce reports what was decided.
func (m *Machine) announce(p plan.Plan, fx *Effects) {
	n := Note{Kind: Planned, Steps: slices.Clone(p.Steps)}
	kinds := map[plan.Kind]int{}
	var moves []plan.Step
	for _, s := range p.Steps {
		n.Bytes += s.Bytes
		kinds[s.Kind]++
		if s.Kind == plan.Move {
			moves = append(moves, s)
		}
	}
	var what []string
	for _, k := range []plan.Kind{plan.Add, plan.Switch, plan.Delete} {
		if kinds[k] > 0 {
			what = append(what, fmt.Sprintf("%d to %v", kinds[k], k))
		}
	}
	if len(moves) > 0 {
		what = append(what, counted(moves)+" to move")
	}
	if len(what) == 0 {
		what = append(what, "nothing to do")
	}
	n.Sentence = fmt.Sprintf("%s: %s", m.goal.want.Reason, strings.Join(what, ", "))
	fx.Notes = append(fx.Notes, n)
}

// made reports whether the effect of an Op is there already, though its end has not been reported.
func (m *Machine) made(u *under) bool {
	switch {
	case u.Kind == plan.Delete:
		return !m.hasNode(u.Node)
	case u.Kind != plan.Move:
		return false
	case u.Split >= 0:
		return m.now.Splits[u.Split] == u.Node
	}
	return m.now.Partitions[u.Partition] == u.Node
}

// redeal deals anew without nodes that are not available any more: lost ones, and those that did not come. A node that
// has come unasked stays.
func (m *Machine) redeal() error {
	g := m.goal
	gone := func(n shape.Node) bool {
		if n.ID > madeUp {
			_, stuck := g.stuck[subject{plan.Add, int(n.ID)}]
			return stuck
		}
		return !m.hasNode(n.ID)
	}
	if slices.ContainsFunc(g.want.Nodes, gone) {
		var names []string
		nodes := slices.DeleteFunc(slices.Clone(g.want.Nodes), func(n shape.Node) bool {
			if gone(n) && n.ID <= madeUp {
				names = append(names, fmt.Sprintf("node-%d is gone", n.ID))
			} else if gone(n) {
				names = append(names, "a node did not come")
			}
			return gone(n)
		})
		want, err := g.want.Redeal(m.snapshot(shape.Want{}), nodes)
		if err != nil {
			return fmt.Errorf("%s: %w", strings.Join(names, ", "), err)
		}
		want.Reason = strings.Join(names, ", ")
		g.want, g.told = want, false
	}
	return nil
}

// match assigns nodes that are on their way to new nodes in the wanted shape. A node without a place is cancelled.
func (m *Machine) match(fx *Effects) {
	g := m.goal
	taken := map[bellows.NodeID]bool{}
	for _, u := range m.open {
		if _, found := g.want.Node(u.Node); u.Kind == plan.Add && found {
			taken[u.Node] = true
		}
	}
	for _, u := range m.open {
		if u.Kind != plan.Add || u.abandoned || taken[u.Node] {
			continue
		}
		at := slices.IndexFunc(g.want.Nodes, func(n shape.Node) bool { return n.ID > madeUp && !taken[n.ID] })
		if at < 0 {
			u.abandon(fx)
			continue
		}
		role := g.want.Nodes[at]
		from := role.ID
		g.rename(from, u.Node)
		u.Slots, u.Lanes = role.Slots, role.Lanes
		taken[u.Node] = true
	}
}

// wanted returns what is wanted, but for what has to stay as it is: what was given up, what a node has that is gone, or
// that is given up with it.
func (m *Machine) wanted() shape.Decision {
	g := m.goal
	w := clone(g.want)
	for _, st := range g.stuck {
		switch s := &st.step; {
		case s.Kind == plan.Delete && m.hasNode(s.Node):
			keep(&w, shape.Node{ID: s.Node})
		case s.Kind == plan.Move && s.Split >= 0:
			m.keepSplit(&w, s.Split)
		case s.Kind == plan.Move:
			m.keepPartition(&w, s.Partition)
		}
	}
	for p, n := range m.now.Splits {
		if m.dead[n] || !m.hasNode(n) {
			m.keepSplit(&w, p)
		}
	}
	for p, n := range m.now.Partitions {
		if m.dead[n] || !m.hasNode(n) {
			m.keepPartition(&w, p)
		}
	}
	for _, n := range m.now.Nodes { // a node that came unasked
		if _, wanted := w.Node(n.ID); !wanted && n.ID > g.newest && !m.mine[n.ID] {
			keep(&w, m.roles[n.ID])
		}
	}
	return w
}

func (m *Machine) keepSplit(w *shape.Decision, p int) {
	n := m.now.Splits[p]
	w.Splits[p] = n
	if m.hasNode(n) {
		keep(w, shape.Node{ID: n, Slots: max(1, m.roles[n].Slots)})
	}
}

func (m *Machine) keepPartition(w *shape.Decision, p int) {
	n := m.now.Partitions[p]
	w.Partitions[p] = shape.Place{Node: n}
	if m.hasNode(n) {
		keep(w, shape.Node{ID: n, Lanes: 1})
	}
}

// keep adds a node to the wanted shape, with at least such roles.
func keep(w *shape.Decision, n shape.Node) {
	at, found := slices.BinarySearchFunc(w.Nodes, n.ID, func(o shape.Node, id bellows.NodeID) int { return cmp.Compare(o.ID, id) })
	if !found {
		w.Nodes = slices.Insert(w.Nodes, at, n)
		return
	}
	w.Nodes[at].Slots, w.Nodes[at].Lanes = max(w.Nodes[at].Slots, n.Slots), max(w.Nodes[at].Lanes, n.Lanes)
}

// fail ends the goal: nothing can come of it.
func (m *Machine) fail(why string, fx *Effects) {
	for _, a := range m.asks {
		m.answer(&a, Outcome{Err: why}, fx)
	}
	m.asks, m.goal = nil, nil
	m.abandonAll(fx)
}

// conclude answers drains whose node is gone, and all requests when nothing is left to do.
func (m *Machine) conclude(fx *Effects) {
	m.asks = slices.DeleteFunc(m.asks, func(a asked) bool {
		if a.Drain == nil || m.hasNode(a.Drain.Node) && !planted.On("drain-answered-early") {
			return false
		}
		m.answer(&a, Outcome{}, fx)
		return true
	})
	g := m.goal
	if g == nil || !g.run.Finished() || len(m.open) > 0 {
		return
	}
	var left []Left
	for _, st := range g.stuck {
		left = append(left, Left{st.step, st.why})
	}
	slices.SortFunc(left, func(a, b Left) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Split, b.Split), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Node, b.Node))
	})
	for _, a := range m.asks {
		o := Outcome{Left: left}
		switch {
		case a.Drain != nil:
			o.Err = fmt.Sprintf("node %d stays", a.Drain.Node)
		case len(left) > 0:
			o.Err = "not all was done"
		case m.short(&a) != "":
			o.Err = m.short(&a)
		}
		if o.Err != "" && len(left) > 0 {
			o.Err += ": " + describe(&left[0].Step) + " was given up: " + left[0].Why
			if len(left) > 1 {
				o.Err += fmt.Sprintf(", and %d more", len(left)-1)
			}
		}
		m.answer(&a, o, fx)
	}
	n := Note{Kind: Ended, Bytes: g.bytes, Millis: m.clock - g.began, Sentence: fmt.Sprintf("%s: done in %.1f s, %d moved", g.want.Reason, float64(m.clock-g.began)/1000, g.moved)}
	for _, l := range left {
		n.Steps = append(n.Steps, l.Step)
	}
	stays := slices.IndexFunc(g.leaves, m.hasNode)
	switch {
	case len(left) > 0:
		n.Sentence = fmt.Sprintf("%s: ended in %.1f s, %d moved, %d not", g.want.Reason, float64(m.clock-g.began)/1000, g.moved, len(left))
	case stays >= 0: // its notice is over
		n.Sentence = fmt.Sprintf("%s: ended in %.1f s, %d moved, and node-%d has something still", g.want.Reason, float64(m.clock-g.began)/1000, g.moved, g.leaves[stays])
	}
	fx.Notes = append(fx.Notes, n)
	m.asks, m.goal = nil, nil
}

// short says what of a scale has not come about, though nothing is left to do: nodes that are gone meanwhile.
func (m *Machine) short(a *asked) string {
	if a.Scale == nil {
		return ""
	}
	s := m.shape()
	workers, servers := s.Counts()
	if (a.Scale.Workers == 0 || a.Scale.Workers == workers) && (a.Scale.Servers == 0 || a.Scale.Servers == servers) {
		return ""
	}
	return fmt.Sprintf("there are %d workers and %d servers: %s", workers, servers, m.goal.want.Reason)
}

// Withdraw cancels an Ask whose caller no longer waits. If no request is left, operations under way are abandoned.
func (m *Machine) Withdraw(id AskID, fx *Effects) {
	m.asks = slices.DeleteFunc(m.asks, func(a asked) bool {
		if a.AskID == id {
			m.answer(&a, Outcome{Err: "it was cancelled"}, fx)
		}
		return a.AskID == id
	})
	if len(m.asks) == 0 {
		m.Cancel(fx)
	}
}

// Progress is how far the way to what is wanted is.
type Progress struct {
	Reason      string
	Bytes, All  int64 // that have moved, of how many
	Steps, Of   int   // that are done
	SinceMillis int64
	Rate        float64 // bytes a second, of moves that have ended; 0: none has
}

// Progress returns how far it is; false: nothing is wanted.
func (m *Machine) Progress() (p Progress, ok bool) {
	g := m.goal
	if g == nil || g.run == nil {
		return p, false
	}
	moved, all := g.run.Share()
	p = Progress{Reason: g.want.Reason, Bytes: g.bytes, All: g.bytes + all - moved, Steps: g.done, Of: g.done + len(g.run.Waiting()) + len(m.open), SinceMillis: m.clock - g.began}
	if m.pace.millis > 0 {
		p.Rate = 1000 * float64(m.pace.bytes) / float64(m.pace.millis)
	}
	return p, true
}
