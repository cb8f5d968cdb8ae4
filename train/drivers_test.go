package train_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/table"
	"bellows/train"
	"bellows/train/traintest"
)

func oneItem(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{End: 1} }

// resultOf returns what the executors of these tests signal: as many numbers as the split's, in some clocks none.
func resultOf(u bellows.Unit) []float64 {
	r := make([]float64, (int(u.Split)+int(u.Clock))%3)
	for i := range r {
		r[i] = float64(u.Split) + float64(u.Clock)/100 + float64(i)/10
	}
	return r
}

// withSplits returns a job of a number of splits.
func withSplits(splits int, fresh func() train.Driver) traintest.Job {
	return traintest.Job{Job: train.Job{Tables: []table.Schema{{Name: "t", Rows: 4, Width: 1}}, Splits: splits,
		Items: oneItem}, Fresh: fresh, Result: resultOf}
}

func TestClocksCanBeSaved(t *testing.T) {
	t.Parallel()
	traintest.CanBeSaved(t, withSplits(3, func() train.Driver { return &train.Clocks{Splits: 3, Count: 4} }))
}

// TestClocksThatReportCanBeSaved: epochs and an early end are the same after every record, with one unit for a clock
// and with several.
func TestClocksThatReportCanBeSaved(t *testing.T) {
	t.Parallel()
	for _, j := range []traintest.Job{withSplits(1, nil), withSplits(4, nil), divided(withSplits(3, nil))} {
		for _, last := range []int{1, 9} {
			j.Fresh = func() train.Driver {
				return &train.Clocks{Splits: j.Splits, Count: 6,
					Each: func(clock int, results [][]float64) ([]train.Metric, bool) {
						sum := 0.0
						for s, r := range results {
							sum += float64(s+1) * (float64(len(r)) + sumOf(r))
						}
						return []train.Metric{{Name: "sum", Value: sum}}, clock < last
					}}
			}
			traintest.CanBeSaved(t, j)
		}
	}
}

func sumOf(list []float64) (sum float64) {
	for _, x := range list {
		sum += x
	}
	return sum
}

// divided returns a job whose clocks are divided into up to three units.
func divided(j traintest.Job) traintest.Job {
	j.Items = func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{End: 9} }
	j.Units = func(s bellows.SplitID, c bellows.Clock) int { return 1 + (int(s)+int(c))%3 }
	j.Result = func(u bellows.Unit) []float64 {
		if u.Items.Begin > 0 && (u.Split+bellows.SplitID(u.Clock))%2 == 0 {
			return nil
		}
		return []float64{float64(u.Split), float64(u.Clock), float64(u.Items.Begin)}
	}
	return j
}

// TestClocksDispatchOncePerClock divides clocks into units: the next clock follows the last of them.
func TestClocksDispatchOncePerClock(t *testing.T) {
	t.Parallel()
	traintest.CanBeSaved(t, divided(withSplits(3, func() train.Driver { return &train.Clocks{Splits: 3, Count: 4} })))
}

// TestRoundsGatherTheResultsOfUnits divides clocks into units: a split's result is that of its units, in their order.
func TestRoundsGatherTheResultsOfUnits(t *testing.T) {
	t.Parallel()
	j := divided(withSplits(3, nil))
	j.Fresh = func() train.Driver {
		return &train.Rounds{Splits: 3, Each: func(round int, results [][]float64, _ *train.Dispatcher) bool {
			for s, got := range results {
				var want []float64
				for i, n := 0, j.Units(bellows.SplitID(s), bellows.Clock(round)); i < n; i++ {
					want = append(want, j.Result(bellows.Unit{Split: bellows.SplitID(s), Clock: bellows.Clock(round),
						Items: bellows.Range{End: 9}.Part(i, n)})...)
				}
				if !slices.Equal(got, want) {
					t.Errorf("round %d: the units of split %d have signalled %v, and %v is told", round, s, want, got)
				}
			}
			return round < 4
		}}
	}
	traintest.CanBeSaved(t, j)
}

