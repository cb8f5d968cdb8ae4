package mf

import (
	"math"
	"regexp"
	"slices"
	"strconv"

	"bellows"
	"bellows/app"
	"bellows/app/mf/internal/toplist"
	"bellows/data"
	"bellows/train"
)

// rankingForm is the name of a metric of the first items of a ranking: ndcg@10, or ndcg_at_10.
var rankingForm = regexp.MustCompile(`^(ndcg|precision|recall)(?:@|_at_)([1-9][0-9]{0,5})$`)

// Examine implements app.Examiner: rmse and mae of each rating, and how good the first k items of each user's ranking are. It ranks
// all items but those that the user had in training, unless they are in the data too. An item is relevant where the data have it with a rating above
// the mean of training; where ratings mean nothing, all that the data have are. Users without a relevant item do not count, and neither do
// users and items that the model does not know.
func (d *predictor) Examine(set *data.Set, metrics []string) (*app.Examination, error) {
	if len(metrics) == 0 {
		metrics = []string{"rmse", "mae"}
		if d.implicit {
			metrics = []string{"ndcg@10", "precision@10", "recall@10"}
		}
	}
	var asked []ranking
	for _, m := range metrics {
		parts := rankingForm.FindStringSubmatch(m)
		switch {
		case parts != nil:
			k, _ := strconv.Atoi(parts[2]) // the form has digits alone
			asked = append(asked, ranking{parts[1], k, 0})
		case m != "rmse" && m != "mae":
			return nil, app.UnknownMetric(name, m, "rmse", "mae", "ndcg@10", "precision@10", "recall@10")
		}
	}
	r, err := ratings(set)
	if err != nil {
		return nil, err
	}
	user, item := d.indices(r)
	out := &app.Examination{}
	if len(asked) < len(metrics) {
		out.Metrics = slices.DeleteFunc(d.errors(user, item, r.Rating), func(m train.Metric) bool { return !slices.Contains(metrics, m.Name) })
	}
	if asked == nil {
		return out, nil
	}
	if err := d.rankAll(asked, user, item, r.Rating); err != nil {
		return nil, err
	}
	for _, a := range asked {
		out.Metrics = append(out.Metrics, train.Metric{Name: a.sort + "_at_" + strconv.Itoa(a.k), Value: a.sum})
	}
	return out, nil
}

// errors are the root of the mean squared error and the mean absolute one.
func (d *predictor) errors(user, item []int32, rating []float32) []train.Metric {
	var squares, sum float64
	d.deviations(user, item, rating, func(e float64) {
		squares += e * e
		sum += math.Abs(e)
	})
	return []train.Metric{{Name: "rmse", Value: rms(squares, len(rating))}, {Name: "mae", Value: sum / float64(max(1, len(rating)))}}
}

// ranking is a metric of rankings: the sum over users, and in the end the mean.
type ranking struct {
	sort string // ndcg, precision, recall
	k    int
	sum  float64
}

// add counts one user: which places of the ranking, from 0, have a relevant item, ascending, and how many there are.
func (a *ranking) add(hits []int, relevant int) {
	n, gain := 0, 0.0
	for _, at := range hits {
		if at < a.k {
			n++
			gain += 1 / math.Log2(float64(at)+2)
		}
	}
	switch a.sort {
	case "precision":
		a.sum += float64(n) / float64(a.k)
	case "recall":
		a.sum += float64(n) / float64(relevant)
	case "ndcg":
		a.sum += gain / idealGain(min(a.k, relevant))
	}
}

// idealGain is the discounted cumulative gain of a ranking that begins with n relevant items (Järvelin and Kekäläinen 2002, with gain
// 0 or 1).
func idealGain(n int) (gain float64) {
	for at := range n {
		gain += 1 / math.Log2(float64(at)+2)
	}
	return gain
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
		list = append(list, toplist.User{Row: int32(u), Relevant: slices.Compact(relevant[u]), Without: difference(nil, d.seen.Of(int32(u)), items[u])})
	}
	return list
}

// rankAll computes the metrics asked for.
func (d *predictor) rankAll(asked []ranking, user, item []int32, rating []float32) error {
	list := d.judge(user, item, rating)
	if list == nil {
		return bellows.Errorf(bellows.BadData, "evaluate", name, "no user whom the model knows has an item that counts as relevant: one with a rating above %g", d.mean)
	}
	r := toplist.Ranker{Rank: d.rank, Stride: d.rank, Users: d.uf, Items: d.qf, Bias: d.qb, Meter: d.meter}
	for _, a := range asked {
		r.Most = max(r.Most, a.k)
	}
	err := r.Judge(list, func(u *toplist.User, hits []int) {
		for i := range asked {
			asked[i].add(hits, len(u.Relevant))
		}
	})
	if err != nil {
		return err
	}
	for i := range asked {
		asked[i].sum /= float64(len(list))
	}
	return nil
}

// difference appends to out what of one ascending list is not in another.
func difference(out, of, other []int32) []int32 {
	for _, v := range of {
		for len(other) > 0 && other[0] < v {
			other = other[1:]
		}
		if len(other) == 0 || other[0] != v {
			out = append(out, v)
		}
	}
	return out
}
