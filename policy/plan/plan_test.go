package plan_test

import (
	"cmp"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/internal/require"
	"bellows/policy/plan"
	"bellows/policy/shape"
)

// draw returns a job that has come to some shape, and where it is to go next.
func draw(t *testing.T, seed uint64) (now shape.Snapshot, want shape.Decision, sizes plan.Sizes) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 7))
	now.Shape.Nodes = []shape.Node{{Slots: 1, Lanes: 2}}
	now.Splits = make([]bellows.NodeID, 1+rng.IntN(12))
	now.Tables = []int{1 + rng.IntN(12), len(now.Splits)}
	for t, n := range now.Tables {
		for p := range n {
			now.Partitions = append(now.Partitions, shape.Place{Lane: p % 2})
			now.Near = append(now.Near, p*t-1+t)
			sizes.Partitions = append(sizes.Partitions, int64(rng.IntN(1000)))
		}
	}
	for p := range now.Tables[0] {
		now.Near[p] = -1
	}
	for p := range now.Tables[1] {
		now.Near[now.Tables[0]+p] = p
	}
	now.Want = shape.Want{Slots: 1, Lanes: 2, Next: 1}
	for range 2 {
		var err error
		if rng.IntN(3) == 0 {
			want, err = shape.Random(rng.Uint64(), 3)(now)
		} else {
			now.Want.Workers, now.Want.Servers, now.Want.Beside = 1+rng.IntN(4), 1+rng.IntN(3), rng.IntN(2) == 0
			want, err = shape.Even(now)
		}
		require.NoError(t, err)
		if now.Want.Next > 1 {
			break
		}
		now.Shape, now.Want.Next = want.Shape, 20
	}
	return now, want, sizes
}

// owns reports whether a node has something that a role of it holds.
func owns(s *shape.Shape, n bellows.NodeID) bool {
	return slices.Contains(s.Splits, n) || slices.ContainsFunc(s.Partitions, func(p shape.Place) bool { return p.Node == n })
}

// TestLeavingNodeMovesMoreAtOnce empties a node that leaves, and one that stays. From the first, small partitions move
// at once, as many as are together within the limit.
func TestLeavingNodeMovesMoreAtOnce(t *testing.T) {
	for _, c := range []struct {
		bytes  []int64
		stays  bool
		hurry  int64
		begins int
	}{
		{[]int64{1000, 1000, 1000, 1000, 1000, 1000}, false, 4000, 4},
		{[]int64{1000, 1000, 1000, 1000, 1000, 1000}, true, 4000, 2},
		{[]int64{9000, 1000, 1000, 1000, 1000, 1000}, false, 4000, 2}, // the largest goes first
		{[]int64{1000, 1000, 1000, 1000, 1000, 1000}, false, 0, 6},
	} {
		now := shape.Shape{Nodes: []shape.Node{{ID: 0, Slots: 1, Lanes: 1}, {ID: 1, Slots: 1, Lanes: 1}}, Splits: []bellows.NodeID{0}}
		want := shape.Decision{Shape: shape.Shape{Nodes: now.Nodes[:1], Splits: now.Splits}, Reason: "a test"}
		if c.stays {
			want.Nodes = now.Nodes
		}
		for range c.bytes {
			now.Partitions, want.Partitions = append(now.Partitions, shape.Place{Node: 1}), append(want.Partitions, shape.Place{})
		}
		job := shape.Job{Tables: []int{len(c.bytes)}}
		r := plan.NewRun(plan.Between(now, want, job, plan.Sizes{Partitions: c.bytes}), plan.Limits{Hurried: c.hurry})
		first := r.Begin()
		if len(first) != c.begins {
			t.Errorf("%+v: %d moves begin", c, len(first))
		}
		for all := first; !r.Finished(); all = append(all, r.Begin()...) { // then the others
			r.Done(all[0])
			all = all[1:]
		}
	}
}

