package reshape_test

import (
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/policy/plan"
	"bellows/policy/reshape"
	"bellows/policy/shape"
)

// small is a job that carries out everything at once.
type small struct {
	*reshape.Machine
	facts reshape.Facts
	did   []string
	notes []reshape.Note
	last  reshape.Outcome
}

// newSmall returns a job with a leader and two nodes with both roles, four splits and three partitions.
func newSmall(l reshape.Limits) *small {
	s := &small{Machine: reshape.New(l)}
	s.facts = reshape.Facts{Version: 1, Job: shape.Job{Tables: []int{3}, Near: []int{-1, -1, -1}}, Nodes: []shape.Node{{Slots: 1, Lanes: 1}, {ID: 1, Slots: 1, Lanes: 1}, {ID: 2, Slots: 1, Lanes: 1}},
		Splits: []bellows.NodeID{0, 0, 1, 2}, Partitions: []bellows.NodeID{0, 1, 2}, Sizes: plan.Sizes{Partitions: []int64{1 << 30, 1 << 30, 1 << 30}, Splits: make([]int64, 4)}}
	var fx reshape.Effects
	s.Observe(s.facts, &fx)
	return s
}

// does carries out what is to begin, and what follows from that.
func (s *small) does(fx *reshape.Effects) {
	for {
		s.notes = append(s.notes, fx.Notes...)
		if len(fx.Outcomes) > 0 {
			s.last = fx.Outcomes[len(fx.Outcomes)-1]
		}
		begin := fx.Begin
		*fx = reshape.Effects{}
		if len(begin) == 0 {
			return
		}
		for _, op := range begin {
			s.did = append(s.did, op.Kind.String())
			end := reshape.End{}
			s.facts.Version++
			switch s.facts.Splits, s.facts.Partitions = slices.Clone(s.facts.Splits), slices.Clone(s.facts.Partitions); {
			case op.Kind == plan.Add:
				end.Node = s.facts.Nodes[len(s.facts.Nodes)-1].ID + 1
				s.facts.Nodes = append(slices.Clone(s.facts.Nodes), shape.Node{ID: end.Node, Slots: op.Slots, Lanes: op.Lanes})
			case op.Kind == plan.Delete:
				s.facts.Nodes = slices.DeleteFunc(slices.Clone(s.facts.Nodes), func(n shape.Node) bool { return n.ID == op.Node })
			case op.Split >= 0:
				s.facts.Splits[op.Split] = op.Node
			default:
				s.facts.Partitions[op.Partition] = op.Node
			}
			s.Ended(op.ID, end, s.facts, fx)
		}
	}
}

// TestStepEndsWhileJobIsUnknown refuses a step of a job that no record has changed yet, while its controller does not
// answer. The machine plans with the job as it last knew it, and asks for the step again.
func TestStepEndsWhileJobIsUnknown(t *testing.T) {
	from := newSmall(reshape.Limits{}).facts
	from.Version = 0
	s := &small{Machine: reshape.New(reshape.Limits{RetryMillis: 10}), facts: from}
	var fx reshape.Effects
	s.Observe(from, &fx)
	s.Ask(reshape.Ask{Drain: &reshape.Drain{Node: 2}}, &fx)
	begun := len(fx.Begin)
	if begun == 0 {
		t.Fatal("nothing begins")
	}
	for _, op := range slices.Clone(fx.Begin) {
		s.Ended(op.ID, reshape.End{Err: "no answer"}, reshape.Facts{}, &fx)
	}
	fx = reshape.Effects{}
	s.Tick(10, &fx)
	if len(fx.Begin) != begun {
		t.Errorf("of %d steps that were refused, %d begin again", begun, len(fx.Begin))
	}
	s.does(&fx)
	if s.last.Err != "" || len(s.facts.Nodes) != 2 {
		t.Errorf("the answer is %+v, with %d nodes", s.last, len(s.facts.Nodes))
	}
}

