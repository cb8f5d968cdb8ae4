package account

import (
	"fmt"

	"bellows"
	"bellows/core/route"
	"bellows/link/wire"
)

// A History holds which lane owned each partition after each record, and where the state of a moving partition is. It
// knows this from messages alone.
type History struct {
	routes []routeAt              // each route, with the record that made it
	came   []bellows.CommitNumber // by partition: the last record with a final piece that its lane has been given
	// also by partition: the last piece came after the lane heard that its sender was lost; a lane that closed then has
	// not taken it
	late  []bellows.CommitNumber
	shown [][]bellows.Generation // by node and partition: the newest generation that sent the node rows
}

// routeAt is a route from a record on.
type routeAt struct {
	number bellows.CommitNumber
	route  *route.Route
}

// NewHistory begins with a job's first route.
func NewHistory(r *route.Route) History {
	return History{routes: []routeAt{{0, r}}, came: make([]bellows.CommitNumber, r.Partitions()), late: make([]bellows.CommitNumber, r.Partitions())}
}

// Last returns the newest route, and the record that made it.
func (h *History) Last() (bellows.CommitNumber, *route.Route) {
	last := &h.routes[len(h.routes)-1]
	return last.number, last.route
}

// Made takes note of the next route.
func (h *History) Made(n bellows.CommitNumber, r *route.Route) {
	h.routes = append(h.routes, routeAt{n, r})
}

// Forget removes the routes that records after one have made: no node has these records any more.
func (h *History) Forget(after bellows.CommitNumber) { h.routes = h.routes[:h.place(after)+1] }

// RouteAt returns the route after a record.
func (h *History) RouteAt(n bellows.CommitNumber) *route.Route { return h.routes[h.place(n)].route }

func (h *History) place(n bellows.CommitNumber) int {
	i := len(h.routes) - 1
	for h.routes[i].number > n {
		i--
	}
	return i
}

// Owner returns the lane of a pair; false: no route has had it.
func (h *History) Owner(p wire.Pair) (wire.Address, bool) {
	for i := len(h.routes) - 1; i >= 0; i-- {
		if o := h.routes[i].route.Owner(p.Ref); o.Generation == p.Generation {
			return o.Lane, true
		}
	}
	return wire.Address{}, false
}

// Newest reports whether rows for a node come from the newest owner that has sent it any.
func (h *History) Newest(n bellows.NodeID, p wire.Pair) bool {
	for len(h.shown) <= int(n) {
		h.shown = append(h.shown, make([]bellows.Generation, len(h.came)))
	}
	was := &h.shown[n][h.routes[0].route.Number(p.Ref)]
	if p.Generation < *was {
		return false
	}
	*was = p.Generation
	return true
}

// Came records that the last piece of a partition came to the lane that owns it by record n. late: it came after the
// word that its sender is lost.
func (h *History) Came(ref bellows.PartitionRef, n bellows.CommitNumber, late bool) {
	to := &h.came[h.routes[0].route.Number(ref)]
	if late {
		to = &h.late[h.routes[0].route.Number(ref)]
	}
	*to = max(*to, n)
}

// Late reports whether the state of a partition came late to its owner after a record: the owner may have it or not.
func (h *History) Late(n bellows.CommitNumber, ref bellows.PartitionRef) bool {
	i := h.gained(n, ref)
	return i > 0 && h.late[h.routes[0].route.Number(ref)] >= h.routes[i].number
}

// gained returns the place of the route by which the owner after a record got the partition.
func (h *History) gained(n bellows.CommitNumber, ref bellows.PartitionRef) int {
	i := h.place(n)
	g := h.routes[i].route.Owner(ref).Generation
	for i > 0 && h.routes[i-1].route.Owner(ref).Generation == g {
		i--
	}
	return i
}

// Awaits reports whether the owner after a record still waits for the state of a partition, and which lane sends it.
func (h *History) Awaits(n bellows.CommitNumber, ref bellows.PartitionRef) (from wire.Address, awaits bool) {
	i := h.gained(n, ref)
	if i == 0 || h.came[h.routes[0].route.Number(ref)] >= h.routes[i].number {
		return from, false
	}
	return h.routes[i-1].route.Owner(ref).Lane, true
}

// Unfit returns an error if a route follows by a change that does not fit. nobody is a node that takes no part.
func Unfit(r *route.Route, splits int, nobody bellows.NodeID) error {
	owner, runner := r.Owner(bellows.PartitionRef{}).Lane, r.Node(0)
	for _, c := range []bellows.Control{r.MoveSplit(bellows.SplitID(splits), runner), r.MoveSplit(0, nobody), r.RemoveLane(owner, owner), r.RemoveClient(runner, owner),
		r.MovePartition(bellows.PartitionRef{}, wire.LaneAt(nobody, 0))} {
		if next, err := r.Next(c); err == nil {
			return fmt.Errorf("P5: route %d follows by %+v", next.Version(), c)
		}
	}
	return nil
}

// RanLast returns the splits that a node ran which is lost by the newest record: they went to others by those before it.
func (h *History) RanLast(n bellows.NodeID) (splits []bellows.SplitID) {
	for i := len(h.routes) - 2; i > 0; i-- {
		was := len(splits)
		for s := range bellows.SplitID(h.routes[i].route.Splits()) {
			if h.routes[i-1].route.Node(s) == n && h.routes[i].route.Node(s) != n {
				splits = append(splits, s)
			}
		}
		if len(splits) == was {
			break
		}
	}
	return splits
}
