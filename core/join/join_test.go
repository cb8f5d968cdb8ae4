package join_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core/join"
	"bellows/core/liveness"
)

// town has nodes on their way into a cluster, by one clock. A seed decides the order of all that happens to them.
type town struct {
	t      *testing.T
	rng    *rand.Rand
	seed   uint64
	now    int64
	events []event
	asked  int64 // number of events, so that those of one time keep their order
	times  liveness.Times
	nodes  []*guest // by number; after them a second claimant of a number, if one exists
	rude   bool     // unknown callers and second claimants call
}

type event struct {
	at, order int64
	do        func()
}

// guest is a node that joins.
type guest struct {
	*join.Joining
	town    *town
	cluster join.Cluster
	began   int64 // -1: it has not come
	listens bool
	hall    []*line // calls that wait to be taken
	dialled bool    // a call is out
	lines   []*line // that stand, as far as it knows, by place
	over    *join.Over
	ended   int64
	notices []int64
}

// line is a connection.
type line struct {
	from, to *guest // from nil: an unknown caller's
	number   int
	of       int
	as       bellows.NodeID // the number that the caller claims
}

func (w *town) after(millis int64, do func()) {
	w.asked++
	w.events = append(w.events, event{w.now + millis, w.asked, do})
}

// next handles the event that is due first.
func (w *town) next() bool {
	if len(w.events) == 0 {
		return false
	}
	at := 0
	for i, e := range w.events {
		if f := w.events[at]; e.at < f.at || e.at == f.at && e.order < f.order {
			at = i
		}
	}
	e := w.events[at]
	w.events = slices.Delete(w.events, at, at+1)
	w.now = e.at
	e.do()
	return true
}

func (w *town) fail(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("seed %d at %d ms: "+format, append([]any{w.seed, w.now}, args...)...)
}

// come begins a node.
func (g *guest) come() {
	w := g.town
	g.began = w.now
	addresses := make([]string, g.cluster.Nodes)
	for n := range addresses {
		addresses[n] = fmt.Sprint("place ", n)
	}
	g.Joining = join.New(g.cluster, addresses, w.times, w.now)
	g.lines = make([]*line, g.cluster.Nodes*g.cluster.Connections)
	var fx join.Effects
	g.Begin(&fx)
	g.obey(&fx)
	g.tick()
}

// tick passes the time to a node when it asks for that, and sometimes before.
func (g *guest) tick() {
	if g.over != nil {
		return
	}
	var fx join.Effects
	g.Tick(g.town.now, &fx)
	g.obey(&fx)
	if g.over == nil {
		g.town.after(min(max(g.Next()-g.town.now, 0), 1+g.town.rng.Int64N(4000)), g.tick)
	}
}

// obey carries out what a node wants, and takes the next call if it does not.
func (g *guest) obey(fx *join.Effects) {
	w := g.town
	if g.over != nil && (fx.Over != nil || fx.Dial != nil || fx.Notice != "") {
		w.fail("node %d is over and wants %+v", g.cluster.Self, fx)
	}
	if fx.Notice != "" {
		g.names(fx.Notice)
	}
	if fx.Dial != nil {
		if g.dialled {
			w.fail("node %d makes two calls at a time", g.cluster.Self)
		}
		g.dialled = true
		d := *fx.Dial
		w.after(d.AfterMillis+w.rng.Int64N(3), func() { g.dial(d) })
	}
	if fx.Over != nil {
		g.over, g.ended = fx.Over, w.now
	}
	if g.over == nil && g.Awaits() && len(g.hall) > 0 {
		at := w.rng.IntN(len(g.hall))
		l := g.hall[at]
		g.hall = slices.Delete(g.hall, at, at+1)
		g.take(l)
	}
}

