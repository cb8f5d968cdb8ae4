package coord_test

import (
	"testing"

	"bellows/core/coord"
	"bellows/internal/require"
	"bellows/link/wire"
)

// TestWhoLeavesMayBeAnHeir has a lane leave and then its heir, before either's counts are with another. Whom another controller tells of the route can make it: who is
// to be an heir takes part in it until it goes, too.
func TestWhoLeavesMayBeAnHeir(t *testing.T) {
	list := []wire.Address{{Node: 1, Role: wire.Lane}, {Node: 2, Role: wire.Lane}, {Role: wire.Lane}}
	job := jobOf(0, list[:1], oneTable)
	job.Lanes = list
	for _, a := range list[1:] {
		next, err := job.Route.Next(job.Route.AddLane(a))
		require.NoError(t, err)
		job.Route = next
	}
	d := newDeskOf(job, coord.Options{Driver: &rounds{want: 3}})
	d.ready(clients...)
	d.ready(list[0], list[1])
	d.Start(&d.fx)
	for _, a := range list[1:] { // the heir of node 2's is at node 0
		require.NoError(t, d.RemoveLane(a, &d.fx))
	}
	if gone := d.removals(); len(gone) != 2 || gone[0].Heir != list[2].Node {
		t.Fatalf("the removals are %+v", gone)
	}
	told, err := job.Route.Rebuilt(9, d.Whole())
	if err != nil || len(told.Lanes()) != 1 || told.Lanes()[0] != list[0] {
		t.Errorf("the lanes are %v: %v", told.Lanes(), err)
	}
}
