package vec

func adaGrad(step, epsilon float32, g, s, w []float32) {
	if active() == levelGo {
		goAdaGrad(step, epsilon, g, s, w)
	} else if len(g) > 0 {
		adaGradAVX2(len(g), step, epsilon, &g[0], &s[0], &w[0])
	}
}

func momentum(decay, step float32, g, v, w []float32) {
	if active() == levelGo {
		goMomentum(decay, step, g, v, w)
	} else if len(g) > 0 {
		momentumAVX2(len(g), decay, step, &g[0], &v[0], &w[0])
	}
}

func nesterov(decay, step float32, g, v, w []float32) {
	if active() == levelGo {
		goNesterov(decay, step, g, v, w)
	} else if len(g) > 0 {
		nesterovAVX2(len(g), decay, step, &g[0], &v[0], &w[0])
	}
}

func adam(beta1, beta2, step, epsilon float32, g, m, v, w []float32) {
	if active() == levelGo {
		goAdam(beta1, beta2, step, epsilon, g, m, v, w)
	} else if len(g) > 0 {
		adamAVX2(len(g), beta1, 1-beta1, beta2, 1-beta2, step, epsilon, &g[0], &m[0], &v[0], &w[0])
	}
}