// names checks a notice against the nodes that g waits for.
func (g *guest) names(s string) {
	w := g.town
	want := fmt.Sprintf("node %d has waited %.1f s for ", g.cluster.Self, float64(w.now-g.began)/1000)
	if !strings.HasPrefix(s, want) || !strings.HasSuffix(s, fmt.Sprintf("; after %.1f s it gives up", float64(w.times.Join)/1000)) || !strings.Contains(s, g.missing()) {
		w.fail("node %d says %q; it waits for %q", g.cluster.Self, s, g.missing())
	}
	g.notices = append(g.notices, w.now)
}

// missing returns the nodes that g waits for, by the connections that it has.
func (g *guest) missing() string {
	for number := range g.cluster.Connections {
		for n := range int(g.cluster.Self) {
			if g.lines[number*g.cluster.Nodes+n] == nil {
				return fmt.Sprintf("node %d at place %d", n, n)
			}
		}
	}
	var list []string
	for n := int(g.cluster.Self) + 1; n < g.cluster.Nodes; n++ {
		for number := range g.cluster.Connections {
			if g.lines[number*g.cluster.Nodes+n] == nil {
				list = append(list, fmt.Sprint("node ", n))
				break
			}
		}
	}
	return strings.Join(list, ", ")
}

// dial makes a call: it is answered when its connection stands at the other end, or waits there.
func (g *guest) dial(d join.Dial) {
	w, to := g.town, g.town.nodes[d.Node]
	var fx join.Effects
	if !to.listens || to.over != nil && to.over.Err != nil {
		w.after(w.rng.Int64N(3), func() {
			g.dialled = false
			g.Failed(errors.New("nobody listens"), false, &fx)
			g.obey(&fx)
		})
		return
	}
	l := &line{g, to, d.Number, g.cluster.Connections, g.cluster.Self}
	w.after(w.rng.Int64N(3), func() { to.rings(l) })
	w.after(w.rng.Int64N(5), func() {
		g.dialled = false
		if keep := g.Answered(d.Node, &fx); keep == (g.over != nil) {
			w.fail("node %d has an answer of node %d, over: %v, and keeps it: %v", g.cluster.Self, d.Node, g.over, keep)
		} else if keep {
			g.keeps(l, d.Number, d.Node)
		}
		g.obey(&fx)
	})
}

// rings leaves a call for a node to take.
func (g *guest) rings(l *line) {
	g.hall = append(g.hall, l)
	if g.Joining != nil {
		g.obey(new(join.Effects))
	}
}

// take gives a node a call.
func (g *guest) take(l *line) {
	var fx join.Effects
	fits := l.as > g.cluster.Self && int(l.as) < g.cluster.Nodes && l.number >= 0 && l.number < l.of && l.of == g.cluster.Connections &&
		g.lines[l.number*g.cluster.Nodes+int(l.as)] == nil
	if keep := g.Called(l.as, l.number, l.of, &fx); keep != fits {
		g.town.fail("node %d has a call of node %d, connection %d of %d, and keeps it: %v", g.cluster.Self, l.as, l.number, l.of, keep)
	} else if keep {
		g.keeps(l, l.number, l.as)
	}
	g.obey(&fx)
}

func (g *guest) keeps(l *line, number int, n bellows.NodeID) {
	g.lines[number*g.cluster.Nodes+int(n)] = l
}

// unknownCaller calls a node, under any number.
func (w *town) unknownCaller() {
	to := w.nodes[w.rng.IntN(len(w.nodes))]
	w.after(w.rng.Int64N(3), func() {
		if to.Joining != nil && to.over == nil && to.Awaits() && w.rng.IntN(3) == 0 {
			to.TurnedAway(errors.New("another token"))
			return
		}
		to.rings(&line{to: to, as: bellows.NodeID(w.rng.IntN(7)), number: w.rng.IntN(5) - 1, of: 1 + w.rng.IntN(4)})
	})
}

