package join_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core/join"
	"bellows/core/liveness"
)

// village is a running job and nodes that join it, several on their way at a time. A seed decides the order.
type village struct {
	town
	admission   *join.Admission
	connections int
	present     []*resident
	away        []bellows.NodeID // were turned away
	visitors    []*visitor
	invited     int
	outcomes    int
	together    int // invited while others were on their way
}

// resident is a node that takes part.
type resident struct {
	id    bellows.NodeID
	doors *join.Newcomers
	whole []bellows.NodeID // nodes that have all their connections here
}

// visitor is a node on its way.
type visitor struct {
	*join.Joining
	who     join.Newcomer
	village *village
	wrong   bool // it has made another job
	dead    bool
	died    int64
	sound   bool // nothing happens to it
	up      bool // its process has started
	called  bool // it was its turn
	there   []bellows.NodeID
	outcome *join.Outcome
}

var ownJob = bellows.Fingerprint{Data: 1}

func newVillage(t *testing.T, seed uint64) *village {
	v := &village{town: town{t: t, rng: rand.New(rand.NewPCG(seed, 0x76696c6c)), seed: seed}}
	v.times = liveness.Times{Ready: 3000 + v.rng.Int64N(5000), Join: 2000}.Or()
	first := 1 + v.rng.IntN(3)
	v.connections = 1 + v.rng.IntN(3)
	v.admission = join.NewAdmission(0, first, ownJob, v.times)
	for n := range first {
		v.settles(bellows.NodeID(n))
	}
	v.rude = v.rng.IntN(4) == 0
	for range 1 + v.rng.IntN(6) {
		at := v.rng.Int64N(20_000)
		for range 1 + v.rng.IntN(3) {
			v.after(at, v.invite)
		}
	}
	for range v.rng.IntN(20) {
		if v.rude {
			v.after(v.rng.Int64N(20_000), v.unknownCaller)
		}
	}
	v.after(250, v.tick)
	return v
}

func (v *village) settles(n bellows.NodeID) {
	v.present = append(v.present, &resident{id: n, doors: join.NewNewcomers(n+1, v.connections)})
}

// find returns the node that takes part under a number, or nil.
func (v *village) find(n bellows.NodeID) *resident {
	for _, r := range v.present {
		if r.id == n {
			return r
		}
	}
	return nil
}

// tick runs node 0's clock until no node is on its way.
func (v *village) tick() {
	if v.now < 25_000 || v.first() != nil {
		v.after(250, v.tick)
	}
	notice, away := v.admission.Tick(v.now)
	if g := v.first(); notice != "" && (g == nil || !g.called || !strings.Contains(notice, fmt.Sprintf("node %d to join", g.who.Node))) {
		v.fail("node 0 says %q and waits for %+v", notice, g)
	}
	v.turned(away)
}

// onTheWay returns the visitors that have no outcome yet.
func (v *village) onTheWay() (list []*visitor) {
	for _, g := range v.visitors {
		if g.outcome == nil {
			list = append(list, g)
		}
	}
	return list
}

// first returns the first visitor on its way, or nil.
func (v *village) first() *visitor {
	if list := v.onTheWay(); len(list) > 0 {
		return list[0]
	}
	return nil
}

// turn lets the next visitor call the nodes that take part now.
func (v *village) turn() {
	who, ok := v.admission.Turn(v.now)
	switch g := v.first(); {
	case !ok && g != nil && !g.called:
		v.fail("no node has its turn, and node %d waits", g.who.Node)
	case !ok:
	case g == nil || g.called || g.who != who:
		v.fail("it is the turn of %+v, and the first is %+v", who, g)
	default:
		g.called = true
		for n := range who.Node {
			if v.find(n) != nil {
				g.there = append(g.there, n)
			}
		}
		if again, ok := v.admission.Turn(v.now); ok {
			v.fail("it is the turn of %+v and of %+v", who, again)
		}
		g.comes()
	}
}

