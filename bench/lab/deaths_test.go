package main

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// TestDeathsCostWhatTheyAreSaidTo compares jobs without deaths, and means over many draws, with known results.
func TestDeathsCostWhatTheyAreSaidTo(t *testing.T) {
	t.Parallel()
	j := &lifetime{losses: losses{Worker: 0, Server: 0, Command: 0, Cut: 1}, work: 1000, clock: 0, every: 100, nodes: 4, servers: 4}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, p := range policies {
		want := 1000.0
		if p.saves {
			want += 9 // a checkpoint after each hundred except the last
		}
		if got := j.takes(p, 0, rng); math.Abs(got-want) > 1e-6 {
			t.Errorf("%s: without deaths it takes %v s, want %v", p.name, got, want)
		}
	}
	mean := func(p policy, rate float64) (m float64) {
		const draws = 20_000
		for range draws {
			m += j.takes(p, rate, rng) / draws
		}
		return m
	}
	// All work must be done between two deaths: (e^(rate*work)-1)/rate, Poisson.
	if got, want := mean(policies[0], 1e-3), (math.E-1)*1000; math.Abs(got/want-1) > 0.03 {
		t.Errorf("started over: %v s in the mean, want %v", got, want)
	}
	// The same for each of ten parts.
	j.Cut = 1e-9
	if got, want := mean(policies[1], 1e-2), 10*(math.E-1)*100; math.Abs(got/want-1) > 0.03 {
		t.Errorf("from checkpoints: %v s in the mean, want %v", got, want)
	}
	j.servers, j.clock, j.nodes = 0, 3, 4
	j.Worker, j.Command = 2, 8 // 2 s, then a quarter of the speed for 8 s, and 3 s of a clock: 7 s more for each death
	if got, want := mean(policies[2], 1e-3), 1000*(1+7e-3); math.Abs(got/want-1) > 0.001 {
		t.Errorf("of workers: %v s in the mean, want about %v", got, want)
	}
	if got := j.takes(policies[0], 1, rng); !math.IsInf(got, 1) {
		t.Errorf("a job that never gets far takes %v s", got)
	}
}

func TestLossesThatLackSomethingAreRefused(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "losses.json")
	for text, want := range map[string]bool{
		"": false, "{}": false,
		`{"worker_killed":{"recovered":{"median":{"value":1}}},"server_killed":{"recovered":{"median":{"value":2}}},"command_killed":{"recovered":{"median":{"value":3}}},"checkpoint_seconds":0.5}`: true,
		`{"worker_killed":{"recovered":{"median":{"value":1}}},"server_killed":{"recovered":{"median":{"value":2}}},"checkpoint_seconds":0.5}`:                                                       false,
	} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		l, err := loadLosses(name)
		if (err == nil) != want || want && l != (losses{1, 2, 3, 0.5}) {
			t.Errorf("%s: %+v, %v", text, l, err)
		}
	}
}
