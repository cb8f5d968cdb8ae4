package vec

import "unsafe"

func countSums[C int32 | uint16](weight []float32, count []C, plus float32, sums []float32, next []C) float32 {
	l := active()
	switch {
	case l == levelGo:
		return goCountSums(weight, count, plus, sums)
	case len(sums) == 0:
		return 0
	}
	n, first, then, wide := len(sums), unsafe.Pointer(&count[0]), unsafe.Pointer(&next[0]), unsafe.Sizeof(count[0]) == 4
	switch {
	case wide && l == levelAVX2:
		return countSumsAVX2(n, plus, &weight[0], (*int32)(first), (*int32)(then), &sums[0])
	case wide:
		return countSumsAVX512(n, plus, &weight[0], (*int32)(first), (*int32)(then), &sums[0])
	case l == levelAVX2:
		return countSums16AVX2(n, plus, &weight[0], (*uint16)(first), (*uint16)(then), &sums[0])
	}
	return countSums16AVX512(n, plus, &weight[0], (*uint16)(first), (*uint16)(then), &sums[0])
}

func axpyCounts(alpha float32, count []int32, y []float32) {
	if active() == levelGo {
		goAxpyCounts(alpha, count, y)
	} else if len(y) > 0 {
		axpyCountsAVX2(len(y), alpha, &count[0], &y[0])
	}
}

func narrowCounts(dst []uint16, src []int32) {
	if active() == levelGo {
		goNarrowCounts(dst, src)
	} else if len(src) > 0 {
		narrowCountsAVX2(len(src)/CountBlock, &dst[0], &src[0])
	}
}
