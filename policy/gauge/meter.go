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
	Tally  tally.Tally
	Links  []tally.Link // that it sends on
	Spare  int64        // bytes of memory that its process may still use; 0: unknown
}

// Event is something that happens to a job, and takes time that its shape does not explain.
type Event uint8

// The events.
const (
	Move     Event = iota // of a split or a partition
	Cut                   // for a checkpoint
	Rollback              // to a checkpoint: what was measured since then is void
	Help                  // of a node for a slower one
)

// Change is what a finished change of shape has moved.
type Change struct {
	Bytes int64
	Steps int
}

// Meter makes figures of a job's reports (Cruise, §IV.A.1). Medians of clocks are taken, with bounds.
//
// The caller tells it of every clock, report and event, in order. The first clocks do not count, nor those with an
// event. Figures of machines and traffic outlive a change of shape; times of clocks do not.
type Meter struct{}

// NewMeter returns a meter of a job that begins.
func NewMeter() *Meter { return &Meter{} }

// Clock notes that all splits have completed a clock, and when.
func (m *Meter) Clock(now time.Duration, clock int) {}

// Report takes the report of a node. A report that is older than the last one of the node is ignored.
func (m *Meter) Report(r *Report) {}

// Begin notes that an event begins. It lasts until as many calls of End.
func (m *Meter) Begin(e Event) {}

// End notes that an event is over.
func (m *Meter) End(e Event) {}

// Reshaped notes that a change of shape is over.
func (m *Meter) Reshaped(c Change) {}

// Epoch returns the measured seconds of an epoch in the present shape, and the clocks on which they rest.
func (m *Meter) Epoch(clocks int) (Interval, int) { return Interval{}, 0 }

// Figures returns the figures of the job. The caller has filled in what is not measured: items, clocks of an epoch,
// tables, parts, and the nodes with their roles. An error says how many clocks more it takes.
func (m *Meter) Figures(f Figures) (*Figures, error) { return nil, nil }