// TestASwitchTakesOneRole, and what goes with it, and no more.
func TestASwitchTakesOneRole(t *testing.T) {
	for role, want := range map[reshape.Role][2][]bellows.NodeID{
		reshape.Server: {{0, 0, 2, 2}, {0, 1, 2}},
		reshape.Worker: {{0, 0, 1, 2}, {0, 0, 2}},
		reshape.Both:   {{0, 0, 1, 2}, {0, 1, 2}},
	} {
		s := newSmall(reshape.Limits{})
		var fx reshape.Effects
		s.Ask(reshape.Ask{Switch: &reshape.Switch{Node: 1, Role: role}}, &fx)
		s.does(&fx)
		splits, partitions := 0, 0
		for i := range want[0] {
			splits += min(1, int(want[0][i]^s.facts.Splits[i]))
		}
		for i := range want[1] {
			partitions += min(1, int(want[1][i]^s.facts.Partitions[i]))
		}
		has := slices.Contains(s.facts.Splits, 1) != (role&reshape.Worker != 0) || slices.Contains(s.facts.Partitions, 1) != (role&reshape.Server != 0)
		if s.last.Err != "" || has || splits > 1 || partitions > 1 || len(s.facts.Nodes) != 3 {
			t.Errorf("%v: splits are at %v, partitions at %v: %+v", role, s.facts.Splits, s.facts.Partitions, s.last)
		}
	}
}

// TestEachIsAnsweredOnce, when the job is over; what cannot be asked for is bad.
func TestEachIsAnsweredOnce(t *testing.T) {
	s := newSmall(reshape.Limits{})
	var fx reshape.Effects
	for name, a := range map[string]reshape.Ask{
		"the leader":      {Drain: &reshape.Drain{Node: 0}},
		"a stranger":      {Drain: &reshape.Drain{Node: 9}},
		"a past notice":   {Drain: &reshape.Drain{Node: 1, NoticeMillis: -1}},
		"no role":         {Switch: &reshape.Switch{Node: 1}},
		"a role too many": {Switch: &reshape.Switch{Node: 1, Role: 4}},
	} {
		fx = reshape.Effects{}
		id := s.Ask(a, &fx)
		if len(fx.Outcomes) != 1 || fx.Outcomes[0].Ask != id || !fx.Outcomes[0].Bad || fx.Outcomes[0].Err == "" || len(fx.Begin) > 0 {
			t.Errorf("%s: %+v", name, fx)
		}
	}
	fx = reshape.Effects{}
	id := s.Ask(reshape.Ask{Drain: &reshape.Drain{Node: 1}}, &fx)
	for range 2 {
		s.Stop("it has ended", &fx)
	}
	if len(fx.Outcomes) != 1 || fx.Outcomes[0].Ask != id || fx.Outcomes[0].Err != "it has ended" || fx.Outcomes[0].Bad {
		t.Errorf("it is answered by %+v", fx.Outcomes)
	}
}

// TestScaleBeyondSplits asks for more workers than there are splits: they come, and the plan says how many run no tasks.
func TestScaleBeyondSplits(t *testing.T) {
	s := newSmall(reshape.Limits{})
	var fx reshape.Effects
	s.Ask(reshape.Ask{Scale: &reshape.Scale{Workers: 5}}, &fx)
	if len(fx.Begin) == 0 || len(fx.Notes) != 1 || !strings.Contains(fx.Notes[0].Sentence, "; 1 of 5 nodes runs no tasks, since the data is in 4 parts: 2 to add") {
		t.Errorf("the answer is %+v", fx)
	}
}

