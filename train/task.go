package train

import (
	"fmt"
	"slices"
	"sync/atomic"

	"bellows"
	"bellows/core/client"
	"bellows/link/wire"
)

// Mode is how Lease holds a partition.
type Mode = wire.Mode

// The modes of a lease.
const (
	Shared    = wire.Shared    // one committed version, read-only; commits wait
	Exclusive = wire.Exclusive // updated in place; the task's end is the commit
)

// Task is one unit of work as its executor sees it. It is for the goroutine that RunTask is called
// on, and only until RunTask returns.
type Task struct {
	runner *Runner
	split  bellows.SplitID
	core   *client.Task
	result []float64
	ready  chan struct{} // one token: try again
	active atomic.Bool   // its executor has it
	order  []bellows.RowID
	one    [1]bellows.Key
	values []float32 // one row, of PushValue
}

// unwound is the panic that stops a task whose job has ended.
type unwound struct{}

// Split is the split that the task works on.
func (t *Task) Split() bellows.SplitID { return t.split }

// Clock is the split's clock.
func (t *Task) Clock() bellows.Clock { return t.core.Unit.Clock }

// Items are the items to visit.
func (t *Task) Items() bellows.Range { return t.core.Unit.Items }

// Args are what the driver gave, valid until the task ends.
func (t *Task) Args() []float64 { return t.core.Args }

// PullRange returns the rows [first, end) of a table, row after row: a read-only view, valid until
// the task ends. It shows every commit that the task must see, and the split's own deltas made
// before.
func (t *Task) PullRange(tab Table, first, end bellows.RowID) []float32 {
	t.checkRows(tab, first, end)
	t.enter(Ask{AskRead, tab, first})
	t.read(func(fx *client.Effects) bool { return t.runner.client.Read(t.core, tab, first, end, fx) })
	t.leave()
	return t.core.View(tab, first, end)
}

// read asks for rows until they are there.
func (t *Task) read(question func(*client.Effects) bool) {
	for !t.runner.read(t, question) {
		t.runner.wait(t)
	}
}

// Prefetch asks for the rows [first, end) of a table without waiting for them: a later pull, by
// this task or another of the node, finds them in the cache or on their way.
func (t *Task) Prefetch(tab Table, first, end bellows.RowID) {
	t.checkRows(tab, first, end)
	t.enter(Ask{AskPrefetch, tab, first})
	t.runner.prefetch(func(fx *client.Effects) { t.runner.client.Prefetch(t.core, tab, first, end, fx) })
	t.leave()
}

// Pull writes the named rows, in the order given, to dst: len(rows) x width values.
func (t *Task) Pull(tab Table, rows []bellows.RowID, dst []float32) {
	if len(rows) == 0 {
		return
	}
	sorted := rows
	if !slices.IsSorted(rows) {
		t.order = append(t.order[:0], rows...)
		slices.Sort(t.order)
		sorted = slices.Compact(t.order)
	}
	t.checkRows(tab, sorted[0], sorted[len(sorted)-1]+1)
	t.enter(Ask{AskRead, tab, sorted[0]})
	t.read(func(fx *client.Effects) bool { return t.runner.client.ReadRows(t.core, tab, sorted, fx) })
	t.leave()
	t.core.Gather(tab, rows, dst)
}

// PushRange adds deltas to consecutive rows from first; len(deltas) is a multiple of the table's
// width. The deltas are copied. They count from the task's commit on; the split's own reads see
// them at once where the table's rule is additive.
func (t *Task) PushRange(tab Table, first bellows.RowID, deltas []float32) {
	w := t.runner.tables[tab].Width
	if len(deltas)%w != 0 {
		panic(fmt.Sprintf("train: %d deltas for rows of %d", len(deltas), w))
	}
	t.checkRows(tab, first, first+bellows.RowID(len(deltas)/w))
	t.core.AddRange(tab, first, deltas)
}

// PullRow is one row: a read-only view, valid until the task ends.
func (t *Task) PullRow(tab Table, row bellows.RowID) []float32 { return t.PullRange(tab, row, row+1) }

// PushRow adds a delta to one row.
func (t *Task) PushRow(tab Table, row bellows.RowID, delta []float32) { t.PushRange(tab, row, delta) }

// PushValue adds a delta to one value of a row.
func (t *Task) PushValue(tab Table, row bellows.RowID, column int, delta float32) {
	t.checkRows(tab, row, row+1)
	width := t.runner.tables[tab].Width
	t.values = append(t.values[:0], make([]float32, width)...)
	t.values[column] = delta
	t.PushRange(tab, row, t.values)
}

// Push adds a delta row to each of the named rows.
func (t *Task) Push(tab Table, rows []bellows.RowID, deltas []float32) {
	w := t.runner.tables[tab].Width
	if len(deltas) != len(rows)*w {
		panic(fmt.Sprintf("train: %d deltas for %d rows of %d", len(deltas), len(rows), w))
	}
	for i, r := range rows {
		t.checkRows(tab, r, r+1)
		t.core.AddRow(tab, r, deltas[i*w:(i+1)*w])
	}
}

