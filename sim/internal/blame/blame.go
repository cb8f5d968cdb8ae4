// Package blame lists the reasons for which a simulated job may end: sentences about injected
// faults. A sound job produces none of them.
//
// Tell a Reasons of every fault when it is injected, and ask it about every sentence with which something ends. The
// package refuses to know what a fault does.
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

// Expect allows reasons that contain the sentence.
func (r *Reasons) Expect(format string, args ...any) {
	r.list = append(r.list, fmt.Sprintf(format, args...))
}

// Lose allows a node to be lost.
func (r *Reasons) Lose(n bellows.NodeID) {
	for _, how := range []string{"node %d has been silent", "node %d has not been ready after", "node %d is gone", "node %d died", "lost its connection to node %d:",
		"of node %d has said nothing for"} { // its lane, which a client has asked what it has
		r.Expect(how, n)
	}
	if n == 0 {
		r.Expect("which has not come in") // a route that node 0 would send
	}
}

// Part allows two nodes to lose each other. Node 0 hears of it or is one of them.
func (r *Reasons) Part(a, b bellows.NodeID) {
	for _, pair := range [2][2]bellows.NodeID{{a, b}, {b, a}} {
		r.Expect("node %d lost its connection to node %d:", pair[0], pair[1])
		r.Expect("node %d hears no more of node %d:", pair[0], pair[1])
		r.Expect("node %d is not heard any more:", pair[0])
		if pair[0] == 0 {
			r.Expect("node %d has been silent", pair[1])
			r.Expect("node %d is gone", pair[1])
		}
	}
}

// ExpectLosses notes an end with an allowed reason: a controller that follows may know of it only which nodes were
// declared gone.
func (r *Reasons) ExpectLosses(m *wire.End) {
	for i := 0; i < len(m.Gone) && r.Allow(m.Reason); i++ {
		r.Expect("node %d is gone: the controller before has declared it so", m.Gone[i])
	}
}

// Allow reports whether something may end for a reason.
func (r *Reasons) Allow(reason string) bool {
	return slices.ContainsFunc(r.list, func(may string) bool { return strings.Contains(reason, may) })
}

// Injected reports whether anything was injected.
func (r *Reasons) Injected() bool { return len(r.list) > 0 }

func (r *Reasons) String() string { return fmt.Sprintf("%q", r.list) }