// TestPartsThatDoNotFitAreNamed checks the answer for a node whose notice is over, also if one part is left.
func TestPartsThatDoNotFitAreNamed(t *testing.T) {
	s := newSmall(reshape.Limits{})
	s.facts.Version, s.facts.Splits = 2, []bellows.NodeID{0, 0, 2, 2}
	var fx reshape.Effects
	s.Observe(s.facts, &fx)
	s.Ask(reshape.Ask{Drain: &reshape.Drain{Node: 1, NoticeMillis: 1000}}, &fx)
	if len(fx.Begin) != 1 || fx.Begin[0].Partition != 1 {
		t.Fatalf("it begins %+v", fx.Begin)
	}
	move := fx.Begin[0]
	fx = reshape.Effects{}
	s.Tick(900, &fx)
	if len(fx.Outcomes) != 0 || !slices.Equal(fx.Abandon, []reshape.OpID{move.ID}) {
		t.Errorf("when nothing may be under way any more: %+v", fx)
	}
	fx = reshape.Effects{}
	s.Tick(1000, &fx)
	if len(fx.Outcomes) != 1 || len(fx.Outcomes[0].Left) != 1 || fx.Outcomes[0].Left[0].Partition != 1 || fx.Outcomes[0].Left[0].From.Node != 1 ||
		!strings.HasPrefix(fx.Outcomes[0].Err, "node 1 still has ") || !strings.HasSuffix(fx.Outcomes[0].Err, ", which did not fit into its notice of 1.0 s") {
		t.Errorf("when the notice is over: %+v", fx.Outcomes)
	}
}

// TestRefusedNodeIsNamedWithItsRole checks that the answer names the role that the node was to have.
func TestRefusedNodeIsNamedWithItsRole(t *testing.T) {
	for want, scale := range map[string]reshape.Scale{
		"to add a node with the role of a server is given up: no room":              {Servers: 4},
		"to add a node with the role of a worker and a server is given up: no room": {Workers: 4},
	} {
		s := newSmall(reshape.Limits{})
		var fx reshape.Effects
		s.Ask(reshape.Ask{Scale: &scale}, &fx)
		if len(fx.Begin) != 1 || fx.Begin[0].Kind != plan.Add {
			t.Fatalf("it begins %+v", fx.Begin)
		}
		op := fx.Begin[0]
		fx = reshape.Effects{}
		s.Ended(op.ID, reshape.End{Err: "no room", Final: true}, s.facts, &fx)
		if !slices.ContainsFunc(fx.Notes, func(n reshape.Note) bool { return n.Kind == reshape.Refused && n.Sentence == want }) {
			t.Errorf("%+v, want %q", fx.Notes, want)
		}
	}
}

// TestNodesOnTheirWayAreWaitedFor checks that the next request waits for each of them, whatever numbers it has for
// them.
func TestNodesOnTheirWayAreWaitedFor(t *testing.T) {
	s := newSmall(reshape.Limits{Limits: plan.Limits{Adds: 2}})
	s.facts.Version, s.facts.Splits = 2, []bellows.NodeID{0, 0, 1, 2, 0, 1, 2}
	s.facts.Sizes.Splits = make([]int64, 7)
	var fx reshape.Effects
	s.Observe(s.facts, &fx)
	s.Ask(reshape.Ask{Scale: &reshape.Scale{Workers: 5}}, &fx)
	if len(fx.Begin) != 2 {
		t.Fatalf("it begins %+v", fx.Begin)
	}
	come := fx.Begin
	fx = reshape.Effects{}
	s.Ask(reshape.Ask{Shape: func(now shape.Snapshot) (shape.Decision, error) {
		now.Want.Workers, now.Want.Beside = 5, true
		return shape.Even(now)
	}}, &fx)
	if len(fx.Begin)+len(fx.Abandon) != 0 {
		t.Fatalf("it begins %+v and abandons %v", fx.Begin, fx.Abandon)
	}
	fx = reshape.Effects{Begin: come}
	s.does(&fx)
	if len(s.facts.Nodes) != 5 || s.last.Err != "" || s.last.Ask != 2 || slices.Index(s.did, "add") != 0 || !slices.Contains(s.facts.Splits, 3) || !slices.Contains(s.facts.Splits, 4) {
		t.Errorf("there are %v, splits are at %v: %v, %+v", s.facts.Nodes, s.facts.Splits, s.did, s.last)
	}
}

