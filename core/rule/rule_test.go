package rule_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core/rule"
	"bellows/internal/require"
	"bellows/table"
	"bellows/vec"
)

func schema(r table.Rule, d table.DType) *table.Schema {
	return &table.Schema{Name: "w", Rows: 2, Width: 2, Rule: r, DType: d}
}

// every is one declaration of each rule for floats.
var every = []table.Rule{
	{Name: "add"},
	{Name: "sgd", Step: 0.25},
	{Name: "momentum", Step: 0.1, Momentum: 0.9},
	{Name: "momentum", Step: 0.1, Momentum: 0.9, Nesterov: true},
	{Name: "adagrad", Step: 0.3, Epsilon: 1e-6},
	{Name: "adam", Step: 0.1, Epsilon: 1e-8, Beta1: 0.9, Beta2: 0.999},
	{Name: "adam", Step: 0.1, Epsilon: 1e-3, Beta2: 0.5},
	{Name: "ftrl", Step: 0.2, Epsilon: 0.5},
}

// state is a table of some rows under a rule.
type state struct {
	rule   rule.Rule
	width  int
	values []float32
	slots  [][]float32
}

func newState(t testing.TB, r table.Rule, rows, width int) *state {
	t.Helper()
	u, err := rule.For(&table.Schema{Name: "w", Rows: rows, Width: width, Rule: r})
	require.NoError(t, err)
	s := &state{rule: u, width: width, values: make([]float32, rows*width)}
	for i := range s.values {
		s.values[i] = 1 - float32(i%7)/3
	}
	for _, w := range u.Slots() {
		s.slots = append(s.slots, make([]float32, rows*w))
	}
	return s
}

// apply updates the rows [first, end).
func (s *state) apply(first, end int, g []float32) {
	slots := slices.Clone(s.slots)
	for i, w := range s.rule.Slots() {
		slots[i] = slots[i][first*w : end*w]
	}
	s.rule.Apply(s.values[first*s.width:end*s.width], slots, g)
}

func (s *state) equal(o *state) bool {
	return slices.Equal(s.values, o.values) && slices.EqualFunc(s.slots, o.slots, slices.Equal[[]float32])
}

func eachSet(t *testing.T, test func(t *testing.T)) {
	before := vec.Kernels()
	t.Cleanup(func() { vec.Use(before) })
	for _, name := range vec.Sets() {
		require.NoError(t, vec.Use(name))
		t.Run(name, test)
	}
}

func gradients(r *rand.Rand, n int) []float32 {
	g := make([]float32, n)
	for i := range g {
		g[i] = float32(r.NormFloat64())
	}
	return g
}

// exact returns one value under a rule in double precision, by the formulas of the papers.
func exact(r table.Rule, w float64, gradients []float64) float64 {
	var m, v, z float64
	step, epsilon := float64(r.Step), float64(r.Epsilon)
	for i, g := range gradients {
		switch r.Name {
		case "add":
			w += g
		case "sgd":
			w -= step * g
		case "momentum":
			m = float64(r.Momentum)*m + g
			direction := m
			if r.Nesterov {
				direction = float64(r.Momentum)*m + g
			}
			w -= step * direction
		case "adagrad":
			v += g * g
			w -= step * g / (math.Sqrt(v) + epsilon)
		case "adam":
			beta1, beta2, t := float64(r.Beta1), float64(r.Beta2), float64(i+1)
			m = beta1*m + (1-beta1)*g
			v = beta2*v + (1-beta2)*g*g
			w -= step * (m / (1 - math.Pow(beta1, t))) / (math.Sqrt(v/(1-math.Pow(beta2, t))) + epsilon)
		case "ftrl":
			z += g - (math.Sqrt(v+g*g)-math.Sqrt(v))/step*w
			v += g * g
			w = -z * step / (epsilon + math.Sqrt(v))
		}
	}
	return w
}

func TestRulesFollowTheirFormulas(t *testing.T) {
	eachSet(t, func(t *testing.T) {
		for _, r := range every {
			const rows, width, times = 3, 5, 300
			s := newState(t, r, rows, width)
			start := slices.Clone(s.values)
			random := rand.New(rand.NewPCG(1, 2))
			history := make([][]float64, rows*width)
			for range times {
				g := gradients(random, rows*width)
				for i, v := range g {
					history[i] = append(history[i], float64(v))
				}
				s.apply(0, rows, g)
			}
			for i, got := range s.values {
				want := exact(r, float64(start[i]), history[i])
				if math.Abs(float64(got)-want) > 1e-5*(1+math.Abs(want)) {
					t.Errorf("%+v: value %d is %v after %d updates, want %v", r, i, got, times, want)
				}
			}
		}
	})
}

