package admission

import (
	"slices"
	"testing"
)

// TestPlacesAreBounded checks that Take fails while all places are taken, and that TakeOver takes the place of the oldest holder that has not left.
func TestPlacesAreBounded(t *testing.T) {
	t.Parallel()
	p := NewPlaces(3)
	var gone []int
	var leave []func()
	for i := range 3 {
		leave = append(leave, p.TakeOver(func() { gone = append(gone, i) }))
	}
	if _, ok := p.Take(); ok {
		t.Error("a fourth has a place")
	}
	leave[0]()
	leave[0]()
	fourth, ok := p.Take()
	if !ok {
		t.Fatal("the place that was left is not free")
	}
	if _, ok := p.Take(); ok {
		t.Error("a place that was left twice was given twice")
	}
	p.TakeOver(func() { gone = append(gone, 4) }) // of 1, the oldest
	leave[1]()                                    // which has none to leave
	if _, ok := p.Take(); ok {
		t.Error("a place that was taken over was given twice")
	}
	fourth()
	p.TakeOver(func() {})
	p.TakeOver(func() {})
	if !slices.Equal(gone, []int{1, 2}) {
		t.Errorf("%v have yielded", gone)
	}
}
