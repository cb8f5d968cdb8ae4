package inputs

import (
	"os"
	"testing"

	"bellows/app/lda"
	"bellows/app/linear"
	"bellows/app/mf"
	"bellows/app/mlr"
	"bellows/cli"
)

// playsBellows is set in the environment of the processes that are bellows.
const playsBellows = "BELLOWS_INPUTS_COMMAND"

// TestMain lets the test's binary be the command that inputs are given to.
func TestMain(m *testing.M) {
	if os.Getenv(playsBellows) != "" {
		_ = os.Unsetenv(playsBellows)
		cli.Main(mf.New(), mlr.New(), lda.New(), linear.New())
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// sweep returns a sweep of a seed by the test's binary.
func sweep(t *testing.T, seed uint64, folder string) *Sweep {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	return &Sweep{Seed: seed, Folder: folder, Command: []string{program}, Environ: []string{playsBellows + "=1", "HOME=" + home, "XDG_STATE_HOME=" + home, "XDG_CACHE_HOME=" + home}}
}

// TestInputs draws a few inputs by a fixed seed.
func TestInputs(t *testing.T) {
	t.Parallel()
	s := sweep(t, 1, t.TempDir())
	for n := range 12 {
		r, err := s.Draw(n)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Findings) > 0 {
			t.Error(r)
		}
	}
}