// The first step of adam is α in the direction of the sign, whatever the gradient's size.
func TestAdamsFirstStepHasTheSizeAlpha(t *testing.T) {
	s := newState(t, table.Rule{Name: "adam", Step: 0.125, Epsilon: 1e-20, Beta1: 0.9, Beta2: 0.999}, 1, 4)
	start := slices.Clone(s.values)
	s.apply(0, 1, []float32{1e-6, -1e6, 0, 3})
	for i, sign := range []float32{1, -1, 0, 1} {
		if d := start[i] - s.values[i]; math.Abs(float64(d-sign*0.125)) > 1e-6 {
			t.Errorf("value %d moved by %v, want %v", i, -d, -sign*0.125)
		}
	}
}

func TestAdamCountsTheUpdatesOfEachRow(t *testing.T) {
	r := table.Rule{Name: "adam", Step: 0.1, Epsilon: 1e-8, Beta1: 0.9, Beta2: 0.999}
	s := newState(t, r, 6, 3)
	random := rand.New(rand.NewPCG(3, 4))
	want := []float32{0, 1, 2, 2, 5, 0}
	history := make([][]float64, 18)
	start := slices.Clone(s.values)
	for row, times := range want {
		for range int(times) {
			g := gradients(random, 3)
			for i, v := range g {
				history[3*row+i] = append(history[3*row+i], float64(v))
			}
			s.apply(row, row+1, g)
		}
	}
	if counts := s.slots[2]; !slices.Equal(counts, want) {
		t.Fatalf("counts %v, want %v", counts, want)
	}
	g := gradients(random, 18) // rows of several counts in one call
	for i, v := range g {
		history[i] = append(history[i], float64(v))
	}
	s.apply(0, 6, g)
	for i, got := range s.values {
		if want := exact(r, float64(start[i]), history[i]); math.Abs(float64(got)-want) > 1e-6 {
			t.Errorf("row %d: value %d is %v, want %v", i/3, i%3, got, want)
		}
	}
}

// The corrections are those of Algorithm 1 at each t, early and late.
func TestAdamCorrectsTheBias(t *testing.T) {
	for _, beta := range [][2]float32{{0.9, 0.999}, {0, 0.5}, {0.999, 0.9999}, {0.5, 0.9999999}} {
		for _, count := range []int{1, 2, 3, 10, 353, 1000, 37000, 40000, 1e6, 1 << 24} {
			r := table.Rule{Name: "adam", Step: 1, Epsilon: 0.25, Beta1: beta[0], Beta2: beta[1]}
			s := newState(t, r, 1, 1)
			s.values[0], s.slots[0][0], s.slots[1][0], s.slots[2][0] = 0, 0.5, 0.125, float32(count-1)
			s.apply(0, 1, []float32{0.75})

			beta1, beta2 := float64(beta[0]), float64(beta[1])
			m := (beta1*0.5 + (1-beta1)*0.75) / (1 - math.Pow(beta1, float64(count)))
			v := (beta2*0.125 + (1-beta2)*0.75*0.75) / (1 - math.Pow(beta2, float64(count)))
			want := -m / (math.Sqrt(v) + 0.25)
			if got := float64(s.values[0]); math.Abs(got-want) > 1e-6*math.Abs(want) {
				t.Errorf("betas %v, update %d: a step of %v, want %v", beta, count, got, want)
			}
		}
	}
}

// A count that has ended, and even one that is no number, neither hangs nor spoils other rows.
func TestAdamBeyondItsCount(t *testing.T) {
	s := newState(t, every[5], 3, 2)
	s.slots[2][0], s.slots[2][1] = 1<<24, float32(math.NaN())
	s.apply(0, 3, []float32{1, 1, 1, 1, 1, 1})
	if s.slots[2][0] != 1<<24 || s.slots[2][2] != 1 {
		t.Errorf("counts %v", s.slots[2])
	}
	for _, v := range []float32{s.values[0], s.values[1], s.values[4], s.values[5]} {
		if v != v {
			t.Errorf("values %v", s.values)
		}
	}
}