// PullKeys writes the rows of the keys of a sparse table, in the order given, to dst: len(list) x
// width values. A key that no committed update has touched has the initialiser's row, and is not
// created. Keys that ascend are found fastest.
func (t *Task) PullKeys(tab Table, list []bellows.Key, dst []float32) {
	w := t.checkSparse(tab)
	if len(dst) != len(list)*w {
		panic(fmt.Sprintf("train: room for %d values of %d keys, rows of %d", len(dst), len(list), w))
	}
	for len(list) > 0 {
		n := min(len(list), max(1, pullMost/w))
		t.readKeys(tab, list[:n])
		t.core.GatherKeys(tab, list[:n], dst[:n*w])
		list, dst = list[n:], dst[n*w:]
	}
}

// pullMost is how many values PullKeys asks for at once: what comes for them fits a frame, even if
// it is all of one lane.
const pullMost = 4 << 20

// readKeys asks for the rows of keys until they are there.
func (t *Task) readKeys(tab Table, list []bellows.Key) {
	t.core.Group(tab, list)
	t.read(func(fx *client.Effects) bool { return t.runner.client.ReadKeys(t.core, fx) })
}

// PrefetchKeys is Prefetch for the rows of keys of a sparse table.
func (t *Task) PrefetchKeys(tab Table, list []bellows.Key) {
	w := t.checkSparse(tab)
	for len(list) > 0 {
		n := min(len(list), max(1, pullMost/w))
		t.core.Group(tab, list[:n])
		t.runner.prefetch(func(fx *client.Effects) { t.runner.client.PrefetchKeys(t.core, fx) })
		list = list[n:]
	}
}

// PullKey is one row of a sparse table: a read-only view, valid until the task ends.
func (t *Task) PullKey(tab Table, key bellows.Key) []float32 {
	t.checkSparse(tab)
	t.one[0] = key
	t.readKeys(tab, t.one[:])
	return t.core.ViewKey(tab, key)
}

// PushKeys adds a delta row to the row of each of the keys of a sparse table, which is created by
// it where it is not there. The deltas are copied, and count as those of PushRange do.
func (t *Task) PushKeys(tab Table, list []bellows.Key, deltas []float32) {
	w := t.checkSparse(tab)
	if len(deltas) != len(list)*w {
		panic(fmt.Sprintf("train: %d deltas for %d keys, rows of %d", len(deltas), len(list), w))
	}
	t.core.AddKeys(tab, list, deltas)
}

// PushKey adds a delta to the row of one key: PushKeys for a single key.
func (t *Task) PushKey(tab Table, key bellows.Key, delta []float32) {
	t.one[0] = key
	t.PushKeys(tab, t.one[:], delta)
}

// checkSparse is the width of a sparse table. Misuse of a table is a panic, which ends the job by
// name (TestMisuseEndsTheJobByName).
func (t *Task) checkSparse(tab Table) int {
	if int(tab) >= len(t.runner.tables) || !t.runner.tables[tab].Sparse {
		panic(fmt.Sprintf("train: table %d has no keys: it is not declared Sparse", tab))
	}
	return t.runner.tables[tab].Width
}

// Lease gives the slab of one partition, its rows one after the other, until the task ends. With
// Exclusive nobody else sees the partition meanwhile, updates are in place, and the task's end is
// their commit; with Shared the slab is read-only. Leases are taken in ascending order of table and
// partition, after the task's reads: what could make two tasks wait for each other ends the job
// with an error, such as a read that must wait while the task holds an exclusive lease.
func (t *Task) Lease(tab Table, p bellows.PartitionID, mode Mode) []float32 {
	ref := bellows.PartitionRef{Table: tab, Partition: p}
	t.enter(Ask{Kind: AskLease, Table: tab})
	for !t.runner.lease(t, ref, mode) {
		t.runner.wait(t)
	}
	t.leave()
	return t.core.Leased(ref)
}

// SignalTaskCompletion sets the numbers that the driver is told when the task has been committed.
func (t *Task) SignalTaskCompletion(result ...float64) { t.result = append(t.result[:0], result...) }

// checkRows is that for the rows [first, end) of a dense table.
func (t *Task) checkRows(tab Table, first, end bellows.RowID) {
	if int(tab) < len(t.runner.tables) && t.runner.tables[tab].Sparse {
		panic(fmt.Sprintf("train: table %d is sparse: its rows have keys, so use PullKey, PullKeys, PushKey, PushKeys", tab))
	}
	if int(tab) >= len(t.runner.tables) || first > end || int(end) > t.runner.tables[tab].Rows {
		panic(fmt.Sprintf("train: rows [%d,%d) of table %d do not exist", first, end, tab))
	}
}
