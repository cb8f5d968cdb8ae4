package event

import (
	"reflect"
	"strings"
	"testing"
)

// TestRenamed replaces the names of nodes in each field that has some, and leaves the event itself as it is.
func TestRenamed(t *testing.T) {
	t.Parallel()
	text := func(s string) string { return strings.ReplaceAll(s, "node-6", "node-12") }
	for name, c := range map[string]struct{ is, want Event }{
		"moved":       {Event{Kind: Moved, Node: "node-6", From: "node-1", Sentence: "from node-1 to node-6"}, Event{Kind: Moved, Node: "node-12", From: "node-1", Sentence: "from node-1 to node-12"}},
		"joined":      {Event{Kind: Joined, Processes: map[string]int{"node-6": 7, "node-0": 3}}, Event{Kind: Joined, Processes: map[string]int{"node-12": 7, "node-0": 3}}},
		"plan":        {Event{Kind: Plan, Decision: &Decision{Steps: []string{"delete node-6"}, Bytes: 4}}, Event{Kind: Plan, Decision: &Decision{Steps: []string{"delete node-12"}, Bytes: 4}}},
		"rolled back": {Event{Kind: RolledBack, Rollback: &Rollback{Reason: "node-6 ended", NoticedBy: "node-0", TookOver: "node-6", Era: 2}}, Event{Kind: RolledBack, Rollback: &Rollback{Reason: "node-12 ended", NoticedBy: "node-0", TookOver: "node-12", Era: 2}}},
		"epoch":       {Event{Kind: Epoch, Node: Leader, Sentence: "epoch 6"}, Event{Kind: Epoch, Node: Leader, Sentence: "epoch 6"}},
	} {
		was := c.is.Renamed(func(s string) string { return s }) // a copy
		if got := c.is.Renamed(text); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
		if !reflect.DeepEqual(c.is, was) {
			t.Errorf("%s: it was changed to %+v", name, c.is)
		}
	}
}
