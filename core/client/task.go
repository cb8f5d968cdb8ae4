package client

import (
	"bellows"
	"bellows/core/cache"
	"bellows/core/delta"
	"bellows/core/planted"
	"bellows/link/wire"
	"bellows/table"
)

// Task is one dispatched unit of work, what it has pinned, and what it has changed. A split has one, which runs its
// units one after the other.
//
// Two write to it, never at once. The client does, under the shell's lock, while the task asks or waits: what the
// reader has. The goroutine that runs the task does without the lock, between two questions: its deltas and its
// scratch. Its methods are for that goroutine.
//
// A task sees the block of a partition that its reader has pinned. Over that, where the table's rule adds, it
// lays the split's retained flushes that the block lacks, in the order in which they were made, and then what the
// task itself has added: read-my-writes (docs/decisions/0007). It does not see what earlier units of a divided clock have added to BSP
// tables: like all of the clock, that shows when the clock is complete. So a unit sees the same rows on any node.
type Task struct {
	Unit bellows.Unit
	Args []float64 // valid until the task ends

	client       *Client
	reader       cache.Reader // of the split
	bspDeltas    delta.Set    // for BSP tables: summed along the tree over splits and their units
	streamDeltas delta.Set    // for the others: summed as tasks finish, and retained until their commit
	arena        *arena       // nil until the task needs one
}

// arena is memory for rows that a task reads. Only running tasks have one (Client.arenas): a job may have many more
// splits than run at once.
type arena struct{ values []float32 }

func newTask(c *Client) *Task {
	return &Task{client: c, bspDeltas: c.pools.NewSet(), streamDeltas: c.pools.NewSet()}
}

// View returns the rows [first, end) as the task sees them, with its own deltas laid over (read-my-writes). Read must
// have reported that they are here. The slice is read-only and valid until the task ends. It is the cache's own memory
// if the rows lie in one partition and no delta is laid over them.
func (t *Task) View(tab bellows.TableID, first, end bellows.RowID) []float32 {
	if first == end {
		return nil // of no partition, behind the last row
	}
	c := t.client
	cut := c.cfg.Route.Cut(tab)
	p := cut.Find(first)
	lo, hi := cut.Rows(p)
	n := c.cfg.Route.Number(bellows.PartitionRef{Table: tab, Partition: p})
	if end <= hi && !t.overlaid(n) {
		return t.reader.View(n, int(first-lo), int(end-lo), c.partitions[n].width)
	}
	dst := t.room(int(end-first) * c.cfg.Tables[tab].Width)
	t.CopyRows(tab, first, end, dst)
	return dst
}

// CopyRows writes the rows [first, end) as View shows them to dst.
func (t *Task) CopyRows(tab bellows.TableID, first, end bellows.RowID, dst []float32) {
	c := t.client
	w := c.cfg.Tables[tab].Width
	cut := c.cfg.Route.Cut(tab)
	for p := cut.Find(first); first < end; p++ {
		lo, hi := cut.Rows(p)
		if lo == hi {
			continue // which read has not asked for
		}
		n := c.cfg.Route.Number(bellows.PartitionRef{Table: tab, Partition: p})
		a, b := int(first-lo), int(min(end, hi)-lo)
		to := dst[:(b-a)*w]
		copy(to, t.reader.View(n, a, b, w))
		t.overlay(n, a, b, to)
		dst, first = dst[len(to):], hi
	}
}

// Gather writes the named rows, one after the other, to dst, as View would show them. It looks up each run of rows of
// one partition once.
func (t *Task) Gather(tab bellows.TableID, rows []bellows.RowID, dst []float32) {
	c := t.client
	w, cut := c.cfg.Tables[tab].Width, c.cfg.Route.Cut(tab)
	for len(rows) > 0 {
		p, lo, run := partitionRun(cut, rows)
		n, to := c.cfg.Route.Number(bellows.PartitionRef{Table: tab, Partition: p}), dst[:run*w]
		t.reader.Gather(n, rows[:run], lo, w, to)
		if t.overlaid(n) {
			for i, r := range rows[:run] {
				t.overlay(n, int(r-lo), int(r-lo)+1, to[i*w:(i+1)*w])
			}
		}
		rows, dst = rows[run:], dst[run*w:]
	}
}