// TestNewcomersShownEarly shows the job with the node that scale adds, asks for something else, and only then
// ends the addition.
func TestNewcomersShownEarly(t *testing.T) {
	for _, c := range []struct {
		name string
		reshape.Ask
		nodes []bellows.NodeID
	}{
		{"it is to leave", reshape.Ask{Drain: &reshape.Drain{Node: 3}}, []bellows.NodeID{0, 1, 2}},
		{"one more", reshape.Ask{Scale: &reshape.Scale{Workers: 5}}, []bellows.NodeID{0, 1, 2, 3, 4}},
		{"no more", reshape.Ask{Scale: &reshape.Scale{Workers: 4}}, []bellows.NodeID{0, 1, 2, 3}},
		{"another leaves", reshape.Ask{Drain: &reshape.Drain{Node: 1}}, []bellows.NodeID{0, 2, 3}},
	} {
		s := newSmall(reshape.Limits{})
		s.facts.Version, s.facts.Splits = 2, []bellows.NodeID{0, 0, 1, 2, 0, 1, 2}
		s.facts.Sizes.Splits = make([]int64, 7)
		var fx reshape.Effects
		s.Observe(s.facts, &fx)
		s.Ask(reshape.Ask{Scale: &reshape.Scale{Workers: 4}}, &fx)
		add := fx.Begin[0]
		s.facts.Version++
		s.facts.Nodes = append(s.facts.Nodes, shape.Node{ID: 3, Slots: add.Slots, Lanes: add.Lanes})
		s.facts.Splits = []bellows.NodeID{0, 0, 1, 2, 0, 1, 3}
		fx = reshape.Effects{}
		s.Observe(s.facts, &fx)
		id := s.Ask(c.Ask, &fx)
		begun := fx.Begin
		fx = reshape.Effects{}
		s.Ended(add.ID, reshape.End{Node: 3}, s.facts, &fx)
		for _, op := range fx.Begin {
			if c.Drain != nil && op.Kind == plan.Move && op.Node == c.Drain.Node {
				t.Errorf("%s: split %d goes to node %d, which is to leave", c.name, op.Split, op.Node)
			}
		}
		fx.Begin = append(begun, fx.Begin...)
		s.does(&fx)
		var nodes []bellows.NodeID
		for _, n := range s.facts.Nodes {
			nodes = append(nodes, n.ID)
		}
		if !slices.Equal(nodes, c.nodes) || s.last.Ask != id || s.last.Err != "" {
			t.Errorf("%s: nodes %v, wanted %v: %v, %+v", c.name, nodes, c.nodes, s.did, s.last)
		}
		for split, at := range s.facts.Splits {
			if !slices.Contains(c.nodes, at) {
				t.Errorf("%s: split %d is at node %d", c.name, split, at)
			}
		}
	}
}

// TestUnmovableSplitsStay checks that a request which would move them is refused with the reason before anything
// begins. Partitions move, and so do servers.
func TestUnmovableSplitsStay(t *testing.T) {
	const why = "each holds a game that is being played"
	for _, c := range []struct {
		name string
		reshape.Ask
		want string
	}{
		{"drain", reshape.Ask{Drain: &reshape.Drain{Node: 1}}, "split 2 cannot go from node-1"},
		{"notice", reshape.Ask{Drain: &reshape.Drain{Node: 2, NoticeMillis: 1000}}, "split 3 cannot go from node-2"},
		{"fewer workers", reshape.Ask{Scale: &reshape.Scale{Workers: 2}}, "split 3 cannot go from node-2"},
		{"more workers", reshape.Ask{Scale: &reshape.Scale{Workers: 4}}, "would have nothing to run"},
		{"switch", reshape.Ask{Switch: &reshape.Switch{Node: 1, Role: reshape.Server}}, "split 2 cannot go"},
		{"random", reshape.Ask{Shape: shape.Random(1, 0)}, ""},
		{"even", reshape.Ask{Shape: shape.Even}, ""},
		{"fewer servers", reshape.Ask{Scale: &reshape.Scale{Servers: 2}}, ""},
		{"more servers", reshape.Ask{Scale: &reshape.Scale{Servers: 4}}, ""},
	} {
		s := newSmall(reshape.Limits{})
		s.facts.Stays, s.facts.Version = why, 2
		if c.want == "" { // where others would be dealt anew
			s.facts.Splits = []bellows.NodeID{0, 0, 0, 1}
		}
		before := slices.Clone(s.facts.Splits)
		var fx reshape.Effects
		s.Observe(s.facts, &fx)
		s.Ask(c.Ask, &fx)
		s.does(&fx)
		if refused := c.want != ""; s.last.Bad != refused || !strings.Contains(s.last.Err, c.want) || refused && (!strings.Contains(s.last.Err, why) || len(s.did) > 0) || !refused && s.last.Err != "" {
			t.Errorf("%s: %+v, did %v", c.name, s.last, s.did)
		}
		if !slices.Equal(s.facts.Splits, before) {
			t.Errorf("%s: splits went from %v to %v", c.name, before, s.facts.Splits)
		}
	}
}

