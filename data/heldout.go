package data

// HeldOut reports whether a row is kept out of training: a fixed choice of
// about percent in 100 rows, by a hash of (seed, row) alone, so that every
// node, resume and rerun makes the same one. percent is 0 to 100.
func HeldOut(seed uint64, row int64, percent int) bool {
	h := mix(mix(seed) ^ uint64(row))
	return h>>32*100>>32 < uint64(percent)
}

// mix is the finaliser of splitmix64 (Steele, Lea, Flood: Fast splittable
// pseudorandom number generators, 2014, figure 16), a bijection.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
