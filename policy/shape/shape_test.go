package shape_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/internal/require"
	"bellows/policy/shape"
)

// start returns a job on one node.
func start(rng *rand.Rand) shape.Snapshot {
	var s shape.Snapshot
	s.Shape.Nodes = []shape.Node{{Slots: 2, Lanes: 1 + rng.IntN(3)}}
	s.Shape.Splits = make([]bellows.NodeID, 1+rng.IntN(40))
	for range 1 + rng.IntN(4) {
		s.Tables = append(s.Tables, 1+rng.IntN(30))
	}
	if rng.IntN(2) == 0 { // one more is the splits' state
		s.Tables = append(s.Tables, len(s.Splits))
	}
	for t, n := range s.Tables {
		for p := range n {
			s.Partitions = append(s.Partitions, shape.Place{Lane: p % s.Shape.Nodes[0].Lanes})
			near := -1
			if t > 0 && t == len(s.Tables)-1 && n == len(s.Splits) {
				near = p
			}
			s.Near = append(s.Near, near)
		}
	}
	s.Want = shape.Want{Workers: 1, Servers: 1, Slots: 2, Lanes: s.Shape.Nodes[0].Lanes, Beside: true, Next: 1}
	return s
}

// ask draws a random request.
func ask(rng *rand.Rand, s *shape.Snapshot) {
	s.Want.Workers, s.Want.Servers, s.Want.Beside = 1+rng.IntN(6), 1+rng.IntN(4), rng.IntN(2) == 0
	s.Want.Leaves = nil
	for _, n := range s.Nodes {
		if n.ID != s.Want.Stays && rng.IntN(6) == 0 {
			s.Want.Leaves = append(s.Want.Leaves, n.ID)
		}
		s.Want.Next = max(s.Want.Next, n.ID+1)
	}
}

// spread returns the greatest difference between the numbers of some holders.
func spread[K comparable](among []K, of []K) int {
	count := map[K]int{}
	for _, k := range of {
		count[k]++
	}
	least, most := len(of), 0
	for _, k := range among {
		least, most = min(least, count[k]), max(most, count[k])
	}
	return most - least
}

func TestEvenAfterAnyChanges(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		s := start(rng)
		for range 12 {
			ask(rng, &s)
			d, err := shape.Even(s)
			if err != nil {
				t.Fatalf("seed %d: %+v: %v", seed, s.Want, err)
			}
			if err := d.Validate(); err != nil || d.Reason == "" {
				t.Fatalf("seed %d: %v, %q", seed, err, d.Reason)
			}
			checkEven(t, seed, &s, &d.Shape)
			s.Shape = d.Shape
		}
	}
}

func checkEven(t *testing.T, seed uint64, s *shape.Snapshot, got *shape.Shape) {
	t.Helper()
	var workers, servers []bellows.NodeID
	for _, n := range got.Nodes {
		if n.Slots > 0 {
			workers = append(workers, n.ID)
		}
		if n.Lanes > 0 {
			servers = append(servers, n.ID)
		}
		if slices.Contains(s.Want.Leaves, n.ID) {
			t.Fatalf("seed %d: node %d has not left", seed, n.ID)
		}
	}
	if len(workers) != s.Want.Workers || !s.Want.Beside && len(servers) != s.Want.Servers {
		t.Fatalf("seed %d: %d workers and %d servers for %+v", seed, len(workers), len(servers), s.Want)
	}
	if d := spread(workers, got.Splits); d > 1 {
		t.Fatalf("seed %d: numbers of splits differ by %d", seed, d)
	}
	var all []bellows.NodeID // of partitions that are near nothing
	first := 0
	for i, count := range s.Tables {
		var table []bellows.NodeID
		for p := first; p < first+count; p++ {
			at := got.Partitions[p].Node
			split := s.Near[p]
			if n, _ := got.Node(at); split >= 0 {
				if w, _ := got.Node(got.Splits[split]); w.Lanes > 0 && n.ID != w.ID {
					t.Fatalf("seed %d: partition %d is at node %d, its split %d at node %d", seed, p, at, split, w.ID)
				} else if w.Lanes > 0 {
					continue
				}
			}
			table = append(table, at)
		}
		if d := spread(servers, table); d > 1 {
			t.Fatalf("seed %d: numbers of partitions of table %d differ by %d", seed, i, d)
		}
		all = append(all, table...)
		first += count
	}
	if d := spread(servers, all); d > 1 {
		t.Fatalf("seed %d: numbers of partitions differ by %d", seed, d)
	}
	for _, n := range got.Nodes {
		var lanes, of []int
		for i := range n.Lanes {
			lanes = append(lanes, i)
		}
		for _, at := range got.Partitions {
			if at.Node == n.ID {
				of = append(of, at.Lane)
			}
		}
		if d := spread(lanes, of); n.Lanes > 0 && d > 1 {
			t.Fatalf("seed %d: numbers of partitions of the lanes of node %d differ by %d", seed, n.ID, d)
		}
	}
}

