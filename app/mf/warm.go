package mf

import (
	"math"

	"bellows/app"
	"bellows/data"
	"bellows/vec"
)

// warm is a saved model from which a run starts. Users and items that both know continue from their rows; others begin
// as in any run.
type warm struct {
	*predictor
	users, items []int32 // by id of the data: the model's number, or -1
	noise        float64 // error on held-out ratings, on the scale of the ratings; 0 where the model does not say
}

// begin reads the model that the input names, nil for none, and settles what follows from it.
func (c *config) begin(in *app.Input, v app.Values, set *data.RatingSet) (*warm, error) {
	if in.From == nil {
		return nil, nil
	}
	d, err := open(in.From)
	if err != nil {
		return nil, err
	}
	c.rank = v.Inherit("rank", d.rank)
	if d.implicit != (c.loss == lossWeighted) {
		v.Refuse("loss", "the model that the run begins with was trained with the other loss")
	}
	if c.schedule == ssp {
		v.Refuse("schedule", "only schedule=strata begins with a model")
	}
	one := &data.RatingSet{Users: set.Users, Items: set.Items, User: numbers(len(set.Users)), Item: numbers(len(set.Items))}
	w := &warm{predictor: d, noise: in.From.Metrics["test_rmse"]}
	w.users, w.items = one.IndicesIn(&d.known)
	return w, v.Err()
}

// numbers returns 0 to n-1.
func numbers(n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(i)
	}
	return out
}

// idsOf returns the ids by row.
func idsOf(a *axis) []int32 {
	ids := make([]int32, len(a.row))
	for id, row := range a.row {
		ids[row] = int32(id)
	}
	return ids
}

// start is where the rows of a run begin that has a model to begin with.
type start struct {
	*warm
	ids [2][]int32 // by table and row: number in the model, or -1
}

// newStart finds the model's numbers of the rows of the tables.
func newStart(w *warm, users, items *axis) *start {
	s := &start{warm: w}
	for tab, a := range []*axis{users, items} {
		known := w.users
		if tab == itemsTable {
			known = w.items
		}
		s.ids[tab] = idsOf(a)
		for row, id := range s.ids[tab] {
			s.ids[tab][row] = known[id]
		}
	}
	return s
}

// fill gives a row the model's values in the units of training, and says whether the model has them. The difference of the means goes to
// the biases of items.
func (s *start) fill(tab int, row int, of scale, biases bool, to []float32) bool {
	n := s.ids[tab][row]
	if n < 0 {
		return false
	}
	factors, bias := s.uf, s.ub
	if tab == itemsTable {
		factors, bias = s.qf, s.qb
	}
	own := factors[int(n)*s.rank:][:s.rank]
	if !(vec.AbsMax(own) > 0) { // without ratings
		return false
	}
	clear(to)
	copy(to, own)
	vec.Scale(float32(1/math.Sqrt(of.deviation)), to)
	if biases {
		b := float64(bias[n])
		if tab == itemsTable {
			b += float64(s.mean) - of.mean
		}
		to[s.rank] = float32(b / of.deviation)
	}
	return true
}

// schedule continues the steps where L2 is as strong as at the end of the model's run: after how many epochs that is,
// and with which noise.
func (s *start) schedule(steps *stepSchedule, deviation float64) (epoch int, noise float64) {
	noise = 1
	if s.noise > 0 {
		noise = min(1, s.noise/deviation)
	}
	l2 := s.folding.L2 / deviation
	if !(l2 > 0) || steps.l2 >= 0 || steps.recede >= 1 {
		return 0, noise
	}
	epochs := math.Log(l2/(edgePart*steps.edge*noise)) / math.Log(steps.recede)
	return int(min(max(epochs, 0), 10*unhurried)), noise
}

// headline says how many of the rows continue from the model.
func (w *warm) headline() string {
	return app.FromModel(app.Known{Of: "users", At: w.users}, app.Known{Of: "items", At: w.items})
}
