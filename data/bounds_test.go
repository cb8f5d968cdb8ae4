package data

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bellows/data/cache"
)

// stored reads a file of that name into a cache and says how many bytes it then holds of it.
func storedEntry(t *testing.T, name string, opt Options) cache.Entry {
	t.Helper()
	path := writeFile(t, name, []byte(strings.Repeat("1 1:1 2:2\n0 2:1\n", 100)))
	settle(t, path, time.Hour)
	mustRead(t, path, Examples, opt)
	list, err := cache.List(opt.Cache)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		if slices.Contains(c.Inputs, path) {
			return c
		}
	}
	return cache.Entry{}
}

// unused makes a slot look as if it had been used that long ago.
func unused(t *testing.T, c cache.Entry, age time.Duration) {
	t.Helper()
	settle(t, filepath.Join(c.Dir, cache.Manifest), age)
}

// held returns the names of the inputs in a cache, the least recently used first.
func held(t *testing.T, folder string) (names []string) {
	t.Helper()
	list, err := cache.List(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		names = append(names, filepath.Base(c.Inputs[0]))
	}
	return names
}

// TestTheCacheKeepsItsBounds stores one input after the other in a cache that has room for three, reads one of them
// again, and leaves one alone for longer than it may stay.
func TestTheCacheKeepsItsBounds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	opt := Options{Cache: filepath.Join(dir, "cache")}
	file := func(i int) string { return filepath.Join(dir, fmt.Sprintf("%d.svm", i)) }
	one := storedEntry(t, file(1), opt)
	opt.CacheBytes = 3*one.Bytes + one.Bytes/2
	unused(t, one, 4*time.Hour)
	unused(t, storedEntry(t, file(2), opt), 3*time.Hour)
	three := storedEntry(t, file(3), opt)
	unused(t, three, 2*time.Hour)
	if s := mustRead(t, file(1), Examples, opt); !s.Detected.FromCache {
		t.Fatal("the first is not kept")
	}
	if got, want := held(t, opt.Cache), []string{"2.svm", "3.svm", "1.svm"}; !slices.Equal(got, want) {
		t.Fatalf("kept is %v, want %v", got, want)
	}
	unused(t, one, time.Hour)
	unused(t, storedEntry(t, file(4), opt), time.Minute)
	if got, want := held(t, opt.Cache), []string{"3.svm", "1.svm", "4.svm"}; !slices.Equal(got, want) {
		t.Errorf("kept is %v, want %v", got, want)
	}
	opt.CacheBytes = 0
	unused(t, three, cache.AgeMost+time.Hour)
	storedEntry(t, file(5), opt)
	if got, want := held(t, opt.Cache), []string{"1.svm", "4.svm", "5.svm"}; !slices.Equal(got, want) {
		t.Errorf("kept is %v, want %v", got, want)
	}
	// What alone is too large is not kept, and others do not go for it.
	opt.CacheBytes = one.Bytes / 2
	path := writeFile(t, file(6), []byte(strings.Repeat("1 1:1 2:2\n0 2:1\n", 100)))
	settle(t, path, time.Hour)
	if s := mustRead(t, path, Examples, opt); !s.Detected.CacheUnusable() || s.Rows() != 200 {
		t.Errorf("%+v", s.Detected)
	}
	if got := held(t, opt.Cache); len(got) != 3 {
		t.Errorf("kept is %v", got)
	}
}

// TestTheCacheLeavesOthersAlone clears a folder that has files of somebody's in it, in folders of all sorts of names.
func TestTheCacheLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	opt := Options{Cache: filepath.Join(dir, "cache")}
	name := strings.Repeat("0af", 11)[:32]
	mine := []string{"notes.md", name + "/deed.pdf", "sub/manifest.json", name[1:] + "/manifest.json"}
	for _, file := range mine {
		if err := os.MkdirAll(filepath.Join(opt.Cache, filepath.Dir(file)), 0o755); err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(opt.Cache, file), []byte("mine"))
	}
	if c := storedEntry(t, filepath.Join(dir, "1.svm"), opt); c.Rows != 200 || c.Bytes < 1000 ||
		time.Since(c.Used) > time.Hour {
		t.Errorf("%+v", c)
	}
	gone, err := cache.Clear(opt.Cache)
	if err != nil || len(gone) != 1 {
		t.Errorf("gone is %v, %v", gone, err)
	}
	for _, file := range mine {
		if text, err := os.ReadFile(filepath.Join(opt.Cache, file)); err != nil || string(text) != "mine" {
			t.Errorf("%s: %q, %v", file, text, err)
		}
	}
	if left, err := cache.List(opt.Cache); err != nil || len(left) > 0 {
		t.Errorf("left is %v, %v", left, err)
	}
	if list, err := cache.List(filepath.Join(dir, "none")); err != nil || len(list) > 0 {
		t.Errorf("of no folder: %v, %v", list, err)
	}
}