// TestRoundsOfPlan: a node has two moves with bytes at once, by default, and what waits for a step begins in a later
// round.
func TestRoundsOfPlan(t *testing.T) {
	now := shape.Shape{Nodes: []shape.Node{{ID: 0, Slots: 1, Lanes: 1}, {ID: 1, Slots: 1}}, Splits: []bellows.NodeID{0}}
	want := shape.Decision{Shape: shape.Shape{Nodes: []shape.Node{{ID: 0, Slots: 1}, {ID: 1, Slots: 1, Lanes: 1}}, Splits: now.Splits}}
	for range 5 {
		now.Partitions, want.Partitions = append(now.Partitions, shape.Place{}), append(want.Partitions, shape.Place{Node: 1})
	}
	job, sizes := shape.Job{Tables: []int{5}}, plan.Sizes{Partitions: []int64{1, 1, 1, 1, 1}}
	p := plan.Between(now, want, job, sizes) // one switch before the moves, and one after
	for of, rounds := range map[int]int{0: 1 + 3 + 1, 1: 1 + 5 + 1, 5: 1 + 1 + 1} {
		if n := p.Rounds(plan.Limits{OfNode: of}); n != rounds {
			t.Errorf("with %d moves of a node at once: %d rounds, want %d", of, n, rounds)
		}
	}
	if n := (plan.Plan{}).Rounds(plan.Limits{}); n != 0 {
		t.Errorf("no steps take %d rounds", n)
	}
}

// TestAnyOrderLeavesAShape carries plans out in every order that a run allows, and checks the shape after each step.
func TestAnyOrderLeavesAShape(t *testing.T) {
	kinds := map[plan.Kind]int{}
	for seed := range uint64(400) {
		now, want, sizes := draw(t, seed)
		rng := rand.New(rand.NewPCG(seed, 8))
		limit := 1 + rng.IntN(3)
		p := plan.Between(now.Shape, want, now.Job, sizes)
		r := plan.NewRun(p, plan.Limits{OfNode: limit, Hurried: 1})
		s := now.Shape
		var open []int
		moves := map[bellows.NodeID]int{}
		started := map[int]bool{}
		for !r.Finished() {
			before := len(open)
			for _, i := range r.Begin() {
				step := &p.Steps[i]
				if started[i] || step.Reason == "" || step.String() == "" {
					t.Fatalf("seed %d: %v begins twice, or without a reason", seed, step)
				}
				started[i] = true
				kinds[step.Kind]++
				open = append(open, i)
				if step.Kind == plan.Move && step.Bytes > 0 {
					moves[step.Node]++
					if step.From.Node != step.Node {
						moves[step.From.Node]++
					}
				}
			}
			if before == 0 && len(open) == 0 {
				t.Fatalf("seed %d: nothing begins, and it is not over", seed)
			}
			for n, m := range moves {
				if m > limit {
					t.Fatalf("seed %d: %d moves of node %d", seed, m, n)
				}
			}
			k := rng.IntN(len(open))
			step := &p.Steps[open[k]]
			if step.Kind == plan.Delete && owns(&s, step.Node) {
				t.Fatalf("seed %d: %v, which has something yet", seed, step)
			}
			s = plan.Apply(s, step)
			if err := s.Validate(); err != nil {
				t.Fatalf("seed %d: behind %v: %v", seed, step, err)
			}
			if again := plan.Apply(s, step); !reflect.DeepEqual(again, s) {
				t.Fatalf("seed %d: %v, done twice, makes %+v of %+v", seed, step, again, s)
			}
			r.Done(open[k])
			if step.Kind == plan.Move && step.Bytes > 0 {
				moves[step.Node]--
				if step.From.Node != step.Node {
					moves[step.From.Node]--
				}
			}
			open = slices.Delete(open, k, k+1)
		}
		if !reflect.DeepEqual(s, want.Shape) {
			t.Fatalf("seed %d: came to %+v, not %+v", seed, s, want.Shape)
		}
		if moved, all := r.Share(); moved != all || len(r.Undone()) > 0 {
			t.Fatalf("seed %d: %d of %d bytes, undone %v", seed, moved, all, r.Undone())
		}
		if again := plan.Between(s, want, now.Job, sizes); len(again.Steps) > 0 {
			t.Fatalf("seed %d: %v is left", seed, again.Steps)
		}
	}
	if len(kinds) != 4 {
		t.Errorf("only %v", kinds)
	}
}

// TestAPlanIsResumed leaves plans at any point, and makes new ones of what there is then.
func TestAPlanIsResumed(t *testing.T) {
	for seed := range uint64(200) {
		now, want, sizes := draw(t, seed)
		rng := rand.New(rand.NewPCG(seed, 9))
		s := now.Shape
		total := len(plan.Between(s, want, now.Job, sizes).Steps)
		steps := 0
		for round := 0; !reflect.DeepEqual(s, want.Shape); round++ {
			if round > 3*total {
				t.Fatalf("seed %d: it does not end", seed)
			}
			p := plan.Between(s, want, now.Job, sizes)
			r := plan.NewRun(p, plan.Limits{})
			for range 1 + rng.IntN(4) {
				list := r.Begin()
				for _, i := range list {
					s = plan.Apply(s, &p.Steps[i])
					steps++
					r.Done(i)
				}
			}
		}
		if steps > 2*total {
			t.Errorf("seed %d: %d steps instead of %d", seed, steps, total)
		}
	}
}

