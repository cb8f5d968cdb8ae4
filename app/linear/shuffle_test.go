package linear

import (
	"slices"
	"testing"

	"bellows/random"
)

// TestShuffleDealsEachRowOnce holds the groups of passes against the rows.
func TestShuffleDealsEachRowOnce(t *testing.T) {
	t.Parallel()
	chance, begins := random.Start(1, 0), map[int32]bool{}
	for rows := range int32(50) {
		active := make([]int32, rows)
		for i := range active {
			active[i] = int32(i)
		}
		e := &ascent{}
		e.shuffle(len(active), &chance)
		var dealt []int32
		for _, first := range e.groups {
			dealt = append(dealt, group(active, first)...)
			begins[first] = true
		}
		if slices.Sort(dealt); !slices.Equal(dealt, active) {
			t.Errorf("%d rows: dealt %v", rows, dealt)
		}
	}
	if !begins[0] || !begins[-1] {
		t.Errorf("groups begin at %v, never at 0 or never at -1", begins)
	}
}
