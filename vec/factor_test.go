package vec

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestFactorBlockOfOneRating: a step at every rank, held against the arithmetic in 64 bits.
func TestFactorBlockOfOneRating(t *testing.T) {
	const rating, step, l2 = 3.5, 0.05, 0.2
	decay := float64(1 - float32(float32(step)*float32(l2)))
	eachSet(t, func(t *testing.T) {
		r := source(11)
		for rank := 1; rank < lengthsMax; rank++ {
			p, q := fieldOf(rank%16, values(r, rank)), fieldOf(15-rank%16, values(r, rank))
			wantP, wantQ := slices.Clone(p.x), slices.Clone(q.x)
			want := rating - exactDot(wantP, wantQ)
			for i, v := range wantP {
				wantP[i] = float32(decay*float64(v) + step*want*float64(wantQ[i]))
				wantQ[i] = float32(decay*float64(wantQ[i]) + step*want*float64(v))
			}
			f := Factors{Rank: rank, Stride: rank, P: p.x, Q: q.x, Step: step, L2: l2}
			got := FactorBlock(&f, []int32{0}, []int32{0}, []float32{rating})
			if math.Abs(got-want*want) > 2e-4*(1+want*want) {
				t.Fatalf("rank %d: squared residual %v, want %v", rank, got, want*want)
			}
			nearAll(t, "p", p.x, wantP)
			nearAll(t, "q", q.x, wantQ)
			p.intact(t, "p")
			q.intact(t, "q")
		}
	})
}

func exactDot(x, y []float32) float64 {
	var sum float64
	for i, v := range x {
		sum += float64(v) * float64(y[i])
	}
	return sum
}

func nearAll(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i, v := range got {
		if !near(v, want[i], 2e-5*(1+math.Abs(float64(want[i])))) {
			t.Fatalf("%s: element %d of %d is %v, want %v", what, i, len(got), v, want[i])
		}
	}
}

// A blockCase is a small model with everything around its rows guarded.
type blockCase struct {
	f          Factors
	p, q       field
	bu, bi     field
	user, item []int32
	rating     []float32
}

// newBlockCase makes a model of 7 users and 5 items. biases: "none",
// "separate" or "in rows".
func newBlockCase(r *rand.Rand, rank, stride int, biases string, ratings int) *blockCase {
	const users, items = 7, 5
	c := &blockCase{p: rowsOf(r, users, rank, stride, biases), q: rowsOf(r, items, rank, stride, biases)}
	c.f = Factors{Rank: rank, Stride: stride, P: c.p.x, Q: c.q.x, Mean: 2.5, Step: 0.02, L2: 0.05, BiasL2: 0.3}
	switch biases {
	case "separate":
		c.bu, c.bi = fieldOf(3, values(r, users)), fieldOf(1, values(r, items))
		c.f.UserBias, c.f.ItemBias, c.f.BiasStride = c.bu.x, c.bi.x, 1
	case "in rows":
		c.f.UserBias, c.f.ItemBias, c.f.BiasStride = c.p.x[rank:], c.q.x[rank:], stride
	}
	for range ratings {
		c.user = append(c.user, int32(r.IntN(users)))
		c.item = append(c.item, int32(r.IntN(items)))
		c.rating = append(c.rating, float32(1+r.IntN(5)))
	}
	return c
}

// rowsOf makes rows with guards between them.
func rowsOf(r *rand.Rand, rows, rank, stride int, biases string) field {
	width := rank
	if biases == "in rows" {
		width++
	}
	f := newField(rank%16, (rows-1)*stride+width)
	for i := range rows {
		copy(f.x[i*stride:], values(r, width))
		Scale(float32(1/math.Sqrt(float64(rank))), f.x[i*stride:i*stride+width])
	}
	return f
}

func (c *blockCase) clone() *blockCase {
	d := *c
	d.f.P, d.f.Q = slices.Clone(c.f.P), slices.Clone(c.f.Q)
	if c.f.BiasStride == 1 {
		d.f.UserBias, d.f.ItemBias = slices.Clone(c.f.UserBias), slices.Clone(c.f.ItemBias)
	} else if c.f.UserBias != nil {
		d.f.UserBias, d.f.ItemBias = d.f.P[c.f.Rank:], d.f.Q[c.f.Rank:]
	}
	return &d
}

