package reshape

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"bellows"
	"bellows/policy/plan"
	"bellows/policy/shape"
)

// Machine drives one job. It is a value of its caller, which steps it from one goroutine at a time.
//
// States: idle, without a goal; or under way to the goal of the last request and of the earlier drains that are not
// over.
//
// Invariants, all held by TestAnyOrderReachesTheGoal in ten thousand orders of ends, refusals, deaths, requests and
// cancels:
//   - Of a split or a partition one move is under way at a time. The limits bound how many nodes come at a time, and how
//     many moves of a node that carry bytes are under way.
//   - Nothing moves to a node that leaves or lacks the role, nor from or to a node that does not exist. A node is deleted
//     when it has nothing and nothing is under way to it.
//   - Each Ask has one Outcome; each Op that has begun is waited for.
//   - A refused operation is tried again a bounded number of times, and then reported.
//   - A drain is over when its notice is, and no move from its node begins that is not expected to end by then.
type Machine struct {
	limits Limits
	clock  int64
	now    Facts
	known  bool
	roles  map[bellows.NodeID]shape.Node // what each node is for, of what it can run
	asks   []asked                       // not answered
	goal   *goal                         // nil: nothing is wanted
	open   []*under
	mine   map[bellows.NodeID]bool // nodes that have come by an Op
	dead   map[bellows.NodeID]bool // nodes whose notice has run out: nothing is moved from them or to them
	late   map[bellows.NodeID]bool // nodes that are still there after their notice: they leave with the next request, or when they can
	last   shape.Decision          // what was decided last: later requests keep its shares
	over   string                  // why the job is over; empty: it is not
	pace   pace

	lastAsk  AskID
	lastOp   OpID
	newcomer bellows.NodeID // the last number that was made up
}

// Limits are the bounds of a Machine; zeros: the defaults.
type Limits struct {
	plan.Limits
	// Host is what a node that comes can run: by default one compute slot. It has lanes; how many is its own.
	Host shape.Node
	// Tries is how often a step is asked for: by default 3.
	Tries int
	// RetryMillis is how long the first wait is before it is asked again, and each one more is four times as long: by default 250.
	RetryMillis int64
}

// madeUp is where the numbers of nodes begin that have not come: above all that a job can have.
const madeUp bellows.NodeID = 1 << 15

type asked struct {
	AskID
	Ask
	since int64
}

// deadline returns when a drain with notice is over; false: it is none.
func (a *asked) deadline() (int64, bool) {
	if a.Drain == nil || a.Drain.NoticeMillis == 0 {
		return 0, false
	}
	return a.since + a.Drain.NoticeMillis, true
}

// moveBy returns until when moves from its node may be under way: the rest of the notice is for its leave.
func (a *asked) moveBy() int64 {
	return a.since + a.Drain.NoticeMillis - min(a.Drain.NoticeMillis/10, 1000)
}

// goal is what is wanted, and how far it is.
type goal struct {
	want   shape.Decision
	leaves []bellows.NodeID
	run    *plan.Run
	places map[OpID]int // of what is under way, in the run's plan
	stale  bool         // it is to be planned anew
	told   bool
	newest bellows.NodeID // of the nodes that were there when it was decided
	began  int64
	done   int // steps
	moved  int
	bytes  int64
	stuck  map[subject]stuck
	tries  map[subject]tries
}

type stuck struct {
	step plan.Step
	why  string
}

type tries struct {
	n         int
	notBefore int64
}

// under is an Op that is under way.
type under struct {
	Op
	since     int64
	abandoned bool
}

// subject is what a step changes: at most one Op of each is under way.
type subject struct {
	kind plan.Kind
	n    int // Move: of a partition n, of a split -1-n; else the node
}

func subjectOf(s *plan.Step) subject {
	switch {
	case s.Kind != plan.Move:
		return subject{s.Kind, int(s.Node)}
	case s.Split >= 0:
		return subject{plan.Move, -1 - s.Split}
	}
	return subject{plan.Move, s.Partition}
}

// New returns a Machine that knows no job yet.
func New(l Limits) *Machine {
	l.Host = shape.Node{Slots: max(1, l.Host.Slots), Lanes: 1}
	l.Tries, l.RetryMillis = cmp.Or(l.Tries, 3), cmp.Or(l.RetryMillis, 250)
	return &Machine{limits: l, roles: map[bellows.NodeID]shape.Node{}, mine: map[bellows.NodeID]bool{}, dead: map[bellows.NodeID]bool{}, late: map[bellows.NodeID]bool{}, newcomer: madeUp}
}

