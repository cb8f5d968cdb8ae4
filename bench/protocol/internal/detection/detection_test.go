//go:build soak

package detection

import (
	"os"
	"testing"
	"time"

	"bellows/bench/internal/pair"
)

// TestMain lets the test's binary be the process that keeps a processor busy.
func TestMain(m *testing.M) {
	pair.Play(Program)
	os.Exit(m.Run())
}

// TestLossesAreTimed loses a few nodes of each kind, and stops one for a moment. The times are this machine's; the
// goals are that the loss is reported and the job continues.
func TestLossesAreTimed(t *testing.T) {
	b := &bench{seed: 3, at: 2}
	r, err := b.measure(counts{kills: 3, stops: 1, servers: 1, leaders: 2, stoppedLeaders: 1, commands: 1, short: 2, long: 50 * time.Millisecond, busy: 1})
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*series{"killed": r.Killed, "stopped": r.Stopped, "server": r.Server, "leader": r.Leader, "stopped leader": r.StoppedLeader, "command": r.Command} {
		want := map[string]int{"killed": 3, "stopped": 1, "server": 1, "leader": 2, "stopped leader": 1, "command": 1}[name]
		if len(s.Detected.figures) != want || len(s.Recovered.figures) != want || s.Detected.Most > s.Recovered.Most || s.Detected.Tail.Value != s.Detected.Most {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if s := r.Short; s.Count != 2 || s.Survived > 2 || s.Busy != 1 {
		t.Errorf("%+v", s)
	}
}

// TestTooLongTimesAreCounted settles times with one too long.
func TestTooLongTimesAreCounted(t *testing.T) {
	s := times{figures: []float64{1, 4, 2}}
	if s.settle(3); s.Misses != 1 || s.Most != 4 || s.Median.Value != 2 || s.Tail.Value != 4 {
		t.Errorf("%+v", s)
	}
}
