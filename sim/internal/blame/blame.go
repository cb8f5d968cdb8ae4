// Package blame is the reasons for which a job may end: sentences for what was injected, none of which a sound job says.
//
// Tell a Reasons of every fault when it is injected, and ask it of every sentence with which something ends. The package refuses to know what a fault does.
package blame

import (
	"fmt"
	"slices"
	"strings"

	"bellows"
	"bellows/link/wire"
)

// Reasons are parts of sentences.
type Reasons struct{ list []string }

// May allows a reason that contains the sentence.
func (r *Reasons) May(format string, args ...any) {
	r.list = append(r.list, fmt.Sprintf(format, args...))
}

// Lose allows a node to be lost.
func (r *Reasons) Lose(n bellows.NodeID) {
	for _, how := range []string{"node %d has been silent", "node %d has not been ready after", "node %d is gone", "node %d died", "lost its connection to node %d:",
		"of node %d has said nothing for"} { // its lane, which a client has asked what it has
		r.May(how, n)
	}
	if n == 0 {
		r.May("which has not come in") // a route, of which node 0 would tell
	}
}

// Part allows two nodes to lose each other. Node 0 hears of it or is one of them.
func (r *Reasons) Part(a, b bellows.NodeID) {
	for _, pair := range [2][2]bellows.NodeID{{a, b}, {b, a}} {
		r.May("node %d lost its connection to node %d:", pair[0], pair[1])
		r.May("node %d hears no more of node %d:", pair[0], pair[1])
		r.May("node %d is not heard any more:", pair[0])
		if pair[0] == 0 {
			r.May("node %d has been silent", pair[1])
			r.May("node %d is gone", pair[1])
		}
	}
}

// Told takes note of an end that was told for a reason which is allowed: a controller that follows may know of it only who was declared gone.
func (r *Reasons) Told(m *wire.End) {
	for i := 0; i < len(m.Gone) && r.Allow(m.Reason); i++ {
		r.May("node %d is gone: the controller before has declared it so", m.Gone[i])
	}
}

// Allow reports whether something may end for a reason.
func (r *Reasons) Allow(reason string) bool {
	return slices.ContainsFunc(r.list, func(may string) bool { return strings.Contains(reason, may) })
}

// Any reports whether anything was injected.
func (r *Reasons) Any() bool { return len(r.list) > 0 }

func (r *Reasons) String() string { return fmt.Sprintf("%q", r.list) }