// Observe tells the job as it is. Older Facts than those that are known change nothing.
func (m *Machine) Observe(f Facts, fx *Effects) {
	if m.observe(f) && m.goal != nil {
		m.goal.stale = true
	}
	m.advance(fx)
}

// observe reports whether the job's shape is another than it was.
func (m *Machine) observe(f Facts) bool {
	if m.known && (f.Version < m.now.Version || len(f.Nodes) == 0) { // a job has a leader at least
		return false
	}
	before := m.shape()
	m.now, m.known = f, true
	m.now.Nodes = slices.Clone(f.Nodes)
	for i := range m.now.Nodes {
		n := &m.now.Nodes[i]
		n.Lanes = min(1, n.Lanes) // to which of its lanes a partition goes is the node's
		if _, known := m.roles[n.ID]; !known {
			m.roles[n.ID] = *n
		}
	}
	maps.DeleteFunc(m.roles, func(n bellows.NodeID, _ shape.Node) bool { return !m.hasNode(n) })
	for _, list := range []map[bellows.NodeID]bool{m.dead, m.late} {
		maps.DeleteFunc(list, func(n bellows.NodeID, _ bool) bool { return !m.hasNode(n) })
	}
	return !same(before, m.shape())
}

func same(a, b shape.Shape) bool {
	return slices.Equal(a.Nodes, b.Nodes) && slices.Equal(a.Splits, b.Splits) && slices.Equal(a.Partitions, b.Partitions)
}

// hasNode reports whether the job has a node.
func (m *Machine) hasNode(n bellows.NodeID) bool {
	return slices.ContainsFunc(m.now.Nodes, func(o shape.Node) bool { return o.ID == n })
}

// shape returns the current shape: nodes with the roles that they have.
func (m *Machine) shape() shape.Shape {
	s := shape.Shape{Splits: m.now.Splits}
	for _, n := range m.now.Nodes {
		s.Nodes = append(s.Nodes, m.roles[n.ID])
	}
	for _, n := range m.now.Partitions {
		s.Partitions = append(s.Partitions, shape.Place{Node: n})
	}
	return s
}

// Tick tells the time, which only grows.
func (m *Machine) Tick(nowMillis int64, fx *Effects) {
	m.clock = max(m.clock, nowMillis)
	m.advance(fx)
}

// Next returns the latest time of the next Tick, in milliseconds from the clock's last; false: not needed.
func (m *Machine) Next() (int64, bool) {
	next := int64(-1)
	sooner := func(at int64) {
		if at > m.clock && (next < 0 || at < next) {
			next = at
		}
	}
	for i := range m.asks {
		if at, has := m.asks[i].deadline(); has {
			sooner(at)
			sooner(m.asks[i].moveBy())
		}
	}
	if m.goal != nil {
		for _, t := range m.goal.tries {
			sooner(t.notBefore)
		}
	}
	return max(0, next-m.clock), next >= 0
}

// Stop reports that the job is over, and why: nothing begins any more, and every open request is answered.
func (m *Machine) Stop(why string, fx *Effects) {
	if m.over == "" {
		m.over = why
	}
	m.goal = nil
	for _, a := range m.asks {
		m.answer(&a, Outcome{Err: m.over}, fx)
	}
	m.asks = nil
	m.abandonAll(fx)
}

// Cancel drops all requests. Operations under way end, and finished ones are not undone.
func (m *Machine) Cancel(fx *Effects) {
	for _, a := range m.asks {
		m.answer(&a, Outcome{Err: "it was cancelled"}, fx)
	}
	m.asks, m.goal = nil, nil
	m.abandonAll(fx)
}

func (m *Machine) abandonAll(fx *Effects) {
	for _, u := range m.open {
		u.abandon(fx)
	}
}

func (u *under) abandon(fx *Effects) {
	if !u.abandoned {
		u.abandoned = true
		fx.Abandon = append(fx.Abandon, u.ID)
	}
}

