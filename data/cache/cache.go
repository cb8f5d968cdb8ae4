// Package cache is the folder in which package data keeps inputs that it has parsed: what is there, and how it stays within
// its bounds. What lies in an entry, and whether it is good, package data alone knows.
//
// Its caller stores an entry whole, by a rename, under a name of 32 hexadecimal digits, and then calls Trim. People look with List, and
// Clear.
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

// Manifest is the file of an entry that says what it is of. It is JSON with the Inputs, and the Rows that were Detected in them. Its
// time is when the entry was last used.
const Manifest = "manifest.json"

// abandoned is the age at which what a killed writer left is removed.
const abandoned = 24 * time.Hour

// The bounds of a cache. Whenever a set is stored, what was not used for AgeMost goes, and then what was used
// longest ago until the rest takes at most Most bytes: BytesMost, or one part in FreeParts of what its disk would have free without it.
const (
	BytesMost = 10 << 30
	FreeParts = 4
	AgeMost   = 30 * 24 * time.Hour
)

// Most is how many bytes a cache may hold in a folder, as its disk is now.
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
			return bound(free, held)
		}
		above := filepath.Dir(folder)
		if above == folder {
			return BytesMost
		}
		folder = above // where it will be made
	}
}

// bound is Most of a disk with so many bytes free beside those that the cache holds.
func bound(free, held int64) int64 {
	return min(BytesMost, free/FreeParts+held/FreeParts)
}

// Entry is one input as a cache holds it.
type Entry struct {
	Dir    string
	Inputs []string // the files that it was read from; nil where the manifest is damaged
	Rows   int
	Bytes  int64
	Used   time.Time // when it was last read or stored
}

var (
	entryName = regexp.MustCompile(`^[0-9a-f]{32}$`)
	partName  = regexp.MustCompile(`^[0-9a-f]{32}\.part-`)
)

// List lists what a cache holds, the longest unused first. Whatever else is in the folder is no business of a cache's. A folder
// that is not there holds nothing.
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

// entryIn looks at a slot: a folder of that form of name, with files of those names alone.
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

// Clear removes what a cache holds, and returns what it has removed. Sets that are in use stay good: their files lie in memory.
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

// Trim keeps a cache within its bounds once dir, one of its slots, has been stored. What cannot be removed is passed over: whoever
// stores next tries again. It is an error that dir alone is too large, and dir is then gone, too.
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
			return cmp.Or(os.RemoveAll(dir), fmt.Errorf("its %d bytes are more than the %d that the cache may have", c.Bytes, most))
		}
	}
	for _, c := range list {
		if c.Dir != dir && (total > most || now.Sub(c.Used) > AgeMost) && os.RemoveAll(c.Dir) == nil {
			total -= c.Bytes
		}
	}
	return nil
}

// sweep removes what killed writers left long ago.
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
