package data

import "bellows/random"

// HeldOut reports whether a row is kept out of training: a fixed choice of
// about percent in 100 rows, by a hash of (seed, row) alone, so that every
// node, resume and rerun makes the same one. percent is 0 to 100.
func HeldOut(seed uint64, row int64, percent int) bool {
	return random.Of(seed, uint64(row))>>32*100>>32 < uint64(percent)
}
