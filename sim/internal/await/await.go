// Package await checks that long waits of a simulated job are named (P8): it lists what each actor waits for.
//
// Tell a Watch at each tick of node 0 what it waits for (See), and what it says (Hear). The package refuses to know how actors come to
// wait.
package await

import (
	"fmt"
	"strings"
)

// Wait is a kind of wait.
type Wait int

// The kinds. A client waits for an answer to a task, for rows or a lease, and for lanes to hold parts of flushes. Node
// 0 waits for its nodes to be ready, for the next commit while tasks are out, for the closing counts of actors, and for
// the state of the tables; a controller that follows another also waits for what lanes hold.
const (
	Answer    Wait = iota
	Held           // of a flush for several lanes
	HeldAlone      // of a flush for one
	Ready
	Tasks
	End
	State
	Tails
)

// Until is how a client says until when it waits: every sentence about a wait has it.
const Until = "gives up "

// sentences are how node 0 names a wait: its subject, its object and its deadline. A notice must contain all of these.
var sentences = map[Wait][]string{
	Ready: {"the job has waited ", " to be ready", "gives up after"},
	Tasks: {"the job has waited ", " for split ", " on node ", "gives up after"},
	End:   {"the end of the job has waited ", "the last word of ", "goes on without after"},
	Tails: {"the controller has waited ", "lane ", "gives up after"},
	State: {"collecting the model has waited ", "lane ", "gives up after"},
}

// Watch is what node 0 waits for, and how far that has come.
type Watch struct {
	kind    Wait
	mark    int   // changes when something comes
	since   int64 // when it last did
	longest int64 // of such waits before, or that node 0 did not run: some of its sleep counts as one
	last    int64 // when it was last seen
	named   bool
}

// See records, at a time, what is waited for and how far that has come. It fails when the wait has lasted longer than
// the patience without being named. A tick may see the wait late, by slack. A node that did not run until some time
// could not name anything before.
func (a *Watch) See(kind Wait, mark int, now, stoppedUntil, patience, slack int64) error {
	slept := int64(0)
	if gap := now - a.last; gap > 2*slack {
		slept = gap
		a.longest = max(a.longest, gap)
	}
	a.last = now
	if kind != a.kind || mark != a.mark {
		if a.longest = max(a.longest, now-a.since); kind != a.kind {
			a.longest = slept
		}
		*a = Watch{kind: kind, mark: mark, since: now, longest: a.longest, last: now}
		return nil
	}
	if kind != Ready { // these are named when they are unusual: four times as long as any before
		patience = max(patience, 5*(a.longest+2*slack))
	}
	if waited := now - a.since; waited > patience+slack && !a.named && stoppedUntil < a.since {
		return fmt.Errorf("node 0 has waited for %d ms and nobody has said %q", waited, sentences[kind])
	}
	return nil
}

// Hear takes note of what node 0 says while it waits for something.
func (a *Watch) Hear(kind Wait, sentence string) {
	for _, part := range sentences[kind] {
		if !strings.Contains(sentence, part) {
			return
		}
	}
	a.named = a.named || kind == a.kind
}

// TasksNamed reports whether the commit that is waited for now has been named.
func (a *Watch) TasksNamed() bool { return a.kind == Tasks && a.named }
