// Package ranked measures how good the first items of a user's ranking are: NDCG, precision and recall.
//
// The caller's duties, in order: Parse the name of a metric; Add each user; divide Sum by their number. The package knows no users and no items.
package ranked

import (
	"math"
	"regexp"
	"strconv"
)

// form is the name of a metric of the first items of a ranking: ndcg@10, or ndcg_at_10.
var form = regexp.MustCompile(`^(ndcg|precision|recall)(?:@|_at_)([1-9][0-9]{0,5})$`)

// Metric is a metric of rankings: the sum over users, and in the end the mean.
type Metric struct {
	Sort string // ndcg, precision, recall
	K    int    // the first of so many items
	Sum  float64
}

// Parse returns the metric of a name.
func Parse(name string) (m Metric, ok bool) {
	parts := form.FindStringSubmatch(name)
	if parts == nil {
		return Metric{}, false
	}
	k, _ := strconv.Atoi(parts[2]) // the form has digits alone
	return Metric{parts[1], k, 0}, true
}

// Name returns how it is called in a report.
func (a *Metric) Name() string { return a.Sort + "_at_" + strconv.Itoa(a.K) }

// Add counts one user: which places of the ranking, from 0, have a relevant item, ascending, and how many there are.
func (a *Metric) Add(hits []int, relevant int) {
	n, gain := 0, 0.0
	for _, at := range hits {
		if at < a.K {
			n++
			gain += 1 / math.Log2(float64(at)+2)
		}
	}
	switch a.Sort {
	case "precision":
		a.Sum += float64(n) / float64(a.K)
	case "recall":
		a.Sum += float64(n) / float64(relevant)
	case "ndcg":
		a.Sum += gain / idealGain(min(a.K, relevant))
	}
}

// idealGain returns the discounted cumulative gain of a ranking that begins with n relevant items (Järvelin and
// Kekäläinen 2002, with gain 0 or 1).
func idealGain(n int) (gain float64) {
	for at := range n {
		gain += 1 / math.Log2(float64(at)+2)
	}
	return gain
}

// Difference appends to out what of one ascending list is not in another.
func Difference(out, of, other []int32) []int32 {
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
