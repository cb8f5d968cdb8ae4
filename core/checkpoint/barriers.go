package checkpoint

import (
	"slices"

	"bellows"
	"bellows/core"
	"bellows/link/wire"
	"bellows/table"
)

// barriers is which tables have a barrier: their clocks become visible as a whole. A driver may change that.
type barriers struct {
	of      []bool // by table
	changes int    // of staleness that are in it
}

// newBarriers returns the barriers with which a job begins.
func newBarriers(job *core.Job) barriers {
	b := barriers{of: make([]bool, len(job.Tables))}
	for t := range job.Tables {
		b.of[t] = job.Barrier(bellows.TableID(t))
	}
	return b
}

// follow takes in the changes of staleness since the last call. The list has all changes so far.
func (b *barriers) follow(staleness []wire.Staleness) {
	for ; b.changes < len(staleness); b.changes++ {
		m := &staleness[b.changes]
		if int(m.Table) < len(b.of) {
			b.of[m.Table] = table.Consistency(m.Clocks) == table.BSP
		}
	}
}

// any reports whether any table has a barrier.
func (b *barriers) any() bool { return slices.Contains(b.of, true) }

// gathers reports whether a flush has deltas for a table with a barrier: lanes gather them until its clock is complete.
func (b *barriers) gathers(pairs []wire.Pair) bool {
	return b.any() && slices.ContainsFunc(pairs, func(p wire.Pair) bool {
		return int(p.Ref.Table) < len(b.of) && b.of[p.Ref.Table]
	})
}