// Ended tells that an Op has ended, and the job as it is then. If the job is not known, f is the zero Facts
// (TestStepEndsWhileJobIsUnknown).
func (m *Machine) Ended(id OpID, end End, f Facts, fx *Effects) {
	at := slices.IndexFunc(m.open, func(u *under) bool { return u.ID == id })
	if at < 0 {
		return
	}
	u := m.open[at]
	m.open = slices.Delete(m.open, at, at+1)
	step := u.Step
	if end.Err == "" {
		m.pace.enter(&step, m.clock-u.since)
		if step.Kind == plan.Add {
			m.came(&step, end.Node)
		}
	}
	expected := m.shape()
	if end.Err == "" {
		expected = plan.Apply(expected, &step)
	}
	m.observe(f)
	if g := m.goal; g != nil {
		place, ours := g.places[id]
		delete(g.places, id)
		switch {
		case end.Err == "" && ours && !g.stale && same(expected, m.shape()):
			g.run.Done(place)
		case end.Err != "" && !u.abandoned:
			g.stale = true
			m.refused(&u.Step, end, fx)
		default:
			g.stale = true
		}
		if end.Err == "" {
			g.done++
		}
		if end.Err == "" && step.Kind == plan.Move {
			g.moved++
			g.bytes += step.Bytes
		}
	}
	m.advance(fx)
}

// came gives a node that has come its number. The plan has another for it, and is made anew.
//
// The job may have shown the node before, so that a request since then speaks of it by its number: it is to leave, or
// is wanted twice. Then the goal loses the made-up number, and what is missing is added (TestNewcomersShownEarly).
func (m *Machine) came(s *plan.Step, n bellows.NodeID) {
	m.mine[n] = true
	m.roles[n] = shape.Node{ID: n, Slots: s.Slots, Lanes: s.Lanes}
	if g := m.goal; g != nil {
		g.stale = true
		_, twice := g.want.Node(n)
		if leaves := slices.Contains(g.leaves, n); !leaves && !twice || !m.dropNewcomer(s.Node, leaves) {
			g.rename(s.Node, n)
		}
	}
	s.Node = n
}

// rename gives a node another number, in what is wanted.
func (g *goal) rename(from, to bellows.NodeID) {
	w := clone(g.want)
	for i := range w.Nodes {
		if w.Nodes[i].ID == from {
			w.Nodes[i].ID = to
		}
	}
	slices.SortFunc(w.Nodes, func(a, b shape.Node) int { return cmp.Compare(a.ID, b.ID) })
	for i := range w.Splits {
		if w.Splits[i] == from {
			w.Splits[i] = to
		}
	}
	for i := range w.Partitions {
		if w.Partitions[i].Node == from {
			w.Partitions[i].Node = to
		}
	}
	g.want = w
}

func clone(d shape.Decision) shape.Decision {
	d.Nodes, d.Splits, d.Partitions = slices.Clone(d.Nodes), slices.Clone(d.Splits), slices.Clone(d.Partitions)
	return d
}

// refused counts how often a step was refused, and gives it up in the end.
func (m *Machine) refused(s *plan.Step, end End, fx *Effects) {
	g, key := m.goal, subjectOf(s)
	t := g.tries[key]
	t.n++
	if end.Final || t.n >= m.limits.Tries {
		m.giveUp(s, end.Err)
		fx.Notes = append(fx.Notes, Note{Kind: Refused, Sentence: fmt.Sprintf("%s is given up: %s", describe(s), end.Err)})
		return
	}
	wait := m.limits.RetryMillis << (2 * (t.n - 1))
	t.notBefore = m.clock + wait
	g.tries[key] = t
	fx.Notes = append(fx.Notes, Note{Kind: Refused, Sentence: fmt.Sprintf("%s was refused and is asked for again in %.1f s: %s", describe(s), float64(wait)/1000, end.Err)})
}

// giveUp leaves what a step was to change as it is, until something else is asked.
func (m *Machine) giveUp(s *plan.Step, why string) {
	g := m.goal
	g.stale = true
	g.stuck[subjectOf(s)] = stuck{*s, why}
}

// describe returns a step in words; a node that has not come has no number.
func describe(s *plan.Step) string {
	if s.Kind == plan.Add {
		return fmt.Sprintf("to add a node with %s", roles(s.Slots, s.Lanes))
	}
	return "to " + s.String()
}

func roles(slots, lanes int) string {
	var r Role
	if slots > 0 {
		r |= Worker
	}
	if lanes > 0 {
		r |= Server
	}
	return "the role of " + r.String()
}
