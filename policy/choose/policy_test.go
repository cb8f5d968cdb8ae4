package choose

import (
	"math/rand/v2"
	"slices"
	"testing"

	"bellows"
	"bellows/internal/require"
	"bellows/policy/gauge"
	"bellows/policy/gauge/gaugetest"
	"bellows/policy/shape"
)

// snapshot returns a job as a policy sees it.
func snapshot(f *gauge.Figures) shape.Snapshot {
	now := shape.Snapshot{Job: f.Job(), Shape: f.Shape()}
	for i := range f.Nodes {
		now.Hosts = append(now.Hosts, shape.Node{ID: f.Nodes[i].ID, Slots: f.Nodes[i].Slots, Lanes: f.Nodes[i].Lanes})
	}
	return now
}

// TestPolicyIsTheChoice: a policy decides what was chosen. When nodes leave or come, the others keep their proportions.
func TestPolicyIsTheChoice(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(4, 8))
	left, came := 0, 0
	for i := range 60 {
		size := gaugetest.Size{Nodes: 4 + rng.IntN(4), Splits: 240, Partitions: 240}
		f := gaugetest.Random(rng, size, 1+rng.IntN(3))
		c, err := Find(f, Ask{})
		require.NoError(t, err)
		d, err := c.Policy("a test")(snapshot(f))
		require.NoError(t, err)
		if Name(&d.Shape) != Name(&c.Shape) || d.Reason != "a test" {
			t.Fatalf("case %d: it decides %q: %s, want %s", i, d.Reason, Name(&d.Shape), Name(&c.Shape))
		}
		weights := c.Shape.Shares(&shape.Job{})
		now := snapshot(f)
		if i%2 == 0 { // a node that was chosen leaves
			if len(c.Nodes) < 3 {
				continue
			}
			gone := c.Nodes[len(c.Nodes)-1].ID
			is := func(n shape.Node) bool { return n.ID == gone }
			now.Nodes = slices.DeleteFunc(now.Nodes, is)
			now.Hosts = slices.DeleteFunc(now.Hosts, is)
			left++
		} else {
			n := shape.Node{ID: 99, Slots: 1, Lanes: 1}
			now.Nodes, now.Hosts = append(now.Nodes, n), append(now.Hosts, n)
			came++
		}
		d, err = c.Policy("a test")(now)
		if err != nil { // no node of a role is left
			continue
		}
		require.NoError(t, d.Validate())
		if _, there := d.Node(99); there != (i%2 == 1) {
			t.Fatalf("case %d: nodes %+v", i, d.Nodes)
		}
		for _, of := range []struct{ was, is map[bellows.NodeID]int }{
			{weights.Splits, d.Shape.Shares(&shape.Job{}).Splits},
			{weights.Partitions, d.Shape.Shares(&shape.Job{}).Partitions},
		} {
			all, sum := 0, 0
			for n, parts := range of.is {
				if _, known := of.was[n]; known {
					all, sum = all+parts, sum+of.was[n]
				}
			}
			for n, parts := range of.is {
				want := float64(of.was[n]) * float64(all) / float64(max(1, sum))
				if was, known := of.was[n]; known && (float64(parts) < want-2 || float64(parts) > want+2) {
					t.Fatalf("case %d: node %d had %d parts and gets %d, want %.1f", i, n, was, parts, want)
				}
			}
		}
	}
	if left < 10 || came < 10 {
		t.Errorf("%d nodes left and %d came", left, came)
	}
}
