package vec

// The AVX2 kernels take whole vectors of eight; the reference, which gives the
// same bits, takes the rest.
const vectorMask = 7

func toHalf(dst []uint16, src []float32) {
	switch n := len(src) &^ vectorMask; {
	case len(src) == 0:
	case active() == levelAVX512:
		toHalfAVX512(len(src), &dst[0], &src[0])
	case active() == levelAVX2 && n > 0:
		toHalfAVX2(n, &dst[0], &src[0])
		goToHalf(dst[n:], src[n:])
	default:
		goToHalf(dst, src)
	}
}

func fromHalf(dst []float32, src []uint16) {
	switch n := len(src) &^ vectorMask; {
	case len(src) == 0:
	case active() == levelAVX512:
		fromHalfAVX512(len(src), &dst[0], &src[0])
	case active() == levelAVX2 && n > 0:
		fromHalfAVX2(n, &dst[0], &src[0])
		goFromHalf(dst[n:], src[n:])
	default:
		goFromHalf(dst, src)
	}
}

func toBrain(dst []uint16, src []float32) {
	switch n := len(src) &^ vectorMask; {
	case len(src) == 0:
	case active() == levelAVX512:
		toBrainAVX512(len(src), &dst[0], &src[0])
	case active() == levelAVX2 && n > 0:
		toBrainAVX2(n, &dst[0], &src[0])
		goToBrain(dst[n:], src[n:])
	default:
		goToBrain(dst, src)
	}
}

func fromBrain(dst []float32, src []uint16) {
	switch n := len(src) &^ vectorMask; {
	case len(src) == 0:
	case active() == levelAVX512:
		fromBrainAVX512(len(src), &dst[0], &src[0])
	case active() == levelAVX2 && n > 0:
		fromBrainAVX2(n, &dst[0], &src[0])
		goFromBrain(dst[n:], src[n:])
	default:
		goFromBrain(dst, src)
	}
}