// partitionRun returns the partition of the first row of a list, the first row of that partition, and how many rows
// at the beginning of the list belong to it.
func partitionRun(cut table.Cut, rows []bellows.RowID) (p bellows.PartitionID, first bellows.RowID, run int) {
	p = cut.Find(rows[0])
	first, end := cut.Rows(p)
	for run = 1; run < len(rows) && rows[run] >= first && rows[run] < end; run++ {
	}
	return p, first, run
}

// room returns memory of the task for n values, valid until the task ends: slices that were given before stay, in the
// previous arena.
func (t *Task) room(n int) []float32 {
	if t.arena == nil {
		if a, ok := t.client.arenas.Get().(*arena); ok {
			t.arena = a
		} else {
			t.arena = new(arena)
		}
	}
	a := t.arena
	at := len(a.values)
	if cap(a.values)-at < n {
		a.values = make([]float32, 0, max(2*cap(a.values), n))
		at = 0
	}
	a.values = a.values[:at+n]
	return a.values[at : at+n : at+n]
}

// endReads gives back the memory of what the task has read.
func (t *Task) endReads() {
	if t.arena != nil {
		t.arena.values = t.arena.values[:0]
		t.client.arenas.Put(t.arena)
		t.arena = nil
	}
}

// Version returns the version of a partition that the task sees, under a lease if it has one: every commit up to one,
// and every clock up to another of all splits. Read must have reported that some of the partition is here, or Lease
// that it is leased.
func (t *Task) Version(ref bellows.PartitionRef) wire.Need {
	return t.reader.Version(t.client.cfg.Route.Number(ref))
}

// Leased returns the slab of a partition that the task holds a lease on; nil: it holds none, or the partition has no
// rows.
func (t *Task) Leased(ref bellows.PartitionRef) []float32 {
	return t.reader.Leased(t.client.cfg.Route.Number(ref))
}

// overlaid reports whether the task has deltas of its own to lay over a partition's rows. Under other rules than
// additive ones a split sees its updates from their commit on, since only the lane knows their effect.
func (t *Task) overlaid(n int) bool {
	p := &t.client.partitions[n]
	if !p.additive || planted.On("own-updates-forgotten") {
		return false
	}
	if t.reader.Uncovered(n) {
		return true
	}
	open := t.open(n)
	return open != nil && open.Len() > 0
}

// open returns the task's deltas for a partition so far, or nil.
func (t *Task) open(n int) *delta.Buffer {
	if t.client.partitions[n].barrier {
		return t.bspDeltas.Find(n)
	}
	return t.streamDeltas.Find(n)
}

// overlay adds to dst, the rows [first, end) of a partition, the split's deltas that they lack.
func (t *Task) overlay(n, first, end int, dst []float32) {
	if !t.overlaid(n) {
		return
	}
	t.reader.Overlay(n, first, end, dst)
	if open := t.open(n); open != nil {
		open.Overlay(first, end, dst)
	}
}

// AddRange adds deltas to consecutive rows from first; len(deltas) is a multiple of the width.
func (t *Task) AddRange(tab bellows.TableID, first bellows.RowID, deltas []float32) {
	c := t.client
	w := c.cfg.Tables[tab].Width
	cut := c.cfg.Route.Cut(tab)
	for p := cut.Find(first); len(deltas) > 0; p++ {
		lo, hi := cut.Rows(p)
		if lo == hi {
			continue
		}
		n := min(len(deltas), int(hi-first)*w)
		t.buffer(c.cfg.Route.Number(bellows.PartitionRef{Table: tab, Partition: p})).AddRange(int(first-lo), deltas[:n])
		deltas, first = deltas[n:], hi
	}
}

// FillRange returns the memory of the task's deltas for the rows [first, end), for the task to write. It returns nil if
// they are not all rows of one partition, or the task has added to some of them: then there is AddRange.
func (t *Task) FillRange(tab bellows.TableID, first, end bellows.RowID) []float32 {
	c := t.client
	cut := c.cfg.Route.Cut(tab)
	p := cut.Find(first)
	if lo, hi := cut.Rows(p); first != lo || end != hi {
		return nil
	}
	return t.buffer(c.cfg.Route.Number(bellows.PartitionRef{Table: tab, Partition: p})).Fill()
}

