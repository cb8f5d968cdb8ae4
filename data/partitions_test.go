package data

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPartitionsAreWarnedOf checks that columns which only the names of folders have are not left out in silence.
func TestPartitionsAreWarnedOf(t *testing.T) {
	dir := t.TempDir()
	for _, folder := range []string{"year=2023/part=0", "year=2023/part=1", "year=2023/part=b%20c"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, folder, "a.csv"), []byte("y,x\n1,2\n0,3\n"))
	}
	for range 2 { // the second time from the cache
		set, err := Read(t.Context(), []string{filepath.Join(dir, "*", "*", "*.csv")}, Examples, Options{Label: "y", Cache: filepath.Join(dir, "cache")})
		if err != nil {
			t.Fatal(err)
		}
		w := strings.Join(set.Detected.Warnings(), "\n")
		if !strings.Contains(w, "column part") || strings.Contains(w, "year") {
			t.Errorf("warnings: %s", w)
		}
		set.Close()
	}
	set := mustRead(t, filepath.Join(dir, "year=2023/part=1/a.csv"), Examples, Options{Label: "y"})
	if w := strings.Join(set.Detected.Warnings(), "\n"); strings.Contains(w, "part") {
		t.Errorf("a single file: %s", w)
	}
}
