package vec

import "math"

// The steps below round after each operation and never fuse two, so that all
// kernel sets give the same bits, and so does any cut of the slices.

// AdaGrad steps w against the gradient g by the history of each element (Duchi,
// Hazan, Singer 2011): s[i] += g[i]²; w[i] -= step*g[i] / (√s[i] + epsilon). It
// is the same bit for bit in every set. The lengths must be equal; no two of the
// slices may overlap.
func AdaGrad(step, epsilon float32, g, s, w []float32) {
	same("AdaGrad", len(g), len(s))
	same("AdaGrad", len(g), len(w))
	for len(g) > chunk {
		adaGrad(step, epsilon, g[:chunk], s[:chunk], w[:chunk])
		g, s, w = g[chunk:], s[chunk:], w[chunk:]
	}
	adaGrad(step, epsilon, g, s, w)
}

// Momentum steps w along the velocity v that gradients g leave behind (Polyak
// 1964, the heavy ball): v[i] = decay*v[i] + g[i]; w[i] -= step*v[i]. It is the
// same bit for bit in every set. The lengths must be equal; no two of the slices
// may overlap.
func Momentum(decay, step float32, g, v, w []float32) {
	same("Momentum", len(g), len(v))
	same("Momentum", len(g), len(w))
	for len(g) > chunk {
		momentum(decay, step, g[:chunk], v[:chunk], w[:chunk])
		g, v, w = g[chunk:], v[chunk:], w[chunk:]
	}
	momentum(decay, step, g, v, w)
}

// Nesterov works like Momentum but looks one step ahead (Sutskever et al. 2013, eq. 3 and 4, in the variables of Bengio
// et al. 2013, eq. 7, where w is the point looked at): v[i] = decay*v[i] + g[i]; w[i] -= step*(g[i] + decay*v[i]). The
// result is the same bit for bit in every set. The lengths must be equal; no two of the slices may overlap.
func Nesterov(decay, step float32, g, v, w []float32) {
	same("Nesterov", len(g), len(v))
	same("Nesterov", len(g), len(w))
	for len(g) > chunk {
		nesterov(decay, step, g[:chunk], v[:chunk], w[:chunk])
		g, v, w = g[chunk:], v[chunk:], w[chunk:]
	}
	nesterov(decay, step, g, v, w)
}

// Adam steps w against the gradient g by the moving averages m of gradients and
// v of their squares (Kingma and Ba 2015, end of section 2):
// m[i] = beta1*m[i] + (1-beta1)*g[i]; v[i] = beta2*v[i] + (1-beta2)*g[i]²;
// w[i] -= step*m[i] / (√v[i] + epsilon). The caller corrects the bias of m and v
// in step and epsilon, which is Algorithm 1 if at update t they are
// α√(1-beta2^t)/(1-beta1^t) and ε√(1-beta2^t). It is the same bit for bit in
// every set. The lengths must be equal; no two of the slices may overlap.
func Adam(beta1, beta2, step, epsilon float32, g, m, v, w []float32) {
	same("Adam", len(g), len(m))
	same("Adam", len(g), len(v))
	same("Adam", len(g), len(w))
	for len(g) > chunk {
		adam(beta1, beta2, step, epsilon, g[:chunk], m[:chunk], v[:chunk], w[:chunk])
		g, m, v, w = g[chunk:], m[chunk:], v[chunk:], w[chunk:]
	}
	adam(beta1, beta2, step, epsilon, g, m, v, w)
}

func goAdaGrad(step, epsilon float32, g, s, w []float32) {
	s, w = s[:len(g)], w[:len(g)]
	for i, a := range g {
		s[i] += float32(a * a)
		w[i] -= float32(step*a) / (root(s[i]) + epsilon)
	}
}

func goMomentum(decay, step float32, g, v, w []float32) {
	v, w = v[:len(g)], w[:len(g)]
	for i, a := range g {
		v[i] = float32(decay*v[i]) + a
		w[i] -= float32(step * v[i])
	}
}

func goNesterov(decay, step float32, g, v, w []float32) {
	v, w = v[:len(g)], w[:len(g)]
	for i, a := range g {
		v[i] = float32(decay*v[i]) + a
		ahead := float32(decay*v[i]) + a
		w[i] -= float32(step * ahead)
	}
}

func goAdam(beta1, beta2, step, epsilon float32, g, m, v, w []float32) {
	m, v, w = m[:len(g)], v[:len(g)], w[:len(g)]
	rest1, rest2 := 1-beta1, 1-beta2
	for i, a := range g {
		m[i] = float32(beta1*m[i]) + float32(rest1*a)
		v[i] = float32(beta2*v[i]) + float32(rest2*float32(a*a))
		w[i] -= float32(step*m[i]) / (root(v[i]) + epsilon)
	}
}

// root returns the square root, rounded once: a double has more than twice the digits.
func root(x float32) float32 { return float32(math.Sqrt(float64(x))) }
