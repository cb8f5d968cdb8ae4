package cache

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

// TestTheBoundFollowsTheDisk: on a large disk the cache has its fixed bound, on a small one a share of what is free
// without it, so that it does not grow less by what it holds already.
func TestTheBoundFollowsTheDisk(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ free, held, want int64 }{
		{1 << 40, 0, BytesMost},
		{4 * BytesMost, 0, BytesMost},
		{4*BytesMost - 4, 0, BytesMost - 1},
		{8 << 20, 0, 2 << 20},
		{6 << 20, 2 << 20, 2 << 20},
		{0, 0, 0},
		{math.MaxInt64, math.MaxInt64, BytesMost},
	} {
		if got := sizeLimit(c.free, c.held); got != c.want {
			t.Errorf("with %d free and %d held: %d, want %d", c.free, c.held, got, c.want)
		}
	}
}

// TestTheBoundOfAFolder: a folder that is not there yet is on the disk of the one that it will be in.
func TestTheBoundOfAFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	entry := filepath.Join(dir, "0123456789abcdef0123456789abcdef")
	if err := os.Mkdir(entry, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(entry, "columns.arrow"), make([]byte, 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	there, notYet := Most(dir), Most(filepath.Join(dir, "a", "b"))
	if there <= 0 || there > BytesMost || notYet <= 0 || notYet > BytesMost {
		t.Errorf("%d and %d", there, notYet)
	}
}
