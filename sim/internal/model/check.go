package model

import (
	"fmt"
	"math"
	"slices"

	"bellows"
	"bellows/core/rowstore"
	"bellows/table"
)

// Check holds a partition, with the memory of its rule where that is wanted, against the model after exactly the commits up to n, bit by bit (P1, P7).
func (o *Oracle) Check(cut table.Cut, ref bellows.PartitionRef, im *rowstore.Image, n bellows.CommitNumber, memory bool) error {
	if ref.Table == Words {
		return o.checkWords(cut, ref, im, n, memory)
	}
	first, end := cut.Rows(ref.Partition)
	width := o.job.Schemas[ref.Table].Width
	want := o.Table(ref.Table, n)[int(first)*width : int(end)*width]
	if len(im.Values) != len(want) {
		return fmt.Errorf("%d values of %v, which has %d", len(im.Values), ref, len(want))
	}
	for i, v := range im.Values {
		if math.Float32bits(v) != math.Float32bits(want[i]) {
			return fmt.Errorf("value %d of %v = %v; commits up to %d make it %v", i, ref, v, n, want[i])
		}
	}
	if !memory {
		return nil
	}
	slots := o.Slots(ref.Table, n)
	if len(im.Slots) != len(slots) {
		return fmt.Errorf("%d slots of %v; its rule has %d", len(im.Slots), ref, len(slots))
	}
	for i, want := range slots {
		if want = want[int(first)*width : int(end)*width]; !slices.Equal(im.Slots[i], want) {
			return fmt.Errorf("slot %d of %v = %v; commits up to %d make it %v", i, ref, im.Slots[i], n, want)
		}
	}
	return nil
}

// checkWords returns Check for a partition of words. Its memory may be there though it is not wanted.
func (o *Oracle) checkWords(cut table.Cut, ref bellows.PartitionRef, im *rowstore.Image, n bellows.CommitNumber, memory bool) error {
	list, values := o.Words(n, func(k bellows.Key) bool { return cut.FindKey(k) == ref.Partition })
	switch slots := o.WordSlots(n, list); {
	case !slices.Equal(im.Keys, list):
		return fmt.Errorf("keys %x in %v; commits up to %d make it %x", im.Keys, ref, n, list)
	case !slices.Equal(im.Values, values):
		return fmt.Errorf("rows %v in %v; commits up to %d make it %v", im.Values, ref, n, values)
	case (memory || len(im.Slots) > 0) && !slices.EqualFunc(im.Slots, slots, slices.Equal[[]float32]):
		return fmt.Errorf("slots %v in %v; commits up to %d make it %v", im.Slots, ref, n, slots)
	}
	return nil
}

// CheckTables holds what a job returns, values and keys by table, against the model after exactly the commits up to n.
func (o *Oracle) CheckTables(n bellows.CommitNumber, tables func() ([][]float32, [][]bellows.Key)) error {
	values, keys := tables()
	for t := range values {
		id := bellows.TableID(t)
		if id == Words {
			list, want := o.Words(n, func(bellows.Key) bool { return true })
			if !slices.Equal(keys[t], list) || !slices.Equal(values[t], want) {
				return fmt.Errorf("P1: the job returns words %x, %v; commits up to %d make it %x, %v", keys[t], values[t], n, list, want)
			}
			continue
		}
		if want := o.Table(id, n); keys[t] != nil || !sameBits(values[t], want) {
			return fmt.Errorf("P1: the job returns table %d as %v; commits up to %d make it %v", t, values[t], n, want)
		}
	}
	return nil
}

// sameBits compares values that may be counts.
func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}
