package lda

// alphaWarm is the number of epochs before the topics mean something.
const alphaWarm = 10

// learns reports whether α is to learn from the sweep of an epoch, counted from 0: at first from
// every one, later from every fifth.
func (c *config) learns(epoch int) bool {
	return c.alpha == 0 && epoch >= alphaWarm && (epoch < 4*alphaWarm || epoch%5 == 0)
}
