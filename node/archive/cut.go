package archive

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"bellows"
	"bellows/core/coord"
	"bellows/core/rowstore"
	"bellows/port/blob"
)

// Together is how many shards of a cut are worth writing at a time: while a disk makes one last, others are read and
// summed, and a file system settles several at once.
const Together = 4

// Cut is one that is being written. It is nothing until Publish has returned, and need not be ended otherwise: what is
// left of it goes with the next. Several goroutines may put and add shards; then one publishes.
//
// Lock: mu, of what is in it.
type Cut struct {
	At
	archive *Archive

	mu      sync.Mutex
	shards  map[bellows.PartitionRef]Entry
	written []Entry
}

// Begin begins a cut. It must be newer than all that are there.
func (a *Archive) Begin(at At) (*Cut, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.kept) > 0 && at.Compare(a.kept[0].At) <= 0 {
		last := a.kept[0].At
		return nil, bellows.Errorf(bellows.Bug, "write checkpoint", a.store.URI(at.name()),
			"record %d of era %d is not behind record %d of era %d", at.Commit, at.Era, last.Commit, last.Era)
	}
	return &Cut{At: at, archive: a, shards: map[bellows.PartitionRef]Entry{}}, nil
}

// Add takes note of a shard that was written, by this process or by another.
func (c *Cut) Add(e Entry) error {
	if e.At != c.At || e.Name != e.name() || !hexSum.MatchString(e.SHA256) || e.Bytes < headerBytes {
		return bellows.Errorf(bellows.Bug, "write checkpoint", c.archive.store.URI(c.At.name()),
			"%.80q is no shard of it", e.Name)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shards[e.Ref()] = e
	c.written = append(c.written, e)
	return nil
}

// AddWritten adds a shard that another process has written, by the size and the digest from that process's Close.
func (c *Cut) AddWritten(ref bellows.PartitionRef, kept bool, bytes int64, sum string) error {
	e := Entry{Table: ref.Table, Partition: ref.Partition, At: c.At, Kept: kept, Bytes: bytes, SHA256: sum}
	e.Name = e.name()
	return c.Add(e)
}

// Put writes a partition, and what the driver has kept of it; nil: nothing.
func (c *Cut) Put(ctx context.Context, ref bellows.PartitionRef, live, kept *rowstore.Image) error {
	s, err := c.archive.Create(ctx, c.At, ref)
	if err != nil {
		return err
	}
	err = s.put(live, false)
	if err == nil && kept != nil {
		err = s.put(kept, true)
	}
	if err == nil {
		err = s.putSums(live.Gathered)
	}
	if err != nil {
		s.GiveUp()
		return err
	}
	e, err := s.Close()
	if err != nil {
		return err
	}
	return c.Add(e)
}

// Same takes a partition as the last cut has it, which must be of this era: nothing of it has changed since. Where the
// cut before that has the same, its shard is taken; else the last one's is copied, so that no two cuts that follow each
// other have a shard together.
func (c *Cut) Same(ctx context.Context, ref bellows.PartitionRef, since bellows.CommitNumber) error {
	c.archive.mu.Lock()
	kept := slices.Clone(c.archive.kept)
	c.archive.mu.Unlock()
	at := slices.IndexFunc(kept, func(m *Manifest) bool { return m.At == At{c.Era, since} })
	if at < 0 {
		return bellows.Errorf(bellows.Bug, "write checkpoint", c.archive.store.URI(c.At.name()),
			"%v is unchanged since record %d, which has no checkpoint", ref, since)
	}
	last := kept[at].find(ref)
	if last == nil {
		return bellows.Errorf(bellows.Bug, "write checkpoint", c.archive.store.URI(c.At.name()),
			"%v is as at record %d, which has none", ref, since)
	}
	if at > 0 { // the caller does not know the last one, and it has another shard
		c.take(last)
		return nil
	}
	if len(kept) == keepMost {
		if e := kept[keepMost-1].find(ref); e != nil && e.SHA256 == last.SHA256 && e.Bytes == last.Bytes {
			c.take(e)
			return nil
		}
	}
	return c.copy(ctx, last)
}

// take takes a shard of another cut.
func (c *Cut) take(e *Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shards[e.Ref()] = *e
}

// copy writes the shard of another cut again, for this one: the bytes after the header are the same.
func (c *Cut) copy(ctx context.Context, e *Entry) error {
	s, err := c.archive.Create(ctx, c.At, e.Ref())
	if err != nil {
		return err
	}
	err = c.archive.read(ctx, e, true, s.again)
	if err != nil {
		s.GiveUp()
		return err
	}
	written, err := s.Close()
	if err != nil {
		return err
	}
	return c.Add(written)
}

// Written returns the number of bytes of shards written for the cut.
func (c *Cut) Written() (n int64) {
	for i := range c.written {
		n += c.written[i].Bytes
	}
	return n
}

// Publish makes the cut one: it writes the manifest, reads back what was written, and removes what is not needed any
// more. After an error the cut may be there or not, and those before it are. uncollected is why what is not needed was
// not removed: the cut is there, and the next tries again.
func (c *Cut) Publish(ctx context.Context, saved *coord.Saved, run json.RawMessage, now time.Time) (m *Manifest,
	uncollected, err error) {
	a := c.archive
	a.mu.Lock()
	defer a.mu.Unlock()
	m = &Manifest{Format: manifestFormat, Job: hex.EncodeToString(a.id[:]), At: c.At, Time: now.UTC(),
		Controller: encodeState(saved), Run: run, saved: *saved}
	if m.Shards, err = c.list(); err != nil {
		return nil, nil, err
	}
	if err := allowed(ctx, a.guard.Remove); err != nil {
		return nil, nil, err
	}
	name := c.At.name()
	text, err := m.encode()
	if err != nil {
		return nil, nil, bellows.Errorf(bellows.Bug, "write checkpoint", a.store.URI(name), "%w", err)
	}
	if err := write(ctx, a.store, name, text); err != nil {
		return nil, nil, err
	}
	read, err := a.manifest(ctx, c.At)
	if err == nil {
		err = a.verify(ctx, c.written)
	}
	if err != nil { // what is damaged already is no cut
		return nil, nil, errors.Join(err, a.store.Delete(ctx, name))
	}
	read.saved = *saved
	a.kept = slices.Insert(a.kept, 0, read)
	a.kept = a.kept[:min(len(a.kept), keepMost)]
	return read, a.collect(ctx, c.Era), nil
}

// list returns the cut's shards in order. All must be there.
func (c *Cut) list() (list []Entry, err error) {
	for ref := range c.archive.partitions() {
		e, ok := c.shards[ref]
		if !ok || len(list) > 0 && e.Kept != list[0].Kept {
			return nil, bellows.Errorf(bellows.Bug, "write checkpoint", c.archive.store.URI(c.At.name()),
				"it lacks %v, or what the driver kept of it", ref)
		}
		list = append(list, e)
	}
	return list, nil
}

// write publishes a blob.
func write(ctx context.Context, s blob.Store, name string, b []byte) error {
	w, err := s.Create(ctx, name)
	if err != nil {
		return err
	}
	n, err := w.Write(b)
	if err == nil && n < len(b) {
		err = blob.Fault("write", s.URI(name), fmt.Errorf("%d of %d bytes were taken", n, len(b)))
	}
	if err == nil {
		err = w.Publish()
	}
	return errors.Join(err, w.Close())
}
