package mf

import (
	"math"
	"slices"

	"bellows"
	"bellows/app"
	"bellows/app/mf/internal/ranked"
	"bellows/app/mf/internal/toplist"
	"bellows/data"
	"bellows/train"
)

// Examine implements app.Examiner: rmse and mae of each rating, and how good the first k items of each user's ranking are. It ranks
// all items but those that the user had in training, unless they are in the data too. An item is relevant where the data have it with a rating above
// the mean of training; where ratings mean nothing, all that the data have are. Users without a relevant item do not count, and neither do
// users and items that the model does not know.
func (d *predictor) Examine(set *data.Set, metrics []string) (*app.Examination, error) {
	metrics, asked, err := d.chosen(metrics)
	if err != nil {
		return nil, err
	}
	r, err := d.ratings(set)
	if err != nil {
		return nil, err
	}
	user, item := d.indices(r)
	out := &app.Examination{}
	if len(asked) < len(metrics) {
		e := deviation{asked: metrics}
		d.deviations(user, item, r.Rating, e.add)
		out, _ = e.Examination() // that never fails
	}
	if asked == nil {
		return out, nil
	}
	if err := d.rankAll(asked, user, item, r.Rating); err != nil {
		return nil, err
	}
	for _, a := range asked {
		out.Metrics = append(out.Metrics, train.Metric{Name: a.Name(), Value: a.Sum})
	}
	return out, nil
}

// chosen returns the metrics that are asked for, or those that mean most, and those of them that are of rankings.
func (d *predictor) chosen(metrics []string) (names []string, rankings []ranked.Metric, err error) {
	if len(metrics) == 0 {
		metrics = []string{"rmse", "mae"}
		if d.implicit {
			metrics = []string{"ndcg@10", "precision@10", "recall@10"}
		}
	}
	for _, m := range metrics {
		r, ok := ranked.Parse(m)
		switch {
		case ok:
			rankings = append(rankings, r)
		case m != "rmse" && m != "mae":
			return nil, nil, app.UnknownMetric(name, m, "rmse", "mae", "ndcg@10", "precision@10", "recall@10")
		}
	}
	return metrics, rankings, nil
}

// Count implements app.Counter. Rankings are judged by all that the data have of a user, so that they need all rows.
func (d *predictor) Count(metrics []string) (app.Counting, error) {
	names, rankings, err := d.chosen(metrics)
	if err != nil || rankings != nil {
		return nil, err
	}
	return &deviation{asked: names}, nil
}

// deviation counts how far ratings are from their predictions.
type deviation struct {
	asked        []string
	rows         int
	squares, sum float64
}

func (e *deviation) add(d float64) {
	e.rows++
	e.squares += d * d
	e.sum += math.Abs(d)
}

// Step implements app.Counting.
func (e *deviation) Step() int { return 16 * scoreStep }

// Scorer implements app.Counting.
func (e *deviation) Scorer(by app.Predictor, set *data.Set) (app.Scorer, error) {
	d := by.(*predictor)
	r, err := d.ratings(set)
	if err != nil {
		return nil, err
	}
	user, item := d.indices(r)
	off := make([]float64, min(e.Step(), len(user)))
	return func(lo, hi int) (func(), error) {
		for j := lo; j < hi; j++ {
			off[j-lo] = float64(r.Rating[j]) - float64(d.rating(user[j], item[j]))
		}
		return func() {
			for _, v := range off[:hi-lo] {
				e.add(v)
			}
		}, nil
	}, nil
}

// Examination implements app.Counting: the root of the mean squared error, and the mean absolute one.
func (e *deviation) Examination() (*app.Examination, error) {
	out := &app.Examination{}
	for _, m := range []train.Metric{{Name: "rmse", Value: rms(e.squares, e.rows)}, {Name: "mae", Value: e.sum / float64(max(1, e.rows))}} {
		if slices.Contains(e.asked, m.Name) {
			out.Metrics = append(out.Metrics, m)
		}
	}
	return out, nil
}

// judge groups the rows by user: those with a relevant item, and what each has seen without the items that the data have.
func (d *predictor) judge(user, item []int32, rating []float32) []toplist.User {
	items, relevant := make([][]int32, len(d.ub)), make([][]int32, len(d.ub))
	least, bare := d.mean, d.implicit && len(rating) > 0 && impliesNothing(rating)
	for r, u := range user {
		if u < 0 || item[r] < 0 {
			continue
		}
		items[u] = append(items[u], item[r])
		if bare || rating[r] > least {
			relevant[u] = append(relevant[u], item[r])
		}
	}
	var list []toplist.User
	for u := range items {
		if len(relevant[u]) == 0 {
			continue
		}
		slices.Sort(items[u])
		slices.Sort(relevant[u])
		list = append(list, toplist.User{Row: int32(u), Relevant: slices.Compact(relevant[u]), Without: ranked.Difference(nil, d.seen.Lookup(int32(u)), items[u])})
	}
	return list
}

// rankAll computes the metrics asked for.
func (d *predictor) rankAll(asked []ranked.Metric, user, item []int32, rating []float32) error {
	list := d.judge(user, item, rating)
	if list == nil {
		return bellows.Errorf(bellows.BadData, "evaluate", name, "no known user has a relevant item: one with a rating above %.9g", d.folding.Origin+float64(d.mean))
	}
	r := toplist.Ranker{Rank: d.rank, Stride: d.rank, Users: d.uf, Items: d.qf, Bias: d.qb, Meter: d.meter}
	for _, a := range asked {
		r.Most = max(r.Most, a.K)
	}
	err := r.Judge(list, func(u *toplist.User, hits []int) {
		for i := range asked {
			asked[i].Add(hits, len(u.Relevant))
		}
	})
	if err != nil {
		return err
	}
	for i := range asked {
		asked[i].Sum /= float64(len(list))
	}
	return nil
}
