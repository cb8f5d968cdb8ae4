package sim

import "strings"

// wait is a kind of wait, each of which must be named when it lasts (P8).
type wait int

const (
	answerWait wait = iota // of a task, for rows or a lease
	heldWait               // of a flush, for one of several lanes to hold its part
	aloneWait              // of a flush, for the one lane that it is for
	readyWait              // of the job, for its nodes
	tasksWait              // for the next commit while tasks are out
	endWait                // for the last word of an actor
	stateWait              // for the state of the tables
)

// unnamed is the waits that production does not name, with what is missing: to delete a line switches its check on. Not played, so not
// in the table: joining, and the end that waits for tasks of a node to return (here they end with the job).
var unnamed = map[wait]string{
	aloneWait: "client: a flush for one lane is not looked at, since its done has left with its push",
}

// awaited is what node 0 waits for, and how far that has come.
type awaited struct {
	kind    wait
	mark    int   // changes when something comes
	since   int64 // when it last did
	longest int64 // that a commit was waited for
	named   bool
}

// sentences are how node 0 names what it waits for: all of these must be in what it says.
var sentences = map[wait][]string{
	readyWait: {"the job has waited ", " to be ready", "gives up after"},
	tasksWait: {"the job has waited ", " for split ", " on node ", "gives up after"},
	endWait:   {"the end of the job has waited ", "the last word of ", "goes on without after"},
	stateWait: {"collecting the model has waited ", "lane ", "gives up after"},
}

// waitsFor is what node 0 waits for at the moment, and how far that has come.
func (w *world) waitsFor() (kind wait, mark int) {
	switch {
	case w.controller.Collecting():
		return stateWait, w.surrendered
	case w.ending:
		return endWait, w.lastWords
	case w.begun:
		return tasksWait, len(w.oracle.Log)
	}
	return readyWait, 0
}

// checkWaits sees, at a tick of node 0, that what it has waited for long was named: what it is, whom it is for, and until when.
func (w *world) checkWaits() {
	kind, mark := w.waitsFor()
	a := &w.awaited
	if kind != a.kind || mark != a.mark {
		if a.kind == tasksWait && kind == tasksWait {
			a.longest = max(a.longest, w.Now-a.since)
		}
		*a = awaited{kind: kind, mark: mark, since: w.Now, longest: a.longest}
		return
	}
	patience := int64(noticeMax + beatEvery)
	if kind == tasksWait { // which are named when they are unusual: four times as long as any before
		patience = max(patience, 5*(a.longest+2*beatEvery))
	}
	if waited := w.Now - a.since; waited > patience && !a.named && unnamed[kind] == "" && w.nodes[0].pausedUntil < a.since && w.outcome == nil {
		w.violated("P8: node 0 has waited for %d ms and nobody has said %q", waited, sentences[kind])
	}
}

// hearNotice takes note of what node 0 names.
func (w *world) hearNotice(sentence string) {
	kind, _ := w.waitsFor()
	for _, part := range sentences[kind] {
		if !strings.Contains(sentence, part) {
			return
		}
	}
	w.awaited.named = true
	w.happened[tasksNamed] = w.happened[tasksNamed] || kind == tasksWait
}
