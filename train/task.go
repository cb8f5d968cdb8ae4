package train

import (
	"fmt"
	"slices"
	"sync/atomic"

	"bellows"
	"bellows/core/client"
	"bellows/link/wire"
)

// Mode is the mode in which Lease holds a partition.
type Mode = wire.Mode

// The modes of a lease.
const (
	Shared    = wire.Shared    // one committed version, read-only; commits wait
	Exclusive = wire.Exclusive // updated in place; the task's end is the commit
)

// A Task is one unit of work as its executor sees it. Only the goroutine of RunTask may use it, and only until RunTask
// returns.
type Task struct {
	runner *Runner
	split  bellows.SplitID
	core   *client.Task
	result []float64
	ready  chan struct{} // one token: try again
	active atomic.Bool   // its executor is running it
	order  []bellows.RowID
	one    [1]bellows.Key
	values []float32 // one row, for PushValue
}

// unwound is the panic that stops a task whose job has ended.
type unwound struct{}

// Split returns the split that the task works on.
func (t *Task) Split() bellows.SplitID { return t.split }

// Clock returns the split's clock.
func (t *Task) Clock() bellows.Clock { return t.core.Unit.Clock }

// Items returns the items to visit.
func (t *Task) Items() bellows.Range { return t.core.Unit.Items }

// Args returns the driver's arguments. They are valid until the task ends.
func (t *Task) Args() []float64 { return t.core.Args }

// PullRange returns the rows [first, end) of a table, row after row: a read-only view, valid until the task ends. It
// shows every commit that the task must see, and the deltas that the split has pushed before.
func (t *Task) PullRange(tab Table, first, end bellows.RowID) []float32 {
	t.checkRows(tab, first, end)
	t.enter(Ask{AskRead, tab, first})
	t.read(func(fx *client.Effects) bool { return t.runner.client.Read(t.core, tab, first, end, fx) })
	t.leave()
	return t.core.View(tab, first, end)
}

// CopyRange writes the rows [first, end) of a table to dst, as PullRange shows them, for tasks that keep or change
// them. PullRange copies rows of several partitions, so that this saves a copy.
func (t *Task) CopyRange(tab Table, first, end bellows.RowID, dst []float32) {
	t.checkRows(tab, first, end)
	t.enter(Ask{AskRead, tab, first})
	t.read(func(fx *client.Effects) bool { return t.runner.client.Read(t.core, tab, first, end, fx) })
	t.leave()
	t.core.CopyRows(tab, first, end, dst)
}

// read asks for rows until they are there.
func (t *Task) read(question func(*client.Effects) bool) {
	for !t.runner.read(t, question) {
		t.runner.wait(t)
	}
}

// Prefetch asks for the rows [first, end) of a table without waiting for them. A later pull, by this task or another of
// the node, finds them in the cache or on their way.
func (t *Task) Prefetch(tab Table, first, end bellows.RowID) {
	t.checkRows(tab, first, end)
	t.enter(Ask{AskPrefetch, tab, first})
	t.runner.prefetch(func(fx *client.Effects) { t.runner.client.Prefetch(t.core, tab, first, end, fx) })
	t.leave()
}

// Pull writes the named rows, in the given order, to dst: len(rows) x width values. It is Await and Gather.
func (t *Task) Pull(tab Table, rows []bellows.RowID, dst []float32) {
	t.Await(tab, rows)
	t.Gather(tab, rows, dst)
}

// Await waits until the named rows can be gathered. A task that takes memory for rows takes it after Await: tasks that
// wait need none, and most jobs have more of them than compute at once.
func (t *Task) Await(tab Table, rows []bellows.RowID) {
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
}

// Gather writes rows that the task has awaited to dst, like Pull, if it has read nothing else of the table since.
func (t *Task) Gather(tab Table, rows []bellows.RowID, dst []float32) { t.core.Gather(tab, rows, dst) }

// PushRange adds deltas to consecutive rows from first. len(deltas) must be a multiple of the table's width. The deltas
// are copied. They take effect with the task's commit; the split's own reads see them at once if the table's rule is
// additive.
func (t *Task) PushRange(tab Table, first bellows.RowID, deltas []float32) {
	w := t.runner.tables[tab].Width
	if len(deltas)%w != 0 {
		panic(fmt.Sprintf("train: %d deltas for rows of %d", len(deltas), w))
	}
	t.checkRows(tab, first, first+bellows.RowID(len(deltas)/w))
	t.core.AddRange(tab, first, deltas)
}

