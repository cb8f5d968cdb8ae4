package cutting

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"

	"bellows"
	"bellows/core/coord"
	"bellows/core/rowstore"
	"bellows/core/server"
	"bellows/sim/internal/hostile"
	"bellows/table"
)

// Image is what a life of a job has left for the next one: all tables, by table and partition, as they were and as the driver
// has kept them.
type Image struct{ Live, Kept [][]rowstore.Image }

// Load gives a lane the partitions that it owns, and the clocks that were complete. Now and then it first offers a
// damaged image or the clocks of a job of more splits, which the lane must refuse without a change. damaged counts the
// images that it refused.
func (im *Image) Load(l *server.Lane, owned iter.Seq[bellows.PartitionRef], cut func(bellows.TableID) table.Cut, state *coord.State, chances *rand.Rand) (damaged int, err error) {
	for ref := range owned {
		live := &im.Live[ref.Table][ref.Partition]
		if chances.IntN(4) == 0 {
			wrong := *live
			if hostile.Damage(&wrong, chances, func(k bellows.Key) bool { return cut(ref.Table).FindKey(k) == ref.Partition }) {
				damaged++
				if err := l.Load(ref, &wrong); bellows.KindOf(err) != bellows.BadData {
					return damaged, fmt.Errorf("P1: %v is restored from an image that was damaged: %w", ref, err)
				}
			}
		}
		if err := l.Load(ref, live); err != nil {
			return damaged, fmt.Errorf("%v is not loaded: %w", ref, err)
		}
		if im.Kept != nil {
			l.LoadKept(ref, &im.Kept[ref.Table][ref.Partition])
		}
	}
	if err := l.Resume(append(slices.Clone(state.Complete), 0), state.Open); err == nil {
		return damaged, fmt.Errorf("P1: it goes on from the clocks of a job of more splits")
	}
	return damaged, l.Resume(state.Complete, state.Open)
}

// Still sees that what was kept of a partition is as it was.
func (im *Image) Still(ref bellows.PartitionRef, is *rowstore.Image) error {
	switch {
	case im.Kept == nil && is == nil:
		return nil
	case im.Kept == nil:
		return fmt.Errorf("keep: there is an image of %v, which no life has kept", ref)
	}
	was := &im.Kept[ref.Table][ref.Partition]
	if is == nil || !slices.Equal(was.Keys, is.Keys) || !slices.Equal(was.Values, is.Values) {
		return fmt.Errorf("keep: there is another image of %v than the life before has left", ref)
	}
	return nil
}
