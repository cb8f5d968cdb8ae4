package vec

import "fmt"

// CountBlock is the number of elements in one sum of [CountSums].
const CountBlock = 32

// CountSums sets sums[b] to the sum of weight[i]*(count[i]+plus) over block b, which has CountBlock elements, and returns
// the sum over all blocks, added up on its own: it may differ from the sum of the blocks by rounding. It rounds after
// each operation; a block's sum is that of eight partial sums of four products each. All sets give the same bits.
// weight and count have equal lengths of CountBlock elements for each of sums.
func CountSums[C int32 | uint16](weight []float32, count []C, plus float32, sums []float32) float32 {
	return CountSumsAhead(weight, count, plus, sums, count)
}

// CountSumsAhead works like [CountSums], and fetches the counts of the next call into the processor's cache. Next has as
// many as count.
func CountSumsAhead[C int32 | uint16](weight []float32, count []C, plus float32, sums []float32, next []C) float32 {
	same("CountSumsAhead", len(count), len(next))
	if len(weight) != CountBlock*len(sums) || len(count) != len(weight) {
		panic(fmt.Sprintf("vec: CountSums: %d weights and %d counts for %d blocks of %d", len(weight), len(count), len(sums), CountBlock))
	}
	const most = chunk / CountBlock
	total := float32(0)
	for len(sums) > most {
		total += countSums(weight[:chunk], count[:chunk], plus, sums[:most], next)
		weight, count, sums, next = weight[chunk:], count[chunk:], sums[most:], next[chunk:]
	}
	return total + countSums(weight, count, plus, sums, next)
}

// AxpyCounts adds alpha times count to y: y[i] += alpha*count[i], with two roundings. All sets give the same bits. The
// lengths must be equal.
func AxpyCounts(alpha float32, count []int32, y []float32) {
	same("AxpyCounts", len(count), len(y))
	for len(y) > chunk {
		axpyCounts(alpha, count[:chunk], y[:chunk])
		count, y = count[chunk:], y[chunk:]
	}
	axpyCounts(alpha, count, y)
}

// NarrowCounts sets dst[i] to the low 16 bits of src[i]. The lengths must be equal multiples of CountBlock.
func NarrowCounts(dst []uint16, src []int32) {
	same("NarrowCounts", len(dst), len(src))
	if len(src)%CountBlock != 0 {
		panic(fmt.Sprintf("vec: NarrowCounts: %d counts are not whole blocks of %d", len(src), CountBlock))
	}
	for len(src) > chunk {
		narrowCounts(dst[:chunk], src[:chunk])
		dst, src = dst[chunk:], src[chunk:]
	}
	narrowCounts(dst, src)
}

// goCountSums computes CountSums. Lane l of a block is (p[l]+p[l+16]) + (p[l+8]+p[l+24]).
func goCountSums[C int32 | uint16](weight []float32, count []C, plus float32, sums []float32) float32 {
	var total [8]float32
	for b := range sums {
		w, n := (*[CountBlock]float32)(weight[CountBlock*b:]), (*[CountBlock]C)(count[CountBlock*b:])
		var lane [8]float32
		for l := range lane {
			even := float32(w[l]*(float32(n[l])+plus)) + float32(w[l+16]*(float32(n[l+16])+plus))
			odd := float32(w[l+8]*(float32(n[l+8])+plus)) + float32(w[l+24]*(float32(n[l+24])+plus))
			lane[l] = even + odd
			total[l] += lane[l]
		}
		sums[b] = foldEight(&lane)
	}
	return foldEight(&total)
}

// foldEight adds eight lanes up in pairs, as the assembly does.
func foldEight(v *[8]float32) float32 {
	return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]))
}

func goAxpyCounts(alpha float32, count []int32, y []float32) {
	y = y[:len(count)]
	for i, n := range count {
		y[i] += float32(alpha * float32(n))
	}
}

func goNarrowCounts(dst []uint16, src []int32) {
	dst = dst[:len(src)]
	for i, n := range src {
		dst[i] = uint16(n)
	}
}