// reporting returns rounds that report and keep their state, and compares every result with the signal of its task.
// Results arrive in the order of splits, whatever came first, so that a driver that adds them up has one sum (P7).
func reporting(t *testing.T, splits, rounds int) *train.Rounds {
	return &train.Rounds{Splits: splits, Each: func(round int, results [][]float64, to *train.Dispatcher) bool {
		if len(results) != splits {
			t.Errorf("round %d has %d results, not %d", round, len(results), splits)
		}
		for s, r := range results {
			if want := resultOf(bellows.Unit{Split: bellows.SplitID(s), Clock: bellows.Clock(round)}); !slices.Equal(r,
				want) {
				t.Errorf("round %d: split %d has signalled %v, and %v is told", round, s, want, r)
			}
		}
		to.ShowEpoch(train.Epoch{Number: round + 1})
		if round%2 == 1 {
			to.Keep()
			to.SetStaleness(0, table.SSP(round))
		}
		return round+1 < rounds
	}}
}

func TestRoundsCanBeSaved(t *testing.T) {
	t.Parallel()
	for _, splits := range []int{1, 4} {
		traintest.CanBeSaved(t, withSplits(splits, func() train.Driver { return reporting(t, splits, 4) }))
	}
}

func reportingClocks() *train.Clocks {
	return &train.Clocks{Splits: 2, Count: 3, Each: func(int, [][]float64) ([]train.Metric, bool) { return nil, true }}
}

// TestRoundsSavedBetweenTwoLoad restores the one number that runs were saved with before rounds could be saved in the
// middle.
func TestRoundsSavedBetweenTwoLoad(t *testing.T) {
	t.Parallel()
	d := &train.Rounds{Splits: 2}
	if err := d.Restore([]float64{7}); err != nil || !slices.Equal(d.Save(), []float64{7}) {
		t.Errorf("7 rounds are restored as %v: %v", d.Save(), err)
	}
}

// TestStatesOfOtherRunsAreRefused restores what Save never gives.
func TestStatesOfOtherRunsAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		driver train.Driver
		state  []float64
	}{
		{&train.Clocks{Splits: 2, Count: 3}, nil},
		{&train.Clocks{Splits: 2, Count: 3}, []float64{1, 2}},
		{&train.Clocks{Splits: 2, Count: 3}, []float64{3}},
		{&train.Clocks{Splits: 2, Count: 3}, []float64{-1}},
		{&train.Clocks{Splits: 2, Count: 3}, []float64{0.5}},
		{reportingClocks(), nil},
		{reportingClocks(), []float64{0}},                               // as without Each
		{reportingClocks(), []float64{0, 1, 0, 20, 1, 0}},               // a split is missing
		{reportingClocks(), []float64{0, 1, 0, 20, 1, 0, 2, 0}},         // a result is missing
		{reportingClocks(), []float64{0, 1, 0, 20, 1, 0, 2, 1, 3, 5}},   // numbers are missing
		{reportingClocks(), []float64{0, 0, 0, 20, 1, 1, 0, 2, 1, 0}},   // a clock that all have done is not shown
		{reportingClocks(), []float64{0, 1, 0, 20, 1, 0, 4, 0}},         // more clocks than there are
		{reportingClocks(), []float64{0, 1, 0, 20, 1, 0, 1, 0, 7}},      // one too many
		{reportingClocks(), []float64{0, 1, 0, math.NaN(), 1, 0, 1, 0}}, // no number of items
		{&train.Rounds{Splits: 2}, nil},
		{&train.Rounds{Splits: 2}, []float64{-1}},
		{&train.Rounds{Splits: 2}, []float64{math.NaN()}},
		{&train.Rounds{Splits: 2}, []float64{1, -1}},             // a split is missing
		{&train.Rounds{Splits: 2}, []float64{1, -1, -1}},         // nothing has come
		{&train.Rounds{Splits: 2}, []float64{1, 0, 0}},           // all has
		{&train.Rounds{Splits: 2}, []float64{1, -1, 2, 5}},       // a number is missing
		{&train.Rounds{Splits: 2}, []float64{1, -1, 1, 5, 6}},    // one too many
		{&train.Rounds{Splits: 2}, []float64{1, -1, 0.5}},        // half a number
		{&train.Rounds{Splits: 2}, []float64{1, -2, 0}},          // less than none
		{&train.Rounds{Splits: 2}, []float64{1, math.NaN(), -1}}, // no number of numbers
	} {
		if err := c.driver.Restore(c.state); bellows.KindOf(err) != bellows.BadData ||
			!strings.Contains(err.Error(), "of another run") {
			t.Errorf("%T takes %v: %v", c.driver, c.state, err)
		}
	}
}
