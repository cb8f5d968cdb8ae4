package shape

import (
	"cmp"
	"fmt"
	"slices"

	"bellows"
)

// Even deals a job's parts to the wanted nodes, as EPS does (§3.2, §3.3), whose round-robin arrives at the same counts
// with more moves. A part that may stay where it is stays there.
//
// Numbers of splits differ by at most one between nodes that run tasks. Numbers of partitions differ by at most one
// between nodes that hold them; so do those of each table, and those of the lanes of a node (TestEvenAfterAnyChanges).
// No deal of the same counts moves fewer (TestEvenMovesNoMoreThanItMust). A partition that is near a split goes where
// that runs, if partitions can be there, and does not count there.
//
// A node with too many gives those of the highest numbers, so that the parts of both nodes are consecutive: sums over
// consecutive splits of a node travel as one.
func Even(now Snapshot) (Decision, error) {
	nodes, err := Resize(now.Nodes, now.Hosts, now.Want)
	if err != nil {
		return Decision{}, err
	}
	return Deal(now, nodes)
}

// Deal works like Even, with the nodes and their roles already decided.
func Deal(now Snapshot, nodes []Node) (Decision, error) { return now.dealTo(nodes, nil) }

// Shares are the weights by which nodes get splits and partitions. A node that is not among them has the mean weight of
// the others. One with weight 0 gets nothing; others that run tasks get a split at least, if there are enough. Partitions
// that follow a split do not count.
type Shares struct{ Splits, Partitions map[bellows.NodeID]int }

// Shares returns the numbers of parts that the shape gives to nodes, as weights.
func (s *Shape) Shares(job *Job) *Shares {
	shares := &Shares{map[bellows.NodeID]int{}, map[bellows.NodeID]int{}}
	for _, n := range workersOf(s.Nodes) {
		shares.Splits[n] = 0
	}
	for _, n := range serversOf(s.Nodes) {
		shares.Partitions[n] = 0
	}
	for _, n := range s.Splits {
		shares.Splits[n]++
	}
	for p, at := range s.Partitions {
		if _, follows := job.follows(p, s); !follows {
			shares.Partitions[at.Node]++
		}
	}
	return shares
}

// DealShares works like Deal, in proportion to shares, which may be uneven. If the weights of splits are numbers of all
// splits, nodes get these. The shares of partitions are those of all tables: each table is dealt in the same
// proportions. Where no node of a role has a weight, all get as much.
func DealShares(now Snapshot, nodes []Node, shares Shares) (Decision, error) {
	return now.dealTo(nodes, &shares)
}

// Redeal deals a decision anew to other nodes, in the proportions in which it was dealt.
func (d *Decision) Redeal(now Snapshot, nodes []Node) (Decision, error) {
	return now.dealTo(nodes, d.Shares)
}

func (s *Snapshot) dealTo(nodes []Node, shares *Shares) (Decision, error) {
	if err := validNodes(nodes); err != nil {
		return Decision{}, err
	}
	if err := s.checkStay(nodes); err != nil {
		return Decision{}, err
	}
	return Decision{s.deal(nodes, shares), s.resized(nodes), shares}, nil
}

// checkStay refuses nodes and roles that are impossible if splits stay: a node that runs some must continue, and a new node
// would have none.
func (s *Snapshot) checkStay(nodes []Node) error {
	if s.Stays == "" {
		return nil
	}
	for p, n := range s.Splits {
		if at, found := find(nodes, n); !found || nodes[at].Slots == 0 {
			return fmt.Errorf("split %d cannot go from node-%d to another node: %s, and cannot be saved", p, n, s.Stays)
		}
	}
	for _, n := range nodes {
		if was, _ := s.Node(n.ID); n.Slots > 0 && was.Slots == 0 && !slices.Contains(s.Splits, n.ID) {
			return fmt.Errorf("a worker that comes would have nothing to run: the job's splits stay where they are, since %s, and cannot be saved", s.Stays)
		}
	}
	return nil
}

