package verbs

import (
	"errors"
	"slices"
	"sync"

	"bellows/cli/internal/run"
	"bellows/cli/internal/screen"
	"bellows/cli/internal/watch"
)

// journal tells what happens to a run, everywhere at once: in its log, to those who watch it, as a JSON line, and to people
// as a sentence unless the table shows it already. Epochs and notices come from different goroutines.
type journal struct {
	console *screen.Console
	table   *screen.Table
	log     *run.Log
	board   *watch.Board

	mu     sync.Mutex // keeps the order of events the same everywhere
	failed bool       // the log has been complained of once
}

// localNode names the one node of this process in events.
const localNode = "node-0"

// shownOtherwise are the events that people read elsewhere on the screen.
var shownOtherwise = []string{"started", "joined", "epoch", "finished", "failed", "lost"}

// event records something that happened, and shows it.
func (j *journal) event(kind, sentence string, fields map[string]any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e, err := j.log.Append(run.Event{Kind: kind, Node: localNode, Sentence: sentence, Fields: fields})
	if err != nil && !j.failed {
		j.failed = true
		j.table.Sentence(err.Error())
	}
	if err := errors.Join(j.board.Event(e), j.console.Object(e)); err != nil {
		j.table.Sentence(err.Error())
	}
	if !slices.Contains(shownOtherwise, kind) {
		j.table.Sentence(sentence)
	}
}
