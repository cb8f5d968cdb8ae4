package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// horner evaluates a polynomial, highest coefficient first.
func horner(x reg.VecVirtual, coefficients ...float32) reg.VecVirtual {
	p := YMM()
	VMOVUPS(allFloat(coefficients[0]), p)
	for _, c := range coefficients[1:] {
		VFMADD213PS(allFloat(c), x, p)
	}
	return p
}

// expLanes computes e^x = 2^n e^r with n = round(x/ln 2) and |r| <= ln(2)/2. e^r is the polynomial of the Cephes
// library (expf), and 2^n has two factors, so that subnormal and infinite results come out of the multiplication.
// Clamping keeps n within what two factors can hold; its operand order lets NaN through.
func expLanes(x reg.VecVirtual) reg.VecVirtual {
	n, r, high := YMM(), YMM(), YMM()
	VMOVUPS(allFloat(89), high)
	VMINPS(x, high, r)
	VMOVUPS(allFloat(-104), high)
	VMAXPS(r, high, r)
	VMULPS(allFloat(1.44269504088896341), r, n)
	VROUNDPS(Imm(8), n, n)
	VFNMADD231PS(allFloat(0.693359375), n, r)
	VFNMADD231PS(allFloat(-2.12194440e-4), n, r)

	p := horner(r, 1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3,
		4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
	square := YMM()
	VMULPS(r, r, square)
	VFMADD213PS(r, square, p)
	VADDPS(allFloat(1), p, p)

	half := YMM()
	VCVTPS2DQ(n, n)
	VPSRAD(Imm(1), n, half)
	VPSUBD(half, n, n)
	for _, e := range []reg.VecVirtual{half, n} {
		VPADDD(constant(127), e, e)
		VPSLLD(Imm(23), e, e)
		VMULPS(e, p, p)
	}
	return p
}

// logLanes computes ln x = e ln 2 + ln m with m from sqrt(1/2) to sqrt(2). ln m is the polynomial of the Cephes library
// (logf). Subnormal x is scaled up first.
func logLanes(x reg.VecVirtual) reg.VecVirtual {
	m, e, tiny := YMM(), YMM(), YMM()
	VCMPPS(Imm(1), allFloat(1.17549435e-38), x, tiny) // x < smallest normal
	VMULPS(allFloat(1<<23), x, m)
	VBLENDVPS(tiny, m, x, m)
	VPSUBD(constant(0x3f3504f3), m, e) // bits of sqrt(1/2)
	VPSRAD(Imm(23), e, e)
	shift := YMM()
	VPSLLD(Imm(23), e, shift)
	VPSUBD(shift, m, m)
	VCVTDQ2PS(e, e)
	VANDPS(allFloat(23), tiny, tiny)
	VSUBPS(tiny, e, e)

	f, square := m, YMM()
	VSUBPS(allFloat(1), m, f)
	VMULPS(f, f, square)
	p := horner(f, 7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1,
		-1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
		2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1)
	VMULPS(f, p, p)
	VMULPS(square, p, p)
	VFMADD231PS(allFloat(-2.12194440e-4), e, p)
	VFNMADD231PS(allFloat(0.5), square, p)
	VADDPS(f, p, p)
	VFMADD231PS(allFloat(0.693359375), e, p)
	return logSpecial(x, p)
}

// logSpecial puts in the results that the polynomial cannot give.
func logSpecial(x, p reg.VecVirtual) reg.VecVirtual {
	is, zero, value := YMM(), YMM(), YMM()
	VXORPS(zero, zero, zero)
	VCMPPS(Imm(0), zero, x, is) // x == 0
	VMOVUPS(constant(0xff800000), value)
	VBLENDVPS(is, value, p, p)
	VCMPPS(Imm(0), constant(0x7f800000), x, is) // x == +Inf
	VBLENDVPS(is, x, p, p)
	VCMPPS(Imm(9), zero, x, is) // not x >= 0
	VORPS(is, p, p)
	return p
}

// sigmoidLanes computes 1/(1+e) for x >= 0 and e/(1+e) below, with e = e^-|x|: e never overflows, and small results
// keep their precision.
func sigmoidLanes(x reg.VecVirtual) reg.VecVirtual {
	minus, one := YMM(), YMM()
	VORPS(constant(0x80000000), x, minus)
	e := expLanes(minus)
	VMOVUPS(allFloat(1), one)
	top := YMM()
	VBLENDVPS(x, e, one, top)
	VADDPS(e, one, one)
	VDIVPS(one, top, top)
	return top
}
