package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/reg"
)

// stepKernels emits the updates of weights by gradients. They do without fused multiply-add: each operation rounds
// once, as in the reference, so that the bits are those of the reference.
func stepKernels() {
	adaGradKernel()
	momentumKernel("momentumAVX2", "Momentum", func(_, v, _ reg.VecVirtual) reg.VecVirtual { return v })
	momentumKernel("nesterovAVX2", "Nesterov", func(g, v, decay reg.VecVirtual) reg.VecVirtual {
		ahead := product(decay, v)
		VADDPS(ahead, g, ahead)
		return ahead
	})
	adamKernel()
}

func adaGradKernel() {
	kernel("adaGradAVX2", "func(n int, step, epsilon float32, grad, s, w *float32)", "computes AdaGrad for n elements.")
	n, step, epsilon := load64("n"), broadcast("step"), broadcast("epsilon")
	g, s, w := load64("grad"), load64("s"), load64("w")
	elements("adaGrad", n, 2, []stream{g, s, w}, func(l lanes) {
		a, squares, weight := l.load(g), l.load(s), l.load(w)
		VADDPS(product(a, a), squares, squares)
		next := descend(weight, product(step, a), squares, epsilon)
		l.store(squares, s)
		l.store(next, w)
	})
	finish()
}

// momentumKernel moves the velocity, then the weights by step times the
// direction.
func momentumKernel(name, public string, direction func(g, v, decay reg.VecVirtual) reg.VecVirtual) {
	kernel(name, "func(n int, decay, step float32, grad, v, w *float32)", "computes "+public+" for n elements.")
	n, decay, step := load64("n"), broadcast("decay"), broadcast("step")
	g, v, w := load64("grad"), load64("v"), load64("w")
	elements(public, n, 2, []stream{g, v, w}, func(l lanes) {
		a, velocity, weight := l.load(g), l.load(v), l.load(w)
		VMULPS(decay, velocity, velocity)
		VADDPS(a, velocity, velocity)
		VSUBPS(product(step, direction(a, velocity, decay)), weight, weight)
		l.store(velocity, v)
		l.store(weight, w)
	})
	finish()
}

func adamKernel() {
	kernel("adamAVX2", "func(n int, beta1, rest1, beta2, rest2, step, epsilon float32, grad, m, v, w *float32)", "computes Adam for n elements, with rest1 = 1-beta1 and rest2 = 1-beta2.")
	n := load64("n")
	beta1, rest1, beta2, rest2 := broadcast("beta1"), broadcast("rest1"), broadcast("beta2"), broadcast("rest2")
	step, epsilon := broadcast("step"), broadcast("epsilon")
	g, m, v, w := load64("grad"), load64("m"), load64("v"), load64("w")
	elements("adam", n, 1, []stream{g, m, v, w}, func(l lanes) {
		a, first, second, weight := l.load(g), l.load(m), l.load(v), l.load(w)
		VMULPS(beta1, first, first)
		VADDPS(product(rest1, a), first, first)
		VMULPS(beta2, second, second)
		VADDPS(product(rest2, product(a, a)), second, second)
		next := descend(weight, product(step, first), second, epsilon)
		l.store(first, m)
		l.store(second, v)
		l.store(next, w)
	})
	finish()
}

// descend computes weight - top/(sqrt(square)+epsilon). It consumes top and weight.
func descend(weight, top, square, epsilon reg.VecVirtual) reg.VecVirtual {
	root := YMM()
	VSQRTPS(square, root)
	VADDPS(epsilon, root, root)
	VDIVPS(root, top, top)
	VSUBPS(top, weight, weight)
	return weight
}

func product(a, b reg.VecVirtual) reg.VecVirtual {
	p := YMM()
	VMULPS(a, b, p)
	return p
}