// deal returns what Even deals over some nodes, or what DealShares does.
func (s *Snapshot) deal(nodes []Node, shares *Shares) Shape {
	want := Shape{Nodes: nodes}
	want.Splits = s.Splits
	switch {
	case s.Stays != "":
	case shares == nil:
		want.Splits = dealTo(s.Splits, workersOf(nodes), make(map[bellows.NodeID]int))
	default:
		workers := workersOf(nodes)
		quota := quotaOf(shares.Splits, workers, len(s.Splits), make(map[bellows.NodeID]float64))
		for _, n := range workers {
			if weight, known := shares.Splits[n]; quota[n] == 0 && (weight > 0 || !known) {
				takeOne(quota, workers, n)
			}
		}
		want.Splits = dealQuota(s.Splits, workers, quota)
	}
	want.Partitions = dealPartitions(s.Job, s.Shape, &want, shares)
	return want
}

// takeOne gives a node a part of the one with the most, if that keeps one.
func takeOne(quota map[bellows.NodeID]int, nodes []bellows.NodeID, to bellows.NodeID) {
	most := slices.MaxFunc(nodes, func(a, b bellows.NodeID) int { return cmp.Compare(quota[a], quota[b]) })
	if quota[most] > 1 {
		quota[most], quota[to] = quota[most]-1, quota[to]+1
	}
}

func workersOf(nodes []Node) []bellows.NodeID {
	return ids(nodes, func(n Node) bool { return n.Slots > 0 })
}

func serversOf(nodes []Node) []bellows.NodeID {
	return ids(nodes, func(n Node) bool { return n.Lanes > 0 })
}

func ids(nodes []Node, which func(Node) bool) (list []bellows.NodeID) {
	for _, n := range nodes {
		if which(n) {
			list = append(list, n.ID)
		}
	}
	return list
}

// dealPartitions deals the partitions: table by table, so that each is spread, to nodes first, and
// those of a node to its lanes.
func dealPartitions(job Job, now Shape, want *Shape, shares *Shares) []Place {
	carried := make(map[bellows.NodeID]float64) // by shares: parts of a partition that a node has missed so far
	to := slices.Clone(now.Partitions)
	load := make(map[bellows.NodeID]int) // of all tables so far
	lanes := make(map[Place]int)
	first := 0
	for _, count := range job.Tables {
		var free []int // partitions of the table that are near nothing
		for p := first; p < first+count; p++ {
			if at, ok := job.follows(p, want); ok {
				to[p].Node = at
			} else {
				free = append(free, p)
			}
		}
		owners := make([]bellows.NodeID, len(free))
		for i, p := range free {
			owners[i] = now.Partitions[p].Node
		}
		servers := serversOf(want.Nodes)
		if shares == nil {
			owners = dealTo(owners, servers, load)
		} else {
			owners = dealQuota(owners, servers, quotaOf(shares.Partitions, servers, len(free), carried))
		}
		for i, p := range free {
			to[p].Node = owners[i]
		}
		toLanes(now.Partitions[first:first+count], to[first:first+count], want, lanes)
		first += count
	}
	return to
}

// follows returns where a partition goes that is near a split, if it can.
func (j *Job) follows(p int, want *Shape) (bellows.NodeID, bool) {
	s := j.near(p)
	if s < 0 {
		return 0, false
	}
	n, found := want.Node(want.Splits[s])
	return n.ID, found && n.Lanes > 0
}

