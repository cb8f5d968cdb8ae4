package route_test

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core/route"
	"bellows/link/wire"
	"bellows/table"
)

var (
	threeTables = []table.Schema{{Name: "a", Rows: 10, Width: 1, Partitions: 5}, {Name: "b", Rows: 7, Width: 1, Partitions: 7}}
	firstLanes  = []wire.Address{{Role: wire.Lane}, {Node: 1, Role: wire.Lane}}
)

// changes draws changes that fit, and some that do not, and follows those that do.
func changes(seed uint64, r *route.Route, each func(before, after *route.Route, c bellows.Control)) *route.Route {
	rng := rand.New(rand.NewPCG(seed, 2))
	for range 60 {
		var c bellows.Control
		switch rng.IntN(6) {
		case 0:
			c = r.AddLane(wire.Address{Node: bellows.NodeID(rng.IntN(6)), Role: wire.Lane, Index: uint16(rng.IntN(2))})
		case 1:
			c = r.AddClient(bellows.NodeID(rng.IntN(9)))
		case 2:
			c = r.MovePartition(bellows.PartitionRef{Table: 1, Partition: bellows.PartitionID(rng.IntN(7))}, r.Lanes()[rng.IntN(len(r.Lanes()))])
		case 3:
			c = r.MoveSplit(bellows.SplitID(rng.IntN(8)), r.Clients()[rng.IntN(len(r.Clients()))].Node)
		case 4:
			c = r.RemoveLane(r.Lanes()[rng.IntN(len(r.Lanes()))], r.Lanes()[rng.IntN(len(r.Lanes()))])
		case 5:
			c = r.RemoveClient(r.Clients()[rng.IntN(len(r.Clients()))].Node, r.Lanes()[rng.IntN(len(r.Lanes()))])
		}
		after, err := r.Next(c)
		if err != nil {
			continue
		}
		each(r, after, c)
		r = after
	}
	return r
}

func TestNextLeavesPreviousRouteUnchanged(t *testing.T) {
	for seed := range uint64(20) {
		first := route.Spread(threeTables, 8, firstLanes, []bellows.NodeID{4, 5})
		changes(seed, first, func(before, after *route.Route, c bellows.Control) {
			if after.Version() != before.Version()+1 {
				t.Fatalf("version %d follows %d", after.Version(), before.Version())
			}
			again, err := before.Next(c)
			if err != nil || !reflect.DeepEqual(again, after) {
				t.Fatalf("seed %d: %+v of the same route makes another one the second time (%v)", seed, c, err)
			}
		})
		if !reflect.DeepEqual(first, route.Spread(threeTables, 8, firstLanes, []bellows.NodeID{4, 5})) {
			t.Fatalf("seed %d: the first route has changed", seed)
		}
	}
}

func TestAPairHasOneOwner(t *testing.T) {
	for seed := range uint64(50) {
		first := route.Spread(threeTables, 8, firstLanes, []bellows.NodeID{4, 5})
		owner := map[wire.Pair]wire.Address{}
		changes(seed, first, func(before, after *route.Route, c bellows.Control) {
			for p := range after.Each() {
				o := after.Owner(p)
				pair := wire.Pair{Ref: p, Generation: o.Generation}
				if was, known := owner[pair]; known && was != o.Lane {
					t.Fatalf("seed %d: %+v is owned by %v, and by %v", seed, pair, was, o.Lane)
				}
				owner[pair] = o.Lane
				if o.Generation < before.Owner(p).Generation {
					t.Fatalf("seed %d: the generation of %v falls", seed, p)
				}
			}
		})
	}
}

func TestOnlyWhoTakesPartOwns(t *testing.T) {
	for seed := range uint64(50) {
		first := route.Spread(threeTables, 8, firstLanes, []bellows.NodeID{4, 5})
		changes(seed, first, func(before, after *route.Route, c bellows.Control) {
			for p := range after.Each() {
				if !slices.Contains(after.Lanes(), after.Owner(p).Lane) {
					t.Fatalf("seed %d: %v is owned by %v, which takes no part", seed, p, after.Owner(p).Lane)
				}
			}
			for s := range after.Splits() {
				at := wire.Subtree{Index: uint32(s)}
				n := after.Node(bellows.SplitID(s))
				if !slices.Contains(after.Clients(), wire.Address{Node: n}) || !after.Runs(n, at) {
					t.Fatalf("seed %d: split %d is run by node %d", seed, s, n)
				}
			}
			if c.Kind == bellows.RemoveLane || c.Kind == bellows.RemoveClient {
				who, _ := after.Removed(c)
				if slices.Contains(after.Lanes(), who) || slices.Contains(after.Clients(), who) || !slices.Contains(after.Lanes(), after.Heir(c)) {
					t.Fatalf("seed %d: %v takes part still, or its heir %v does not", seed, who, after.Heir(c))
				}
				return
			}
			for i, a := range before.Lanes() {
				if after.Lanes()[i] != a {
					t.Fatalf("seed %d: lanes change their places", seed)
				}
			}
		})
	}
}

func TestTheWholeMakesTheSameRoute(t *testing.T) {
	for seed := range uint64(50) {
		first := route.Spread(threeTables, 8, firstLanes, []bellows.NodeID{4, 5})
		last := changes(seed, first, func(_, _ *route.Route, _ bellows.Control) {})
		other := route.Spread(threeTables, 8, []wire.Address{{Node: 7, Role: wire.Lane}}, []bellows.NodeID{7})
		again, err := other.Rebuilt(last.Version(), last.Whole())
		if err != nil || !reflect.DeepEqual(again, last) {
			t.Fatalf("seed %d: %v: rebuilt as %+v, not %+v", seed, err, again, last)
		}
		for i, c := range last.Whole() {
			if c.Kind == bellows.AddLane || c.Kind == bellows.AddClient {
				continue // one that owns nothing is not missed
			}
			if _, err := other.Rebuilt(last.Version(), slices.Delete(last.Whole(), i, i+1)); err == nil {
				t.Errorf("seed %d: the whole without %+v is one", seed, c)
			}
		}
	}
}

func TestUnfitChangeIsRefused(t *testing.T) {
	r := route.Spread(threeTables, 8, firstLanes, []bellows.NodeID{4, 5})
	nowhere := wire.Address{Node: 3, Role: wire.Lane}
	for want, c := range map[string]bellows.Control{
		"takes part already":              r.AddLane(firstLanes[1]),
		"node 5 takes part":               r.AddClient(5),
		"takes no part":                   r.MovePartition(bellows.PartitionRef{}, nowhere),
		"behind which 1 is not":           {Kind: bellows.MovePartition, Route: 1, Generation: 1},
		"there is no partition":           {Kind: bellows.MovePartition, Route: 1, Table: 1, Partition: 7, Generation: 2},
		"there is no split 8":             r.MoveSplit(8, 4),
		"runs no tasks":                   r.MoveSplit(7, 6),
		"control 1 changes no ro":         {Kind: bellows.KeepTables, Route: 1},
		"lane 0 of node 3 takes no part":  r.RemoveLane(nowhere, firstLanes[0]),
		"holds a partition":               r.RemoveLane(firstLanes[0], firstLanes[1]),
		"node 5 runs a split":             r.RemoveClient(5, firstLanes[0]),
		"node 6 takes no part":            r.RemoveClient(6, firstLanes[0]),
		"route 2 does not follow route 0": {Kind: bellows.AddClient, Route: 2, Node: 6},
	} {
		if next, err := r.Next(c); err == nil || next != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", c, err, want)
		}
	}
}
