package random_test

import (
	"testing"

	"bellows/random"
)

// TestReferenceNumbers: the first numbers of the reference program of SplitMix64 from state 0.
func TestReferenceNumbers(t *testing.T) {
	t.Parallel()
	var s random.Stream
	for i, want := range []uint64{0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f, 0xf88bb8a8724c81ec} {
		if got := s.Next(); got != want {
			t.Errorf("number %d is %#x, want %#x", i, got, want)
		}
	}
}

// TestPurposesAreApart: numbers of different purposes differ, whichever word it is that differs and wherever it stands.
func TestPurposesAreApart(t *testing.T) {
	t.Parallel()
	seen := map[uint64][4]uint64{}
	for seed := range uint64(8) {
		for split := range uint64(8) {
			for clock := range uint64(8) {
				for item := range uint64(8) {
					at := [4]uint64{seed, split, clock, item}
					h := random.Derive(seed, split, clock, item)
					if before, ok := seen[h]; ok {
						t.Fatalf("%v and %v have the same number", before, at)
					}
					seen[h] = at
					if h != random.Derive(seed, split, clock, item) {
						t.Fatalf("the number of %v does not repeat", at)
					}
				}
			}
		}
	}
}

// TestBitsAreEven: over many seeds each bit is set about half of the time, and Unit stays in [0, 1) with mean one half.
func TestBitsAreEven(t *testing.T) {
	t.Parallel()
	const n = 1 << 14
	var set [64]int
	sum := 0.0
	for i := range uint64(n) {
		h := random.Derive(i, 3)
		for b := range set {
			set[b] += int(h >> b & 1)
		}
		u := random.Uniform(h)
		if u < 0 || u >= 1 {
			t.Fatalf("Unit is %v", u)
		}
		sum += u
	}
	for b, k := range set {
		if k < n*47/100 || k > n*53/100 {
			t.Errorf("bit %d is set in %d of %d numbers", b, k, n)
		}
	}
	if mean := sum / n; mean < 0.49 || mean > 0.51 {
		t.Errorf("the mean is %v", mean)
	}
	if random.Uniform(1<<64-1) >= 1 {
		t.Error("the largest number is not below 1")
	}
}

// TestDrawsAllocateNothing matters because some applications draw for every item.
func TestDrawsAllocateNothing(t *testing.T) {
	seed, sum := uint64(1), uint64(0)
	if n := testing.AllocsPerRun(100, func() {
		s := random.Start(seed, 5)
		sum += random.Derive(seed, 1, 2, 3) + s.Next()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
