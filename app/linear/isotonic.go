package linear

import (
	"bellows/app/linear/internal/loss"
	"bellows/model"
)

// isotonicTensor has the points of a calibration: a row of a score and the chance of the second class.
const isotonicTensor = "isotonic"

// The bounds of an isotonic calibration: the rows from which it is better than two parameters (Niculescu-Mizil and Caruana 2005, "Predicting good probabilities with supervised learning", 5), and
// what is read of a model.
const (
	isotonicRows = 1000
	isotonicMost = 1 << 24
)

// isotonic makes log-odds of scores by a function that rises.
type isotonic struct{ loss.Rising }

// tensor returns how a model keeps the calibration.
func (c *isotonic) tensor() model.Tensor {
	t := model.Tensor{Name: isotonicTensor, Shape: []int{len(c.Scores), 2}}
	for i, s := range c.Scores {
		t.Floats = append(t.Floats, s, c.Chances[i])
	}
	return t
}

// readIsotonic returns the way back. It is nil of a model without one; what cannot be one is refused.
func readIsotonic(m *model.Model, r *model.Reader) *isotonic {
	if m.Tensor(isotonicTensor) == nil {
		return nil
	}
	values := r.Floats(isotonicTensor, model.Any, 2)
	c := &isotonic{}
	for i := 0; i+1 < len(values); i += 2 {
		c.Scores, c.Chances = append(c.Scores, values[i]), append(c.Chances, values[i+1])
	}
	switch {
	case r.Err() != nil:
	case len(c.Scores) > isotonicMost:
		_ = r.Refuse("its calibration has %d points", len(c.Scores))
	default:
		if wrong := c.Wrong(); wrong != "" {
			_ = r.Refuse("%s", wrong)
		}
	}
	return c
}
