package gauge

import (
	"math"
	"slices"
)

// sample is a measured ratio, and the clocks in which it was measured.
type sample struct{ amount, per, clocks float64 }

func (s *sample) ratio() float64 { return s.amount / s.per }

// Samples that follow each other are added up to blocks, so that a report in the midst of a clock shifts little. There
// are as many blocks as a median needs.
const blocksWanted = 16

// samplesLeast is the number of samples from which a median is used.
const samplesLeast = 5

// medianOf returns the median ratio of samples in the order of time, and whether there are enough. The samples are
// overwritten.
func medianOf(list []sample) (Interval, bool) {
	if len(list) < samplesLeast {
		return Interval{}, false
	}
	each := max(1, len(list)/blocksWanted)
	ratios := make([]float64, 0, len(list)/each)
	for ; len(list) >= each; list = list[each:] {
		var sum sample
		for _, s := range list[:each] {
			sum.amount, sum.per = sum.amount+s.amount, sum.per+s.per
		}
		ratios = append(ratios, sum.ratio())
	}
	return median(ratios), true
}

// resolution is how well a figure is measured at best.
const resolution = 0.005

// median returns the median of at least one value, with bounds by order statistics: the true median is outside them in
// a share of outside at most. It sorts the values.
func median(values []float64) Interval {
	slices.Sort(values)
	n := len(values)
	k := rank(n)
	mid := (values[(n-1)/2] + values[n/2]) / 2
	wide := resolution * math.Abs(mid)
	return Interval{mid, min(values[k], mid-wide), max(values[n-1-k], mid+wide)}
}

// outside is the share of medians that may lie outside their bounds.
const outside = 0.02

// rank returns the place of the lower bound of a median among n values: the largest k for which fewer than k+1 of
// them are below the median in a share of at most outside/2. The extremes are taken if there are too few values.
func rank(n int) int {
	term := math.Pow(0.5, float64(n)) // of the binomial distribution
	below := 0.0
	for k := range n / 2 {
		if below += term; below > outside/2 {
			return max(0, k-1)
		}
		term *= float64(n-k) / float64(k+1)
	}
	return 0
}

// Limits of what counts as slow for a while.
const (
	slowRatio = 1.5 // times that of the fastest tenth
	slowRun   = 3   // samples; fewer are outliers, and a median passes over them
)

// steady returns which samples, in the order of time, are not of a node or a job that is slow for fewer than
// ClocksLeast clocks: that is a straggler.
func steady(list []sample) []bool {
	keep := make([]bool, len(list))
	sorted := make([]float64, len(list))
	for i := range list {
		keep[i], sorted[i] = true, list[i].ratio()
	}
	if len(list) < samplesLeast {
		return keep
	}
	slices.Sort(sorted)
	limit := slowRatio * sorted[len(sorted)/10]
	for i := 0; i < len(list); {
		end, clocks := i, 0.0
		for end < len(list) && list[end].ratio() > limit {
			clocks += list[end].clocks
			end++
		}
		if end-i >= slowRun && clocks < ClocksLeast && limit > 0 {
			for j := i; j < end; j++ {
				keep[j] = false
			}
		}
		i = max(end, i+1)
	}
	return keep
}

// only returns the samples that are kept.
func only(list []sample, keep []bool) []sample {
	kept := list[:0]
	for i, s := range list {
		if keep[i] {
			kept = append(kept, s)
		}
	}
	return kept
}

// scaled returns an interval times a number from 0.
func (v Interval) scaled(by float64) Interval { return Interval{v.Value * by, v.Low * by, v.High * by} }

// within returns an interval with each end moved into a range.
func (v Interval) within(least, most float64) Interval {
	cut := func(x float64) float64 { return min(max(x, least), most) }
	return Interval{cut(v.Value), cut(v.Low), cut(v.High)}
}

// plus returns the sum of two intervals.
func (v Interval) plus(o Interval) Interval {
	return Interval{v.Value + o.Value, v.Low + o.Low, v.High + o.High}
}

// joined returns the middle of at least one interval, with bounds that hold for each.
func joined(list []Interval) Interval {
	values := make([]float64, len(list))
	all := list[0]
	for i, v := range list {
		values[i] = v.Value
		all.Low, all.High = min(all.Low, v.Low), max(all.High, v.High)
	}
	slices.Sort(values)
	all.Value = (values[(len(values)-1)/2] + values[len(values)/2]) / 2
	return all
}
