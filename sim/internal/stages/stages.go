// Package stages records for every node of a simulated job what keeps its client in a stage of the protocol.
//
// Add a node before its first message, and ask IsIn. Call Enter and Leave for stages that no message shows. The package refuses
// to know the stages of the job as a whole: its end, the collection of its state, and its beginning.
package stages

import (
	"bellows"
	"bellows/link/wire"
	"bellows/sim/internal/schedule"
)

// Watch counts what keeps nodes in stages. The zero Watch has no nodes.
type Watch struct{ counts [][schedule.Stages]int }

// Add adds a node, with the next number.
func (w *Watch) Add() { w.counts = append(w.counts, [schedule.Stages]int{}) }

// Enter counts one more reason why a node is in a stage.
func (w *Watch) Enter(n bellows.NodeID, p schedule.Stage) { w.counts[n][p]++ }

// Leave counts one less.
func (w *Watch) Leave(n bellows.NodeID, p schedule.Stage) { w.counts[n][p]-- }

// IsIn reports whether a node is in a stage.
func (w *Watch) IsIn(n bellows.NodeID, p schedule.Stage) bool { return w.counts[n][p] > 0 }

// Posted counts pushes, dones and records that leave.
func (w *Watch) Posted(e wire.Envelope) {
	switch m := e.Message.(type) {
	case *wire.Push:
		w.Enter(e.From.Node, schedule.PushUnderWay)
	case *wire.Done: // from its client, or passed on by a lane
		w.Enter(m.Flush.Client, schedule.DoneUnderWay)
	case *wire.Records:
		w.records(m, 1)
	}
}

// Delivered counts what has arrived.
func (w *Watch) Delivered(e wire.Envelope) {
	switch m := e.Message.(type) {
	case *wire.Push:
		w.Leave(e.From.Node, schedule.PushUnderWay)
	case *wire.Pull:
		w.Enter(e.From.Node, schedule.PullParked)
	case *wire.Done:
		w.Leave(m.Flush.Client, schedule.DoneUnderWay)
	case *wire.Records:
		w.records(m, -1)
	}
}

// records counts the flushes of records.
func (w *Watch) records(m *wire.Records, more int) {
	for i := range m.List {
		if m.List[i].Control.Kind == bellows.NoControl {
			w.counts[m.List[i].Flush.Client][schedule.RecordUnderWay] += more
		}
	}
}

// After counts the answers of lanes to reads.
func (w *Watch) After(_ wire.Address, out []wire.Envelope) {
	for i := range out {
		if _, answer := out[i].Message.(*wire.Rows); answer {
			w.Leave(out[i].To.Node, schedule.PullParked)
		}
	}
}
