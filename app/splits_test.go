package app_test

import (
	"strconv"
	"testing"

	"bellows/app"
	"bellows/app/lda"
	"bellows/app/linear"
	"bellows/app/mf"
	"bellows/app/mlr"
	"bellows/data/demo"
)

// TestSplitsAreEnoughForAllSlots: where a run says how many slots it may get, each has four splits, unless the data or a setting says otherwise; the number
// of slots in the beginning plays no part.
func TestSplitsAreEnoughForAllSlots(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		app      app.Application
		settings map[string]string
	}{
		{mf.New(), nil}, {mf.New(), map[string]string{"schedule": "ssp"}}, {mf.New(), map[string]string{"loss": "weighted"}}, {mlr.New(), nil}, {lda.New(), nil}, {linear.New(), nil}, {linear.New(), map[string]string{"loss": "svr"}},
	} {
		about := c.app.Describe()
		set, err := demo.Make(about.Data, 1)
		if err != nil {
			t.Fatal(err)
		}
		splits := func(slots, most int, more map[string]string) int {
			settings := map[string]string{}
			for k, v := range c.settings {
				settings[k] = v
			}
			for k, v := range more {
				settings[k] = v
			}
			run, err := c.app.NewRun(app.Input{Data: set, Seed: 1, Slots: slots, SlotsMost: most, Settings: settings})
			if err != nil {
				t.Fatal(err)
			}
			if got := run.Settings["splits"]; got != strconv.Itoa(run.Job.Splits) {
				t.Errorf("%s: %d splits are recorded as %s", about.Name, run.Job.Splits, got)
			}
			return run.Job.Splits
		}
		few := splits(2, 0, nil)
		for _, most := range []int{1, 3, 40} {
			if got, want := splits(2, most, nil), max(few, app.SplitsEach*most); got != want {
				t.Errorf("%s %v: %d splits for %d slots, not %d", about.Name, c.settings, got, most, want)
			}
		}
		if got := splits(2, 40, map[string]string{"splits": "5"}); got != 5 {
			t.Errorf("%s: splits=5 gives %d", about.Name, got)
		}
		for slots, want := range map[int]int{1: max(1, few/4), 2: max(2, few/4), few: few, few + 1: few} {
			if got := app.SlotsEnough(few, slots); got != want {
				t.Errorf("%s: %d splits are enough for %d slots of a run that begins with %d, not %d", about.Name, few, got, slots, want)
			}
		}
		if got := splits(16, 0, nil); got != few {
			t.Errorf("%s: %d splits on 16 slots, %d on 2", about.Name, got, few)
		}
	}
}
