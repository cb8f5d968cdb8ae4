package history

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/run/event"
	"bellows/run/history/historytest"
)

// TestReaderDetectsRestartedRun: if a log is shorter than what was already read of it, the run was started over.
func TestReaderDetectsRestartedRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string][]byte{"run.json": []byte(`{"format":"bellows run 1"}`), event.File: slices.Concat(historytest.Lines(t, historytest.Events(2, event.Finished))...)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.read = 1 << 40
	if _, err := r.Await(t.Context(), true); bellows.KindOf(err) != bellows.IO || !strings.Contains(err.Error(), "the run was started over") {
		t.Errorf("its log is shorter: %v", err)
	}
}
