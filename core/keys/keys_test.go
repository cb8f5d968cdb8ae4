package keys_test

import (
	"math/rand/v2"
	"testing"

	"bellows"
	"bellows/core/keys"
)

// TestIndexAgainstMap drives an index with random calls, resets included, and compares it with a map.
func TestIndexAgainstMap(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 1))
		var x keys.Index
		model := map[bellows.Key]int{}
		domain := uint64(1) << random.IntN(12)
		for range 3000 {
			k := bellows.Key(random.Uint64N(domain)) << random.IntN(60)
			switch random.IntN(300) {
			case 0:
				x.Reset()
				clear(model)
			case 1, 2, 3, 4, 5, 6, 7:
				want, known := model[k]
				if !known {
					want = -1
				}
				if got := x.Find(k); got != want {
					t.Fatalf("seed %d: key %d is found at %d, not %d", seed, k, got, want)
				}
			default:
				want, known := model[k]
				if !known {
					want = len(model)
					model[k] = want
				}
				if got, added := x.Add(k); got != want || added == known {
					t.Fatalf("seed %d: key %d gets %d, new %v; want %d, new %v", seed, k, got, added, want, !known)
				}
			}
			if x.Len() != len(model) {
				t.Fatalf("seed %d: %d keys, not %d", seed, x.Len(), len(model))
			}
		}
		for n, k := range x.Keys() {
			if model[k] != n || x.Find(k) != n {
				t.Fatalf("seed %d: key %d has number %d, the list says %d", seed, k, x.Find(k), n)
			}
		}
	}
}

// TestResetForgetsAll empties indexes that held few and many keys for their size.
func TestResetForgetsAll(t *testing.T) {
	t.Parallel()
	var x keys.Index
	for n := 4000; n > 0; n /= 3 {
		for i := range n {
			x.Add(bellows.Key(i * i))
		}
		x.Reset()
		if x.Len() != 0 {
			t.Fatalf("%d keys are left of %d", x.Len(), n)
		}
		for i := range 4000 {
			if x.Find(bellows.Key(i*i)) != -1 {
				t.Fatalf("after %d keys and a reset, %d is found", n, i*i)
			}
		}
	}
}

// TestPartitionsAreEven spreads keys that stand in a row, that differ in their upper bits, and that are
// multiples of a power of two, and wants each partition to get its share within six deviations.
func TestPartitionsAreEven(t *testing.T) {
	t.Parallel()
	const count = 64 << 10
	for name, key := range map[string]func(i uint64) bellows.Key{
		"consecutive": func(i uint64) bellows.Key { return bellows.Key(i) },
		"upper bits":  func(i uint64) bellows.Key { return bellows.Key(i << 40) },
		"strided":     func(i uint64) bellows.Key { return bellows.Key(i * 4096) },
	} {
		for _, n := range []int{1, 3, 64, 100} {
			load := make([]int, n)
			for i := range uint64(count) {
				load[keys.Partition(key(i), n)]++
			}
			mean := count / n
			for p, got := range load {
				if d := got - mean; d*d > 36*mean+n {
					t.Errorf("%s: partition %d of %d has %d keys, the mean is %d", name, p, n, got, mean)
				}
			}
		}
	}
}

// TestHashGolden pins the hash: it decides where the rows of saved runs lie.
func TestHashGolden(t *testing.T) {
	t.Parallel()
	for k, want := range map[bellows.Key]uint64{0: 0xe220a8397b1dcdaf, 1: 0x910a2dec89025cc1, 1<<64 - 1: 0xe4d971771b652c20} {
		if got := keys.Hash(k); got != want {
			t.Errorf("the hash of %d is %#x, not %#x", k, got, want)
		}
	}
}

// TestPartitionGolden pins the partitions of keys, for the same reason.
func TestPartitionGolden(t *testing.T) {
	t.Parallel()
	for n, want := range map[int][8]bellows.PartitionID{
		1:    {},
		3:    {2, 1, 1, 0, 0, 0, 0, 2},
		64:   {56, 36, 37, 7, 12, 7, 18, 57},
		1000: {883, 566, 591, 113, 200, 124, 281, 893},
	} {
		for i, k := range [8]bellows.Key{0, 1, 2, 3, 1 << 20, 1 << 40, 1 << 63, 1<<64 - 1} {
			if got := keys.Partition(k, n); got != want[i] {
				t.Errorf("key %d is in partition %d of %d, not %d", k, got, n, want[i])
			}
		}
	}
}

// unshift undoes z ^ z>>s.
func unshift(z uint64, s uint) uint64 {
	x := z
	for i := s; i < 64; i += s {
		x = z ^ x>>s
	}
	return x
}

// inverse returns the key of a hash.
func inverse(z uint64) bellows.Key {
	z = unshift(z, 31) * 0x319642b2d24d8ec3
	z = unshift(z, 27) * 0x96de1b173f119089
	return bellows.Key(unshift(z, 30) - 0x9e3779b97f4a7c15)
}

// TestKeysWithHashesAlikeAreTwo adds keys whose hashes differ in one bit each: bits that decide the place, stored
// bits, and neither.
func TestKeysWithHashesAlikeAreTwo(t *testing.T) {
	t.Parallel()
	const hash = 0x123456789abcdef0
	for bit := range 64 {
		var x keys.Index
		a, b := inverse(hash), inverse(hash^1<<bit)
		x.Add(a)
		if x.Find(b) != -1 {
			t.Errorf("bit %d: a key is found that was not added", bit)
		}
		if n, added := x.Add(b); n != 1 || !added || x.Find(a) != 0 || x.Find(b) != 1 {
			t.Errorf("bit %d: two keys are one", bit)
		}
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	var x keys.Index
	fill := func() {
		for i := range 500 {
			x.Add(bellows.Key(i * 7919))
			x.Find(bellows.Key(i))
		}
		x.Reset()
	}
	fill()
	if n := testing.AllocsPerRun(50, fill); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkFind(b *testing.B) {
	for _, n := range []int{1 << 10, 1 << 20} {
		var x keys.Index
		random := rand.New(rand.NewPCG(1, 2))
		all := make([]bellows.Key, n)
		for i := range all {
			all[i] = bellows.Key(random.Uint64())
			x.Add(all[i])
		}
		random.Shuffle(n, func(i, j int) { all[i], all[j] = all[j], all[i] })
		b.Run(map[int]string{1 << 10: "1Ki", 1 << 20: "1Mi"}[n], func(b *testing.B) {
			i := 0
			for b.Loop() {
				if x.Find(all[i&(n-1)]) < 0 {
					b.Fatal("lost")
				}
				i++
			}
		})
	}
}
