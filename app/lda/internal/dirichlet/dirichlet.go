// Package dirichlet estimates the weights of a Dirichlet distribution from counts: how likely each topic of app/lda is
// in a document.
//
// The caller adds up Rising over all documents, topic by topic, and calls Learn for one step. The package refuses
// nothing: without counts the weights stay as they are.
package dirichlet

import "math"

// Rising returns ψ(a+n) - ψ(a), the derivative of log Γ(a+n)/Γ(a) in a.
func Rising(a float64, n int) float64 {
	if n > 16 {
		return digamma(a+float64(n)) - digamma(a)
	}
	sum := 0.0
	for i := range n {
		sum += 1 / (a + float64(i))
	}
	return sum
}

// digamma returns ψ for positive arguments: the recurrence up to 6, then the asymptotic series
// (Abramowitz and Stegun 6.3.18).
func digamma(x float64) float64 {
	sum := 0.0
	for ; x < 6; x++ {
		sum -= 1 / x
	}
	y := 1 / (x * x)
	return sum + math.Log(x) - 0.5/x - y*(1.0/12-y*(1.0/120-y*(1.0/252-y/240)))
}

// The bounds of a learned weight.
const (
	least = 1e-4
	most  = 10
)

// Learn makes one step of Minka's fixed point (2000, eq. 55): α_k ← α_k Σ_d[ψ(n_dk+α_k)-ψ(α_k)] /
// Σ_d[ψ(N_d+Σα)-ψ(Σα)]. stats holds the numerators by topic, and the denominator last.
func Learn(alpha, stats []float64) {
	den := stats[len(alpha)]
	if !(den > 0) {
		return
	}
	for k := range alpha {
		alpha[k] = min(max(alpha[k]*stats[k]/den, least), most)
	}
}
