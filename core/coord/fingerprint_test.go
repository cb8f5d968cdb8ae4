package coord_test

import (
	"strings"
	"testing"

	"bellows"
	"bellows/core/coord"
	"bellows/link/wire"
)

// TestANodeOfAnotherJobEndsThisOne lets the second of two nodes show another fingerprint, before the first task leaves.
func TestANodeOfAnotherJobEndsThisOne(t *testing.T) {
	job := bellows.Fingerprint{Tables: 1, Splits: 2, Data: 3, Formats: 4, Kernels: 5, Program: 6}
	newDesk := func() *desk {
		return newDeskOf(jobOf(10_000, lanes, oneTable), coord.Options{Driver: &rounds{want: 1}, Fingerprint: job})
	}
	ready := func(d *desk, n bellows.NodeID, f bellows.Fingerprint) []string {
		d.deliver(wire.Address{Node: n}, &wire.Ready{Fingerprint: f})
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
