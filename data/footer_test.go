package data

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

// TestArrowByItsFooter reads an Arrow file with its schema in the footer alone, as Arrow's JavaScript library writes
// it.
func TestArrowByItsFooter(t *testing.T) {
	whole := asArrow(t, tableSchema, framed(t, tableSchema, tableBatches...))
	want := mustRead(t, written(t, "whole.arrow", whole), Examples, Options{})
	content := bytes.Clone(whole)
	copy(content[8:24], bytes.Repeat([]byte{0xff}, 16)) // the message of the schema
	got := mustRead(t, written(t, "headless.arrow", content), Examples, Options{})
	if !reflect.DeepEqual(got.Examples, want.Examples) {
		t.Errorf("%+v, want %+v", got.Examples, want.Examples)
	}
	// damage in the footer ends in an error or in the same rows
	for at := len(content) - 300; at < len(content)-10; at++ {
		damaged := bytes.Clone(content)
		damaged[at] ^= 0x55
		set, err := Read(t.Context(), []string{written(t, "damaged.arrow", damaged)}, Examples,
			Options{Limits: Limits{OutputBytes: 1 << 22}})
		if err == nil && set.Rows() > want.Rows() {
			t.Errorf("byte %d: %d rows", at, set.Rows())
		}
	}
	_, err := Read(t.Context(), []string{written(t, "cut.arrow", whole[:len(whole)-3])}, Examples, Options{})
	if err == nil || !strings.Contains(err.Error(), "mark of its end") {
		t.Errorf("cut short: %v", err)
	}
}
