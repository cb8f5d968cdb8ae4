package wire

import (
	"testing"

	"bellows/core/tally"
	"bellows/internal/require"
)

// TestEveryKindHasAClass: raw frames are most of the bytes, and none of them is control.
func TestEveryKindHasAClass(t *testing.T) {
	t.Parallel()
	for k, kind := range kinds {
		class := Header{Kind: uint8(k)}.Class()
		if kind.name != "" && (class == tally.Control) != (uint8(k) >= firstControl) {
			t.Errorf("frames of kind %s count as %v", kind.name, class)
		}
	}
}

// TestBatchesCountTheirFrames by class and with their headers, until they are reset.
func TestBatchesCountTheirFrames(t *testing.T) {
	t.Parallel()
	var b Batch
	for range 2 {
		var want tally.Traffic
		for _, m := range newSampler(3).messages() {
			before := b.Len()
			require.NoError(t, b.Add(Envelope{Message: m}))
			f := frame(t, Envelope{Message: m})
			h, err := ParseHeader(f)
			require.NoError(t, err)
			want.Count(h.Class(), b.Len()-before)
		}
		if err := b.Add(Envelope{Message: nil}); err == nil {
			t.Fatal("nothing was encoded")
		}
		if got := *b.Traffic(); got != want || got.Total().Bytes != int64(b.Len()) {
			t.Errorf("counted %v of %d bytes, want %v", got, b.Len(), want)
		}
		b.Reset()
		if *b.Traffic() != (tally.Traffic{}) {
			t.Error("a batch that was reset counts what it sent before")
		}
	}
}
