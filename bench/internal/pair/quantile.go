package pair

import (
	"fmt"
	"math"
	"slices"
)

// Quantile is a quantile of some figures, with an interval that holds that of their distribution, whichever it is, in at least 95 of 100
// cases: between two of the sorted figures, by the binomial distribution of how many lie below. An end that so few figures cannot
// give is the least or the most of them, and Whole says that this is so.
type Quantile struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Count int     `json:"count"`
	Whole bool    `json:"too_few,omitempty"` // for such an interval
}

// Median returns the quantile in the middle.
func Median(figures []float64) Quantile { return QuantileOf(0.5, figures) }

// QuantileOf sorts a copy of the figures. None gives zeros. part is between 0 and 1, as 0.99.
func QuantileOf(part float64, figures []float64) Quantile {
	n := len(figures)
	if n == 0 {
		return Quantile{Whole: true}
	}
	s := slices.Sorted(slices.Values(figures))
	q := Quantile{Value: between(s, part), Count: n}
	low, high := -1, n // of s: at most 1 of 40 distributions has its quantile below s[low], and as many above s[high]
	sum := 0.0         // the chance that at most so many figures lie below the quantile
	for below := 0; below <= n; below++ {
		if sum += binomial(n, below, part); sum <= 0.025 {
			low = below
		}
		if high == n && sum >= 0.975 {
			high = below
		}
	}
	q.Whole = low < 0 || high >= n
	q.Low, q.High = s[max(low, 0)], s[min(high, n-1)]
	return q
}

// between returns the quantile of sorted figures; of an even number the one in the middle lies between two.
func between(s []float64, part float64) float64 {
	at := part * float64(len(s))
	if i := int(at); part == 0.5 && len(s)%2 == 0 {
		return (s[i-1] + s[i]) / 2
	}
	return s[min(int(at), len(s)-1)]
}

// binomial returns the probability of k out of n, each with probability p.
func binomial(n, k int, p float64) float64 {
	all, _ := math.Lgamma(float64(n + 1))
	some, _ := math.Lgamma(float64(k + 1))
	rest, _ := math.Lgamma(float64(n - k + 1))
	return math.Exp(all - some - rest + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
}

// String implements fmt.Stringer.
func (q Quantile) String() string {
	note := ""
	if q.Whole {
		note = ", least and most: too few for an interval"
	}
	return fmt.Sprintf("%.4g (%.4g to %.4g%s)", q.Value, q.Low, q.High, note)
}
