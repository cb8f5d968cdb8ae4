package layout

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestFirstField compares the first field of lines of blanks, letters and bytes beyond ASCII with that of bytes.Fields.
func TestFirstField(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 8))
	parts := []string{" ", "\t", "\n", "\v", "\f", "\r", "\x00", "\x08", "\x0e", "a", "-1", "#", "é", "\u00a0",
		"\u2003", "\xff", "\xc2"}
	for range 20_000 {
		var line []byte
		for range rng.IntN(8) {
			line = append(line, parts[rng.IntN(len(parts))]...)
		}
		var want []byte
		if fields := bytes.Fields(line); len(fields) > 0 {
			want = fields[0]
		}
		if got := firstField(line); !bytes.Equal(got, want) {
			t.Fatalf("%q begins with %q, not %q", line, got, want)
		}
	}
}
