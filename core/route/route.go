// Package route says who owns what: which lane holds each partition (a shard, in the words of
// others), at which generation, and which node runs each split.
//
// A Route is a value: nobody changes it. Spread makes a job's first, and Next the one that follows
// it by one change, which is one record of the controller's stream (bellows.Control). So a version
// names one route of a job, everywhere, and whoever takes the records in order comes to the same
// routes; who begins later is told of the newest as a whole (Whole, Rebuilt). Cut, Number, Has and
// All are the same in all routes of a job, so that one of them will do for those.
//
// The first route is a pure function of the job, by which every node makes it for itself: nothing
// about ownership is sent as long as it stays. Turned down: the route as a whole in each record,
// sixteen bytes for each partition (docs/decisions/0031).
package route

import (
	"errors"
	"iter"
	"slices"

	"bellows"
	"bellows/link/wire"
	"bellows/table"
)

// ErrStale is the error of a pair that names an earlier owner of its partition.
var ErrStale = errors.New("it was another's")

// Owner is the lane that holds a partition and the generation at which it does.
type Owner struct {
	Lane       wire.Address
	Generation bellows.Generation
}

// Route is the ownership of all partitions and splits of a job, and who takes part in it.
//
// Invariants:
//   - An owner is one of the lanes, a split's node has one of the clients
//     (TestOnlyWhoTakesPartOwns).
//   - The lane of a partition changes only with its generation, which never falls, so that a pair
//     of partition and generation has one owner in all routes (TestAPairHasOneOwner). That is why
//     receivers judge what they are sent by the pair and not by the version: what names an old
//     generation is stale, however far behind the sender is.
//   - Lanes and clients are added behind the others, and those that are left when one is removed keep
//     their order. Who is removed owns nothing (TestOnlyWhoTakesPartOwns).
//   - A route shares with the one before what the change has left alone, and changes none of it
//     (TestNextLeavesTheRouteBeforeAsItIs).
type Route struct {
	version bellows.RouteVersion
	cuts    []table.Cut
	first   []int            // per table: the number of its partition 0 among all partitions
	owners  []Owner          // by Number
	nodes   []bellows.NodeID // per split
	until   []int            // per split: the first later one that another node runs, or the number of splits
	lanes   []wire.Address
	clients []wire.Address
}

// Lanes are the addresses of the lanes of a job whose nodes have so many each: the first of every
// node, then the second, so that a few partitions spread over nodes.
func Lanes(ofNode []int) (list []wire.Address) {
	for i, more := 0, true; more; i++ {
		more = false
		for n, count := range ofNode {
			if i < count {
				list = append(list, wire.LaneAt(bellows.NodeID(n), i))
				more = true
			}
		}
	}
	return list
}

// Clients are the addresses of the clients of some nodes.
func Clients(nodes []bellows.NodeID) (list []wire.Address) {
	for _, n := range nodes {
		list = append(list, wire.ClientAt(n))
	}
	return list
}

// Spread gives partitions to lanes and splits to nodes evenly: consecutive partitions to
// consecutive lanes, and consecutive splits to one node, so that a node's deltas make large aligned
// subtrees. All generations are 1.
func Spread(tables []table.Schema, splits int, lanes []wire.Address, nodes []bellows.NodeID) *Route {
	r := &Route{lanes: lanes}
	for i := range tables {
		c := tables[i].Cut()
		r.cuts = append(r.cuts, c)
		r.first = append(r.first, len(r.owners))
		for p := range c.Len() {
			r.owners = append(r.owners, Owner{lanes[p%len(lanes)], 1})
		}
	}
	for s := range splits {
		r.nodes = append(r.nodes, nodes[s*len(nodes)/splits])
	}
	for _, n := range nodes {
		if a := wire.ClientAt(n); !slices.Contains(r.clients, a) {
			r.clients = append(r.clients, a)
		}
	}
	r.group()
	return r
}

// group finds out which splits next to each other run on one node.
func (r *Route) group() {
	splits := len(r.nodes)
	r.until = make([]int, splits)
	for s := splits - 1; s >= 0; s-- {
		r.until[s] = s + 1
		if s+1 < splits && r.nodes[s] == r.nodes[s+1] {
			r.until[s] = r.until[s+1]
		}
	}
}

// Version is which route of its job it is: the first is 0.
func (r *Route) Version() bellows.RouteVersion { return r.version }

// Has reports whether the job has a partition. The other questions about one are for those that it
// has.
func (r *Route) Has(p bellows.PartitionRef) bool {
	return int(p.Table) < len(r.cuts) && uint64(p.Partition) < uint64(r.cuts[p.Table].Len())
}

// Runs reports whether a node runs all the splits of a subtree, of which there is at least one, and
// so may send its sum. Those beyond the job's last are nobody's.
func (r *Route) Runs(n bellows.NodeID, t wire.Subtree) bool {
	first := uint64(t.Index) << t.Level
	end := min(first+1<<t.Level, uint64(len(r.nodes)))
	return first < end && r.nodes[first] == n && uint64(r.until[first]) >= end
}

// Lanes are all lanes that take part, those that own nothing included.
func (r *Route) Lanes() []wire.Address { return r.lanes }

// Clients are all clients that take part, those that run no split included.
func (r *Route) Clients() []wire.Address { return r.clients }

// Cut is the division of a table.
func (r *Route) Cut(t bellows.TableID) table.Cut { return r.cuts[t] }

// Partitions is the number of partitions of all tables.
func (r *Route) Partitions() int { return len(r.owners) }

// All are all partitions of the job, in order.
func (r *Route) All() iter.Seq[bellows.PartitionRef] {
	return func(yield func(bellows.PartitionRef) bool) {
		for t := range r.cuts {
			for p := range r.cuts[t].Len() {
				if !yield(bellows.PartitionRef{Table: bellows.TableID(t), Partition: bellows.PartitionID(p)}) {
					return
				}
			}
		}
	}
}

// Owned is what a node has: splits that it runs, and partitions that its lanes own.
func (r *Route) Owned(n bellows.NodeID) (splits []bellows.SplitID, partitions []bellows.PartitionRef) {
	for s, at := range r.nodes {
		if at == n {
			splits = append(splits, bellows.SplitID(s))
		}
	}
	for ref := range r.All() {
		if r.Owner(ref).Lane.Node == n {
			partitions = append(partitions, ref)
		}
	}
	return splits, partitions
}

// Number is a partition's place among the partitions of all tables, by which actors have their
// lists.
func (r *Route) Number(p bellows.PartitionRef) int { return r.first[p.Table] + int(p.Partition) }

// Owner is the holder of a partition.
func (r *Route) Owner(p bellows.PartitionRef) Owner { return r.owners[r.Number(p)] }

// Node is where a split is active.
func (r *Route) Node(s bellows.SplitID) bellows.NodeID { return r.nodes[s] }

// Splits is the number of splits.
func (r *Route) Splits() int { return len(r.nodes) }
