package verbs

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"bellows"
	"bellows/cli/internal/run"
)

// TestAnInterruptedStartSaysSo explains an error of a start that was interrupted, and of one that was not.
func TestAnInterruptedStartSaysSo(t *testing.T) {
	t.Parallel()
	f, err := run.Claim(run.Request{Out: filepath.Join(t.TempDir(), "out")})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	command := &training{folder: f}
	ctx, interrupt := context.WithCancel(t.Context())
	failed := errors.New("node 2 has not said where it listens")
	if err := command.explain(ctx, failed); err != failed {
		t.Errorf("before the interruption: %v", err)
	}
	interrupt()
	if err := command.explain(ctx, failed); bellows.KindOf(err) != bellows.Interrupted || err.Error() != "interrupted while the job was started: nothing was written" {
		t.Errorf("after it: %v", err)
	}
	if err := command.explain(ctx, nil); err != nil {
		t.Error(err)
	}
	if err := f.Begin(); err != nil {
		t.Fatal(err)
	}
	if err := command.explain(ctx, failed); err != failed {
		t.Errorf("after the start: %v", err)
	}
}
