// Package route maps each partition to its lane and generation and each split to its node, and makes the next map from
// one change. A partition is called a shard in other systems.
//
// A Route is a value that is never changed. Spread makes a job's first route. Next makes the following one by one
// change, which is one record of the controller's stream (bellows.Control). So a version names the same route of a
// job at every node, and a node that takes the records in order comes to the same routes. A node that begins later
// receives the newest route as a whole (Whole, Rebuilt). Cut, Number, Has and All are the same in all routes of a
// job, so any of them answers those.
//
// The first route is a pure function of the job, so every node makes it itself: nothing about ownership is sent until
// it changes. Rejected: the whole route in each record, sixteen bytes for each partition (docs/decisions/0031).
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

// Route is the ownership of all partitions and splits of a job, and the list of actors that take part in it.
//
// Invariants:
//   - An owner is one of the lanes, a split's node has one of the clients
//     (TestOnlyWhoTakesPartOwns).
//   - The lane of a partition changes only with its generation, which never falls, so that a pair
//     of partition and generation has one owner in all routes (TestAPairHasOneOwner). That is why
//     receivers judge a message by the pair and not by the version: a message that names an old
//     generation is stale, however old the sender's route is.
//   - Lanes and clients are added at the end, and those that are left when one is removed keep
//     their order. A removed one owns nothing (TestOnlyWhoTakesPartOwns).
//   - A route shares with the previous one what the change has left alone, and changes none of it
//     (TestNextLeavesPreviousRouteUnchanged).
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

// Lanes returns the addresses of the lanes of a job, where node n has ofNode[n]: the first lane of every node, then
// the second, so that a few partitions spread over nodes.
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

// Clients returns the addresses of the clients of some nodes.
func Clients(nodes []bellows.NodeID) (list []wire.Address) {
	for _, n := range nodes {
		list = append(list, wire.ClientAt(n))
	}
	return list
}

// Spread gives partitions to lanes and splits to nodes evenly: consecutive partitions to
// consecutive lanes, and consecutive splits to one node, so that a node's deltas make large aligned
// subtrees. If there are more nodes than splits, the last ones hold none. A partition of one split goes to the node of
// that split (table.Schema.BySplit). All generations are 1.
func Spread(tables []table.Schema, splits int, lanes []wire.Address, nodes []bellows.NodeID) *Route {
	r := &Route{lanes: lanes}
	holders := min(len(nodes), splits)
	for s := range splits {
		r.nodes = append(r.nodes, nodes[s*holders/splits])
	}
	for i := range tables {
		c := tables[i].Cut()
		r.cuts = append(r.cuts, c)
		r.first = append(r.first, len(r.owners))
		for p := range c.Len() {
			r.owners = append(r.owners, Owner{r.firstLane(&tables[i], p), 1})
		}
	}
	for _, n := range nodes {
		if a := wire.ClientAt(n); !slices.Contains(r.clients, a) {
			r.clients = append(r.clients, a)
		}
	}
	r.group()
	return r
}

// firstLane returns the first owner of a partition.
func (r *Route) firstLane(s *table.Schema, p int) wire.Address {
	if s.BySplit && p < len(r.nodes) {
		local := slices.DeleteFunc(slices.Clone(r.lanes), func(a wire.Address) bool { return a.Node != r.nodes[p] })
		if len(local) > 0 {
			return local[p%len(local)]
		}
	}
	return r.lanes[p%len(r.lanes)]
}

// group finds the runs of splits that run on one node.
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

// Version returns the number of the route in its job: the first is 0.
func (r *Route) Version() bellows.RouteVersion { return r.version }

// Contains reports whether the job has a partition. The other methods take only partitions that it has.
func (r *Route) Contains(p bellows.PartitionRef) bool {
	return int(p.Table) < len(r.cuts) && uint64(p.Partition) < uint64(r.cuts[p.Table].Len())
}

// Runs reports whether a node runs all the splits of a subtree, which has at least one, and so may send its sum.
// Splits after the job's last belong to no node.
func (r *Route) Runs(n bellows.NodeID, t wire.Subtree) bool {
	first := uint64(t.Index) << t.Level
	end := min(first+1<<t.Level, uint64(len(r.nodes)))
	return first < end && r.nodes[first] == n && uint64(r.until[first]) >= end
}

// Lanes returns all lanes that take part, those that own nothing included.
func (r *Route) Lanes() []wire.Address { return r.lanes }

// Clients returns all clients that take part, those that run no split included.
func (r *Route) Clients() []wire.Address { return r.clients }

// Cut returns the division of a table.
func (r *Route) Cut(t bellows.TableID) table.Cut { return r.cuts[t] }

// Partitions returns the number of partitions of all tables.
func (r *Route) Partitions() int { return len(r.owners) }

// Each returns all partitions of the job, in order.
func (r *Route) Each() iter.Seq[bellows.PartitionRef] {
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

// Owned returns the splits that a node runs, and the partitions that its lanes own.
func (r *Route) Owned(n bellows.NodeID) (splits []bellows.SplitID, partitions []bellows.PartitionRef) {
	for s, at := range r.nodes {
		if at == n {
			splits = append(splits, bellows.SplitID(s))
		}
	}
	for ref := range r.Each() {
		if r.Owner(ref).Lane.Node == n {
			partitions = append(partitions, ref)
		}
	}
	return splits, partitions
}

// Number returns a partition's place among the partitions of all tables, by which actors have their lists.
func (r *Route) Number(p bellows.PartitionRef) int { return r.first[p.Table] + int(p.Partition) }

// Owner returns the holder of a partition.
func (r *Route) Owner(p bellows.PartitionRef) Owner { return r.owners[r.Number(p)] }

// Node returns the node that runs a split.
func (r *Route) Node(s bellows.SplitID) bellows.NodeID { return r.nodes[s] }

// Splits returns the number of splits.
func (r *Route) Splits() int { return len(r.nodes) }