// TestUnfinishedLeaveContinuesLater ends a drain whose notice was too short: its node stays with what did not fit. The
// next request empties it and makes it leave; it receives nothing.
func TestUnfinishedLeaveContinuesLater(t *testing.T) {
	for name, ask := range map[string]reshape.Ask{
		"as many workers as are left": {Scale: &reshape.Scale{Workers: 2}},
		"more":                        {Scale: &reshape.Scale{Workers: 3}},
		"even":                        {Shape: shape.Even},
		"another leaves":              {Drain: &reshape.Drain{Node: 2}},
		"the same again":              {Drain: &reshape.Drain{Node: 1}},
	} {
		s := newSmall(reshape.Limits{})
		var fx reshape.Effects
		s.Ask(reshape.Ask{Drain: &reshape.Drain{Node: 1, NoticeMillis: 1000}}, &fx)
		begun := fx.Begin
		fx = reshape.Effects{}
		s.Tick(1000, &fx)
		for _, op := range begun { // none of them in time
			s.Ended(op.ID, reshape.End{Err: "it was given up"}, s.facts, &fx)
		}
		s.does(&fx)
		if len(begun) == 0 || !strings.HasPrefix(s.last.Err, "node 1 still has ") {
			t.Fatalf("%s: the drain: %+v, %+v", name, begun, s.last)
		}
		fx = reshape.Effects{}
		id := s.Ask(ask, &fx)
		s.does(&fx)
		gone := !slices.ContainsFunc(s.facts.Nodes, func(n shape.Node) bool { return n.ID == 1 })
		if s.last.Ask != id || s.last.Err != "" || !gone || slices.Contains(s.facts.Splits, 1) || slices.Contains(s.facts.Partitions, 1) {
			t.Errorf("%s: %+v; nodes %v, splits at %v, partitions at %v", name, s.last, s.facts.Nodes, s.facts.Splits, s.facts.Partitions)
		}
		if ask.Scale != nil && len(s.facts.Nodes) != ask.Scale.Workers {
			t.Errorf("%s: there are %v", name, s.facts.Nodes)
		}
	}
}

// TestNodesThatLeaveTogetherAreOnePlan drains two nodes at once: each split and partition moves once, to a node that stays. Drained one after the other, some move to the second node first. A node that
// cannot leave is refused without an effect on the others.
func TestNodesThatLeaveTogetherAreOnePlan(t *testing.T) {
	moves := func(together bool) (n int) {
		s := newSmall(reshape.Limits{})
		s.facts.Version = 2
		s.facts.Nodes = append(s.facts.Nodes, shape.Node{ID: 3, Slots: 1, Lanes: 1})
		s.facts.Splits, s.facts.Partitions = []bellows.NodeID{0, 0, 1, 1, 2, 3, 3}, []bellows.NodeID{1, 1, 1}
		s.facts.Sizes.Splits = make([]int64, 7)
		var fx reshape.Effects
		s.Observe(s.facts, &fx)
		if together {
			ids := s.AskDrains([]reshape.Drain{{Node: 1}, {Node: 9}, {Node: 2}}, &fx)
			at := slices.IndexFunc(fx.Outcomes, func(o reshape.Outcome) bool { return o.Ask == ids[1] && o.Bad && o.Err == "there is no node 9" })
			if len(ids) != 3 || at < 0 {
				t.Errorf("%v: a node that is not there: %+v", ids, fx.Outcomes)
			}
			if why := fx.Notes[0].Sentence; !strings.HasPrefix(why, "node-1 and node-2 are to leave: ") {
				t.Errorf("the reason is %q", why)
			}
			s.does(&fx)
		} else {
			for _, n := range []bellows.NodeID{1, 2} {
				s.Ask(reshape.Ask{Drain: &reshape.Drain{Node: n}}, &fx)
				s.does(&fx)
			}
		}
		if s.last.Err != "" || len(s.facts.Nodes) != 2 {
			t.Errorf("together %v: %+v, %v are left", together, s.last, s.facts.Nodes)
		}
		for _, what := range s.did {
			if what == "move" {
				n++
			}
		}
		return n
	}
	if once, twice := moves(true), moves(false); once != 6 || twice <= once {
		t.Errorf("%d moves together, and %d one after the other; 3 splits and 3 partitions are to move", once, twice)
	}
}

