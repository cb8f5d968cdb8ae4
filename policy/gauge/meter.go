package gauge

import (
	"time"

	"bellows"
	"bellows/core/tally"
)

// Report is what a node has counted since the job began.
type Report struct {
	Node   bellows.NodeID
	Millis int64 // when it was made, by the node's own clock
	// Tally has the processor time of the node's process. It is 0 if the process hosts several nodes.
	Tally tally.Tally
	Links []tally.Link // that it sends on
	Spare int64        // bytes of memory that its process may still use; 0: unknown
}

// Event is something that happens to a job, and takes time that its shape does not explain.
type Event uint8

// The events.
const (
	Move     Event = iota // of a split or a partition
	Cut                   // for a checkpoint
	Rollback              // to a checkpoint: measurements after it are void
	Help                  // of a node for a slower one
)

// Change is what a finished change of shape has moved.
type Change struct {
	Bytes int64
	Steps int
}

// Times are the seconds of a clock that a cost model gives a node of the present shape.
type Times struct {
	Node                       bellows.NodeID
	Works                      bool
	Compute, Pull, Push, Apply float64 // of a worker, if nothing is hidden
	Busy                       float64 // of its processors or of a direction of its link, the longest
}

// Model returns the times of each node in the present shape of some figures. The shares that Hidden says are left out.
type Model func(*Figures) []Times

// Meter makes figures of a job's reports (Cruise, §IV.A.1): moving medians with bounds.
//
// The caller's duties:
//
//  1. It calls Shape before the first clock, and whenever splits, partitions or nodes have changed.
//  2. It passes each report to Report and each completed clock to Clock, in the order in which it learns of them. The
//     report of a node precedes the clock that the node has completed with it.
//  3. It calls Begin and End around each event. Events of different kinds, and several of a kind, may overlap.
//  4. After a change of shape it calls Shape, then Reshaped, then End(Move).
//
// A clock does not count if it is one of the first, or if an event lasts for any part of it. A clock with a number that
// was there before follows a rollback: measurements of that clock and of later ones are void. Figures of machines and
// traffic outlive a change of shape; times of clocks do not. Memory is bounded by the nodes and their links, and a step
// allocates nothing once all of them are known.
type Meter struct{ model Model }

// NewMeter returns a meter of a job that begins. The model is that by which other shapes are predicted.
func NewMeter(m Model) *Meter { return &Meter{model: m} }

// Begin notes that an event begins. It lasts until as many calls of End.
func (m *Meter) Begin(e Event) {}

// End notes that an event is over.
func (m *Meter) End(e Event) {}

// Clock notes that all splits have completed a clock, and when.
func (m *Meter) Clock(now time.Duration, clock int) {}

// Report takes the report of a node. A report that is older than the last one of the node is ignored. The report may be
// reused after the call.
func (m *Meter) Report(r *Report) {}

// Shape notes the present shape: the nodes, splits and partitions of figures of which nothing else is used but items
// and clocks of an epoch. If it is another shape than before, times of clocks begin anew. A node that is not among the
// nodes is forgotten.
func (m *Meter) Shape(f *Figures) {}

// Reshaped notes that a change of shape is over, and what it has moved.
func (m *Meter) Reshaped(c Change) {}

// Epoch returns the measured seconds of an epoch of so many clocks in the present shape, and the clocks on which they rest.
func (m *Meter) Epoch(clocks int) (Interval, int) { return Interval{}, 0 }

// Figures returns the figures of the job. The caller has filled in what is not measured: items, clocks of an epoch and
// those expected, tables, parts, the nodes with their roles, and the budget. An error says how many clocks more it takes.
func (m *Meter) Figures(f Figures) (*Figures, error) { return nil, nil }