// newTown returns two to five nodes, some late, some that never come.
func newTown(t *testing.T, seed uint64) *town {
	w := &town{t: t, rng: rand.New(rand.NewPCG(seed, 0x6a6f696e)), seed: seed}
	w.times = liveness.Times{Join: 5000 + w.rng.Int64N(10_000)}.Or()
	c := join.Cluster{Nodes: 2 + w.rng.IntN(4), Connections: 1 + w.rng.IntN(3)}
	for n := range c.Nodes {
		c.Self = bellows.NodeID(n)
		w.nodes = append(w.nodes, &guest{town: w, cluster: c, began: -1})
	}
	w.rude = w.rng.IntN(3) == 0
	if w.rude && w.rng.IntN(2) == 0 { // another process with the number of an existing node, which no node dials
		c.Self = bellows.NodeID(w.rng.IntN(c.Nodes))
		w.nodes = append(w.nodes, &guest{town: w, cluster: c, began: -1})
	}
	late := w.rng.IntN(4) == 0
	for _, g := range w.nodes {
		listens := w.rng.Int64N(100)
		if late && w.rng.IntN(2) == 0 {
			listens = w.rng.Int64N(2 * w.times.Join)
		}
		if w.rng.IntN(30) == 0 {
			continue // it never comes
		}
		w.after(listens, func() { g.listens = true })
		w.after(listens+w.rng.Int64N(50), g.come)
	}
	for range w.rng.IntN(40) {
		if w.rude {
			w.after(w.rng.Int64N(3000), w.unknownCaller)
		}
	}
	return w
}

var gaveUp = regexp.MustCompile(`^join the nodes of the job (.*): waited for ([0-9.]+) s(; the last try: (nobody listens|another token))?$`)

// judge compares a node's outcome with the connections that it has.
func (g *guest) judge() (joined bool) {
	w := g.town
	limit := w.times.Join
	switch {
	case g.began < 0:
		return false
	case g.over == nil:
		w.fail("node %d does not come to an end", g.cluster.Self)
	case g.over.Err == nil && g.missing() != "":
		w.fail("node %d has joined without %s", g.cluster.Self, g.missing())
	case g.over.Err != nil:
		m := gaveUp.FindStringSubmatch(g.over.Err.Error())
		if m == nil || m[1] != g.missing() || m[2] != fmt.Sprintf("%.1f", float64(limit)/1000) || bellows.KindOf(g.over.Err) != bellows.Lost || g.ended != g.began+limit {
			w.fail("node %d gives up after %d ms: %v; it waits for %q", g.cluster.Self, g.ended-g.began, g.over.Err, g.missing())
		}
	}
	for i, at := range append(slices.Clone(g.notices), g.ended) {
		before := g.began
		if i > 0 {
			before = g.notices[i-1]
		}
		if at-before > w.times.Notice {
			w.fail("node %d waits from %d on, and says so at %v", g.cluster.Self, g.began, g.notices)
		}
	}
	for at, l := range g.lines {
		if l != nil && l.from != nil && l.from != g && l.from.cluster.Self != bellows.NodeID(at%g.cluster.Nodes) {
			w.fail("node %d takes node %d for node %d", g.cluster.Self, l.from.cluster.Self, at%g.cluster.Nodes)
		}
	}
	return g.over.Err == nil
}

// orders is how many clusters TestJoiningInAnyOrder plays; TestNodesJoinWhileOthersRun plays half as many. The soak plays more.
var orders = uint64(3000)