func TestFactorBlock(t *testing.T) {
	eachSet(t, func(t *testing.T) {
		for rank := 1; rank <= 70; rank++ {
			for _, biases := range []string{"none", "separate", "in rows"} {
				r := source(uint64(rank))
				c := newBlockCase(r, rank, rank+1+rank%9, biases, 60+rank)
				ref := c.clone()
				want := exactBlock(ref)
				got := FactorBlock(&c.f, c.user, c.item, c.rating)
				if math.Abs(got-want) > 1e-4*want {
					t.Fatalf("rank %d, biases %s: sum of squares %v, want %v", rank, biases, got, want)
				}
				nearAll(t, "P", c.f.P, ref.f.P)
				nearAll(t, "Q", c.f.Q, ref.f.Q)
				nearAll(t, "user bias", c.f.UserBias, ref.f.UserBias)
				nearAll(t, "item bias", c.f.ItemBias, ref.f.ItemBias)
				c.p.intact(t, "P")
				c.q.intact(t, "Q")
				c.bu.intact(t, "user bias")
				c.bi.intact(t, "item bias")
			}
		}
	})
}

// exactBlock computes FactorBlock in double precision, written from its definition.
func exactBlock(c *blockCase) (sumSquares float64) {
	f := &c.f
	step := float64(f.Step)
	decay, biasDecay := 1-step*float64(f.L2), 1-step*float64(f.BiasL2)
	for j, rating := range c.rating {
		u, i := int(c.user[j]), int(c.item[j])
		p, q := f.P[u*f.Stride:][:f.Rank], f.Q[i*f.Stride:][:f.Rank]
		e := float64(rating) - float64(f.Mean) - exactDot(p, q)
		if f.UserBias != nil {
			bu, bi := &f.UserBias[u*f.BiasStride], &f.ItemBias[i*f.BiasStride]
			e -= float64(*bu) + float64(*bi)
			*bu = float32(biasDecay*float64(*bu) + step*e)
			*bi = float32(biasDecay*float64(*bi) + step*e)
		}
		for x, v := range p {
			p[x] = float32(decay*float64(v) + step*e*float64(q[x]))
			q[x] = float32(decay*float64(q[x]) + step*e*float64(v))
		}
		sumSquares += e * e
	}
	return sumSquares
}

// TestFactorScore: scoring is learning at step 0, and writes nothing.
func TestFactorScore(t *testing.T) {
	eachSet(t, func(t *testing.T) {
		for rank := 1; rank <= 70; rank++ {
			for _, biases := range []string{"none", "separate", "in rows"} {
				r := source(uint64(rank))
				c := newBlockCase(r, rank, rank+1+rank%9, biases, 60+rank)
				ref := c.clone()
				ref.f.Step = 0
				want := exactBlock(ref)
				c.f.Step, c.f.L2, c.f.BiasL2 = float32(math.NaN()), float32(math.Inf(1)), -1
				before := c.clone()
				got := FactorScore(&c.f, c.user, c.item, c.rating)
				if math.Abs(got-want) > 1e-4*want {
					t.Fatalf("rank %d, biases %s: sum of squares %v, want %v", rank, biases, got, want)
				}
				if !slices.Equal(c.f.P, before.f.P) || !slices.Equal(c.f.Q, before.f.Q) ||
					!slices.Equal(c.f.UserBias, before.f.UserBias) || !slices.Equal(c.f.ItemBias, before.f.ItemBias) {
					t.Fatalf("rank %d, biases %s: scoring wrote a row", rank, biases)
				}
				c.p.intact(t, "P")
				c.q.intact(t, "Q")
			}
		}
	})
}