// TestSharesOfAPolicyHold checks that a shape with uneven shares comes about as it was decided, and that its proportions
// hold when nodes leave, are lost, or come meanwhile or later.
func TestSharesOfAPolicyHold(t *testing.T) {
	const parts = 120
	drain := func(s *small, fx *reshape.Effects) { s.Ask(reshape.Ask{Drain: &reshape.Drain{Node: 2}}, fx) }
	for _, c := range []struct {
		name          string
		before, after func(*small, *reshape.Effects)
		lost          bellows.NodeID // while the first step is under way
		want          []int
	}{
		{name: "nothing happens", want: []int{20, 60, 40}},
		{name: "one leaves before", before: drain, want: []int{30, 90, 0}},
		{name: "one leaves later", after: drain, want: []int{30, 90, 0}},
		{name: "one is lost", lost: 2, want: []int{30, 90, 0}},
		{name: "one comes later", want: []int{15, 45, 30, 30}, after: func(s *small, fx *reshape.Effects) {
			s.Ask(reshape.Ask{Scale: &reshape.Scale{Workers: 4}}, fx)
		}},
	} {
		s := newSmall(reshape.Limits{})
		s.facts.Version, s.facts.Tables, s.facts.Near = 2, []int{parts}, nil
		s.facts.Splits, s.facts.Partitions = make([]bellows.NodeID, parts), make([]bellows.NodeID, parts)
		s.facts.Sizes = plan.Sizes{Partitions: make([]int64, parts), Splits: make([]int64, parts)}
		var fx reshape.Effects
		s.Observe(s.facts, &fx)
		if c.before != nil {
			c.before(s, &fx)
		}
		s.Ask(reshape.Ask{Shape: func(now shape.Snapshot) (shape.Decision, error) {
			of := map[bellows.NodeID]int{0: 20, 1: 60, 2: 40}
			return shape.DealShares(now, s.facts.Nodes, shape.Shares{Splits: of, Partitions: of})
		}}, &fx)
		if c.lost > 0 {
			s.facts.Version++
			s.facts.Nodes = slices.DeleteFunc(slices.Clone(s.facts.Nodes), func(n shape.Node) bool { return n.ID == c.lost })
			s.Observe(s.facts, &fx)
			for _, op := range fx.Begin {
				if op.Node == c.lost {
					s.Ended(op.ID, reshape.End{Err: "it is gone"}, s.facts, &fx)
				}
			}
			fx.Begin = slices.DeleteFunc(fx.Begin, func(op reshape.Op) bool { return op.Node == c.lost })
		}
		s.does(&fx)
		if c.after != nil {
			c.after(s, &fx)
			s.does(&fx)
		}
		splits, partitions := make([]int, len(c.want)), make([]int, len(c.want))
		for i := range parts {
			splits[s.facts.Splits[i]]++
			partitions[s.facts.Partitions[i]]++
		}
		if !slices.Equal(splits, c.want) || !slices.Equal(partitions, c.want) {
			t.Errorf("%s: splits %v and partitions %v, want %v: %+v", c.name, splits, partitions, c.want, s.last)
		}
	}
}
