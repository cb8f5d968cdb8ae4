package examples

import (
	"math"
	"math/rand/v2"
	"testing"

	"bellows/app"
)

// TestAreaCountsPairs compares with counting every pair of a row of the class and another.
func TestAreaCountsPairs(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	chances, class := make([]float32, 500), make([]int32, 500)
	for i := range chances {
		class[i] = int32(r.IntN(4)) - 1
		chances[i] = float32(r.IntN(40)+20*int(class[i]+1)-50) / 100 // many ties, and some below 0
		if chances[i] == 0 && r.IntN(2) == 0 {
			chances[i] = float32(math.Copysign(0, -1))
		}
	}
	for own := range int32(3) {
		var above, pairs float64
		for i, y := range class {
			for j, z := range class {
				if y != own || z == own {
					continue
				}
				pairs++
				switch {
				case chances[i] > chances[j]:
					above++
				case chances[i] == chances[j]:
					above += 0.5
				}
			}
		}
		if got := area(make([]uint64, len(class)), chances, class, own); math.Abs(got-above/pairs) > 1e-12 {
			t.Errorf("class %d: %v, want %v", own, got, above/pairs)
		}
	}
	if got := area(make([]uint64, 1), chances[:1], class[:1], 9); !math.IsNaN(got) {
		t.Errorf("of no class: %v", got)
	}
}

// TestMeansLeaveOutClassesThatAreNowhere gives no weight to a class of which there are no rows, and that none is said to be of.
func TestMeansLeaveOutClassesThatAreNowhere(t *testing.T) {
	t.Parallel()
	classes := []app.ClassFigures{
		{Rows: 4, Precision: 1, Recall: 0.5, F1: 0.6, AUC: 0.8},
		{AUC: math.NaN()},
		{Rows: 0, AUC: math.NaN()},
	}
	confusion := [][]int64{{2, 0, 2}, {0, 0, 0}, {0, 0, 0}}
	for _, m := range macro(classes, confusion) {
		want := map[string]float64{"auc": 0.8, "f1_macro": 0.3, "precision_macro": 0.5, "recall_macro": 0.25}[m.Name]
		if math.Abs(m.Value-want) > 1e-12 {
			t.Errorf("%s is %v, want %v", m.Name, m.Value, want)
		}
	}
}
