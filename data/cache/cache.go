// Package cache manages the folder of parsed inputs: it lists the entries and removes old ones; data/internal/stored
// writes and reads an entry. Only package data knows the content of an entry, and whether it is valid.
//
// The caller stores an entry whole, by a rename, under a name of 32 hexadecimal digits, and then calls Trim. List and
// Clear are for users.
//
// The package touches nothing in the folder that does not look like an entry: a user may name any folder.
package cache

import (
	"cmp"
	"encoding/json"
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

// Manifest is the file that describes an entry. It is JSON with the Inputs, and the Rows that were Detected in them.
// Its modification time is when the entry was last used.
const Manifest = "manifest.json"

// abandoned is the age at which leftovers of a killed writer are removed.
const abandoned = 24 * time.Hour

// The bounds of a cache. After a set is stored, Trim removes entries not used for AgeMost, and then the least recently
// used ones until the rest takes at most Most bytes: BytesMost, or one part in FreeParts of the space that the disk
// would have free without the cache.
const (
	BytesMost = 10 << 30
	FreeParts = 4
	AgeMost   = 30 * 24 * time.Hour
)

// Most returns the number of bytes that a cache may hold in a folder, by the current state of its disk.
func Most(folder string) int64 {
	held := int64(0)
	list, err := List(folder)
	if err == nil {
		for _, c := range list {
			held += c.Bytes
		}
	}
	for {
		if free, ok := freeBytes(folder); ok {
			return sizeLimit(free, held)
		}
		above := filepath.Dir(folder)
		if above == folder {
			return BytesMost
		}
		folder = above // where the folder will be made
	}
}

// sizeLimit returns Most for a disk with the given free bytes and a cache that holds the given bytes.
func sizeLimit(free, held int64) int64 {
	return min(BytesMost, free/FreeParts+held/FreeParts)
}

// An Entry is one input in a cache.
type Entry struct {
	Dir    string
	Inputs []string // the files that it was read from; nil if the manifest is damaged
	Rows   int
	Bytes  int64
	Used   time.Time // when it was last read or stored
}

var (
	entryName = regexp.MustCompile(`^[0-9a-f]{32}$`)
	partName  = regexp.MustCompile(`^[0-9a-f]{32}\.part-`)
)

// List returns the entries of a cache, the least recently used first. Anything else in the folder is ignored. A missing
// folder has no entries.
func List(folder string) ([]Entry, error) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []Entry
	for _, e := range entries {
		if c, ok := entryIn(filepath.Join(folder, e.Name())); ok && e.IsDir() {
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b Entry) int { return a.Used.Compare(b.Used) })
	return list, nil
}

// entryIn returns the entry in a folder whose name has the form of an entry and that has only files of an entry.
func entryIn(dir string) (c Entry, ok bool) {
	files, err := os.ReadDir(dir)
	if err != nil || !entryName.MatchString(filepath.Base(dir)) {
		return c, false
	}
	c.Dir = dir
	for _, f := range files {
		if f.Name() != Manifest && !strings.HasSuffix(f.Name(), ".arrow") {
			return c, false
		}
		if info, err := f.Info(); err == nil {
			c.Bytes += info.Size()
			if f.Name() == Manifest {
				c.Used = info.ModTime()
			}
		}
	}
	var m struct {
		Inputs   []string
		Detected struct{ Rows int }
	}
	if text, err := os.ReadFile(filepath.Join(dir, Manifest)); err == nil && json.Unmarshal(text, &m) == nil {
		c.Inputs, c.Rows = m.Inputs, m.Detected.Rows
	}
	return c, true
}

// Clear removes the entries of a cache and returns those removed. Sets in use stay valid: their files are mapped.
func Clear(folder string) ([]Entry, error) {
	list, err := List(folder)
	if err != nil {
		return nil, err
	}
	sweep(folder, time.Now())
	for i, c := range list {
		if err := os.RemoveAll(c.Dir); err != nil {
			return list[:i], err
		}
	}
	return list, nil
}

// Trim keeps a cache within its bounds after dir, one of its entries, has been stored. An entry that cannot be removed
// is skipped; the next Trim tries again. If dir alone is too large, Trim removes it and returns an error.
func Trim(dir string, most int64, now time.Time) error {
	folder := filepath.Dir(dir)
	sweep(folder, now)
	list, err := List(folder)
	if err != nil {
		return err
	}
	total := int64(0)
	for _, c := range list {
		total += c.Bytes
		if c.Dir == dir && c.Bytes > most {
			return cmp.Or(os.RemoveAll(dir),
				fmt.Errorf("its %d bytes are more than the %d that the cache may have", c.Bytes, most))
		}
	}
	for _, c := range list {
		if c.Dir != dir && (total > most || now.Sub(c.Used) > AgeMost) && os.RemoveAll(c.Dir) == nil {
			total -= c.Bytes
		}
	}
	return nil
}

// sweep removes old leftovers of killed writers.
func sweep(folder string, now time.Time) {
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
