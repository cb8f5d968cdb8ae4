package lines

import "testing"

// TestWeightsAtTheBounds: a weight is held against the bounds as it is written, not as it is rounded to 32 bits.
func TestWeightsAtTheBounds(t *testing.T) {
	t.Parallel()
	for field, right := range map[string]bool{
		"1000000000": true, "1e9": true, "1000000001": false, "1000000063": false, "1e10": false, "1e-9": true,
		"0.000000001": true, "9.9999999999e-10": false, "1e-10": false, "0": true, "-0": true,
	} {
		if _, f := WeightOf([]byte(field), 0, "weight", ""); (f == nil) != right {
			t.Errorf("%s: %+v", field, f)
		}
	}
}