// TestEvenMovesNoMoreThanItMust counts moves of splits: for given counts, a node with too many gives exactly the
// excess.
func TestEvenMovesNoMoreThanItMust(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 2))
		s := start(rng)
		for range 8 {
			ask(rng, &s)
			d, err := shape.Even(s)
			require.NoError(t, err)
			had, has, moved := map[bellows.NodeID]int{}, map[bellows.NodeID]int{}, 0
			for i := range s.Splits {
				had[s.Splits[i]]++
				has[d.Splits[i]]++
				if s.Splits[i] != d.Splits[i] {
					moved++
				}
			}
			must := 0
			for n := range had {
				must += max(0, had[n]-has[n])
			}
			if moved != must {
				t.Fatalf("seed %d: %d splits move, %d must", seed, moved, must)
			}
			floor := len(s.Splits) / s.Want.Workers // a node that stays with more than the floor keeps a left-over split, if there is one
			for n, more := range had {
				if w, there := d.Node(n); there && w.Slots > 0 && more > floor && has[n] == floor {
					for m, now := range has {
						if now > floor && had[m] <= floor {
							t.Fatalf("seed %d: node %d gives a split to node %d, which would be as even at home", seed, n, m)
						}
					}
				}
			}
			s.Shape = d.Shape
		}
	}
}

func TestAPolicyIsAFunction(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 3))
		s := start(rng)
		for range 6 {
			ask(rng, &s)
			for name, p := range map[string]shape.Policy{"even": shape.Even, "add": shape.AddOne(seed), "delete": shape.DeleteOne(seed), "random": shape.Random(seed, 4)} {
				before := fmt.Sprintf("%+v", s)
				a, err := p(s)
				b, again := p(s)
				if name != "even" && name != "random" {
					s.Want.Leaves = nil
				}
				if fmt.Sprint(err) != fmt.Sprint(again) || !reflect.DeepEqual(a, b) || name == "even" && before != fmt.Sprintf("%+v", s) {
					t.Fatalf("seed %d: %s makes %v (%v) and then %v (%v)", seed, name, a, err, b, again)
				}
				if err == nil && a.Validate() != nil {
					t.Fatalf("seed %d: %s: %v", seed, name, a.Validate())
				}
			}
			d, err := shape.Random(rng.Uint64(), 3)(s)
			require.NoError(t, err)
			s.Shape = d.Shape
		}
	}
}

func TestOneIsAddedAndOneIsDeleted(t *testing.T) {
	up, down := 0, 0
	for seed := range uint64(40) {
		s := start(rand.New(rand.NewPCG(seed, 4)))
		s.Want.Beside = false
		more, err := shape.AddOne(seed)(s)
		if err != nil || len(more.Nodes) != 2 {
			t.Fatalf("seed %d: %+v, %v", seed, more.Nodes, err)
		}
		up++
		s.Shape = more.Shape
		s.Want.Next = 2
		less, err := shape.DeleteOne(seed)(s)
		require.NoError(t, err)
		if len(less.Nodes) == 1 {
			down++
		}
	}
	if up != 40 || down < 20 {
		t.Errorf("%d have grown and %d shrunk again", up, down)
	}
}

