package oov

import "testing"

// TestNamesAreCountedOnce, up to a bound.
func TestNamesAreCountedOnce(t *testing.T) {
	t.Parallel()
	var d distinct
	for range 3 {
		for h := range uint64(1000) {
			d.add([]uint64{h, h + 1})
		}
	}
	if d.count() != 1001 {
		t.Errorf("%d names", d.count())
	}
}
