// Package rule computes the update of a row by its table's rule (sgd, adagrad, ftrl, ...): what a delta does to values
// and slots.
//
// A rule is chosen by name in a table's schema. It works on plain slices, keeps nothing between
// calls, and gives the same bits for the same input, however the rows are cut into calls; only the
// rule sgd has other bits with the kernel set "go" than with the others. Under BSP it runs once per
// row and clock on the sum of all deltas, else once per flush in commit order.
//
//	add       w += d
//	sgd       w -= η g
//	momentum  v = μ v + g; w -= η v, or with Nesterov w -= η (g + μ v)
//	adagrad   s += g²; w -= η g / (√s + ε)
//	adam      m = β1 m + (1-β1) g; v = β2 v + (1-β2) g²; w -= α m̂ / (√v̂ + ε)
//	ftrl      σ = (√(s + g²) - √s)/η; s += g²; z += g - σ w; w = -z / ((ε + √s)/η)
//
// The rules sgd, adagrad, adam and ftrl apply the cost of weights, L1 and L2 of the schema, by proximal steps
// (proximal).
//
// A rule sees a row only when a delta for it comes. The memory of a row without deltas does not fade: a velocity
// waits, and adam's t counts the updates of that row alone. So a rare row takes its first steps as a common row does,
// whenever they come. The price is that the memory of a rare row is old; the gain is that an update costs what it
// touches.
// The package refuses parameters that the rule would ignore. It has no steps that change with time: a schedule of
// steps is the business of the deltas.
package rule

import (
	"bellows/table"
	"bellows/vec"
)

// Rule updates rows. Values and delta have the same length: any number of whole rows. Each slot has as many rows, of
// a width that Slots gives.
type Rule interface {
	// Slots is the rule's memory, as extra slots of the row: the number of values in each.
	Slots() []int
	// Additive rules commute: a reader may lay its own deltas over older values (read-my-writes).
	Additive() bool
	// Apply updates values and slots in place.
	Apply(values []float32, slots [][]float32, delta []float32)
}

// For returns the rule that a schema names. An error has kind Config and names the parameter that is missing or
// wrong.
func For(s *table.Schema) (Rule, error) {
	r := &s.Rule
	if err := unused(s); err != nil {
		return nil, err
	}
	rule, err := plain(s)
	if err == nil && (charges(r) || r.Name == "ftrl") {
		return newProximal(s)
	}
	return rule, err
}

// plain returns the rule for weights without a cost.
func plain(s *table.Schema) (Rule, error) {
	r := &s.Rule
	switch r.Name {
	case "", "add":
		if s.DType == table.Int32 {
			return addCounts{}, nil
		}
		return add{}, nil
	case "sgd":
		if !positive(r.Step) {
			return nil, bad(s, "rule sgd needs a positive step size, not %v", r.Step)
		}
		return sgd{r.Step}, nil
	case "momentum":
		return newMomentum(s)
	case "adagrad":
		if !positive(r.Step) || !positive(r.Epsilon) {
			return nil, bad(s, "rule adagrad needs a positive step size and epsilon, not %v and %v", r.Step, r.Epsilon)
		}
		return adagrad{s.Width, r.Step, r.Epsilon}, nil
	case "adam":
		return newAdam(s)
	case "ftrl":
		return nil, nil
	default:
		return nil, bad(s, "no rule %q; there are add, sgd, momentum, adagrad, adam, ftrl", r.Name)
	}
}

// unused refuses parameters that the rule would silently ignore. Step and Epsilon pass: programs that let their users
// choose between rules set them for all.
func unused(s *table.Schema) error {
	r := &s.Rule
	switch {
	case r.Name != "momentum" && (r.Momentum != 0 || r.Nesterov):
		return bad(s, "momentum and nesterov are parameters of rule momentum; the table has rule %q", r.Name)
	case r.Name != "adam" && (r.Beta1 != 0 || r.Beta2 != 0):
		return bad(s, "beta1 and beta2 are parameters of rule adam; the table has rule %q", r.Name)
	case charges(r) && (r.Name == "" || r.Name == "add" || r.Name == "momentum"):
		return bad(s, "l1 and l2 are parameters of the rules sgd, adagrad, adam and ftrl; the table has rule %q", r.Name)
	}
	return nil
}

// add sums deltas: w += d.
type add struct{}

func (add) Slots() []int   { return nil }
func (add) Additive() bool { return true }
func (add) Apply(values []float32, _ [][]float32, d []float32) {
	if len(d) >= kernelWidth {
		vec.Add(d, values)
		return
	}
	values = values[:len(d)]
	for i, v := range d {
		values[i] += v
	}
}

// kernelWidth is the number of values from which a vector kernel is faster than a loop.
const kernelWidth = 16

// addCounts sums deltas of 32-bit counts.
type addCounts struct{}

func (addCounts) Slots() []int   { return nil }
func (addCounts) Additive() bool { return true }
func (addCounts) Apply(values []float32, _ [][]float32, d []float32) {
	vec.AddInt32(table.Counts(d), table.Counts(values))
}

// sgd steps against a gradient: w -= η g.
type sgd struct{ step float32 }

func (sgd) Slots() []int   { return nil }
func (sgd) Additive() bool { return false }
func (r sgd) Apply(values []float32, _ [][]float32, g []float32) {
	vec.Axpy(-r.step, g, values)
}

// adagrad steps against a gradient by its coordinate's history (Duchi, Hazan, Singer 2011):
// s += g²; w -= η g / (√s + ε).
type adagrad struct {
	width         int
	step, epsilon float32
}

func (r adagrad) Slots() []int { return []int{r.width} }
func (adagrad) Additive() bool { return false }
func (r adagrad) Apply(values []float32, slots [][]float32, g []float32) {
	vec.AdaGrad(r.step, r.epsilon, g, slots[0], values)
}
