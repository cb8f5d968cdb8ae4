package mf

import (
	"math"
	"regexp"
	"slices"
	"strconv"

	"bellows"
	"bellows/app"
	"bellows/data"
	"bellows/progress"
	"bellows/train"
	"bellows/vec"
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
	user, item := r.IndicesIn(&d.known)
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
	for j, want := range rating {
		if !d.goesOn(j, len(rating)) {
			break
		}
		e := float64(want) - float64(d.rating(user[j], item[j]))
		squares += e * e
		sum += math.Abs(e)
	}
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

// judged is what the data have of a user: items, ascending, and those of them that are relevant.
type judged struct{ items, relevant []int32 }

// judge groups the rows by user.
func (d *predictor) judge(user, item []int32, rating []float32) []judged {
	list := make([]judged, len(d.ub))
	for r, u := range user {
		if u < 0 || item[r] < 0 {
			continue
		}
		list[u].items = append(list[u].items, item[r])
		if rating[r] > d.mean {
			list[u].relevant = append(list[u].relevant, item[r])
		}
	}
	for _, j := range list {
		slices.Sort(j.items)
		slices.Sort(j.relevant)
	}
	return list
}

// Users are ranked for some at a time, and items scored some at a time, so that scores are one product of matrices and stay in the cache.
const (
	rankUsers = 32
	rankItems = 1024
)

// rankAll computes the metrics asked for.
func (d *predictor) rankAll(asked []ranking, user, item []int32, rating []float32) error {
	list, most, users := d.judge(user, item, rating), 0, []int32(nil)
	for _, a := range asked {
		most = max(most, a.k)
	}
	for u, j := range list {
		if len(j.relevant) > 0 {
			users = append(users, int32(u))
		}
	}
	if users == nil {
		return bellows.Errorf(bellows.BadData, "evaluate", name, "no user whom the model knows has an item that counts as relevant: one with a rating above %g", d.mean)
	}
	scores, factors := make([]float32, rankUsers*rankItems), make([]float32, rankUsers*d.rank)
	tops, without := make([]top, rankUsers), make([][]int32, rankUsers)
	d.meter.Begin(progress.Part{Doing: "ranking all items", Unit: "users", Total: int64(len(users))})
	for some := range slices.Chunk(users, rankUsers) {
		if err := d.meter.Add(int64(len(some))); err != nil {
			return err
		}
		for k, u := range some {
			copy(factors[k*d.rank:], d.uf[int(u)*d.rank:][:d.rank])
			tops[k] = top{most: most, heap: tops[k].heap[:0]}
			without[k] = difference(without[k][:0], d.seen.of(u), list[u].items)
		}
		for first := 0; first < len(d.qb); first += rankItems {
			n := min(rankItems, len(d.qb)-first)
			vec.GemmNT(len(some), n, d.rank, 1, factors, d.rank, d.qf[first*d.rank:], d.rank, 0, scores, rankItems)
			for k := range some {
				row := scores[k*rankItems:][:n]
				vec.Add(d.qb[first:first+n], row)
				tops[k].offerAll(row, int32(first), without[k])
			}
		}
		for k, u := range some {
			var hits []int
			for at, s := range tops[k].sorted() {
				if _, ok := slices.BinarySearch(list[u].relevant, s.item); ok {
					hits = append(hits, at)
				}
			}
			for i := range asked {
				asked[i].add(hits, len(list[u].relevant))
			}
		}
	}
	for i := range asked {
		asked[i].sum /= float64(len(users))
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
