package wire

import (
	"bellows/link/padding"
	"testing"

	"bellows"
)

// TestLeasesLeaveOutPadding checks that a lease takes on the wire what its rows have without padding, and arrives whole.
func TestLeasesLeaveOutPadding(t *testing.T) {
	t.Parallel()
	for _, rows := range []int{0, 1, 7, 4 * borrowMin / 64} {
		values := make([]float32, rows*64)
		for i := range values {
			if i%64 < 51 {
				values[i] = float32(i)
			}
		}
		for name, m := range map[string]Message{
			"granted": &Granted{Columns: padding.Find(64, 13), Values: values},
			"push":    &Push{Leases: []LeaseEnd{{Columns: padding.Find(64, 13), Values: values}, {Values: values}}},
		} {
			f := frame(t, Envelope{Message: m})
			fixed, all := len(frame(t, Envelope{Message: &Granted{}})), 51*4*rows
			if name == "push" {
				fixed = len(frame(t, Envelope{Message: &Push{Leases: make([]LeaseEnd, 2)}}))
				all += 64 * 4 * rows
			}
			if len(f) != fixed+all {
				t.Errorf("%s of %d rows: %d bytes, want %d", name, rows, len(f), fixed+all)
			}
			e, _ := read(t, f)
			if d := differ(m, e.Message); d != "" {
				t.Errorf("%s of %d rows: %s", name, rows, d)
			}
			Free(e.Message)
		}
	}
}

// TestPaddingInUseIsRefused checks that no value is lost because it stands where its table has padding.
func TestPaddingInUseIsRefused(t *testing.T) {
	t.Parallel()
	var b Batch
	err := b.Add(Envelope{Message: &Granted{Columns: padding.Find(3, 1), Values: []float32{1, 2, 0, 3, 4, 5}}})
	if bellows.KindOf(err) != bellows.Bug || b.Len() != 0 {
		t.Errorf("%v, and %d bytes to send", err, b.Len())
	}
}
