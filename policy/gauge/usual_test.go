package gauge

import (
	"slices"
	"testing"

	"bellows/core/tally"
)

// TestPartsOfClocksAreNoStraggler gives a node reports in the midst of clocks: three short samples with more computing
// than finished items, then three with less.
func TestPartsOfClocksAreNoStraggler(t *testing.T) {
	t.Parallel()
	var n node
	for i := range 60 {
		d := n.add()
		d.clocks, d.items = 0.2, 20
		if d.spent[tally.Compute] = 0.5; i%6 < 3 {
			d.spent[tally.Compute] = 1.5
		}
	}
	if keep := n.usual(); slices.Contains(keep, false) {
		t.Errorf("samples of a fifth of a clock do not count: %v", keep)
	}
}
