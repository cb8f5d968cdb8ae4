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
	chances, class, weight := make([]float32, 500), make([]int32, 500), make([]float64, 500)
	for i := range chances {
		weight[i] = float64(1+r.IntN(8)) / 4
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
				both := weight[i] * weight[j]
				pairs += both
				switch {
				case chances[i] > chances[j]:
					above += both
				case chances[i] == chances[j]:
					above += both / 2
				}
			}
		}
		curve := &newCurves(1)[0]
		for i, y := range class {
			curve.add(chances[i], y == own, weight[i])
		}
		if got, off := curve.area(); math.Abs(got-above/pairs) > 1e-12 || off != 0 {
			t.Errorf("class %d: %v within %v, want %v", own, got, off, above/pairs)
		}
	}
	none := &newCurves(1)[0]
	none.add(1, false, 1)
	if got, _ := none.area(); !math.IsNaN(got) {
		t.Errorf("of no class: %v", got)
	}
}

// TestCurvesForgetTheOrder: where more chances occur than may be remembered, the area is off by no more than is said, and is the same in any order.
func TestCurvesForgetTheOrder(t *testing.T) {
	t.Parallel()
	const rows = 20_000
	r := rand.New(rand.NewPCG(3, 4))
	chances, own := make([]float32, rows), make([]bool, rows)
	for i := range chances {
		own[i] = r.IntN(3) == 0
		chances[i] = r.Float32()
		if own[i] {
			chances[i] = max(chances[i], r.Float32())
		}
	}
	areaOf := func(order []int, most int) (area, off float64, kept curve) {
		c := &newCurves(1)[0]
		c.most = most
		for _, i := range order {
			c.add(chances[i], own[i], 1)
		}
		area, off = c.area()
		return area, off, *c
	}
	exact, off, _ := areaOf(r.Perm(rows), rows)
	if off != 0 {
		t.Fatalf("%d different chances are %v off", rows, off)
	}
	first, off, kept := areaOf(r.Perm(rows), 100)
	if math.Abs(first-exact) > off || off == 0 || off > 0.05 || first == exact {
		t.Errorf("%v within %v, exactly %v", first, off, exact)
	}
	if len(kept.steps) > 100 || cap(kept.latest) > 200 {
		t.Errorf("%d steps and %d rows are remembered", len(kept.steps), cap(kept.latest))
	}
	for range 3 {
		if again, same, _ := areaOf(r.Perm(rows), 100); again != first || same != off {
			t.Errorf("%v within %v in another order, not %v within %v", again, same, first, off)
		}
	}
}

// TestMeansLeaveOutClassesThatAreNowhere gives no weight to a class without rows and without predictions.
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
