//go:build soak

package inputs

import (
	"flag"
	"testing"
	"time"
)

var (
	seedFlag  = flag.Uint64("inputs.seed", uint64(time.Now().Unix()), "seed of the long form")
	countFlag = flag.Int("inputs.count", 304, "number of inputs of the long form")
	firstFlag = flag.Int("inputs.first", 0, "number of the first input of the long form")
	keepFlag  = flag.String("inputs.keep", "", "folder that keeps the files of all inputs (default: none are kept)")
)

// TestManyInputs draws inputs by a seed that no earlier run had, and prints the outcome of each.
func TestManyInputs(t *testing.T) {
	folder := *keepFlag
	if folder == "" {
		folder = t.TempDir()
	}
	s := sweep(t, *seedFlag, folder)
	outcomes := map[string]map[string]int{}
	for n := *firstFlag; n < *firstFlag+*countFlag; n++ {
		r, err := s.Draw(n)
		if err != nil {
			t.Fatal(n, err)
		}
		if outcomes[r.Kind] == nil {
			outcomes[r.Kind] = map[string]int{}
		}
		outcomes[r.Kind][r.Outcome]++
		if len(r.Findings) > 0 {
			outcomes[r.Kind]["findings"]++
			t.Error(r)
		} else {
			t.Log(r)
		}
	}
	for kind, of := range outcomes {
		t.Logf("seed %d: %s: %v", *seedFlag, kind, of)
	}
}
