package data

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// The bounds of a cache. Whenever a set is stored, what was not used for CacheAgeMost goes, and then what was used
// longest ago until the rest takes at most CacheBytesMost.
const (
	CacheBytesMost = 10 << 30
	CacheAgeMost   = 30 * 24 * time.Hour
)

// Cached is one input as a cache holds it.
type Cached struct {
	Dir    string
	Inputs []string // the files that it was read from; nil where the manifest is damaged
	Rows   int
	Bytes  int64
	Used   time.Time // when it was last read or stored
}

var (
	slotName = regexp.MustCompile(`^[0-9a-f]{32}$`)
	partName = regexp.MustCompile(`^[0-9a-f]{32}\.part-`)
)

// ListCache lists what a cache holds, the longest unused first. Whatever else is in the folder is no business of a cache's. A folder
// that is not there holds nothing.
func ListCache(folder string) ([]Cached, error) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []Cached
	for _, e := range entries {
		if c, ok := cachedIn(filepath.Join(folder, e.Name())); ok && e.IsDir() {
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b Cached) int { return a.Used.Compare(b.Used) })
	return list, nil
}

// cachedIn looks at a slot: a folder of that form of name, with files of those names alone.
func cachedIn(dir string) (c Cached, ok bool) {
	files, err := os.ReadDir(dir)
	if err != nil || !slotName.MatchString(filepath.Base(dir)) {
		return c, false
	}
	c.Dir = dir
	for _, f := range files {
		if f.Name() != manifestName && !strings.HasSuffix(f.Name(), ".arrow") {
			return c, false
		}
		if info, err := f.Info(); err == nil {
			c.Bytes += info.Size()
			if f.Name() == manifestName {
				c.Used = info.ModTime()
			}
		}
	}
	if m, err := readManifest(filepath.Join(dir, manifestName)); err == nil {
		c.Inputs, c.Rows = m.Inputs, m.Detected.Rows
	}
	return c, true
}

// ClearCache removes what a cache holds, and returns what it has removed. Sets that are in use stay good: their files lie in memory.
func ClearCache(folder string) ([]Cached, error) {
	list, err := ListCache(folder)
	if err != nil {
		return nil, err
	}
	sweepCache(folder, time.Now())
	for i, c := range list {
		if err := os.RemoveAll(c.Dir); err != nil {
			return list[:i], err
		}
	}
	return list, nil
}

// trimCache keeps a cache within its bounds once dir, one of its slots, has been stored. What cannot be removed is passed over: whoever
// stores next tries again. It is an error that dir alone is too large, and dir is then gone, too.
func trimCache(dir string, most int64, now time.Time) error {
	folder := filepath.Dir(dir)
	sweepCache(folder, now)
	list, err := ListCache(folder)
	if err != nil {
		return err
	}
	total := int64(0)
	for _, c := range list {
		total += c.Bytes
		if c.Dir == dir && c.Bytes > most {
			return cmp.Or(os.RemoveAll(dir), fmt.Errorf("its %d bytes are more than the %d that the cache may have", c.Bytes, most))
		}
	}
	for _, c := range list {
		if c.Dir != dir && (total > most || now.Sub(c.Used) > CacheAgeMost) && os.RemoveAll(c.Dir) == nil {
			total -= c.Bytes
		}
	}
	return nil
}

// sweepCache removes what killed writers left long ago.
func sweepCache(folder string, now time.Time) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && partName.MatchString(e.Name()) && now.Sub(info.ModTime()) > abandoned {
			_ = os.RemoveAll(filepath.Join(folder, e.Name()))
		}
	}
}
