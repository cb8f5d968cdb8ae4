package blame

import (
	"fmt"
	"slices"
	"strings"

	"bellows"
	"bellows/link/wire"
)

// GivesUp reports whether a node gives its tasks up for a reason: they run, or what they ran in does not close.
func GivesUp(reason string) bool {
	return strings.Contains(reason, "its tasks have not returned ") || strings.Contains(reason, "its executors have not closed ")
}

// CheckGivenUp returns an error unless the reason for which a node gives its tasks up names those that run.
func CheckGivenUp(reason string, unfinished []bellows.Unit) error {
	if !GivesUp(reason) || strings.Contains(reason, "its tasks") != (len(unfinished) > 0) {
		return fmt.Errorf("P8: %q, and %d tasks run", reason, len(unfinished))
	}
	for _, u := range unfinished {
		if !strings.Contains(reason, u.String()) {
			return fmt.Errorf("P8: %q, which does not name %v", reason, u)
		}
	}
	return nil
}

// CheckModelLost returns an error unless the reason for which the model is lost with the tasks of a node, or a notice, says
// that the node has given them up.
func CheckModelLost(reason string, of bellows.NodeID, notices []string) error {
	node := fmt.Sprintf("node %d ", of)
	waited := func(notice string) bool {
		return strings.HasPrefix(notice, node+"has waited ") && strings.Contains(notice, "; the job is over")
	}
	if !strings.Contains(reason, node) || !GivesUp(reason) && !slices.ContainsFunc(notices, waited) {
		return fmt.Errorf("P8: the model is lost (%s), and it is not said that node %d has given its tasks up", reason, of)
	}
	return nil
}

// EndedWithout reports whether a job ended, by its last word, after a node had left it; nil: it has not ended. A controller
// that takes over knows that from the lane that has the node's counts: it sends the node no beats, and the node leaves in
// peace when its wait for one is over.
func EndedWithout(last *wire.End, n bellows.NodeID) bool {
	return last != nil && slices.Contains(last.Gone, n)
}
