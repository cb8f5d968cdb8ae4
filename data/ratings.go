package data

import "bellows/data/internal/lines"

// ratings returns the columns of ratings. The ids of all workers are numbered by first appearance.
func (r *reader) ratings(starts []int) *RatingSet {
	c := r.columns
	out := &RatingSet{User: c.User, Item: c.Item, Rating: c.Rating}
	var userTables, itemTables [][]int32
	out.Users, userTables = r.merge(func(w *worker) *lines.IDs { return &w.Users })
	out.Items, itemTables = r.merge(func(w *worker) *lines.IDs { return &w.Items })
	r.eachPiece(func(n int, p *piece) {
		from, end := starts[n], starts[n]+p.rows
		translate(out.User[from:end], out.User[from:end], userTables[p.worker])
		translate(out.Item[from:end], out.Item[from:end], itemTables[p.worker])
	})
	return out
}