func (v *village) invite() {
	others := len(v.onTheWay())
	who, err := v.admission.Invite(1, v.rng.IntN(2))
	if (err != nil) != (others >= join.GuestsMost) {
		v.fail("an invitation while %d are on the way: %v", others, err)
	}
	if err != nil {
		return
	}
	if others > 0 {
		v.together++
	}
	defer v.turn()
	g := &visitor{who: who, village: v, wrong: v.rng.IntN(6) == 0}
	if n := len(v.visitors); n > 0 && v.visitors[n-1].who.Node >= who.Node || v.find(who.Node) != nil {
		v.fail("number %d is given again", who.Node)
	}
	v.visitors = append(v.visitors, g)
	v.invited++
	if !v.admission.Guest(who.Node) {
		v.fail("node %d, which was invited, is no guest", who.Node)
	}
	switch v.rng.IntN(6) {
	case 0:
		return // it never comes
	case 1:
		v.after(v.rng.Int64N(2*v.times.Ready), g.dies)
	default:
		g.sound = !g.wrong && !v.rude
	}
	v.after(v.rng.Int64N(500), func() {
		g.up = true
		g.comes()
	})
}

// comes dials all that are there, when its process has started and it is its turn.
func (g *visitor) comes() {
	if !g.up || !g.called || g.outcome != nil {
		return
	}
	c := join.Cluster{Self: g.who.Node, Nodes: int(g.who.Node) + 1, Connections: g.village.connections}
	for n := range g.who.Node {
		if !slices.Contains(g.there, n) {
			c.Gone = append(c.Gone, n)
		}
	}
	g.Joining = join.New(c, make([]string, c.Nodes), g.village.times, g.village.now)
	var fx join.Effects
	g.Begin(&fx)
	g.obey(&fx)
}

func (g *visitor) obey(fx *join.Effects) {
	v := g.village
	if g.Awaits() && fx.Over == nil {
		v.fail("node %d, which joins last, awaits calls", g.who.Node)
	}
	if d := fx.Dial; d != nil {
		if !slices.Contains(g.there, d.Node) {
			v.fail("node %d dials node %d, which is gone", g.who.Node, d.Node)
		}
		v.after(d.AfterMillis+v.rng.Int64N(20), func() { g.dial(*d) })
	}
	if o := fx.Over; o != nil && o.Err == nil {
		v.after(v.rng.Int64N(20), g.ready)
	}
}

func (g *visitor) dial(d join.Dial) {
	v := g.village
	if g.dead {
		return
	}
	var fx join.Effects
	if v.rng.IntN(10) == 0 {
		g.Failed(errors.New("nobody listens"), false, &fx)
	} else {
		v.find(d.Node).takes(v, g.who.Node, d.Number, v.connections)
		if v.rng.IntN(10) == 0 { // and breaks before it is answered
			g.Failed(errors.New("it broke"), false, &fx)
		} else {
			g.Answered(d.Node, &fx)
		}
	}
	g.obey(&fx)
}

// takes gives a call to a node that takes part.
func (r *resident) takes(v *village, n bellows.NodeID, number, of int) {
	if e := r.doors.Called(n, number, of); e.Whole {
		if slices.Contains(r.whole, n) || v.find(n) != nil || !e.Keep {
			v.fail("node %d lets node %d in: %+v, already connected: %v", r.id, n, e, r.whole)
		}
		r.whole = append(r.whole, n)
	}
}

// ready announces the node when all others have all its connections, which may never be so.
func (g *visitor) ready() {
	v := g.village
	for _, n := range g.there {
		if r := v.find(n); !slices.Contains(r.whole, g.who.Node) {
			if !v.rude {
				v.fail("node %d has called node %d on all connections, and is not let in", g.who.Node, n)
			}
			return
		}
	}
	if g.dead {
		return
	}
	job := ownJob
	if g.wrong {
		job.Kernels = 2
	}
	v.turned(v.admission.Ready(g.who.Node, job))
	v.after(v.rng.Int64N(300), v.admit)
}