// FillRange works like PushRange of the rows [first, end), without the copy: it returns the memory of their deltas, in
// which the task computes them. Until it has written all of them, it reads none of these rows again. It returns nil if
// the rows are not exactly one partition, or the task has pushed some of them: then there is PushRange.
func (t *Task) FillRange(tab Table, first, end bellows.RowID) []float32 {
	t.checkRows(tab, first, end)
	return t.core.FillRange(tab, first, end)
}

// PullRow returns one row: a read-only view, valid until the task ends.
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
	if len(rows) == 0 {
		return
	}
	last := slices.Max(rows)
	t.checkRows(tab, last, last+1)
	t.core.AddRows(tab, rows, deltas)
}

// PullKeys writes the rows of the keys of a sparse table, in the given order, to dst: len(list) x width values. A key
// that no committed update has touched has the initialiser's row, and is not created. Ascending keys are found fastest.
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

// pullMost is the number of values that PullKeys asks for at once: the answer fits a frame, even if all of it comes
// from one lane.
const pullMost = 4 << 20

// readKeys asks for the rows of keys until they are there.
func (t *Task) readKeys(tab Table, list []bellows.Key) {
	t.core.Group(tab, list)
	t.read(func(fx *client.Effects) bool { return t.runner.client.ReadKeys(t.core, fx) })
}

// PrefetchKeys prefetches the rows of keys of a sparse table, like Prefetch.
func (t *Task) PrefetchKeys(tab Table, list []bellows.Key) {
	w := t.checkSparse(tab)
	for len(list) > 0 {
		n := min(len(list), max(1, pullMost/w))
		t.core.Group(tab, list[:n])
		t.runner.prefetch(func(fx *client.Effects) { t.runner.client.PrefetchKeys(t.core, fx) })
		list = list[n:]
	}
}

// PullKey returns one row of a sparse table: a read-only view, valid until the task ends.
func (t *Task) PullKey(tab Table, key bellows.Key) []float32 {
	t.checkSparse(tab)
	t.one[0] = key
	t.readKeys(tab, t.one[:])
	return t.core.ViewKey(tab, key)
}

// PushKeys adds a delta row to the row of each of the keys of a sparse table, and creates rows that do not exist. The
// deltas are copied, and take effect like those of PushRange.
func (t *Task) PushKeys(tab Table, list []bellows.Key, deltas []float32) {
	w := t.checkSparse(tab)
	if len(deltas) != len(list)*w {
		panic(fmt.Sprintf("train: %d deltas for %d keys, rows of %d", len(deltas), len(list), w))
	}
	t.core.AddKeys(tab, list, deltas)
}

// PushKey adds a delta to the row of one key, like PushKeys.
func (t *Task) PushKey(tab Table, key bellows.Key, delta []float32) {
	t.one[0] = key
	t.PushKeys(tab, t.one[:], delta)
}

// checkSparse returns the width of a sparse table. Misuse of a table is a panic, which ends the job with an error that
// names it (TestMisuseEndsTheJobByName).
func (t *Task) checkSparse(tab Table) int {
	if int(tab) >= len(t.runner.tables) || !t.runner.tables[tab].Sparse {
		panic(fmt.Sprintf("train: table %d has no keys: it is not declared Sparse", tab))
	}
	return t.runner.tables[tab].Width
}

// Lease returns the slab of one partition, its rows one after another, until the task ends. With Exclusive, no other
// task sees the partition meanwhile, updates are in place, and the task's end is their commit. With Shared, the slab is
// read-only. Leases must be taken in ascending order of table and partition, after the task's reads. Anything that
// could make two tasks wait for each other ends the job with an error, such as a read that must wait while the task
// holds an exclusive lease.
func (t *Task) Lease(tab Table, p bellows.PartitionID, mode Mode) []float32 {
	ref := bellows.PartitionRef{Table: tab, Partition: p}
	t.enter(Ask{Kind: AskLease, Table: tab})
	for !t.runner.lease(t, ref, mode) {
		t.runner.wait(t)
	}
	t.leave()
	return t.core.Leased(ref)
}

// SignalTaskCompletion sets the numbers that the driver receives when the task has been committed.
func (t *Task) SignalTaskCompletion(result ...float64) { t.result = append(t.result[:0], result...) }

// checkRows checks the rows [first, end) of a dense table.
func (t *Task) checkRows(tab Table, first, end bellows.RowID) {
	if int(tab) < len(t.runner.tables) && t.runner.tables[tab].Sparse {
		panic(fmt.Sprintf("train: table %d is sparse: its rows have keys, so use PullKey, PullKeys, PushKey, PushKeys",
			tab))
	}
	if int(tab) >= len(t.runner.tables) || first > end || int(end) > t.runner.tables[tab].Rows {
		panic(fmt.Sprintf("train: rows [%d,%d) of table %d do not exist", first, end, tab))
	}
}