// TestARoleIsSwitched checks that a node too many in one role serves in the other, and that no node comes or goes.
func TestARoleIsSwitched(t *testing.T) {
	now := []shape.Node{{ID: 0, Lanes: 1}, {ID: 1, Slots: 2}, {ID: 2, Slots: 2}, {ID: 5, Slots: 2}}
	got, err := shape.Resize(now, nil, shape.Want{Workers: 2, Servers: 2, Slots: 2, Lanes: 1, Next: 6})
	if want := []shape.Node{{ID: 0, Lanes: 1}, {ID: 1, Slots: 2}, {ID: 2, Slots: 2}, {ID: 5, Lanes: 1}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	got, err = shape.Resize(now, nil, shape.Want{Workers: 3, Servers: 1, Slots: 2, Lanes: 1, Next: 6, Leaves: []bellows.NodeID{2}})
	if want := []shape.Node{{ID: 0, Lanes: 1}, {ID: 1, Slots: 2}, {ID: 5, Slots: 2}, {ID: 6, Slots: 2}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
}

func TestInvalidWantsAreRefused(t *testing.T) {
	now := []shape.Node{{ID: 0, Lanes: 1, Slots: 1}, {ID: 1, Slots: 2}}
	for want, w := range map[string]shape.Want{
		"there must be one of each": {Workers: 0, Servers: 1, Slots: 1, Lanes: 1},
		"with 0 lanes each":         {Workers: 1, Servers: 1, Slots: 1},
		"leads the job":             {Workers: 1, Servers: 1, Slots: 1, Lanes: 1, Leaves: []bellows.NodeID{0}},
		"there is no node 7":        {Workers: 1, Servers: 1, Slots: 1, Lanes: 1, Leaves: []bellows.NodeID{7}},
	} {
		if got, err := shape.Resize(now, nil, w); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v makes %+v, %v; want %q", w, got, err, want)
		}
	}
}

func TestInvalidShapesAreRefused(t *testing.T) {
	ok := shape.Shape{Nodes: []shape.Node{{ID: 1, Slots: 1}, {ID: 2, Lanes: 2}}, Partitions: []shape.Place{{Node: 2, Lane: 1}}, Splits: []bellows.NodeID{1}}
	require.NoError(t, ok.Validate())
	for want, spoil := range map[string]func(s *shape.Shape){
		"lane 2 of node 2":        func(s *shape.Shape) { s.Partitions = []shape.Place{{Node: 2, Lane: 2}} },
		"lane 0 of node 1":        func(s *shape.Shape) { s.Partitions = []shape.Place{{Node: 1}} },
		"runs no tasks":           func(s *shape.Shape) { s.Splits = []bellows.NodeID{2} },
		"comes behind":            func(s *shape.Shape) { s.Nodes = []shape.Node{{ID: 2, Lanes: 2}, {ID: 1, Slots: 1}} },
		"1 hold partitions":       func(s *shape.Shape) { s.Nodes = []shape.Node{{ID: 2, Lanes: 2}} },
		"-1 compute slots":        func(s *shape.Shape) { s.Nodes = []shape.Node{{ID: 1, Slots: -1}, {ID: 2, Lanes: 2}} },
		"partition 0 is at lane ": func(s *shape.Shape) { s.Partitions = []shape.Place{{Node: 9}} },
	} {
		s := ok
		spoil(&s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", s, err, want)
		}
	}
}

// TestTheLeaderKeepsItsRoles: a node that leads and does nothing else does not get to work when more is wanted, in whatever way.
func TestTheLeaderKeepsItsRoles(t *testing.T) {
	t.Parallel()
	for _, beside := range []bool{false, true} {
		now := []shape.Node{{ID: 0}, {ID: 1, Slots: 1, Lanes: 1}}
		nodes, err := shape.Resize(now, nil, shape.Want{Workers: 3, Servers: 3, Slots: 2, Lanes: 2, Beside: beside, Next: 2})
		if err != nil || nodes[0] != now[0] {
			t.Errorf("beside %v: node 0 becomes %+v, %v", beside, nodes, err)
		}
	}
}

// TestNodesOfOtherRoles checks that a worker holds partitions only if all workers do, and that a node with one role
// does not get the other.
func TestNodesOfOtherRoles(t *testing.T) {
	leads, worker, server := shape.Node{Slots: 1, Lanes: 1}, shape.Node{ID: 1, Slots: 1}, shape.Node{ID: 2, Lanes: 1}
	for name, c := range map[string]struct {
		now  []shape.Node
		want shape.Want
		then []shape.Node
	}{
		"a server beside one that does both": {[]shape.Node{leads, worker}, shape.Want{Workers: 3, Servers: 2}, []shape.Node{leads, worker, {ID: 9, Slots: 1}, {ID: 10, Lanes: 1}}},
		"a server is no worker":              {[]shape.Node{leads, server}, shape.Want{Workers: 2, Servers: 2}, []shape.Node{leads, server, {ID: 9, Slots: 1}}},
		"nor a worker a server":              {[]shape.Node{leads, worker}, shape.Want{Workers: 2, Servers: 2}, []shape.Node{leads, worker, {ID: 9, Lanes: 1}}},
		"all do both":                        {[]shape.Node{leads, worker, server}, shape.Want{Workers: 4, Beside: true}, []shape.Node{leads, {ID: 1, Slots: 1, Lanes: 1}, {ID: 2, Slots: 1, Lanes: 1}, {ID: 9, Slots: 1, Lanes: 1}}},
		"one is switched":                    {[]shape.Node{leads, worker, {ID: 3, Slots: 1}}, shape.Want{Workers: 2, Servers: 2}, []shape.Node{leads, worker, {ID: 3, Lanes: 1}}},
	} {
		c.want.Slots, c.want.Lanes, c.want.Next = 1, 1, 9
		if got, err := shape.Resize(c.now, nil, c.want); err != nil || !slices.Equal(got, c.then) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, c.then)
		}
	}
}

