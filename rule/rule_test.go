package rule_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"bellows/rule"
	"bellows/table"
)

func schema(r table.Rule, d table.DType) *table.Schema {
	return &table.Schema{Name: "w", Rows: 2, Width: 2, Rule: r, DType: d}
}

func TestRulesFollowTheirFormulas(t *testing.T) {
	g := []float32{2, -1, 0, 0.5}
	start := []float32{1, 1, 1, 1}

	apply := func(r table.Rule, times int) []float32 {
		u, err := rule.For(schema(r, table.Float32))
		if err != nil {
			t.Fatal(err)
		}
		w := slices.Clone(start)
		var slots [][]float32
		for range u.Slots() {
			slots = append(slots, make([]float32, len(w)))
		}
		for range times {
			u.Apply(w, slots, g)
		}
		return w
	}
	if got := apply(table.Rule{}, 1); !slices.Equal(got, []float32{3, 0, 1, 1.5}) {
		t.Errorf("add: %v", got)
	}
	if got := apply(table.Rule{Name: "sgd", Step: 0.5}, 1); !slices.Equal(got, []float32{0, 1.5, 1, 0.75}) {
		t.Errorf("sgd: %v", got)
	}
	got := apply(table.Rule{Name: "adagrad", Step: 0.1, Epsilon: 1e-8}, 3)
	for i, v := range g {
		w, s := 1.0, 0.0
		for range 3 {
			s += float64(v) * float64(v)
			w -= 0.1 * float64(v) / (math.Sqrt(s) + 1e-8)
		}
		if math.Abs(float64(got[i])-w) > 1e-6 {
			t.Errorf("adagrad: value %d is %v, want %v", i, got[i], w)
		}
	}
}

func TestCountsAreAddedAsIntegers(t *testing.T) {
	u, err := rule.For(schema(table.Rule{}, table.Int32))
	if err != nil {
		t.Fatal(err)
	}
	w, d := make([]float32, 2), make([]float32, 2)
	table.Counts(w)[0], table.Counts(d)[0] = 1<<24+1, 1 // beyond what a float32 can count
	table.Counts(d)[1] = -3
	u.Apply(w, nil, d)
	if c := table.Counts(w); c[0] != 1<<24+2 || c[1] != -3 {
		t.Errorf("counts %v", c)
	}
}

func TestBadRulesAreRefused(t *testing.T) {
	for want, r := range map[string]table.Rule{
		`no rule "adma"`:     {Name: "adma"},
		"positive step size": {Name: "sgd"},
		"epsilon":            {Name: "adagrad", Step: 1},
		"not NaN":            {Name: "sgd", Step: float32(math.NaN())},
	} {
		if _, err := rule.For(schema(r, table.Float32)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: want an error about %q, got %v", r, want, err)
		}
	}
}

func TestOnlyAddIsAdditive(t *testing.T) {
	for name, want := range map[string]bool{"add": true, "sgd": false, "adagrad": false} {
		u, err := rule.For(schema(table.Rule{Name: name, Step: 1, Epsilon: 1}, table.Float32))
		if err != nil || u.Additive() != want {
			t.Errorf("%s: additive %v, %v", name, u.Additive(), err)
		}
	}
}
