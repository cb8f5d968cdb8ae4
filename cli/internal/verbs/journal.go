package verbs

import (
	"slices"
	"sync"

	"bellows/cli/internal/screen"
	"bellows/cluster/nodenames"
	"bellows/run"
	"bellows/run/board"
	"bellows/run/event"
)

// journal reports the events of a run everywhere at once: in its log, to its observers, as a JSON line, and to people
// as a sentence unless the table shows it already.
//
// Invariants: an event has one number, and comes after those with smaller ones everywhere. mu is held until all have
// it, and the numbers continue where the log of an interrupted run ended (TestLogGoesOn). A log that cannot be written,
// on a full disk for example, ends no training: that is reported once, and the other receivers still get the events.
// Rejected: a goroutine that reports, with a queue before it: a command that ends would have to wait for it.
//
// Lock: mu, taken before those of the table and of the feed. Epochs, notices and the end come from different
// goroutines.
type journal struct {
	console *screen.Console
	table   *screen.EpochTable
	log     *event.Log
	board   *board.Board
	names   *nodenames.Map // of the nodes of a cluster's job; nil: it is none

	mu     sync.Mutex // keeps the order of events the same everywhere
	failed bool       // the log has been complained of once
}

// begin begins to write the run's folder.
func (j *journal) begin(f *run.Folder) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return f.Begin()
}

// shownOtherwise are the events that people read elsewhere on the screen.
var shownOtherwise = []event.Kind{event.Started, event.Joined, event.Epoch, event.Finished, event.Failed, event.Lost, event.Stated, event.Visited, event.Checkpoint}

// unwatched are the events for the proof of a log, which observers do not need.
var unwatched = []event.Kind{event.Stated, event.Visited}

// announce records an event, at the leading node if it names none, and shows it.
func (j *journal) announce(e event.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if e.Node == "" {
		e.Node = event.Leader
	}
	e = e.Renamed(j.names.Text)
	e, err := j.log.Append(e)
	if err != nil && !j.failed {
		j.failed = true
		j.table.Sentence(err.Error())
	}
	if !slices.Contains(unwatched, e.Kind) {
		if err := j.board.Event(e); err != nil {
			j.table.Sentence(err.Error())
		}
	}
	_ = j.console.Object(e) // the command ends with what could not be written
	if !slices.Contains(shownOtherwise, e.Kind) {
		j.table.Sentence(e.Sentence)
	}
}