// TestReasonsSayWhatChanges: numbers that are not those there are, and nodes that leave.
func TestReasonsSayWhatChanges(t *testing.T) {
	for name, c := range map[string]struct {
		want   shape.Want
		reason string
	}{
		"nothing":   {shape.Want{Workers: 3, Servers: 2}, "what there is is spread evenly"},
		"a worker":  {shape.Want{Workers: 4, Servers: 2}, "4 workers and 2 servers are wanted, there are 3 and 2"},
		"a server":  {shape.Want{Workers: 3, Servers: 3}, "3 workers and 3 servers are wanted, there are 3 and 2"},
		"one comes": {shape.Want{Workers: 3, Servers: 2, Leaves: []bellows.NodeID{1}}, "3 workers and 2 servers are wanted, there are 3 and 2, node-1 to leave"},
	} {
		s := shape.Snapshot{Job: shape.Job{Tables: []int{2}, Near: []int{-1, -1}}, Want: c.want}
		s.Nodes = []shape.Node{{Slots: 1, Lanes: 1}, {ID: 1, Slots: 1}, {ID: 2, Slots: 1}, {ID: 3, Lanes: 1}}
		s.Splits, s.Partitions = make([]bellows.NodeID, 4), make([]shape.Place, 2)
		s.Want.Slots, s.Want.Lanes, s.Want.Next = 1, 1, 9
		if d, err := shape.Even(s); err != nil || d.Reason != c.reason {
			t.Errorf("%s: %q, %v, want %q", name, d.Reason, err, c.reason)
		}
	}
}

// TestPlacesThatAreNotThereAreRefused.
func TestPlacesThatAreNotThereAreRefused(t *testing.T) {
	for at, right := range map[shape.Place]bool{{}: true, {Node: 1, Lane: 1}: true, {Lane: 1}: false, {Node: 1, Lane: 2}: false, {Node: 1, Lane: -1}: false, {Node: 2}: false, {Node: 2, Lane: -1}: false} {
		s := shape.Shape{Nodes: []shape.Node{{Slots: 1, Lanes: 1}, {ID: 1, Lanes: 2}}, Splits: []bellows.NodeID{0}, Partitions: []shape.Place{at}}
		if err := s.Validate(); (err == nil) != right {
			t.Errorf("%+v: %v", at, err)
		}
	}
	for at, right := range map[bellows.NodeID]bool{0: true, 1: false, 2: false} {
		s := shape.Shape{Nodes: []shape.Node{{Slots: 1, Lanes: 1}, {ID: 1, Lanes: 2}}, Splits: []bellows.NodeID{at}}
		if err := s.Validate(); (err == nil) != right {
			t.Errorf("a split at node %d: %v", at, err)
		}
	}
}

