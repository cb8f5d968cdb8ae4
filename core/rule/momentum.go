package rule

import (
	"bellows/table"
	"bellows/vec"
)

// momentum steps along the velocity that gradients leave behind (Polyak 1964), with Nesterov by the
// gradient one step ahead (Sutskever et al. 2013, in the variables of Bengio et al. 2013, eq. 7).
type momentum struct {
	width       int
	decay, step float32
	nesterov    bool
}

func newMomentum(s *table.Schema) (Rule, error) {
	r := &s.Rule
	switch {
	case !positive(r.Step):
		return nil, bad(s, "rule momentum needs a positive step size, not %v", r.Step)
	case !(r.Momentum >= 0 && r.Momentum < 1):
		return nil, bad(s, "rule momentum needs a momentum from 0 to below 1, not %v: at 1 the velocity would never end", r.Momentum)
	}
	return momentum{s.Width, r.Momentum, r.Step, r.Nesterov}, nil
}

func (r momentum) Slots() []int { return []int{r.width} }
func (momentum) Additive() bool { return false }
func (r momentum) Apply(values []float32, slots [][]float32, g []float32) {
	if r.nesterov {
		vec.Nesterov(r.decay, r.step, g, slots[0], values)
	} else {
		vec.Momentum(r.decay, r.step, g, slots[0], values)
	}
}