// However rows are cut into calls, under whichever kernels, the bits are the same.
func TestCutsGiveTheSameBits(t *testing.T) {
	const rows, width, times = 37, 11, 4
	for _, r := range slices.Concat(every, charged) {
		var first *state
		eachSet(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(5, 6))
			whole, cut := newState(t, r, rows, width), newState(t, r, rows, width)
			for range times {
				g := gradients(random, rows*width)
				whole.apply(0, rows, g)
				for at := 0; at < rows; {
					end := min(rows, at+1+random.IntN(5))
					cut.apply(at, end, g[at*width:end*width])
					at = end
				}
			}
			if !whole.equal(cut) {
				t.Errorf("%+v: rows in one call and in several differ", r)
			}
			if first == nil {
				first = whole
			}
			if (r.Name != "sgd" || r.L1 > 0) && !whole.equal(first) { // sgd fuses where the kernels do
				t.Errorf("%+v: kernels %s differ from %s", r, vec.Kernels(), vec.Sets()[0])
			}
		})
	}
}

// Each rule finds the lowest point of a bowl that is forty times as steep one way as the other. So
// does a row that is updated in one clock of five.
func TestRulesConverge(t *testing.T) {
	const optimum = 3
	curvature := []float32{0.05, 2, 0.4}
	for _, r := range []table.Rule{
		{Name: "sgd", Step: 0.4},
		{Name: "momentum", Step: 0.1, Momentum: 0.9},
		{Name: "momentum", Step: 0.1, Momentum: 0.9, Nesterov: true},
		{Name: "adagrad", Step: 0.8, Epsilon: 1e-6},
		{Name: "adam", Step: 0.05, Epsilon: 1e-8, Beta1: 0.9, Beta2: 0.999},
	} {
		s := newState(t, r, 2, len(curvature))
		for c := range 2500 {
			for row := range 2 {
				if row == 1 && c%5 > 0 {
					continue
				}
				var g [3]float32
				for i, k := range curvature {
					g[i] = k * (s.values[row*3+i] - optimum)
				}
				s.apply(row, row+1, g[:])
			}
		}
		for i, v := range s.values {
			if math.Abs(float64(v-optimum)) > 1e-2 {
				t.Errorf("%+v: value %d ends at %v, not %v", r, i, v, optimum)
			}
		}
	}
}

// Where the bowl is long and narrow, a velocity gets there in fewer updates than plain steps.
func TestMomentumIsFasterThanPlainSteps(t *testing.T) {
	updates := func(r table.Rule) int {
		s := newState(t, r, 1, 2)
		for n := 1; n <= 10000; n++ {
			s.apply(0, 1, []float32{0.01 * s.values[0], s.values[1]})
			if math.Abs(float64(s.values[0]))+math.Abs(float64(s.values[1])) < 1e-3 {
				return n
			}
		}
		return math.MaxInt
	}
	plain := updates(table.Rule{Name: "sgd", Step: 1})
	for _, nesterov := range []bool{false, true} {
		if n := updates(table.Rule{Name: "momentum", Step: 1, Momentum: 0.8, Nesterov: nesterov}); n > plain/3 {
			t.Errorf("nesterov %v: %d updates; plain steps need %d", nesterov, n, plain)
		}
	}
}

// TestCountsAreAddedAsIntegers adds counts whose bits, added as floats, would give other counts.
func TestCountsAreAddedAsIntegers(t *testing.T) {
	u, err := rule.For(schema(table.Rule{}, table.Int32))
	require.NoError(t, err)
	for _, c := range [][2]int32{{1<<24 + 1, 1}, {1 << 24, 1 << 24}, {1 << 30, 1 << 29}, {-3, 0}, {-3, -4}, {math.MaxInt32, 1}} {
		w, d := make([]float32, 1), make([]float32, 1)
		table.Counts(w)[0], table.Counts(d)[0] = c[0], c[1]
		floats := w[0] + d[0]
		u.Apply(w, nil, d)
		if got, want := table.Counts(w)[0], c[0]+c[1]; got != want {
			t.Errorf("%d and %d are %d", c[0], c[1], got)
		} else if c[0] > 1<<24+1 && math.Float32bits(floats) == uint32(want) {
			t.Errorf("the floats of %d and %d give the same bits: they test nothing", c[0], c[1])
		}
	}
}

