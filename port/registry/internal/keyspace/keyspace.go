// Package keyspace holds the keys of a registry in memory, for registry/mem and registry/file: values, and changes that
// watches have yet to see.
//
// The caller holds a lock during each call. It checks a change with Holds, and then makes it with Apply.
//
// The package refuses nothing: implementations of the port check keys and values before they call it.
package keyspace

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"bellows/port/registry"
)

// entryBytes is an estimate of the memory that a change needs in addition to its key and value.
const entryBytes = 128

// Space is the state of a registry at its latest revision. Use New to make one.
type Space struct {
	// HistoryMost and BytesMost limit the changes that the space remembers, and the bytes of these. They may be set before the first change.
	HistoryMost, BytesMost int

	entries map[string]registry.Entry
	at      registry.Revision
	floor   registry.Revision // changes up to it are forgotten
	live    int64
	history []registry.Change
	bytes   int // of the history
	changed chan struct{}
}

// New returns an empty space at a revision. It remembers changes within the two limits.
func New(at registry.Revision, historyMost, bytesMost int) *Space {
	return &Space{HistoryMost: historyMost, BytesMost: bytesMost, entries: map[string]registry.Entry{}, at: at, floor: at, changed: make(chan struct{})}
}

// Revision returns the latest revision.
func (s *Space) Revision() registry.Revision { return s.at }

// Bytes returns the size of all keys and values, with an allowance for each entry.
func (s *Space) Bytes() int64 { return s.live }

// SizeAfter returns what Bytes would return after a Put of that key and value.
func (s *Space) SizeAfter(key string, value []byte) int64 {
	return s.live - s.sizeOf(key) + entryBytes + int64(len(key)+len(value))
}

func (s *Space) sizeOf(key string) int64 {
	e, ok := s.entries[key]
	if !ok {
		return 0
	}
	return entryBytes + int64(len(key)+len(e.Value))
}

// Get returns the entry of a key, and reports whether there is one. The value is a copy.
func (s *Space) Get(key string) (registry.Entry, bool) {
	e, ok := s.entries[key]
	e.Value = bytes.Clone(e.Value)
	return e, ok
}

// List returns the entries of keys with a prefix, sorted by key. The values are copies. It returns registry.ErrTooMany if there are more than registry.EntriesMost.
func (s *Space) List(prefix string) (list []registry.Entry, err error) {
	for _, key := range slices.Sorted(maps.Keys(s.entries)) {
		if !strings.HasPrefix(key, prefix) {
			continue
		}
		if len(list) == registry.EntriesMost {
			return nil, registry.ErrTooMany
		}
		e, _ := s.Get(key)
		list = append(list, e)
	}
	return list, nil
}

// Holds reports whether all conditions hold.
func (s *Space) Holds(where []registry.Is) bool {
	return !slices.ContainsFunc(where, func(is registry.Is) bool { return s.entries[is.Key].Revision != is.Revision })
}

// Contains reports whether there is an entry of a key.
func (s *Space) Contains(key string) bool {
	_, ok := s.entries[key]
	return ok
}

// Restore sets an entry at its own revision, which is not after the latest one. Watches do not see it.
func (s *Space) Restore(e registry.Entry) {
	s.live = s.SizeAfter(e.Key, e.Value)
	s.entries[e.Key] = e
}

// Entries returns all entries, sorted by revision. The values are not copied: the caller does not change them.
func (s *Space) Entries() []registry.Entry {
	return slices.SortedFunc(maps.Values(s.entries), func(a, b registry.Entry) int {
		if a.Revision != b.Revision {
			return int(a.Revision - b.Revision)
		}
		return strings.Compare(a.Key, b.Key)
	})
}

// Attached returns the keys of entries with a lease that match accepts, sorted.
func (s *Space) Attached(match func(registry.LeaseID) bool) (keys []string) {
	for key, e := range s.entries {
		if e.Lease != 0 && match(e.Lease) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// Put sets an entry at the next revision, which it returns. The space keeps the value, so the caller must not change it afterwards.
func (s *Space) Put(key string, value []byte, lease registry.LeaseID) registry.Revision {
	s.at++
	e := registry.Entry{Key: key, Value: value, Revision: s.at, Lease: lease}
	s.Restore(e)
	s.remember(registry.Change{Entry: e})
	return s.at
}

// Remove deletes keys, which are there, at the next revision, which it returns. Without keys it changes nothing.
func (s *Space) Remove(keys ...string) registry.Revision {
	if len(keys) == 0 {
		return s.at
	}
	s.at++
	changes := make([]registry.Change, 0, len(keys))
	for _, key := range keys {
		s.live -= s.sizeOf(key)
		delete(s.entries, key)
		changes = append(changes, registry.Change{Entry: registry.Entry{Key: key, Revision: s.at}, Gone: true})
	}
	s.remember(changes...)
	return s.at
}

// remember adds the changes of one revision to the history, forgets the oldest ones above the limits, and wakes the watches.
func (s *Space) remember(changes ...registry.Change) {
	s.history = append(s.history, changes...)
	for i := range changes {
		s.bytes += size(&changes[i])
	}
	drop := 0
	for i := range s.history {
		if len(s.history)-i <= s.HistoryMost && s.bytes <= s.BytesMost {
			break
		}
		s.floor = s.history[i].Revision
		s.bytes -= size(&s.history[i])
		drop = i + 1
	}
	for drop < len(s.history) && s.history[drop].Revision == s.floor { // a revision is remembered whole or not at all
		s.bytes -= size(&s.history[drop])
		drop++
	}
	if drop > 0 {
		s.history = slices.Clone(s.history[drop:])
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

func size(c *registry.Change) int { return entryBytes + len(c.Key) + len(c.Value) }

// Forget forgets all changes so far, so that watches that have not seen them return registry.ErrBehind.
func (s *Space) Forget() { s.history, s.bytes, s.floor = nil, 0, s.at }

// Since returns the changes after a revision to keys with prefix, in order. The values are copies. It returns registry.ErrBehind if some of them are forgotten.
func (s *Space) Since(prefix string, after registry.Revision) (list []registry.Change, err error) {
	if after < s.floor {
		return nil, registry.ErrBehind
	}
	for _, c := range s.history {
		if c.Revision > after && strings.HasPrefix(c.Key, prefix) {
			c.Value = bytes.Clone(c.Value)
			list = append(list, c)
		}
	}
	return list, nil
}

// Changed returns a channel that is closed at the next change.
func (s *Space) Changed() <-chan struct{} { return s.changed }
