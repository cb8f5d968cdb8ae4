package model

import (
	"math"

	"bellows"
	"bellows/core/rowstore"
	"bellows/sim/internal/msgcopy"
	"bellows/table"
)

// Bits returns a hash of a partition's state at the end of a job that has finished, as far as it is the same however the job ran (P7): all of it, but
// for what tasks made of state under leases, since those of one clock take turns in any order. 0: nothing of it is.
func (j *Job) Bits(ref bellows.PartitionRef, im *rowstore.Image) msgcopy.Hash {
	if ref.Table == Weights && !j.Barrier() {
		return 0 // each flush has a separate update, in the order of commits
	}
	var d msgcopy.Hash
	d.Word(uint64(ref.Table)<<32 | uint64(ref.Partition))
	for _, k := range im.Keys {
		d.Word(uint64(k))
	}
	if ref.Table != State {
		d.Values(im.Values)
	}
	for i := StateWidth - 1; ref.Table == State && i < len(im.Values); i += StateWidth {
		d.Word(uint64(math.Float32bits(im.Values[i])))
	}
	for _, slot := range im.Slots {
		if ref.Table != Words || j.Schemas[Words].Consistency == table.BSP { // else what the last commit to each row said
			d.Values(slot)
		}
	}
	return d
}
