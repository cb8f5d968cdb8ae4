package moving

import (
	"bellows"
	"bellows/core/route"
	"bellows/link/wire"
)

// History is the routes of a job, each with the record that made it.
type History struct{ list []routeAt }

// routeAt is a route from a record on.
type routeAt struct {
	number bellows.CommitNumber
	route  *route.Route
}

// Begin is the history of a job that begins.
func Begin(r *route.Route) History { return History{[]routeAt{{0, r}}} }

// Add takes in the route that a record makes.
func (h *History) Add(n bellows.CommitNumber, r *route.Route) { h.list = append(h.list, routeAt{n, r}) }

// Newest is the record that made the newest route.
func (h *History) Newest() bellows.CommitNumber { return h.list[len(h.list)-1].number }

// At is the route behind a record.
func (h *History) At(n bellows.CommitNumber) *route.Route { return h.list[h.place(n)].route }

func (h *History) place(n bellows.CommitNumber) int {
	i := len(h.list) - 1
	for h.list[i].number > n {
		i--
	}
	return i
}

// Owner is the lane of a pair; false: no route has had it.
func (h *History) Owner(p wire.Pair) (wire.Address, bool) {
	for i := len(h.list) - 1; i >= 0; i-- {
		if o := h.list[i].route.Owner(p.Ref); o.Generation == p.Generation {
			return o.Lane, true
		}
	}
	return wire.Address{}, false
}

// From reports whether the state of a partition has not come to who owns it behind a record, of which the newest that has come is as of a
// record, too, and from whom it was to come.
func (h *History) From(n bellows.CommitNumber, ref bellows.PartitionRef, came bellows.CommitNumber) (from wire.Address, awaits bool) {
	i := h.place(n)
	g := h.list[i].route.Owner(ref).Generation
	for i > 0 && h.list[i-1].route.Owner(ref).Generation == g {
		i--
	}
	if i == 0 || came >= h.list[i].number {
		return from, false
	}
	return h.list[i-1].route.Owner(ref).Lane, true
}

// RanLast are the splits that a node ran which is lost by the newest record: they went to others by those before it.
func (h *History) RanLast(n bellows.NodeID) (splits []bellows.SplitID) {
	for i := len(h.list) - 2; i > 0; i-- {
		was := len(splits)
		for s := range bellows.SplitID(h.list[i].route.Splits()) {
			if h.list[i-1].route.Node(s) == n && h.list[i].route.Node(s) != n {
				splits = append(splits, s)
			}
		}
		if len(splits) == was {
			break
		}
	}
	return splits
}
