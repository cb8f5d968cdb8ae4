// Package rule is the numeric update of a row: what a committed delta does to values and slots.
//
// A rule is chosen by name in a table's schema. It works on plain slices, keeps nothing between
// calls, and gives the same bits for the same input. Under BSP it runs once per row and clock on the
// sum of all deltas, else once per flush in commit order.
package rule

import (
	"math"

	"bellows"
	"bellows/table"
	"bellows/vec"
)

// Rule updates rows. Values, each slot and delta have the same length: any number of whole rows.
type Rule interface {
	// Slots is how many extra values each value has (the rule's memory), as extra slots of the row.
	Slots() int
	// Additive rules commute: a reader may lay its own deltas over older values (read-my-writes).
	Additive() bool
	// Apply updates values and slots in place.
	Apply(values []float32, slots [][]float32, delta []float32)
}

// For is the rule that a schema names.
func For(s *table.Schema) (Rule, error) {
	switch r := s.Rule; r.Name {
	case "", "add":
		if s.DType == table.Int32 {
			return addCounts{}, nil
		}
		return add{}, nil
	case "sgd":
		if !(r.Step > 0) {
			return nil, bad(s, "rule sgd needs a positive step size, not %v", r.Step)
		}
		return sgd{r.Step}, nil
	case "adagrad":
		if !(r.Step > 0) || !(r.Epsilon > 0) {
			return nil, bad(s, "rule adagrad needs a positive step size and epsilon, not %v and %v", r.Step, r.Epsilon)
		}
		return adagrad{r.Step, r.Epsilon}, nil
	default:
		return nil, bad(s, "no rule %q; there are add, sgd, adagrad", r.Name)
	}
}

func bad(s *table.Schema, format string, args ...any) error {
	return bellows.Errorf(bellows.Config, "declare table", s.Name, format, args...)
}

// add sums deltas: w += d.
type add struct{}

func (add) Slots() int                                         { return 0 }
func (add) Additive() bool                                     { return true }
func (add) Apply(values []float32, _ [][]float32, d []float32) { vec.Add(d, values) }

// addCounts sums deltas of 32-bit counts.
type addCounts struct{}

func (addCounts) Slots() int     { return 0 }
func (addCounts) Additive() bool { return true }
func (addCounts) Apply(values []float32, _ [][]float32, d []float32) {
	vec.AddInt32(table.Counts(d), table.Counts(values))
}

// sgd steps against a gradient: w -= η g.
type sgd struct{ step float32 }

func (sgd) Slots() int     { return 0 }
func (sgd) Additive() bool { return false }
func (r sgd) Apply(values []float32, _ [][]float32, g []float32) {
	vec.Axpy(-r.step, g, values)
}

// adagrad steps against a gradient by its coordinate's history (Duchi, Hazan, Singer 2011):
// s += g²; w -= η g / (√s + ε).
type adagrad struct{ step, epsilon float32 }

func (adagrad) Slots() int     { return 1 }
func (adagrad) Additive() bool { return false }
func (r adagrad) Apply(values []float32, slots [][]float32, g []float32) {
	sum := slots[0][:len(g)]
	values = values[:len(g)]
	for i, v := range g {
		s := sum[i] + float32(v*v)
		sum[i] = s
		values[i] -= float32(r.step * v / (float32(math.Sqrt(float64(s))) + r.epsilon))
	}
}
