//go:build soak

package churn

import (
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"bellows/bench/internal/pair"
)

// TestMain plays this program's own part where it was started for a part of a job.
func TestMain(m *testing.M) {
	pair.Play(Program)
	os.Exit(m.Run())
}

// TestChurnHasNoEffect runs each application once, short; without -short they follow each other for a minute.
func TestChurnHasNoEffect(t *testing.T) {
	c := &churn{rng: rand.New(rand.NewPCG(1, 2)), nodes: 4, short: 4, out: Report{Commands: map[string]int{}, Answers: map[string]int{}}}
	long := time.Minute
	if testing.Short() {
		long = 0
	}
	if err := c.run(long); err != nil {
		t.Errorf("%v; %+v", err, c.out)
	}
	if c.out.Jobs < len(applications) || c.out.Visited == 0 {
		t.Errorf("%+v", c.out)
	}
}

// TestLeaksAreRefused plants a goroutine, a descriptor and memory that a job leaves.
func TestLeaksAreRefused(t *testing.T) {
	of := func(change func(*Report)) error {
		c := &churn{out: Report{Jobs: 4, Changes: 100, Goroutines: []int{2, 3, 2, 3}, Files: []int{8, 8, 8, 8}, Heap: []uint64{1, 2, 3, 3 + grown}}}
		change(&c.out)
		return c.flat()
	}
	if err := of(func(*Report) {}); err != nil {
		t.Error(err)
	}
	for what, change := range map[string]func(*Report){
		"goroutines":  func(r *Report) { r.Goroutines[3]++ },
		"descriptors": func(r *Report) { r.Files[3]++ },
		"memory":      func(r *Report) { r.Heap[3]++ },
		"no change":   func(r *Report) { r.Changes = 7 },
	} {
		if of(change) == nil {
			t.Errorf("%s: it is taken", what)
		}
	}
}
