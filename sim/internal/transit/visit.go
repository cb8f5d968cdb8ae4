package transit

import (
	"errors"

	"bellows"
	"bellows/core/join"
)

// visit is a node on its way to all others, which calls them: package join decides whom, and who of them lets it in. A node that has let it in is joined to it from
// then on, whether or not the others have; that tells both ends.
type visit[N Node] struct {
	*join.Joining
	w     *Network[N]
	from  N
	nodes []N
	met   []bool // by node: it has let this one in
	over  bool
}

// Visit lets a node call all others that are there, of so many, but those that are gone.
func (w *Network[N]) Visit(from N, nodes []N, gone []bellows.NodeID) {
	c := join.Cluster{Self: from.ID(), Nodes: int(from.ID()) + 1, Connections: w.Connections, Gone: gone}
	v := &visit[N]{Joining: join.New(c, make([]string, c.Nodes), w.Times, w.Now), w: w, from: from, nodes: nodes, met: make([]bool, c.Nodes)}
	v.step(v.Begin)
	v.wait()
}

// wait tells the time when that is due.
func (v *visit[N]) wait() {
	v.w.After(max(1, v.Next()-v.w.Now), v.from, func() {
		if !v.over {
			v.step(func(fx *join.Effects) { v.Tick(v.w.Now, fx) })
			v.wait()
		}
	})
}

// step carries out what the way into the cluster wants.
func (v *visit[N]) step(do func(*join.Effects)) {
	if v.over {
		return
	}
	var fx join.Effects
	do(&fx)
	if d := fx.Dial; d != nil {
		v.w.After(d.AfterMillis+v.way(), v.from, func() { v.dial(*d) })
	}
	if o := fx.Over; o != nil {
		v.over = true
		v.from.Arrived(o.Err)
	}
}

// way returns how long a call takes there, or back.
func (v *visit[N]) way() int64 { return v.w.Visiting.Int64N(4) }

// dial makes a call, unless nobody hears it.
func (v *visit[N]) dial(d join.Dial) {
	to := v.nodes[d.Node]
	fails := func(afterMillis int64, why string) {
		v.w.After(afterMillis, v.from, func() { v.step(func(fx *join.Effects) { v.Failed(errors.New(why), false, fx) }) })
	}
	switch {
	case to.Vanished():
		fails(stall, "i/o timeout")
	case to.Ended() || v.w.Visiting.IntN(20) == 0:
		fails(0, "connection refused")
	default:
		answered := false
		v.w.After(stall, v.from, func() {
			if !answered {
				answered = true
				fails(0, "i/o timeout")
			}
		})
		v.w.After(v.way(), to, func() { // when it runs
			if answered {
				return // too late
			}
			answered = true
			stands := v.called(to, d)
			if broke := v.w.Visiting.IntN(20) == 0; broke || !stands {
				v.w.Coverage.HitIf("call-broken", broke)
				fails(v.way(), "connection reset by peer")
				return
			}
			v.w.After(v.way(), v.from, func() { v.step(func(fx *join.Effects) { v.Answered(d.Node, fx) }) })
		})
	}
}

// called makes a node take a call, and reports whether the connection stands.
func (v *visit[N]) called(to N, d join.Dial) bool {
	if v.met[d.Node] { // it knows the node, and has another connection of the number
		return true
	}
	e := to.Doors().Called(v.from.ID(), d.Number, v.Connections)
	if e.Whole && !v.from.Ended() && !v.from.Vanished() {
		v.met[d.Node] = true
		here, there := v.w.pair(v.from, to)
		v.w.Joined(here, there)
		here.begin()
		there.begin()
	}
	return e.Keep
}
