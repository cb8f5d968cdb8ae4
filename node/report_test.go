package node_test

import (
	"testing"

	"bellows"
	"bellows/core/tally"
	"bellows/link/transport/sock"
	"bellows/link/wire"
	"bellows/node"
	"bellows/table"
	"bellows/train"
)

// pushing returns a job with pushes that are longer than a connection holds.
func pushing(clocks int) train.Job {
	const width = 1 << 15
	delta := make([]float32, width)
	j := job(clocks, func(t *train.Task) error {
		t.PullRange(0, 0, 2)
		t.PushRange(0, 0, delta)
		t.PushRange(0, 1, delta)
		return nil
	})
	j.Tables = []table.Schema{{Name: "wide", Rows: 2, Width: width, Partitions: 2, Consistency: table.BSP}}
	return j
}

// TestReportsHaveWorkAndLinks runs a job on a worker and two servers, and looks at their last reports: items and rows, the
// time that lanes and processors worked, what each node sent to which other, and how long that waited. Over memory all
// writes may wait, and so have a time; over TCP the system counts, in ticks that may be longer than the job.
func TestReportsHaveWorkAndLinks(t *testing.T) {
	t.Parallel()
	const clocks = 20
	for name, g := range map[string]gang{
		"mem": {},
		"tcp": {open: sock.New, address: func(int) string { return "tcp:127.0.0.1:0" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			watch := &node.Watch{}
			g.members, g.lead = []node.Member{{}, {Node: 1, Slots: 1}, {Node: 2, Lanes: 1}, {Node: 3, Lanes: 1}}, node.Options{Watch: watch}
			g.job = func(bellows.NodeID) train.Job { return pushing(clocks) }
			g.done(t)
			list := watch.Reports()
			worker := &list[1]
			if w := worker.Tally.Work; w.Items <= 0 || w.Rows != 0 || w.Serving != 0 {
				t.Errorf("the worker has %+v", w)
			}
			for _, m := range list[2:] {
				if w := m.Tally.Work; w.Items != 0 || w.Rows < clocks || w.Serving <= 0 {
					t.Errorf("a server has %+v", w)
				}
			}
			for n, m := range list {
				if m.Tally.Work.Processor <= 0 || m.Spare <= 0 {
					t.Errorf("node %d has worked for %v and may use %d bytes", n, m.Tally.Work.Processor, m.Spare)
				}
			}
			checkLinks(t, list, name == "mem")
		})
	}
}

// checkLinks wants links from the worker to the servers and back, and from everyone to node 0, each with its bytes.
func checkLinks(t *testing.T, list []wire.Report, exact bool) {
	t.Helper()
	for n, m := range list {
		var all tally.Link
		to := map[uint16]bool{}
		for _, l := range m.Links {
			all.Bytes += l.Bytes
			all.Busy += l.Busy
			to[l.To] = l.Bytes > 0
			if exact && l.Busy <= 0 {
				t.Errorf("node %d has sent %d bytes to node %d in no time", n, l.Bytes, l.To)
			}
		}
		if exact && all.Bytes < m.Tally.Sent.Total().Bytes {
			t.Errorf("node %d has sent %d bytes, and its links %d", n, m.Tally.Sent.Total().Bytes, all.Bytes)
		}
		if to[uint16(n)] || n > 0 && !to[0] || n == 1 && !(to[2] && to[3]) || n > 1 && !to[1] {
			t.Errorf("node %d has sent to %v", n, m.Links)
		}
	}
	const pushed = 20 * 2 * 4 << 15
	if one := list[1].Links; exact && (one[1].Bytes < pushed/2 || one[2].Bytes < pushed/2) {
		t.Errorf("the worker has pushed %d bytes, and its links are %v", pushed, one)
	}
}
