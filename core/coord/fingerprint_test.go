package coord_test

import (
	"strings"
	"testing"

	"bellows"
	"bellows/core"
	"bellows/core/coord"
	"bellows/core/liveness"
	"bellows/core/route"
	"bellows/link/wire"
	"bellows/table"
)

// TestANodeOfAnotherJobEndsThisOne lets the second of two nodes show another fingerprint, before the first task leaves.
func TestANodeOfAnotherJobEndsThisOne(t *testing.T) {
	job := bellows.Fingerprint{Tables: 1, Splits: 2, Data: 3, Formats: 4, Kernels: 5, Program: 6}
	newDesk := func() *desk {
		tables := []table.Schema{{Name: "w", Rows: 1, Width: 1}}
		return &desk{Controller: coord.New(core.Job{Controller: self, Lanes: lanes, Clients: clients, Times: liveness.Times{Lease: 10_000},
			Route: route.Spread(tables, 2, lanes, []bellows.NodeID{1, 2}),
			Items: func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{Begin: 0, End: 1} }}, coord.Options{Driver: &rounds{want: 1}, Fingerprint: job})}
	}
	ready := func(d *desk, n bellows.NodeID, f bellows.Fingerprint) []string {
		d.Step([]wire.Envelope{{From: wire.Address{Node: n}, To: self, Message: &wire.Ready{Fingerprint: f}}}, &d.fx)
		return d.said()
	}
	for want, change := range map[string]func(f *bellows.Fingerprint){
		"":                    func(*bellows.Fingerprint) {},
		"tables":              func(f *bellows.Fingerprint) { f.Tables++ },
		"splits":              func(f *bellows.Fingerprint) { f.Splits++ },
		"data or settings":    func(f *bellows.Fingerprint) { f.Data++ },
		"formats on the wire": func(f *bellows.Fingerprint) { f.Formats++ },
		"kernels, program":    func(f *bellows.Fingerprint) { f.Kernels, f.Program = 0, 0 },
	} {
		d := newDesk()
		d.Start(&d.fx)
		ready(d, 1, job)
		other := job
		change(&other)
		said := strings.Join(ready(d, 2, other), "\n")
		runs := strings.Contains(said, "run")
		ends := strings.Contains(said, "node 2 has made another job than node 0: what differs is "+want)
		if runs != (want == "") || ends == runs {
			t.Errorf("%q differs: the controller says\n%s", want, said)
		}
	}
}
