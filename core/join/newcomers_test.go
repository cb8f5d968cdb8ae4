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

// village is a job that runs, and nodes that join it one after the other, in an order that a seed decides.
type village struct {
	town
	admission   *join.Admission
	connections int
	present     []*resident
	away        []bellows.NodeID // have been turned away
	visitors    []*visitor
	invited     int
	outcomes    int
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
		v.after(v.rng.Int64N(20_000), v.invite)
	}
	for range v.rng.IntN(20) {
		if v.rude {
			v.after(v.rng.Int64N(20_000), v.stranger)
		}
	}
	for at := int64(250); at < 40_000; at += 250 {
		v.after(at, v.tick)
	}
	return v
}

func (v *village) settles(n bellows.NodeID) {
	v.present = append(v.present, &resident{id: n, doors: join.NewNewcomers(n+1, v.connections)})
}

// at is who takes part under a number.
func (v *village) at(n bellows.NodeID) *resident {
	for _, r := range v.present {
		if r.id == n {
			return r
		}
	}
	return nil
}

// tick is node 0's clock.
func (v *village) tick() {
	notice, away := v.admission.Tick(v.now)
	if notice != "" && v.onTheWay() == nil {
		v.fail("node 0 says %q and waits for nobody", notice)
	}
	v.turned(away)
}

// onTheWay is the visitor that has no outcome yet.
func (v *village) onTheWay() *visitor {
	for _, g := range v.visitors {
		if g.outcome == nil {
			return g
		}
	}
	return nil
}

func (v *village) invite() {
	who, err := v.admission.Invite(1, v.rng.IntN(2), v.now)
	if busy := v.onTheWay(); (err != nil) != (busy != nil) {
		v.fail("an invitation while %v is on the way: %v", busy, err)
	}
	if err != nil {
		return
	}
	g := &visitor{who: who, village: v, wrong: v.rng.IntN(6) == 0}
	if n := len(v.visitors); n > 0 && v.visitors[n-1].who.Node >= who.Node || v.at(who.Node) != nil {
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
	for n := range who.Node {
		if v.at(n) != nil {
			g.there = append(g.there, n)
		}
	}
	v.after(v.rng.Int64N(500), g.come)
}

// come dials all that are there.
func (g *visitor) come() {
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
		v.at(d.Node).takes(v, g.who.Node, d.Number, v.connections)
		if v.rng.IntN(10) == 0 { // and breaks before it is answered
			g.Failed(errors.New("it broke"), false, &fx)
		} else {
			g.Answered(d.Node, &fx)
		}
	}
	g.obey(&fx)
}

// takes has a node that takes part take a call.
func (r *resident) takes(v *village, n bellows.NodeID, number, of int) {
	if e := r.doors.Called(n, number, of); e.Whole {
		if slices.Contains(r.whole, n) || v.at(n) != nil || !e.Keep {
			v.fail("node %d lets node %d in: %+v, who was there: %v", r.id, n, e, r.whole)
		}
		r.whole = append(r.whole, n)
	}
}

// ready says so when all others have the node, which they may never.
func (g *visitor) ready() {
	v := g.village
	for _, n := range g.there {
		if r := v.at(n); !slices.Contains(r.whole, g.who.Node) {
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

// admit lets who is due take part.
func (v *village) admit() {
	who, ok := v.admission.Due()
	if !ok {
		return
	}
	g := v.onTheWay()
	if g == nil || g.who != who || g.wrong {
		v.fail("%+v is due, and %+v on the way", who, g)
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
}

// dies ends a process: node 0 is told, later, perhaps by the end of a connection first. Then it waits for a better reason, and takes part no more.
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

// turned takes note of who is turned away.
func (v *village) turned(o *join.Outcome) {
	if o == nil {
		return
	}
	g := v.onTheWay()
	if g == nil || g.who != o.Newcomer || o.Err == nil || g.sound || !v.admission.Guest(o.Node) {
		v.fail("%+v is turned away, and %+v is on the way", o, g)
	}
	if g.dead && strings.HasSuffix(o.Err.Error(), "EOF") && v.now < g.died+v.times.Broken {
		v.fail("node %d is turned away for want of a better reason %d ms after its end", o.Node, v.now-g.died)
	}
	g.outcome, v.outcomes = o, v.outcomes+1
	v.away = append(v.away, o.Node)
}

// stranger calls somebody, in any name; it knows the token.
func (v *village) stranger() {
	n := bellows.NodeID(v.rng.IntN(12))
	r := v.present[v.rng.IntN(len(v.present))]
	if v.at(n) == nil && n > r.id {
		r.doors.Called(n, v.rng.IntN(v.connections+2)-1, 1+v.rng.IntN(3))
	}
}

// TestNodesJoinWhileOthersRun plays thousands of jobs that nodes join: one at a time, each under a number of its own, each with one outcome. Who takes
// part has made the same job and has all its connections at all others; some die, do not come, have made another job, or find strangers in their place.
func TestNodesJoinWhileOthersRun(t *testing.T) {
	seeds := uint64(10_000)
	if testing.Short() {
		seeds = 1500
	}
	var joined, away int
	for seed := uint64(1); seed <= seeds; seed++ {
		v := newVillage(t, seed)
		for v.next() {
		}
		if g := v.onTheWay(); g != nil || v.outcomes != v.invited {
			v.fail("%d were invited and have %d outcomes; on the way is %+v", v.invited, v.outcomes, g)
		}
		for _, n := range v.away {
			if !v.admission.Guest(n) || v.at(n) != nil {
				v.fail("node %d was turned away, and takes part", n)
			}
		}
		away += len(v.away)
		joined += v.invited - len(v.away)
	}
	if joined < int(seeds) || away < int(seeds)/2 {
		t.Errorf("%d nodes have joined and %d were turned away: that is no test of both", joined, away)
	}
}

// TestAnInvitationThatCannotBe is refused, and what nobody waits for changes nothing.
func TestAnInvitationThatCannotBe(t *testing.T) {
	a := join.NewAdmission(0, 2, ownJob, liveness.Times{})
	if a.Ready(2, ownJob) != nil || a.Lost(2, errors.New("gone")) != nil || !a.Guest(2) || a.Guest(1) {
		t.Error("it takes notice of who was not invited")
	}
	for _, c := range [][2]int{{0, 0}, {-1, 2}, {1, -1}} {
		if who, err := a.Invite(c[0], c[1], 0); bellows.KindOf(err) != bellows.Config {
			t.Errorf("%v: %+v, %v", c, who, err)
		}
	}
	who, err := a.Invite(1, 1, 0)
	if err != nil || who != (join.Newcomer{Node: 2, Slots: 1, Lanes: 1}) {
		t.Fatalf("%+v, %v", who, err)
	}
	if o := a.Lost(2, errors.New("the job is over")); o == nil || o.Err.Error() != "add a node node 2: the job is over" {
		t.Errorf("at the end: %+v", o)
	}
	a.TakesPart(7) // whom a controller before has admitted
	if who, err := a.Invite(1, 0, 0); err != nil || who.Node != 8 || a.Guest(7) {
		t.Errorf("%+v, %v", who, err)
	}
	a.TakesPart(8)
	if _, ok := a.Due(); ok || a.Guest(8) {
		t.Error("who takes part is on the way")
	}
	a.TakesPart(join.NodesMost - 1)
	if who, err := a.Invite(1, 0, 0); err == nil {
		t.Errorf("node %d joins a job without numbers: %s", who.Node, fmt.Sprint(err))
	}
}
