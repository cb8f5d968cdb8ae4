package nodenames

import (
	"testing"

	"bellows"
	"bellows/api"
)

// TestText names a job's nodes with numbers that overlap with the cluster's.
func TestText(t *testing.T) {
	t.Parallel()
	table := &Map{}
	table.Set(1, "node-1")
	table.Set(6, "node-12")
	table.Set(12, "node-6")
	table.Set(13, "node-1") // its process was started again
	for text, want := range map[string]string{
		"node 6 still has 2 splits":                      "node-12 still has 2 splits",
		"node-6 is to leave":                             "node-12 is to leave",
		"move split 3 from node-6 to node-12":            "move split 3 from node-12 to node-6",
		"node 1 is gone, and node 13 came":               "node 1 is gone, and node-1 came",
		"lane 0 of node 12, split 6 clock 6":             "lane 0 of node-6, split 6 clock 6",
		"node 0 leads 3 nodes, node 66 and node 6":       "node 0 leads 3 nodes, node 66 and node-12",
		"mynode 6 and node 123456 are no nodes of a job": "mynode 6 and node 123456 are no nodes of a job",
		"": "",
	} {
		if got := table.Text(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{"the agent of node-12 ended", "node-6 and node-12", "node-1", "node-77"} {
		if got := table.Text(table.Job(text)); got != text {
			t.Errorf("%q of the cluster becomes %q", text, got)
		}
	}
	var none *Map
	if none.Text("node 6") != "node 6" || none.Job("node-6") != "node-6" || none.Error(bellows.Errorf(bellows.Lost, "a", "b", "node 6")).Error() != "a b: node 6" {
		t.Error("without names it changes a text")
	}
}

// TestError keeps the kind of an error.
func TestError(t *testing.T) {
	t.Parallel()
	table := &Map{}
	table.Set(6, "node-12")
	err := table.Error(bellows.Errorf(bellows.Lost, "drain", "node-12", "node 6 still has 2 splits"))
	if err.Error() != "drain node-12: node-12 still has 2 splits" && bellows.KindOf(err) != bellows.Lost {
		t.Errorf("%v", err)
	}
	if table.Error(nil) != nil {
		t.Error("no error becomes one")
	}
}

// TestProgress names the nodes of a status, and leaves the status of the job as it is.
func TestProgress(t *testing.T) {
	t.Parallel()
	table := &Map{}
	table.Set(6, "node-12")
	p := api.Progress{Nodes: []api.Node{{ID: "node-0"}, {ID: "node-6"}}, Moves: []api.Move{{From: "node-6", To: "node-0"}}, Plan: &api.Plan{Reason: "node-6 is to leave"}}
	got := table.Progress(p)
	if got.Nodes[0].ID != "node-0" || got.Nodes[1].ID != "node-12" || got.Moves[0].From != "node-12" || got.Plan.Reason != "node-12 is to leave" {
		t.Errorf("%+v", got)
	}
	if p.Nodes[1].ID != "node-6" || p.Moves[0].From != "node-6" || p.Plan.Reason != "node-6 is to leave" {
		t.Errorf("the job's own is %+v", p)
	}
	var none *Map
	if got := none.Progress(p); got.Nodes[1].ID != "node-6" {
		t.Errorf("without names: %+v", got)
	}
}