// TestFactorScoreIsTheBlock: the residuals of both kernels are the same to the
// bit, over several chunks.
func TestFactorScoreIsTheBlock(t *testing.T) {
	eachSet(t, func(t *testing.T) {
		for _, rank := range []int{3, 16, 24, 32, 33} {
			for _, biases := range []string{"none", "in rows"} {
				c := newBlockCase(source(15), rank, rank+8, biases, 2*factorChunk+7)
				c.f.Step = 0
				got := FactorScore(&c.f, c.user, c.item, c.rating)
				if want := FactorBlock(&c.f, c.user, c.item, c.rating); got != want {
					t.Errorf("rank %d, biases %s: scored %v, visited without a step %v", rank, biases, got, want)
				}
			}
		}
	})
}

// TestFactorBlockIsSteps: the result does not depend, to the bit, on how ratings are cut into blocks, single ones included.
func TestFactorBlockIsSteps(t *testing.T) {
	eachSet(t, func(t *testing.T) {
		for _, rank := range []int{3, 8, 16, 24, 32, 33, 64} {
			whole := newBlockCase(source(12), rank, rank, "none", 3*factorChunk+5)
			steps, pieces := whole.clone(), whole.clone()
			FactorBlock(&whole.f, whole.user, whole.item, whole.rating)
			for size, other := range map[int]*blockCase{1: steps, 997: pieces} {
				for at := 0; at < len(other.rating); at += size {
					end := min(at+size, len(other.rating))
					FactorBlock(&other.f, other.user[at:end], other.item[at:end], other.rating[at:end])
				}
				if !slices.Equal(whole.f.P, other.f.P) || !slices.Equal(whole.f.Q, other.f.Q) {
					t.Fatalf("rank %d, blocks of %d: rows differ", rank, size)
				}
			}
		}
	})
}

func TestFactorBlockRefuses(t *testing.T) {
	eachSet(t, func(t *testing.T) {
		for name, spoil := range map[string]func(c *blockCase){
			"user beyond":       func(c *blockCase) { c.user[40] = 7 },
			"user negative":     func(c *blockCase) { c.user[40] = -1 },
			"item beyond":       func(c *blockCase) { c.item[40] = 5 },
			"item negative":     func(c *blockCase) { c.item[40] = math.MinInt32 },
			"lengths":           func(c *blockCase) { c.item = c.item[1:] },
			"no rank":           func(c *blockCase) { c.f.Rank = 0 },
			"stride below rank": func(c *blockCase) { c.f.Stride = 32 },
			"half the biases":   func(c *blockCase) { c.f.UserBias = c.f.P },
			"no bias stride":    func(c *blockCase) { c.f.UserBias, c.f.ItemBias = c.f.P, c.f.Q },
			"short slab":        func(c *blockCase) { c.f.P = c.f.P[:40] },
			"no slab":           func(c *blockCase) { c.f.Q = nil },
		} {
			c := newBlockCase(source(13), 33, 40, "none", 50)
			clean := c.clone()
			spoil(c)
			mustPanic(t, name, func() { FactorScore(&c.f, c.user, c.item, c.rating) })
			mustPanic(t, name, func() { FactorBlock(&c.f, c.user, c.item, c.rating) })
			c.p.intact(t, name)
			c.q.intact(t, name)
			if name == "user beyond" {
				FactorBlock(&clean.f, clean.user[:40], clean.item[:40], clean.rating[:40])
				if !slices.Equal(c.f.P, clean.f.P) || !slices.Equal(c.f.Q, clean.f.Q) {
					t.Error("the ratings before a bad one were not applied")
				}
			}
		}
	})
}

func TestFactorBlockEmpty(t *testing.T) {
	f := Factors{Rank: 4, Stride: 4}
	if got := FactorBlock(&f, nil, nil, nil); got != 0 {
		t.Errorf("no ratings: got %v, want 0", got)
	}
	if got := FactorScore(&f, nil, nil, nil); got != 0 {
		t.Errorf("no ratings scored: got %v, want 0", got)
	}
}

func TestFactorDoesNotAllocate(t *testing.T) {
	eachSet(t, func(t *testing.T) {
		c := newBlockCase(source(14), 32, 40, "in rows", 100)
		allocs := testing.AllocsPerRun(10, func() {
			f := c.f
			FactorBlock(&f, c.user, c.item, c.rating)
			FactorScore(&f, c.user, c.item, c.rating)
		})
		if allocs != 0 {
			t.Errorf("%v allocations per call", allocs)
		}
	})
}
