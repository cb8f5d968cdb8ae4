package line

import (
	"testing"

	"bellows"
)

// TestExitCodesListsEachKindOnce checks that the table of exit codes is complete.
func TestExitCodesListsEachKindOnce(t *testing.T) {
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
