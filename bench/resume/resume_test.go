package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWhoIsKilledGoesOn kills a run of each application, or two of one with -short. When they are killed depends on how fast this machine is, and what is wanted does not.
func TestWhoIsKilledGoesOn(t *testing.T) {
	kills, apps := 1, []string{"mf", "mlr", "lda"}
	if testing.Short() {
		kills, apps = 2, apps[1:2]
	}
	r, err := all("", 2, kills, apps)
	if err != nil {
		t.Fatalf("%v; %+v", err, r)
	}
	for _, app := range apps {
		if r.Kills[app] != kills || r.Equal == 0 {
			t.Errorf("%+v", r)
		}
	}
}

// TestAnotherModelIsRefused has a run leave a model that has one bit of another.
func TestAnotherModelIsRefused(t *testing.T) {
	out := t.TempDir()
	if err := os.WriteFile(filepath.Join(out, "model.safetensors"), []byte{1, 2, 3}, 0o666); err != nil {
		t.Fatal(err)
	}
	r := &trial{want: []byte{1, 2, 7}, report: &Report{}}
	if err := r.hold(out); err == nil || !strings.Contains(err.Error(), "not that of a run that nobody killed") || r.report.Equal > 0 {
		t.Errorf("it is taken: %v", err)
	}
}
