package vec

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"bellows/vec/roofline"
)

// BenchmarkSums runs each kernel beside its limit on 512 KiB in all, which fits
// a second-level cache.
func BenchmarkSums(b *testing.B) {
	r := source(1)
	one := values(r, 1<<17)
	x, y := values(r, 1<<16), values(r, 1<<16)
	for _, c := range []struct {
		name  string
		bytes int // loaded and stored
		run   func()
	}{
		{"limit/Read", 4 << 17, func() { roofline.Read(one) }},
		{"SumSquares", 4 << 17, func() { SumSquares(one) }},
		{"AbsMax", 4 << 17, func() { AbsMax(one) }},
		{"limit/ReadTwo", 8 << 16, func() { roofline.ReadTwo(x, y) }},
		{"Dot", 8 << 16, func() { Dot(x, y) }},
		{"limit/Update", 8 << 17, func() { roofline.Update(one) }},
		{"Scale", 8 << 17, func() { Scale(1, one) }},
		{"limit/UpdateFrom", 12 << 16, func() { roofline.UpdateFrom(x, y) }},
		{"Axpy", 12 << 16, func() { Axpy(0, x, y) }},
		{"Add", 12 << 16, func() { Add(x, y) }},
		{"AddThree", 20 << 16, func() { AddThree(x, x, x, y) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(c.bytes))
			for b.Loop() {
				c.run()
			}
		})
	}
}

// BenchmarkMaps runs the vector functions beside package math.
func BenchmarkMaps(b *testing.B) {
	x := values(source(2), 4096)
	for i, v := range x {
		x[i] = float32(math.Abs(float64(v)))
	}
	y := make([]float32, len(x))
	scalar := func(f func(float64) float64) func(x, y []float32) {
		return func(x, y []float32) {
			for i, v := range x {
				y[i] = float32(f(float64(v)))
			}
		}
	}
	for _, c := range []struct {
		name string
		run  func(x, y []float32)
	}{
		{"math.Exp", scalar(math.Exp)}, {"Exp", Exp},
		{"math.Log", scalar(math.Log)}, {"Log", Log},
		{"math.Sigmoid", scalar(func(x float64) float64 { return 1 / (1 + math.Exp(-x)) })}, {"Sigmoid", Sigmoid},
		{"Softmax10", func(_, y []float32) { Softmax(409, 10, y[:4090]) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				c.run(x, y)
			}
			b.ReportMetric(float64(len(x))*float64(b.N)/b.Elapsed().Seconds()/1e6, "M/s")
		})
	}
}

// BenchmarkFactorBlock runs over a million ratings of 100,000 users on 20,000
// items, in random order and in an order of cache-sized blocks.
func BenchmarkFactorBlock(b *testing.B) {
	const users, items, ratings = 100000, 20000, 1 << 20
	for _, rank := range []int{16, 32, 64, 128} {
		for _, biases := range []string{"none", "separate", "in rows"} {
			stride := rank
			if biases == "in rows" {
				stride += 8
			}
			c := newBench(users, items, ratings, rank, stride, biases)
			for _, order := range []string{"random", "blocked"} {
				if order == "blocked" {
					c.block(1000, 500)
				}
				b.Run(fmt.Sprintf("rank=%d/biases=%s/%s", rank, biases, order), func(b *testing.B) {
					for b.Loop() {
						FactorBlock(&c.f, c.user, c.item, c.rating)
					}
					b.ReportMetric(ratings*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mratings/s")
				})
			}
		}
	}
}

func newBench(users, items, ratings, rank, stride int, biases string) *blockCase {
	r := source(3)
	c := &blockCase{}
	rows := func(n int) []float32 {
		x := make([]float32, n*stride)
		for i := range x {
			x[i] = float32(r.NormFloat64()) / float32(rank)
		}
		return x
	}
	c.f = Factors{Rank: rank, Stride: stride, P: rows(users), Q: rows(items), Mean: 3, Step: 0.001, L2: 0.05, BiasL2: 0.01}
	switch biases {
	case "separate":
		c.f.UserBias, c.f.ItemBias, c.f.BiasStride = make([]float32, users), make([]float32, items), 1
	case "in rows":
		c.f.UserBias, c.f.ItemBias, c.f.BiasStride = c.f.P[rank:], c.f.Q[rank:], stride
	}
	for range ratings {
		c.user = append(c.user, int32(r.IntN(users)))
		c.item = append(c.item, int32(r.IntN(items)))
		c.rating = append(c.rating, float32(1+r.IntN(5)))
	}
	return c
}

// block sorts the ratings by blocks of users and items.
func (c *blockCase) block(users, items int32) {
	order := make([]int, len(c.rating))
	for j := range order {
		order[j] = j
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if d := c.user[a]/users - c.user[b]/users; d != 0 {
			return int(d)
		}
		return int(c.item[a]/items - c.item[b]/items)
	})
	user, item := slices.Clone(c.user), slices.Clone(c.item)
	for to, from := range order {
		c.user[to], c.item[to] = user[from], item[from]
	}
}

// BenchmarkGemm runs the three forms on square and on few-column products.
func BenchmarkGemm(b *testing.B) {
	for _, s := range [][3]int{{32, 32, 32}, {33, 65, 47}, {64, 64, 64}, {256, 256, 256}, {1024, 32, 784}, {64, 10, 784}, {784, 10, 64}, {1024, 10, 784}} {
		m, n, k := s[0], s[1], s[2]
		for _, f := range forms {
			b.Run(fmt.Sprintf("%s/%dx%dx%d", f.name, m, n, k), func(b *testing.B) {
				x, y := operands(source(4), m, n, k, 0, f.transA, f.transB)
				c := make([]float32, m*n)
				for b.Loop() {
					f.run(m, n, k, 1, x.x, x.stride, y.x, y.stride, 0, c, n)
				}
				b.ReportMetric(2*float64(m)*float64(n)*float64(k)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}
