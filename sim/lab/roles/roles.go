// Package roles deals the parts of a laboratory's job to nodes by their roles, and makes the route with which it begins.
package roles

import (
	"bellows"
	"bellows/core/route"
	"bellows/policy/shape"
	"bellows/table"
)

// Deal returns the shape in which nodes, the leading one first, have what a job of production gives them that can do no
// more (node.Cluster).
func Deal(nodes []shape.Node, tables []table.Schema, splits int) shape.Shape {
	var d shape.Shape
	var workers []bellows.NodeID
	var counts []int
	for _, n := range nodes {
		if counts = append(counts, n.Lanes); n.Slots > 0 {
			workers = append(workers, n.ID)
		}
		if n.Slots+n.Lanes > 0 || n.ID == 0 {
			d.Nodes = append(d.Nodes, n)
		}
	}
	lanes := route.Lanes(counts)
	if len(workers) == 0 || len(lanes) == 0 {
		return d // it is no shape
	}
	r := route.Spread(tables, splits, lanes, workers)
	for ref := range r.Each() {
		at := r.Owner(ref).Lane
		d.Partitions = append(d.Partitions, shape.Place{Node: at.Node, Lane: int(at.Index)})
	}
	for split := range bellows.SplitID(splits) {
		d.Splits = append(d.Splits, r.Node(split))
	}
	return d
}

// Route returns a job's first route with the parts where a shape has them.
func Route(r *route.Route, s *shape.Shape) (*route.Route, error) {
	whole := r.Whole()
	partition, split := 0, 0
	for i := range whole {
		switch c := &whole[i]; c.Kind {
		case bellows.MovePartition:
			at := s.Partitions[partition]
			c.Node, c.Lane = at.Node, uint16(at.Lane)
			partition++
		case bellows.MoveSplit:
			c.Node = s.Splits[split]
			split++
		}
	}
	return r.Rebuilt(r.Version(), whole)
}