// AddRow adds a delta to one row.
func (t *Task) AddRow(tab bellows.TableID, row bellows.RowID, d []float32) {
	t.AddRows(tab, []bellows.RowID{row}, d)
}

// AddRows adds a delta row to each of the named rows.
func (t *Task) AddRows(tab bellows.TableID, rows []bellows.RowID, deltas []float32) {
	c := t.client
	w, cut := c.cfg.Tables[tab].Width, c.cfg.Route.Cut(tab)
	for len(rows) > 0 {
		p, lo, run := partitionRun(cut, rows)
		b := t.buffer(c.cfg.Route.Number(bellows.PartitionRef{Table: tab, Partition: p}))
		b.AddRows(rows[:run], lo, deltas[:run*w])
		rows, deltas = rows[run:], deltas[run*w:]
	}
}

// buffer returns the task's deltas for a partition, and makes them if they are new.
func (t *Task) buffer(number int) *delta.Buffer {
	u := &t.streamDeltas
	if t.client.partitions[number].barrier {
		u = &t.bspDeltas
	}
	return u.Buffer(number)
}

// retain moves what the task has changed in tables without a barrier to a bundle of two users: the flush that sends it,
// and the task's split, which lays it over its reads until it is committed. Nil: there is nothing.
func (t *Task) retain() *delta.Bundle {
	if len(t.streamDeltas.Touched()) == 0 {
		return nil
	}
	b := t.client.pools.Bundle(&t.streamDeltas)
	b.Keep()
	t.reader.Retain(b)
	return b
}

// discard forgets what a failed task changed.
func (t *Task) discard() {
	t.bspDeltas.Reset()
	t.streamDeltas.Reset()
	t.reader.ForgetLeases()
}

// Group sorts the keys of a read, given in any order, for ReadKeys and PrefetchKeys. Keys that ascend are grouped
// fastest.
func (t *Task) Group(tab bellows.TableID, list []bellows.Key) {
	t.reader.Group(tab, t.client.cfg.Route.Cut(tab), list)
}

// ViewKey returns the row of a key as the task sees it, with its own deltas laid over (read-my-writes). ReadKeys must
// have reported that it is here. The slice is read-only and valid until the task ends.
func (t *Task) ViewKey(tab bellows.TableID, key bellows.Key) []float32 {
	r := t.client.cfg.Route
	n := r.Number(bellows.PartitionRef{Table: tab, Partition: r.Cut(tab).FindKey(key)})
	row := t.reader.KeyRow(n, key, t.client.partitions[n].width)
	if !t.overlaid(n) {
		return row
	}
	dst := t.room(len(row))
	copy(dst, row)
	t.overlayKey(n, key, dst)
	return dst
}

// GatherKeys writes the rows of keys, one after the other, to dst, as ViewKey would show them.
func (t *Task) GatherKeys(tab bellows.TableID, list []bellows.Key, dst []float32) {
	w, cut := t.client.cfg.Tables[tab].Width, t.client.cfg.Route.Cut(tab)
	first := t.client.cfg.Route.Number(bellows.PartitionRef{Table: tab})
	for i, k := range list {
		n, to := first+int(cut.FindKey(k)), dst[i*w:(i+1)*w]
		copy(to, t.reader.KeyRow(n, k, w))
		if t.overlaid(n) {
			t.overlayKey(n, k, to)
		}
	}
}

// AddKeys adds a delta row to the row of each of the keys.
func (t *Task) AddKeys(tab bellows.TableID, list []bellows.Key, deltas []float32) {
	w, cut := t.client.cfg.Tables[tab].Width, t.client.cfg.Route.Cut(tab)
	first := t.client.cfg.Route.Number(bellows.PartitionRef{Table: tab})
	for i, k := range list {
		t.buffer(first+int(cut.FindKey(k))).AddKey(k, deltas[i*w:(i+1)*w])
	}
}

// overlayKey adds to the row of a key the split's deltas that it lacks.
func (t *Task) overlayKey(n int, key bellows.Key, dst []float32) {
	t.reader.OverlayKey(n, key, dst)
	if open := t.open(n); open != nil {
		open.OverlayKey(key, dst)
	}
}
