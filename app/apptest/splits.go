// Package apptest has the tests that all applications share, and helpers for their own.
package apptest

import (
	"math/rand/v2"
	"testing"

	"bellows"
)

// ComeAndGo lays out some splits of a node's and lets others go, at random and again and again, as a job's Prepare and Release do when splits move. Behind each round it
// looks at every split, which is here or is not.
func ComeAndGo(t *testing.T, splits int, prepare func([]bellows.SplitID) error, release func(bellows.SplitID), look func(split int, here bool)) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	here := make([]bool, splits)
	for range 12 {
		var come []bellows.SplitID
		for s := range here {
			switch {
			case r.IntN(2) == 0:
			case here[s]:
				release(bellows.SplitID(s))
				here[s] = false
			default:
				come, here[s] = append(come, bellows.SplitID(s)), true
			}
		}
		if err := prepare(come); err != nil {
			t.Fatal(err)
		}
		for s, is := range here {
			look(s, is)
		}
	}
}

// LayOut lays out all splits of a job.
func LayOut(t *testing.T, splits int, prepare func([]bellows.SplitID) error) {
	t.Helper()
	if err := prepare(AllSplits(splits)); err != nil {
		t.Fatal(err)
	}
}
