package account

import (
	"fmt"

	"bellows"
	"bellows/core/route"
	"bellows/link/wire"
)

// History is who has owned which partition behind which record, and where the state is that was on its way, from messages alone.
type History struct {
	routes []routeAt              // each route, with the record that made it
	came   []bellows.CommitNumber // by partition: the record whose last piece its lane has been given
	late   []bellows.CommitNumber // likewise, behind the word that who sent it is gone: a lane that has closed upon that has not taken it
	shown  [][]bellows.Generation // by node and partition: the newest of which the node has had rows
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

// Forget takes back what records behind one have made: nobody has them any more.
func (h *History) Forget(after bellows.CommitNumber) { h.routes = h.routes[:h.place(after)+1] }

// At returns the route after a record.
func (h *History) At(n bellows.CommitNumber) *route.Route { return h.routes[h.place(n)].route }

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

// Newest reports whether rows for a node are of the newest owner of which it has had any.
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

// Came takes note of the last piece of a partition, whose owner a record has made who got it; late: behind the word that who sent it is gone.
func (h *History) Came(ref bellows.PartitionRef, n bellows.CommitNumber, late bool) {
	to := &h.came[h.routes[0].route.Number(ref)]
	if late {
		to = &h.late[h.routes[0].route.Number(ref)]
	}
	*to = max(*to, n)
}

// Late reports whether the state of a partition has come late to who owns it behind a record: it has it then, or not.
func (h *History) Late(n bellows.CommitNumber, ref bellows.PartitionRef) bool {
	i := h.gained(n, ref)
	return i > 0 && h.late[h.routes[0].route.Number(ref)] >= h.routes[i].number
}

// gained returns the place of the route by which who owns a partition behind a record has got it.
func (h *History) gained(n bellows.CommitNumber, ref bellows.PartitionRef) int {
	i := h.place(n)
	g := h.routes[i].route.Owner(ref).Generation
	for i > 0 && h.routes[i-1].route.Owner(ref).Generation == g {
		i--
	}
	return i
}

// Awaits reports whether the state of a partition has not come to who owns it behind a record, and from whom it was to come.
func (h *History) Awaits(n bellows.CommitNumber, ref bellows.PartitionRef) (from wire.Address, awaits bool) {
	i := h.gained(n, ref)
	if i == 0 || h.came[h.routes[0].route.Number(ref)] >= h.routes[i].number {
		return from, false
	}
	return h.routes[i-1].route.Owner(ref).Lane, true
}

// Unfit sees that no route follows by a change that does not fit. nobody is a node that takes no part.
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
