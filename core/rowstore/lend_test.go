package rowstore_test

import (
	"reflect"
	"slices"
	"testing"

	"bellows/core/rowstore"
	"bellows/table"
)

// TestALentSlabDoesNotChange lends the slab of a partition and then writes: after Detach the lent values do not
// change, and without it they do.
func TestALentSlabDoesNotChange(t *testing.T) {
	p := partition(t, table.Rule{})
	lent := p.Lend()
	before := slices.Clone(lent)
	p.Apply([]uint32{1}, []float32{1, 1})
	if slices.Equal(lent, before) || &lent[0] != &p.Values()[0] {
		t.Error("what is lent is not the slab")
	}
	before = slices.Clone(lent)
	p.Detach()
	p.Apply([]uint32{1}, []float32{1, 1})
	if !slices.Equal(lent, before) {
		t.Error("what was lent has changed after Detach")
	}
	own := p.Values()
	p.Detach()
	if &own[0] != &p.Values()[0] {
		t.Error("a slab that was not lent again is copied again")
	}
}

// TestAViewIsTheState compares a view of a partition with an image of it, and its memory with the slab.
func TestAViewIsTheState(t *testing.T) {
	p := partition(t, rules[4])
	p.Apply([]uint32{1}, []float32{1, 2})
	var saved rowstore.Image
	p.Save(&saved)
	view := p.View()
	if !reflect.DeepEqual(view, saved) || len(view.Slots) == 0 {
		t.Errorf("the view %v is not the state %v", view, saved)
	}
	if &view.Values[0] != &p.Values()[0] {
		t.Error("the view is a copy")
	}
}