// TestARunEnds lets steps fail, and cancels.
func TestARunEnds(t *testing.T) {
	failures, cancelled := 0, 0
	for seed := range uint64(300) {
		now, want, sizes := draw(t, seed)
		rng := rand.New(rand.NewPCG(seed, 10))
		p := plan.Between(now.Shape, want, now.Job, sizes)
		r := plan.NewRun(p, plan.Limits{})
		s := now.Shape
		bad := map[int]bool{}
		over := false
		var open []int
		for n := 0; !r.Finished(); n++ {
			if n > 10*len(p.Steps) {
				t.Fatalf("seed %d: it does not end", seed)
			}
			list := r.Begin()
			if over && len(list) > 0 {
				t.Fatalf("seed %d: %v begin after the cancel", seed, list)
			}
			for _, i := range list {
				for _, j := range p.Steps[i].After {
					if bad[j] {
						t.Fatalf("seed %d: %v begins, though %v has failed", seed, &p.Steps[i], &p.Steps[j])
					}
				}
			}
			open = append(open, list...)
			if !over && rng.IntN(len(p.Steps)+1) == 0 {
				over = true
				cancelled++
				if got := r.Cancel(); !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(open))) {
					t.Fatalf("seed %d: open are %v, not %v", seed, got, open)
				}
				continue
			}
			i := open[0]
			open = open[1:]
			if rng.IntN(6) == 0 {
				failures++
				bad[i] = true
				r.Failed(i)
			} else {
				s = plan.Apply(s, &p.Steps[i])
				r.Done(i)
			}
			if err := s.Validate(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		undone := r.Undone()
		for i := range bad {
			if !slices.Contains(undone, i) {
				t.Fatalf("seed %d: step %d has failed and is not undone", seed, i)
			}
		}
		if (len(undone) == 0) != reflect.DeepEqual(s, want.Shape) {
			t.Fatalf("seed %d: %d undone, came to %+v, not %+v", seed, len(undone), s, want.Shape)
		}
	}
	if failures == 0 || cancelled == 0 {
		t.Errorf("%d failures, %d cancelled", failures, cancelled)
	}
}

func TestTheLargestMovesFirst(t *testing.T) {
	most := 0
	for seed := range uint64(50) {
		now, want, sizes := draw(t, seed)
		last, moves := int64(1<<60), 0
		for _, s := range plan.Between(now.Shape, want, now.Job, sizes).Steps {
			if s.Kind != plan.Move || s.Partition < 0 {
				continue
			}
			if moves++; s.Bytes > last {
				t.Errorf("seed %d: %v with %d bytes behind one with %d", seed, &s, s.Bytes, last)
			}
			last = s.Bytes
		}
		most = max(most, moves)
	}
	if most < 5 {
		t.Errorf("at most %d moves", most)
	}
}

