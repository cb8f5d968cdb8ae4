package journal

import (
	"slices"

	"bellows/link/wire"
)

// Arrival is the message that a flush is done, and its sender.
type Arrival struct {
	From wire.Address
	Done *wire.Done
}

// Supersedes reports whether the message names a later owner of a partition than another one of the same flush: a
// part of the flush was sent again since.
func (a Arrival) Supersedes(b Arrival) bool {
	return slices.ContainsFunc(a.Done.Pairs, func(p wire.Pair) bool {
		return slices.ContainsFunc(b.Done.Pairs, func(q wire.Pair) bool {
			return p.Ref == q.Ref && p.Generation > q.Generation
		})
	})
}
