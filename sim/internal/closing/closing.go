// Package closing checks what becomes of nodes whose tasks do not return when the job is over: they are given up, by name, and with them what they have
// of the model.
//
// Ask Sentence of every reason for which a node gives its tasks up, and Loss of the reason for which there is no model where nothing else is lost.
// The package refuses to know how long a node waits.
package closing

import (
	"fmt"
	"slices"
	"strings"

	"bellows"
	"bellows/link/wire"
)

// Given is how a node says that it has given its tasks up: they run, or what they ran in does not close.
func Given(reason string) bool {
	return strings.Contains(reason, "its tasks have not returned ") || strings.Contains(reason, "its executors have not closed ")
}

// Sentence holds a reason for which a node gives its tasks up against those that run.
func Sentence(reason string, unfinished []bellows.Unit) error {
	if !Given(reason) || strings.Contains(reason, "its tasks") != (len(unfinished) > 0) {
		return fmt.Errorf("P8: %q, and %d tasks run", reason, len(unfinished))
	}
	for _, u := range unfinished {
		if !strings.Contains(reason, u.String()) {
			return fmt.Errorf("P8: %q, which does not name %v", reason, u)
		}
	}
	return nil
}

// Without reports whether a job ended, by its last word, after a node had left it; nil: it has not ended. A controller that
// takes over knows that from the lane that has the node's counts: it sends the node no beats, and the node leaves in peace
// when its wait for one is over.
func Without(last *wire.End, n bellows.NodeID) bool {
	return last != nil && slices.Contains(last.Gone, n)
}

// Loss holds the reason for which the model is lost with the tasks of a node against what that node, or whoever saw it end, has said; the notices
// are those that were heard.
func Loss(reason string, of bellows.NodeID, notices []string) error {
	node := fmt.Sprintf("node %d ", of)
	waited := func(notice string) bool {
		return strings.HasPrefix(notice, node+"has waited ") && strings.Contains(notice, "; the job is over")
	}
	if !strings.Contains(reason, node) || !Given(reason) && !slices.ContainsFunc(notices, waited) {
		return fmt.Errorf("P8: the model is lost (%s), and it is not said that node %d has given its tasks up", reason, of)
	}
	return nil
}
