package server_test

import (
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/link/wire"
)

// TestALaneBuriesByARecord parts from a client that is lost while the job goes on, which has a copy of a partition under an exclusive lease and
// a part of a flush held: the lease is over, nothing of it counts anywhere, others are served, and nobody waits for it, nor does another controller.
func TestALaneBuriesByARecord(t *testing.T) {
	s := newScript(t, 0)
	s.push(2, 1, 0, ref(1, 0), 2)
	s.record(1, 2, 1, 0)
	s.acquire(2, ref(1, 1), wire.Exclusive)
	s.acquire(1, ref(1, 1), wire.Exclusive)
	s.push(2, 2, 1, ref(1, 0), 8)
	s.change(2, bellows.Control{Kind: bellows.MoveSplit, Route: 1, Split: 1, Node: 1})
	s.mark()
	s.change(3, bellows.Control{Kind: bellows.LoseClient, Route: 2, Node: 2})
	s.expect("to node 1: granted t1/p1")
	s.push(2, 3, 2, ref(1, 0), 16)
	s.pull(2, ref(1, 0), wire.Need{Clock: bellows.NoClock})
	if said := s.saidSince(s.at); strings.Contains(said, "to node 2") {
		t.Errorf("the lost is answered: %s", said)
	}
	h, _ := s.holds(1, 0)
	if len(h.Flushes) != 0 || len(h.Adopted) != 1 || h.Adopted[0] != (bellows.Control{Kind: bellows.LoseClient, Route: 2, Node: 2}) {
		t.Errorf("it holds %+v, and says of %+v that nobody waits for them", h.Flushes, h.Adopted)
	}
	s.end(clients[0])
	s.mark()
	s.end(controller)
	s.expect("closed: applied 1 dropped 0")
}

// TestLaneBeginsAfterALoss begins a lane in a job that has added a client and lost it. The lane never had that client, and still reports
// the loss to a later controller.
func TestLaneBeginsAfterALoss(t *testing.T) {
	s, r := beginner(t)
	r.next(r.AddLane(addedLane))
	added := r.AddClient(4)
	lost := bellows.Control{Kind: bellows.LoseClient, Route: r.Version(), Node: 4}
	m := r.begin(17, 2, 1)
	m.Changes = append(m.Changes, added, lost)
	s.send(controller, "begin behind record 17", m)
	var out wire.Outbox
	s.lane.Step([]wire.Envelope{{From: controller, To: addedLane, Message: &wire.Query{Term: 1}}}, &out)
	if h, ok := out.Envelopes[0].Message.(*wire.Holding); !ok || !slices.Equal(h.Adopted, []bellows.Control{lost}) {
		t.Errorf("it holds %+v", out.Envelopes[0].Message)
	}
	s.endClients()
	s.mark()
	s.end(controller)
	s.expect("closed: applied 0 dropped 0")
}
