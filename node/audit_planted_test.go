//go:build planted

package node_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"bellows"
	"bellows/core/planted"
	"bellows/node"
	"bellows/table"
	"bellows/train"
)

// auditedJobs are jobs that do not check what they read: only the audit finds a loss.
var auditedJobs = map[string]func(bellows.NodeID) train.Job{
	"BSP": func(bellows.NodeID) train.Job { return job(12, drift) },
	"wide": func(bellows.NodeID) train.Job { // bits are summed in a sample of the clocks
		j := job(40, drift)
		j.Tables[0].Width = 400
		return j
	},
	"SSP": func(bellows.NodeID) train.Job {
		j := job(12, drift)
		j.Tables[0].Consistency = table.SSP(1)
		return j
	},
	"leases": func(bellows.NodeID) train.Job {
		j := job(12, func(t *train.Task) error {
			mine := bellows.PartitionID(t.Split())
			seen := t.Lease(0, mine, train.Shared)
			own := t.Lease(1, mine, train.Exclusive)
			own[0] += float32(t.Clock())
			t.PushRange(0, 0, make([]float32, 16))
			t.PushRange(0, bellows.RowID(2*mine), []float32{seen[0] + 1, own[0]})
			return nil
		})
		j.Tables[0].Consistency = table.Async
		j.Tables = append(j.Tables, j.Tables[0])
		j.Tables[1].Name = "own"
		return j
	},
}

// TestTheAuditSeesLossesInside plants losses inside lanes, clients and sums, and runs real jobs, in one process and in several:
// none of them ends with an audit that agrees.
func TestTheAuditSeesLossesInside(t *testing.T) {
	defer planted.Plant("")
	const one, several = "one process", "several processes"
	rows, bits, sent := "updates were sent", "what lanes gave to stores", "what clients sent"
	for _, c := range []struct {
		bug, jobs, where string
		want             []string
	}{
		{"write-dropped", "BSP wide SSP leases", one + several, []string{rows, bits}},
		{"write-doubled", "BSP wide SSP leases", one + several, []string{rows, bits}},
		{"chunk-lost", "BSP wide SSP leases", one + several, []string{rows, sent}},
		{"sum-lost", "BSP wide", several, []string{rows}}, // one client sends one chunk
		{"copy-forgotten", "leases", several, []string{rows, "table own: the bits of " + sent}},
		{"slab-changed", "leases", one + several, []string{"table own: the bits of " + sent}},
		{"", "BSP wide SSP leases", one + several, nil},
	} {
		for name, job := range auditedJobs {
			for where, members := range map[string][]node.Member{one: nil, several: shapes["leader works"]} {
				if !strings.Contains(c.jobs, name) || !strings.Contains(c.where, where) {
					continue
				}
				t.Run(fmt.Sprintf("%s %s %s", c.bug, name, where), func(t *testing.T) {
					planted.Plant(c.bug)
					var r *node.Result
					if where == several {
						r = gang{members: members, job: job}.done(t)
					} else if alone, err := node.Train(context.Background(), job(0), node.Options{Slots: 2}); err != nil {
						t.Fatal(err)
					} else {
						r = alone
					}
					said := strings.Join(r.Audit.Disagreements(true), "; ")
					for _, want := range c.want {
						if !strings.Contains(said, want) {
							t.Errorf("the audit says %q, not %q", said, want)
						}
					}
					if c.want == nil && said != "" {
						t.Errorf("nothing is planted: %s", said)
					}
				})
			}
		}
	}
}
