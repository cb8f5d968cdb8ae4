//go:build unix

package manager

import (
	"strings"
	"testing"

	"bellows/cluster"
)

// TestNodeNumbersDuringJob adds and removes nodes while a job runs. No new node gets a number that the job may have seen.
// Without a job the lowest free number is used.
func TestNodeNumbersDuringJob(t *testing.T) {
	t.Parallel()
	at := func(name string) *member { return &member{place: cluster.Place{Node: name}, state: cluster.Idle} }
	m := &manager{nodes: []*member{at("node-1"), at("node-3")}}
	enter := func(want string) *member {
		t.Helper()
		n := &member{state: starting}
		if err := m.enter(n); err != nil || n.place.Node != want {
			t.Errorf("the node is %q, want %q; %v", n.place.Node, want, err)
		}
		return n
	}
	m.forget(enter("node-2"))
	m.current = &job{highest: 5} // node-4 and node-5 have left it
	sixth := enter("node-6")
	if m.current.highest != 6 {
		t.Errorf("the job may have seen node-%d, want node-6", m.current.highest)
	}
	m.forget(sixth)
	seventh := enter("node-7")
	m.current = &job{highest: 2} // it has not seen the nodes that joined since
	enter("node-8")
	m.forget(seventh)
	m.current = nil
	enter("node-2")
}

// TestScaleNamesItsBounds asks for too few nodes and for too many: the error has the flag, its value and its bounds.
func TestScaleNamesItsBounds(t *testing.T) {
	t.Parallel()
	m := &manager{change: make(chan struct{}, 1)}
	for flag, want := range map[string][]int{"workers": {0, nodesMost + 1}, "servers": {-1, nodesMost + 1}} {
		for _, n := range want {
			scale, bounds := cluster.Scale{Workers: &n}, "it must be from 1 to 256"
			if flag == "servers" {
				scale, bounds = cluster.Scale{Servers: &n}, "it must be from 0 to 256"
			}
			if _, err := m.resize(t.Context(), scale); err == nil || !strings.Contains(err.Error(), "--"+flag+"=") || !strings.Contains(err.Error(), bounds) {
				t.Errorf("--%s=%d: %v, want %q", flag, n, err, bounds)
			}
		}
	}
}
