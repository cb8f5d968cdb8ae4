package parquet

import "testing"

// TestRunsHoldWhatIsWanted checks that no run may claim more numbers than are wanted, or than are there.
func TestRunsHoldWhatIsWanted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		b        []byte
		width, n int
		ok       bool
	}{
		"eight bits in a group": {[]byte{3, 0xff}, 1, 5, true}, "a run": {[]byte{10, 1}, 1, 5, true}, "a longer run": {[]byte{12, 1}, 1, 5, false},
		"a huge group of nothing": {[]byte{0xff, 0xff, 0xff, 0xff, 0x0f}, 0, 5, false}, "a short group": {[]byte{5, 1}, 1, 16, false},
	} {
		if _, err := runs(c.b, c.width, c.n); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPackedDifferencesAreMeasured checks the length of packed numbers, and that claims that the library would believe are refused.
func TestPackedDifferencesAreMeasured(t *testing.T) {
	t.Parallel()
	three := []byte{0x80, 1, 4, 3, 14, 2, 1, 0, 0, 0, 0x02, 0, 0, 0} // 7, then differences of 1 and 1 or 2, in a bit each
	for name, c := range map[string]struct {
		b    []byte
		n    int
		want int // 0: refused
	}{
		"three numbers": {append(three, 9, 9), 3, 14}, "other numbers": {three, 4, 0}, "a short block": {three[:12], 3, 0},
		"wide differences": {append([]byte{0x80, 1, 4, 3, 14, 2, 33, 0, 0, 0}, make([]byte, 200)...), 3, 0}, "no groups": {[]byte{0x80, 1, 0, 3, 14}, 3, 0},
		"huge blocks": {[]byte{0x80, 0x80, 0x80, 1, 4, 3, 14}, 3, 0}, "nothing": {nil, 3, 0},
	} {
		if got, err := deltaBytes(c.b, c.n, 32); got != c.want || (err == nil) != (c.want > 0) {
			t.Errorf("%s: %d, %v", name, got, err)
		}
	}
}