// admit lets a visitor take part that is due.
func (v *village) admit() {
	who, ok := v.admission.Due()
	if !ok {
		return
	}
	g := v.first()
	if g == nil || g.who != who || g.wrong || !g.called {
		v.fail("%+v is due, and %+v is the first", who, g)
	}
	o := v.admission.Admitted()
	g.outcome = &o
	v.outcomes++
	for _, r := range v.present {
		if !slices.Contains(r.whole, who.Node) {
			v.fail("node %d takes part, and node %d has it not", who.Node, r.id)
		}
	}
	if v.admission.Guest(who.Node) || o.Err != nil {
		v.fail("node %d takes part, and is a guest, or not: %v", who.Node, o.Err)
	}
	v.settles(who.Node)
	v.turn()
}

// dies ends a process. Node 0 hears of that later, perhaps by the end of a connection first. Then it waits for a
// better reason, and the visitor takes part no more.
func (g *visitor) dies() {
	g.dead, g.died = true, g.village.now
	if v := g.village; v.rng.IntN(2) == 0 && v.admission.Guest(g.who.Node) {
		v.admission.Suspect(g.who.Node, errors.New("EOF"), v.now)
		if who, ok := v.admission.Due(); ok && who == g.who {
			v.fail("node %d, which perhaps is dead, is due", g.who.Node)
		}
		if v.rng.IntN(2) == 0 {
			return // nothing better comes
		}
	}
	g.village.after(g.village.rng.Int64N(100), func() {
		if v := g.village; v.admission.Guest(g.who.Node) {
			v.turned(v.admission.Lost(g.who.Node, bellows.Errorf(bellows.Lost, "", "", "it died")))
		}
	})
}

// turned notes a visitor that is turned away.
func (v *village) turned(o *join.Outcome) {
	if o == nil {
		return
	}
	at := slices.IndexFunc(v.visitors, func(g *visitor) bool { return g.who == o.Newcomer && g.outcome == nil })
	if at < 0 || o.Err == nil || v.visitors[at].sound || !v.admission.Guest(o.Node) {
		v.fail("%+v is turned away, and is not on the way, or is sound", o)
	}
	g := v.visitors[at]
	if g.dead && strings.HasSuffix(o.Err.Error(), "EOF") && v.now < g.died+v.times.Broken {
		v.fail("node %d is turned away for want of a better reason %d ms after its end", o.Node, v.now-g.died)
	}
	g.outcome, v.outcomes = o, v.outcomes+1
	v.away = append(v.away, o.Node)
	v.turn()
}

// unknownCaller calls a node, under any number; it knows the token.
func (v *village) unknownCaller() {
	n := bellows.NodeID(v.rng.IntN(12))
	r := v.present[v.rng.IntN(len(v.present))]
	if v.find(n) == nil && n > r.id {
		r.doors.Called(n, v.rng.IntN(v.connections+2)-1, 1+v.rng.IntN(3))
	}
}

// TestNodesJoinWhileOthersRun plays thousands of jobs that nodes join: several at a time, each under a new number,
// each with one outcome. They call one after the other. A node that takes part has made the same job and has all its
// connections at all others. Some die, do not come, have made another job, or find unknown callers in their place.
func TestNodesJoinWhileOthersRun(t *testing.T) {
	seeds := orders / 2
	var joined, away, together int
	for seed := uint64(1); seed <= seeds; seed++ {
		v := newVillage(t, seed)
		for v.next() {
		}
		if g := v.first(); g != nil || v.outcomes != v.invited {
			v.fail("%d were invited and have %d outcomes; on the way is %+v", v.invited, v.outcomes, g)
		}
		for _, n := range v.away {
			if !v.admission.Guest(n) || v.find(n) != nil {
				v.fail("node %d was turned away, and takes part", n)
			}
		}
		away += len(v.away)
		joined += v.invited - len(v.away)
		together += v.together
	}
	if joined < int(seeds) || away < int(seeds)/2 || together < int(seeds) {
		t.Errorf("%d nodes have joined, %d were turned away and %d were on their way with others: that is no test of all", joined, away, together)
	}
}

