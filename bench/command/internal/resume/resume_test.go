//go:build soak

package resume

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestKilledRunsResume kills a run of each application, or two of one with -short. The moments depend on the speed of
// this machine, but not the goals.
func TestKilledRunsResume(t *testing.T) {
	kills, apps := 1, []string{"mf", "mlr", "lda"}
	if testing.Short() {
		kills, apps = 2, apps[1:2]
	}
	r, err := killAll("", 2, kills, apps, "", 0)
	if err != nil {
		t.Fatalf("%v; %+v", err, r)
	}
	for _, app := range apps {
		if r.Kills[app] != kills || r.Equal == 0 {
			t.Errorf("%+v", r)
		}
	}
}

// TestAnotherModelIsRefused compares a run's model with one that differs in one bit.
func TestAnotherModelIsRefused(t *testing.T) {
	out := t.TempDir()
	if err := os.WriteFile(filepath.Join(out, "model.safetensors"), []byte{1, 2, 3}, 0o666); err != nil {
		t.Fatal(err)
	}
	r := &trial{want: []byte{1, 2, 7}, report: &Report{}}
	if err := r.hold(out); err == nil || !strings.Contains(err.Error(), "not that of an undisturbed run") || r.report.Equal > 0 {
		t.Errorf("it is taken: %v", err)
	}
}

// TestMeansThatDifferAreRefused compares runs whose objectives are alike, and runs that differ by too much of either kind.
func TestMeansThatDifferAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		whole, killed []float64
		right         bool
	}{
		"the same":               {[]float64{1, 2, 3}, []float64{1, 2, 3}, true},
		"noise":                  {[]float64{1, 1.001, 1.002, 1.001}, []float64{1.001, 1, 1.0015, 1.002}, true},
		"by one percent":         {[]float64{1, 1.1, 0.9, 1}, []float64{1.2, 1, 0.9, 0.94}, false},
		"always the same way":    {[]float64{1, 1, 1, 1}, []float64{1.001, 1.001, 1.0011, 1.001}, false},
		"exactly the same again": {[]float64{1, 1, 1}, []float64{1.001, 1.001, 1.001}, false},
	} {
		m := meansOf(c.whole, c.killed)
		if err := m.verdict(); (err == nil) != c.right || math.IsNaN(m.Share+m.Errors) {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
	for text, want := range map[string]string{"bsp": "", "async": "async", "ssp:3": "3"} {
		if got, err := staleness(text); got != want || err != nil {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
	for _, bad := range []string{"", "ssp", "ssp:0", "ssp:x", "3"} {
		if _, err := staleness(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
