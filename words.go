// Package bellows defines terms that all packages use: ids of nodes, tables, rows, partitions and splits, clocks and
// generations, and kinds of errors.
//
// It holds names and nothing else. It imports no other package of the project, starts nothing and decides nothing; a
// function that needs more belongs to another package.
//
// The folders of the tree: an application imports app, train, table, data, model, node and cli. The protocol is in
// core, connections between nodes in link, its tests under one seed in sim, kernels in vec, and the view of a running
// job in api.
package bellows

import "fmt"

// NodeID names one node (one process) of a job. Node 0 hosts the controller.
type NodeID uint16

// TableID names one table of a job, in the order in which the job declares them.
type TableID uint16

// PartitionID names one partition of a table, counted from 0 within the table.
type PartitionID uint32

// SplitID names one split of the training data, and the executor that runs it.
type SplitID uint32

// RowID names one row of a table, counted from 0.
type RowID uint32

// Key names one row of a sparse table: any 64 bits, such as the hash of a word.
type Key uint64

// Clock counts the progress of a split. The first clock of a job is 0; NoClock precedes it.
type Clock int32

// NoClock is the clock before the first: what has completed when nothing has.
const NoClock Clock = -1

// CommitNumber numbers the commits of a job in the controller's order. The first commit is 1;
// 0 is the initial state of every table.
type CommitNumber uint64

// Generation counts the ownership changes of one partition. A request that names another
// generation than the receiver's is refused.
type Generation uint32

// RouteVersion counts the routes of a job, its tables of owners. The first is 0, and each change makes the next.
type RouteVersion uint32

// Era counts the histories of a job: a rollback starts a new one.
type Era uint32

// EraMost is the last era of a job: frames have 16 bits for it.
const EraMost Era = 1<<16 - 1

// Term counts the controllers of a job, from 1: what one of an earlier term says is not heard any more.
type Term uint32

// Range is the half-open interval [Begin, End) of items of a split.
type Range struct{ Begin, End int }

// Len returns the number of items in the range.
func (r Range) Len() int { return r.End - r.Begin }

// Overlaps reports whether the two ranges share an item.
func (r Range) Overlaps(o Range) bool { return r.Begin < o.End && o.Begin < r.End }

// Part returns one of n parts of the range, which follow each other and are as long as each other, but for one item.
func (r Range) Part(i, n int) Range {
	return Range{r.Begin + r.Len()*i/n, r.Begin + r.Len()*(i+1)/n}
}

func (r Range) String() string { return fmt.Sprintf("[%d,%d)", r.Begin, r.End) }

// PartitionRef names a partition across the tables of a job.
type PartitionRef struct {
	Table     TableID
	Partition PartitionID
}

func (p PartitionRef) String() string { return fmt.Sprintf("t%d/p%d", p.Table, p.Partition) }

// Unit is a unit of work: the items of one split in one clock, or a part of them. An empty range
// is the whole of a clock that visits no item.
type Unit struct {
	Split SplitID
	Clock Clock
	Items Range
}

func (u Unit) String() string {
	return fmt.Sprintf("split %d clock %d items %v", u.Split, u.Clock, u.Items)
}

// FlushID names one flush: the client that sent it, which life of that client's process it was, counted from 1, and its
// number in that life, counted from 1. A worker that is started again numbers its flushes anew: without the incarnation
// its first ones would be taken for those that the process before it has sent.
type FlushID struct {
	Client      NodeID
	Incarnation uint32
	Seq         uint64
}

func (f FlushID) String() string {
	if f.Incarnation > 1 {
		return fmt.Sprintf("flush %d of node %d, incarnation %d", f.Seq, f.Client, f.Incarnation)
	}
	return fmt.Sprintf("flush %d of node %d", f.Seq, f.Client)
}

// Fingerprint says what a node's job is, as stable hashes of its parts: two nodes that made the same job of the same data, and
// will compute it to the same bits, have the same one.
type Fingerprint struct{ Tables, Splits, Data, Formats, Kernels, Program uint64 }

// Differs names the parts in which two fingerprints differ, as a list to read; "" where none does.
func (f Fingerprint) Differs(o Fingerprint) string {
	list := ""
	for _, part := range []struct {
		name string
		same bool
	}{
		{"tables", f.Tables == o.Tables},
		{"splits", f.Splits == o.Splits},
		{"data or settings", f.Data == o.Data},
		{"formats on the wire", f.Formats == o.Formats},
		{"kernels", f.Kernels == o.Kernels},
		{"program", f.Program == o.Program},
	} {
		switch {
		case part.same:
		case list == "":
			list = part.name
		default:
			list += ", " + part.name
		}
	}
	return list
}