// TestJoiningInAnyOrder plays thousands of clusters: late nodes, nodes that never come, unknown callers, and two that
// claim one number. Every node is over by the end of its wait, names the nodes that it waits for while the wait
// lasts, and in the end exactly those that are missing. If all come in time, all are joined soon.
func TestJoiningInAnyOrder(t *testing.T) {
	seeds := orders
	var joined, left int
	for seed := uint64(1); seed <= seeds; seed++ {
		w := newTown(t, seed)
		for w.next() {
		}
		last, whole := int64(0), !w.rude
		for _, g := range w.nodes {
			last = max(last, g.began)
			whole = whole && g.began >= 0
		}
		for _, g := range w.nodes {
			ok := g.judge()
			if soon := last < w.times.Join/2; whole && (soon && !ok || ok && g.ended > last+200) {
				w.fail("all have come at %d, and node %d is over at %d: %v", last, g.cluster.Self, g.ended, g.over.Err)
			}
			if g.began >= 0 {
				joined, left = joined+count(ok), left+count(!ok)
			}
		}
	}
	if joined < int(seeds) || left < int(seeds)/10 {
		t.Errorf("%d nodes have joined and %d have given up: that is no test of both", joined, left)
	}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// joining returns node 1 of three, with its first effects.
func joining(connections int) (*join.Joining, *join.Effects) {
	j := join.New(join.Cluster{Self: 1, Nodes: 3, Connections: connections}, []string{"here", "", ""}, liveness.Times{Join: 9000}, 0)
	fx := new(join.Effects)
	j.Begin(fx)
	return j, fx
}

// TestHopelessJoinEndsAtOnce checks that an error which waiting cannot repair ends the join with its own sentence.
func TestHopelessJoinEndsAtOnce(t *testing.T) {
	refused := bellows.Errorf(bellows.Refused, "dial", "here", "another token")
	for want, c := range map[string]struct {
		kind   bellows.Kind
		happen func(j *join.Joining, fx *join.Effects)
	}{
		"join the nodes of the job node 0 at here: node 2 answers there": {bellows.Config, func(j *join.Joining, fx *join.Effects) { j.Answered(2, fx) }},
		"dial here: another token":                                       {bellows.Refused, func(j *join.Joining, fx *join.Effects) { j.Failed(refused, true, fx) }},
		"join the nodes of the job node 2: it is closed": {bellows.Lost, func(j *join.Joining, fx *join.Effects) {
			j.Answered(0, fx)
			j.Closed(errors.New("it is closed"), fx)
		}},
		"join the nodes of the job node 0 at here: a process died; the last try: nobody listens": {bellows.Lost, func(j *join.Joining, fx *join.Effects) {
			j.Failed(errors.New("nobody listens"), false, fx)
			j.Cancel(errors.New("a process died"), fx)
		}},
		"join the nodes of the job node 2: a process died": {bellows.Lost, func(j *join.Joining, fx *join.Effects) {
			j.Failed(errors.New("nobody listens"), false, fx) // which is past
			j.Answered(0, fx)
			j.Cancel(errors.New("a process died"), fx)
		}},
	} {
		j, fx := joining(1)
		c.happen(j, fx)
		if fx.Over == nil || fx.Over.Err == nil || fx.Over.Err.Error() != want || bellows.KindOf(fx.Over.Err) != c.kind {
			t.Fatalf("%+v, want %q", fx.Over, want)
		}
		*fx = join.Effects{}
		j.Tick(20_000, fx)
		j.Failed(refused, true, fx)
		j.Cancel(refused, fx)
		j.Closed(refused, fx)
		if j.Answered(0, fx) || j.Called(2, 0, 1, fx) || j.Awaits() || *fx != (join.Effects{}) {
			t.Errorf("behind %q it wants %+v", want, fx)
		}
	}
}

// TestRefusedDialIsRepeated dials a node that does not listen a little later, on the same connection.
func TestRefusedDialIsRepeated(t *testing.T) {
	j, fx := joining(2)
	for i, want := range []join.Dial{{0, 0, 0}, {0, 0, 20}, {0, 1, 0}} {
		if fx.Dial == nil || *fx.Dial != want || j.Awaits() {
			t.Fatalf("call %d is %+v, want %+v; takes calls: %v", i, fx.Dial, want, j.Awaits())
		}
		fx.Dial = nil
		if i == 0 {
			j.Failed(errors.New("nobody listens"), false, fx)
		} else if !j.Answered(0, fx) {
			t.Fatal("the answer does not stand")
		}
	}
	if fx.Dial != nil || !j.Awaits() || !j.Called(2, 1, 2, fx) || j.Called(2, 1, 2, fx) || fx.Over != nil || !j.Called(2, 0, 2, fx) || fx.Over == nil || fx.Over.Err != nil {
		t.Errorf("it takes the two calls of node 2, and is over then: %+v", fx)
	}
}