// TestDealSharesGivesQuotas: each node gets its splits, and of each table its share of partitions, within one; what may
// stay does.
func TestDealSharesGivesQuotas(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 3))
		nodes := []shape.Node{
			{ID: 1, Slots: 1, Lanes: 1}, {ID: 2, Slots: 1, Lanes: 1}, {ID: 5, Slots: 1, Lanes: 1}, {ID: 7, Slots: 2, Lanes: 2},
		}
		now := shape.Snapshot{Job: shape.Job{Tables: []int{1 + rng.IntN(9), 1 + rng.IntN(9), 1 + rng.IntN(9)}}}
		now.Nodes = nodes
		shares, all := shape.Shares{Splits: map[bellows.NodeID]int{}, Partitions: map[bellows.NodeID]int{}}, 0
		for _, n := range nodes {
			shares.Splits[n.ID], shares.Partitions[n.ID] = rng.IntN(5), rng.IntN(5)
			all += shares.Partitions[n.ID]
			for range shares.Splits[n.ID] {
				now.Splits = append(now.Splits, nodes[rng.IntN(len(nodes))].ID)
			}
		}
		if all == 0 {
			continue
		}
		for _, n := range now.Tables {
			for range n {
				at := nodes[rng.IntN(len(nodes))]
				now.Partitions = append(now.Partitions, shape.Place{Node: at.ID, Lane: rng.IntN(at.Lanes)})
			}
		}
		d, err := shape.DealShares(now, nodes, shares)
		if err != nil || d.Validate() != nil {
			t.Fatalf("seed %d: %v, %v", seed, err, d.Validate())
		}
		splits, parts := map[bellows.NodeID]int{}, map[bellows.NodeID]int{}
		for _, n := range d.Splits {
			splits[n]++
		}
		for _, p := range d.Partitions {
			parts[p.Node]++
		}
		for _, n := range nodes {
			want := float64(len(d.Partitions)) * float64(shares.Partitions[n.ID]) / float64(all)
			if got := float64(parts[n.ID]); splits[n.ID] != shares.Splits[n.ID] || got < want-1 || got > want+1 {
				t.Errorf("seed %d: node %d has %d splits and %g partitions of %g", seed, n.ID, splits[n.ID], got, want)
			}
		}
		again, err := shape.DealShares(shape.Snapshot{Job: now.Job, Shape: d.Shape}, nodes, shares)
		if err != nil || !slices.Equal(again.Splits, d.Splits) || !slices.Equal(again.Partitions, d.Partitions) {
			t.Errorf("seed %d: what is as wanted moves", seed)
		}
	}
}

// TestRedealKeepsProportions: nodes that remain share the parts of one that left in proportion, a node that came gets the
// mean, and one without a share gets nothing.
func TestRedealKeepsProportions(t *testing.T) {
	t.Parallel()
	node := func(id bellows.NodeID) shape.Node { return shape.Node{ID: id, Slots: 1, Lanes: 1} }
	now := shape.Snapshot{Job: shape.Job{Tables: []int{12, 24}}}
	now.Nodes, now.Splits = []shape.Node{node(0)}, make([]bellows.NodeID, 36)
	now.Partitions = make([]shape.Place, 36)
	shares := shape.Shares{
		Splits:     map[bellows.NodeID]int{1: 12, 2: 6, 3: 18, 4: 0},
		Partitions: map[bellows.NodeID]int{1: 6, 2: 12, 3: 18, 4: 0},
	}
	d, err := shape.DealShares(now, []shape.Node{node(1), node(2), node(3), node(4)}, shares)
	require.NoError(t, err)
	if got := d.Shape.Shares(&now.Job); !reflect.DeepEqual(*got, shares) {
		t.Errorf("it deals %+v", got)
	}
	for _, c := range []struct {
		what               string
		nodes              []bellows.NodeID
		splits, partitions []int
	}{
		{"one left", []bellows.NodeID{1, 2, 4}, []int{24, 12, 0}, []int{12, 24, 0}},
		{"one came", []bellows.NodeID{1, 2, 5}, []int{16, 8, 12}, []int{8, 16, 12}},
		{"all others left", []bellows.NodeID{4, 5}, []int{18, 18}, []int{18, 18}},
	} {
		var nodes []shape.Node
		for _, id := range c.nodes {
			nodes = append(nodes, node(id))
		}
		again, err := d.Redeal(now, nodes)
		require.NoError(t, err)
		require.NoError(t, again.Validate())
		got := again.Shape.Shares(&now.Job)
		for i, id := range c.nodes {
			if got.Splits[id] != c.splits[i] || got.Partitions[id] != c.partitions[i] {
				t.Errorf("%s: %+v", c.what, got)
			}
		}
	}
}
