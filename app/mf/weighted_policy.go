package mf

import (
	"encoding/json"
	"math"

	"bellows"
	"bellows/app/epochs"
	"bellows/app/mf/internal/seen"
	"bellows/data"
	"bellows/model"
	"bellows/train"
	"bellows/vec"
)

// weightedPolicy is what happens between epochs of loss=weighted: the rankings of held-out pairs decide which epoch is kept and when to
// stop. It remembers nothing.
type weightedPolicy struct{ *weighted }

// Train implements epochs.Policy.
func (weightedPolicy) Train(args []float64, _ *epochs.Progress, _, _ int) []float64 { return args }

// Score implements epochs.Policy.
func (weightedPolicy) Score(*epochs.Progress, []float64) []float64 { return nil }

// End implements epochs.Policy, given the loss, and the sums of NDCG over users by held-out pairs and by those of the test.
func (c weightedPolicy) End(p *epochs.Progress, trained, scores []float64) epochs.Verdict {
	v := epochs.Verdict{Metrics: []train.Metric{{Name: "train_loss", Value: trained[0] / c.total}}, Keep: true}
	shown := 0
	if c.tested {
		shown = 1
	}
	if n := c.counts[shown]; n > 0 {
		v.Metrics = append(v.Metrics, train.Metric{Name: "test_ndcg_at_10", Value: scores[shown] / float64(n)})
	}
	held := math.NaN()
	if c.counts[0] > 0 {
		held = -scores[0] / float64(c.counts[0])
	}
	v.Keep = p.Judge(held, p.Best, true)
	return v
}

// Save implements epochs.Policy.
func (weightedPolicy) Save() []float64 { return nil }

// Restore implements epochs.Policy.
func (weightedPolicy) Restore([]float64) {}

// model turns the tables' values into tensors: rows in the order of the data's ids. Biases and the mean are 0, so that a model is read and
// predicts as one of ratings does.
func (w *weighted) model(set *data.RatingSet, settings map[string]string, tables [][]float32) (*model.Model, error) {
	unpack := func(tab int) []float32 {
		s, out := &w.sides[tab], make([]float32, len(w.sides[tab].row)*w.rank)
		for id, row := range s.row {
			copy(out[id*w.rank:(id+1)*w.rank], tables[tab][int(row)*w.width():])
		}
		return out
	}
	users, items := unpack(usersTable), unpack(itemsTable)
	for _, values := range [][]float32{users, items} {
		if !(vec.AbsMax(values) < math.MaxFloat32) {
			return nil, bellows.Errorf(bellows.BadData, "make model", name, "some factors are not finite").Hinted("set a larger l2")
		}
	}
	about, err := json.Marshal(details{L2: w.l2, Unobserved: w.unobserved})
	if err != nil {
		return nil, bellows.Errorf(bellows.Bug, "make model", name, "%w", err)
	}
	had := seen.Encode(set, seen.RowsMost)
	return &model.Model{
		App: name, Settings: settings, Details: about,
		Tensors: []model.Tensor{
			{Name: userFactors, Shape: []int{len(set.Users), w.rank}, Floats: users},
			{Name: itemFactors, Shape: []int{len(set.Items), w.rank}, Floats: items},
			{Name: userBias, Shape: []int{len(set.Users)}, Floats: make([]float32, len(set.Users))},
			{Name: itemBias, Shape: []int{len(set.Items)}, Floats: make([]float32, len(set.Items))},
			{Name: meanRating, Shape: []int{1}, Floats: make([]float32, 1)},
			{Name: seenTensor, Shape: []int{len(had)}, Bytes: had},
		},
		IDs: []model.IDs{{File: usersFile, Names: set.Users}, {File: itemsFile, Names: set.Items}},
	}, nil
}

// foldWeighted returns fold for a model of loss=weighted: the row that training would give a user with these pairs.
func (d *predictor) foldWeighted(list []given) taste {
	s, row, sum := newSystem(d.rank), make([]float64, d.rank), 0.0
	gram, a := make([]float32, d.rank*d.rank), d.folding.Unobserved
	vec.GemmTN(d.rank, d.rank, len(d.qb), float32(a), d.qf, d.rank, d.qf, d.rank, 0, gram, d.rank)
	for k, v := range gram {
		s.a[k] = float64(v)
	}
	for _, g := range list {
		if g.rating <= 0 {
			continue
		}
		for k, v := range d.item(int(g.item)) {
			row[k] = float64(v)
		}
		s.add(row, 1, 1)
		sum++
	}
	for k := range d.rank {
		s.ridge(k, d.folding.L2*(sum+a*float64(len(d.qb))))
	}
	out := taste{factors: make([]float32, d.rank)}
	for k, v := range s.solve() {
		out.factors[k] = float32(v)
	}
	return out
}