func TestBadRulesAreRefused(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	adam := func(change func(r *table.Rule)) table.Rule {
		r := table.Rule{Name: "adam", Step: 0.1, Epsilon: 1e-8, Beta1: 0.9, Beta2: 0.999}
		change(&r)
		return r
	}
	for _, c := range []struct {
		want string
		rule table.Rule
	}{
		{`no rule "adma"; there are add, sgd, momentum, adagrad, adam, ftrl`, table.Rule{Name: "adma"}},
		{"positive step size, not 0", table.Rule{Name: "sgd"}},
		{"positive step size, not NaN", table.Rule{Name: "sgd", Step: nan}},
		{"positive step size, not +Inf", table.Rule{Name: "sgd", Step: inf}},
		{"momentum and nesterov are parameters of rule momentum", table.Rule{Name: "sgd", Step: 1, Momentum: 0.9}},
		{"momentum and nesterov are parameters of rule momentum", table.Rule{Nesterov: true}},
		{"momentum needs a positive step size", table.Rule{Name: "momentum", Momentum: 0.9}},
		{"momentum from 0 to below 1, not 1", table.Rule{Name: "momentum", Step: 1, Momentum: 1}},
		{"momentum from 0 to below 1, not -0.1", table.Rule{Name: "momentum", Step: 1, Momentum: -0.1}},
		{"momentum from 0 to below 1, not NaN", table.Rule{Name: "momentum", Step: 1, Momentum: nan}},
		{"step size and epsilon, not 1 and 0", table.Rule{Name: "adagrad", Step: 1}},
		{"beta1 and beta2 are parameters of rule adam", table.Rule{Name: "momentum", Step: 1, Beta2: 0.999}},
		{"adam needs a positive step size", adam(func(r *table.Rule) { r.Step = 0 })},
		{"epsilon, not 0.1 and 0", adam(func(r *table.Rule) { r.Epsilon = 0 })},
		{"beta1 from 0 to below 1, not 1", adam(func(r *table.Rule) { r.Beta1 = 1 })},
		{"beta1 from 0 to below 1, not NaN", adam(func(r *table.Rule) { r.Beta1 = nan })},
		{"beta2 above 0 and below 1, not 0;", adam(func(r *table.Rule) { r.Beta2 = 0 })},
		{"beta2 above 0 and below 1, not 1;", adam(func(r *table.Rule) { r.Beta2 = 1 })},
		{"ftrl needs a positive step size and epsilon, not 1 and 0", table.Rule{Name: "ftrl", Step: 1}},
		{"l1 and l2 are parameters of the rules sgd, adagrad, adam and ftrl; the table has rule \"momentum\"", table.Rule{Name: "momentum", Step: 1, L1: 1}},
		{"l1 and l2 are parameters of the rules", table.Rule{L2: 1}},
		{"numbers from 0, not -1 and 0", table.Rule{Name: "sgd", Step: 1, L1: -1}},
		{"numbers from 0, not 0 and NaN", table.Rule{Name: "adagrad", Step: 1, Epsilon: 1, L2: nan}},
		{"adagrad needs a positive step size and epsilon", table.Rule{Name: "adagrad", Step: 1, L2: 1}},
	} {
		_, err := rule.For(schema(c.rule, table.Float32))
		if err == nil || !strings.Contains(err.Error(), c.want) || bellows.KindOf(err) != bellows.Config {
			t.Errorf("%+v: want an error about %q, got %v", c.rule, c.want, err)
		}
	}
}

func TestOnlyAddIsAdditive(t *testing.T) {
	for _, r := range every {
		if got := newState(t, r, 1, 1).rule.Additive(); got != (r.Name == "add") {
			t.Errorf("%s: additive %v", r.Name, got)
		}
	}
}

func TestApplyDoesNotAllocate(t *testing.T) {
	eachSet(t, func(t *testing.T) {
		for _, r := range slices.Concat(every, charged) {
			s := newState(t, r, 4, 9)
			g := gradients(rand.New(rand.NewPCG(7, 8)), len(s.values))
			if n := testing.AllocsPerRun(20, func() { s.rule.Apply(s.values, s.slots, g) }); n != 0 {
				t.Errorf("%s: %v allocations", r.Name, n)
			}
		}
	})
}

// BenchmarkApply runs each rule on a partition of 64 KiB: all rows in one call, and row by row.
func BenchmarkApply(b *testing.B) {
	for _, r := range slices.Concat(every, charged) {
		for _, width := range []int{2, 16, 256} {
			rows := 1 << 14 / width
			s := newState(b, r, rows, width)
			g := gradients(rand.New(rand.NewPCG(9, 10)), rows*width)
			name := fmt.Sprintf("%s/nesterov=%v/width=%d", r.Name, r.Nesterov, width)
			b.Run(name, func(b *testing.B) {
				b.SetBytes(4 << 14)
				for b.Loop() {
					s.rule.Apply(s.values, s.slots, g)
				}
			})
		}
	}
}
