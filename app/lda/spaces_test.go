package lda

import (
	"testing"

	"bellows/app"
	"bellows/app/apptest"
)

// TestATaskThatWaitsHasNoSpace trains more splits than there are slots: only as many workspaces are made as tasks
// compute at a time, though all tasks of a clock wait for the previous clock's counts.
func TestATaskThatWaitsHasNoSpace(t *testing.T) {
	for _, settings := range []map[string]string{{"clocks": "1"}, {"clocks": "3"}, {"sampler": "mh"}} {
		settings["splits"], settings["topics"] = "8", "5"
		p := problemOf(t, app.Input{Data: planted(80, 3, 1), Epochs: 3, Seed: 1, Settings: settings})
		const slots = 2
		apptest.Play(t, p.run(&app.Input{Data: planted(80, 3, 1)}), slots)
		if n := len(p.spaces.free); n < 1 || n > slots {
			t.Errorf("%v: %d spaces for %d slots", settings, n, slots)
		}
	}
}
