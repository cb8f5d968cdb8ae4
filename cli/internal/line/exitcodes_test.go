package line

import (
	"testing"

	"bellows"
)

// TestEveryKindHasItsPlace keeps the table of exit codes whole.
func TestEveryKindHasItsPlace(t *testing.T) {
	t.Parallel()
	for kind := bellows.Bug; kind <= bellows.Interrupted; kind++ {
		n := 0
		for _, k := range kinds {
			if k.kind == kind {
				n++
			}
		}
		if n != 1 || KindName(kind) == "" {
			t.Errorf("kind %d, exit code %d, is %d times in the table, with the name %q", kind, kind.ExitCode(), n, KindName(kind))
		}
	}
}
