package linear

import (
	"math"
	"testing"
)

// TestSpreadOfLabels compares the spread with that of two passes, also for labels far from 0; equal labels have none.
func TestSpreadOfLabels(t *testing.T) {
	t.Parallel()
	for _, base := range []float64{0, 1e6} {
		n, labels, mean, total := &numbers{}, []float64{}, 0.0, 0.0
		for i := range 5000 {
			y := base + float64(i*i%997)/8
			labels = append(labels, y)
			mean += y / 5000
			n.count(y, y+1, 1)
		}
		for _, y := range labels {
			total += (y - mean) * (y - mean)
		}
		out, err := n.Examination()
		if err != nil {
			t.Fatal(err)
		}
		if got, want := out.Metrics[2].Value, 1-5000/total; math.Abs(got-want) > 1e-12 {
			t.Errorf("labels near %g: r2 is %v, not %v", base, got, want)
		}
	}
	same := &numbers{}
	for range 1000 {
		same.count(0.1, 0.2, 1)
	}
	if out, err := same.Examination(); err != nil || len(out.Metrics) != 2 {
		t.Errorf("%v, %v: labels that are all alike have no spread", out, err)
	}
	same.asked = []string{"r2"}
	if _, err := same.Examination(); err == nil {
		t.Error("r2 of labels that are all alike")
	}
}