// TestAnInvitationThatCannotBe refuses impossible invitations, and ignores events of nodes that were not invited.
func TestAnInvitationThatCannotBe(t *testing.T) {
	a := join.NewAdmission(0, 2, ownJob, liveness.Times{})
	if a.Ready(2, ownJob) != nil || a.Lost(2, errors.New("gone")) != nil || !a.Guest(2) || a.Guest(1) {
		t.Error("it takes notice of nodes that were not invited")
	}
	for _, c := range [][2]int{{0, 0}, {-1, 2}, {1, -1}} {
		if who, err := a.Invite(c[0], c[1]); bellows.KindOf(err) != bellows.Config {
			t.Errorf("%v: %+v, %v", c, who, err)
		}
	}
	who, err := a.Invite(1, 1)
	if err != nil || who != (join.Newcomer{Node: 2, Slots: 1, Lanes: 1}) {
		t.Fatalf("%+v, %v", who, err)
	}
	if coming := a.Coming(); !slices.Equal(coming, []join.Newcomer{who}) {
		t.Errorf("on the way are %+v", coming)
	}
	if calling, some := a.Calling(); some {
		t.Errorf("%+v calls before its turn", calling)
	}
	if o := a.Lost(2, errors.New("the job is over")); o == nil || o.Err.Error() != "add a node node 2: the job is over" {
		t.Errorf("at the end: %+v", o)
	}
	if coming := a.Coming(); len(coming) > 0 {
		t.Errorf("a node that was turned away is on its way: %+v", coming)
	}
	a.TakesPart(7) // a previous controller has admitted it
	if who, err := a.Invite(1, 0); err != nil || who.Node != 8 || a.Guest(7) {
		t.Errorf("%+v, %v", who, err)
	}
	a.TakesPart(8)
	if _, ok := a.Due(); ok || a.Guest(8) {
		t.Error("a node that takes part is on its way")
	}
	early, err := a.Invite(1, 0)
	if o := a.Ready(early.Node, ownJob); err != nil || o == nil || bellows.KindOf(o.Err) != bellows.Bug {
		t.Errorf("a node that is ready before its turn: %+v, %v", o, err)
	}
	for range join.GuestsMost {
		if _, err := a.Invite(1, 0); err != nil {
			t.Error(err)
		}
	}
	if who, err := a.Invite(1, 0); bellows.KindOf(err) != bellows.Unavailable {
		t.Errorf("%+v is one too many: %v", who, err)
	}
	for _, who := range a.Coming() {
		a.TakesPart(who.Node)
	}
	a.TakesPart(join.NodesMost - 1)
	if who, err := a.Invite(1, 0); err == nil {
		t.Errorf("node %d joins a job without numbers: %s", who.Node, fmt.Sprint(err))
	}
}

// TestTheGoneAreNotWaitedFor follows node 0 by another process. It waits for the nodes that exist and for no others. A
// caller with the number of a node that is gone is turned away.
func TestTheGoneAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	j := join.New(join.Cluster{Self: 0, Nodes: 4, Connections: 2, Gone: []bellows.NodeID{2}}, make([]string, 4), liveness.Times{}, 0)
	var fx join.Effects
	j.Begin(&fx)
	for i, c := range []struct {
		node   bellows.NodeID
		number int
		keep   bool
	}{{1, 0, true}, {2, 0, false}, {3, 0, true}, {3, 1, true}, {1, 0, false}, {1, 1, true}} {
		if fx.Over != nil {
			t.Fatalf("over before call %d", i)
		}
		if keep := j.Called(c.node, c.number, 2, &fx); keep != c.keep {
			t.Errorf("call %d of node %d: %v", c.number, c.node, keep)
		}
	}
	if fx.Over == nil || fx.Over.Err != nil {
		t.Errorf("all are there: %+v", fx.Over)
	}
}