// TestWithinANotice checks that parts without a copy move first, that what does not fit is named, and that a node which
// keeps something is not deleted.
func TestWithinANotice(t *testing.T) {
	partial, whole := 0, 0
	for seed := range uint64(300) {
		now, _, sizes := draw(t, seed)
		rng := rand.New(rand.NewPCG(seed, 11))
		if len(now.Nodes) < 2 {
			continue
		}
		leaves := now.Nodes[len(now.Nodes)-1].ID
		now.Want.Workers, now.Want.Servers, now.Want.Beside, now.Want.Leaves = 1, 1, true, []bellows.NodeID{leaves}
		want, err := shape.Even(now)
		require.NoError(t, err)
		copied := func(s *plan.Step) bool { return s.Partition%3 == 0 }
		p := plan.Between(now.Shape, want, now.Job, sizes)
		budget := rng.Int64N(4000)
		fits, left := plan.Within(p, leaves, budget, copied)
		var took int64
		var order []plan.Step
		for _, s := range fits.Steps {
			if s.Kind == plan.Move && s.From.Node == leaves && s.Node != leaves {
				took += s.Bytes
				order = append(order, s)
			}
			if s.Kind == plan.Delete && s.Node == leaves && len(left) > 0 {
				t.Fatalf("seed %d: node %d is deleted with %v", seed, leaves, left)
			}
		}
		if took > budget {
			t.Fatalf("seed %d: %d bytes in a notice of %d", seed, took, budget)
		}
		if !slices.IsSortedFunc(order, func(a, b plan.Step) int {
			x, y := copied(&a), copied(&b)
			if x != y {
				if y {
					return -1
				}
				return 1
			}
			return cmp.Compare(b.Bytes, a.Bytes)
		}) {
			t.Fatalf("seed %d: the order is %v", seed, order)
		}
		for _, s := range left {
			if s.Bytes <= budget-took {
				t.Fatalf("seed %d: %v with %d bytes is left, and would fit", seed, &s, s.Bytes)
			}
		}
		dropped := len(left)
		if dropped > 0 && slices.ContainsFunc(p.Steps, func(s plan.Step) bool { return s.Kind == plan.Delete && s.Node == leaves }) {
			dropped++
		}
		if len(fits.Steps)+dropped != len(p.Steps) {
			t.Fatalf("seed %d: %d steps of %d, %d left", seed, len(fits.Steps), len(p.Steps), len(left))
		}
		r, s := plan.NewRun(fits, plan.Limits{}), now.Shape
		for !r.Finished() {
			list := r.Begin()
			if len(list) == 0 {
				t.Fatalf("seed %d: nothing begins", seed)
			}
			for _, i := range list {
				s = plan.Apply(s, &fits.Steps[i])
				r.Done(i)
			}
		}
		if err := s.Validate(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if len(left) > 0 {
			partial++
		} else {
			whole++
		}
	}
	if partial == 0 || whole == 0 {
		t.Errorf("%d notices were too short, %d long enough", partial, whole)
	}
}

func TestStepsAreSaid(t *testing.T) {
	for want, s := range map[string]plan.Step{
		"add node-3 with 2 compute slots and 1 lanes":  {Kind: plan.Add, Node: 3, Slots: 2, Lanes: 1},
		"switch node-3 to 0 compute slots and 1 lanes": {Kind: plan.Switch, Node: 3, Lanes: 1},
		"move partition 7 from node-1 to node-3":       {Kind: plan.Move, Node: 3, From: shape.Place{Node: 1}, Partition: 7, Split: -1},
		"move split 7 from node-1 to node-3":           {Kind: plan.Move, Node: 3, From: shape.Place{Node: 1}, Partition: -1, Split: 7},
		"delete node-3":                                {Kind: plan.Delete, Node: 3},
	} {
		if got := s.String(); got != want || !strings.HasPrefix(want, s.Kind.String()) {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

// TestStepsNameWhatTheyAreOf: a split or a partition, or neither; the state of a split, whichever it is, goes before it.
func TestStepsNameWhatTheyAreOf(t *testing.T) {
	two := []shape.Node{{Slots: 1, Lanes: 1}, {ID: 1, Slots: 1, Lanes: 1}}
	now := shape.Shape{Nodes: append(two, shape.Node{ID: 2, Slots: 1, Lanes: 1}), Splits: make([]bellows.NodeID, 2), Partitions: make([]shape.Place, 3)}
	want := shape.Decision{Shape: shape.Shape{Nodes: []shape.Node{{Slots: 1, Lanes: 1}, {ID: 1, Slots: 1, Lanes: 1}, {ID: 2, Lanes: 1}},
		Splits: []bellows.NodeID{1, 1}, Partitions: []shape.Place{{Node: 1}, {Node: 1}, {}}}, Reason: "so"}
	job := shape.Job{Tables: []int{1, 2}, Near: []int{-1, 0, 1}}
	p := plan.Between(now, want, job, plan.Sizes{})
	state := map[int]int{} // by split: the step by which its state goes
	for i, s := range p.Steps {
		switch {
		case s.Kind != plan.Move && (s.Partition != -1 || s.Split != -1), s.Kind == plan.Move && (s.Partition < 0) == (s.Split < 0):
			t.Errorf("step %d is of partition %d and split %d: %v", i, s.Partition, s.Split, &s)
		case s.Kind == plan.Move && s.Partition == 1:
			state[0] = i
		}
	}
	for i, s := range p.Steps {
		if at, moves := state[s.Split]; s.Kind == plan.Move && s.Split >= 0 && slices.Contains(s.After, at) != moves {
			t.Errorf("step %d of split %d waits for %v", i, s.Split, s.After)
		}
	}
	if len(p.Steps) != 5 || len(state) != 1 {
		t.Errorf("%d steps: %v", len(p.Steps), p.Steps)
	}
	before := slices.Clone(now.Partitions)
	s := now
	for i := range p.Steps {
		s = plan.Apply(s, &p.Steps[i])
	}
	if !reflect.DeepEqual(s, want.Shape) || !slices.Equal(now.Partitions, before) || now.Splits[0] != 0 || now.Nodes[2].Slots != 1 {
		t.Errorf("they come to %+v, and what they begin with has become %+v", s, now)
	}
}