// toLanes deals a table's partitions of each node over its lanes. load counts those of the tables
// before.
func toLanes(now, to []Place, want *Shape, load map[Place]int) {
	for _, n := range want.Nodes {
		var mine []int
		for p := range to {
			if to[p].Node == n.ID {
				mine = append(mine, p)
			}
		}
		lanes, at := make([]bellows.NodeID, n.Lanes), make([]bellows.NodeID, len(mine))
		for i := range lanes {
			lanes[i] = bellows.NodeID(i)
		}
		for i, p := range mine {
			at[i] = none
			if now[p].Node == n.ID {
				at[i] = bellows.NodeID(now[p].Lane)
			}
		}
		of := make(map[bellows.NodeID]int, n.Lanes)
		for i := range lanes {
			of[lanes[i]] = load[Place{n.ID, i}]
		}
		at = dealTo(at, lanes, of)
		for i, p := range mine {
			to[p].Lane = int(at[i])
		}
		for i := range lanes {
			load[Place{n.ID, i}] = of[lanes[i]]
		}
	}
}

// none is no node: such a part is dealt anew.
const none = ^bellows.NodeID(0)

// dealTo gives each part to one of the holders. load counts what these already have from earlier deals, and grows by
// what they get: as long as its numbers differ by at most one they still do. Each gets the same number of parts. The
// remaining ones go one each to the holders with the least load, and among those to the ones that now have most of
// these parts.
func dealTo(owners []bellows.NodeID, among []bellows.NodeID, load map[bellows.NodeID]int) []bellows.NodeID {
	has := make(map[bellows.NodeID]int, len(among))
	for _, o := range owners {
		has[o]++
	}
	quota := make(map[bellows.NodeID]int, len(among))
	order := slices.Clone(among)
	slices.SortStableFunc(order, func(a, b bellows.NodeID) int {
		return cmp.Or(cmp.Compare(load[a], load[b]), cmp.Compare(has[b], has[a]))
	})
	for i, n := range order {
		quota[n] = len(owners) / len(among)
		if i < len(owners)%len(among) {
			quota[n]++
		}
		load[n] += quota[n]
	}
	return dealQuota(owners, among, quota)
}

// quotaOf returns how many parts nodes get by weight, rounded so that errors do not add up over several calls.
func quotaOf(weights map[bellows.NodeID]int, nodes []bellows.NodeID, parts int, carried map[bellows.NodeID]float64) map[bellows.NodeID]int {
	sum, known, left := 0.0, 0.0, parts
	for _, n := range nodes {
		if w, found := weights[n]; found {
			sum, known = sum+float64(w), known+1
		}
	}
	mean, all := 1.0, float64(len(nodes))
	if sum > 0 {
		mean, all = sum/known, sum+sum/known*(all-known)
	}
	share := func(n bellows.NodeID) float64 {
		if w, found := weights[n]; found && sum > 0 {
			return float64(w) / all
		}
		return mean / all
	}
	quota := make(map[bellows.NodeID]int, len(nodes))
	for _, n := range nodes {
		carried[n] += float64(parts) * share(n)
		quota[n] = max(0, int(carried[n]+rounding))
		carried[n] -= float64(quota[n])
		left -= quota[n]
	}
	order := slices.Clone(nodes)
	slices.SortStableFunc(order, func(a, b bellows.NodeID) int { return cmp.Compare(carried[b], carried[a]) })
	for i := 0; left > 0; i, left = (i+1)%len(order), left-1 {
		quota[order[i]]++
		carried[order[i]]--
	}
	for i := len(order) - 1; left < 0; i = (i + len(order) - 1) % len(order) {
		if n := order[i]; quota[n] > 0 {
			quota[n], left = quota[n]-1, left+1
			carried[n]++
		}
	}
	return quota
}

// rounding is what a sum of parts may lack of a whole one.
const rounding = 1e-9

// dealQuota gives each part to one of the holders, so that each has as many as its quota says. Those that may stay do.
func dealQuota(owners, among []bellows.NodeID, quota map[bellows.NodeID]int) []bellows.NodeID {
	to := slices.Clone(owners)
	var spare []int
	for i, o := range to {
		if quota[o] > 0 {
			quota[o]--
		} else {
			spare = append(spare, i)
		}
	}
	for _, n := range among {
		for ; quota[n] > 0; quota[n]-- {
			to[spare[0]] = n
			spare = spare[1:]
		}
	}
	return to
}
