package client_test

import (
	"strings"
	"testing"

	"bellows"
	"bellows/core/client"
	"bellows/link/wire"
	"bellows/table"
)

// TestAnswersToNoQuestionAreNamed sends a client what a lane that keeps to the protocol never sends.
func TestAnswersToNoQuestionAreNamed(t *testing.T) {
	flush := flushID(1)
	answer := func(request uint64, rows []uint32, n int) *wire.Rows {
		return &wire.Rows{Incarnation: 1, Request: request, Parts: []wire.RowsPart{{Pair: wire.Pair{Generation: 1}, Rows: rows, Values: make([]float32, n)}}}
	}
	answerOf := func(tab bellows.TableID, rows []uint32) *wire.Rows {
		m := answer(1, rows, len(rows))
		m.Parts[0].Ref.Table = tab
		return m
	}
	pushed := func(d *desk) { // flush 1 is on its way to lane 0
		d.run(delta{0, 0, 1})
	}
	asked := func(d *desk) { // request 1: all of t0/p0
		d.start(0, 0, 0)
		d.read(0, 0, 0, 4)
	}
	both := func(d *desk) { // flush 1 is on its way to both lanes
		d.run(delta{0, 0, 1}, delta{0, 4, 1})
	}
	some := func(d *desk) { // request 1: row 5 of t2/p0
		d.start(0, 0, 0)
		d.read(0, 2, 5, 6)
	}
	leased := func(d *desk) { // request 1: an exclusive lease on t0/p0
		d.start(0, 0, 0)
		d.lease(0, bellows.PartitionRef{}, wire.Exclusive)
	}
	for _, c := range []struct {
		before func(d *desk)
		from   wire.Address
		says   []wire.Message
		want   string
	}{
		{pushed, lanes[1], []wire.Message{&wire.Held{Flush: flush}}, "is held, but it was sent nothing of it"},
		{pushed, lanes[1], []wire.Message{committed(wire.Commitment{Flush: flush, Commit: 1})}, "is committed, but it held nothing more of it"},
		{pushed, lanes[0], []wire.Message{&wire.Room{Flush: flush}}, "found room, for which it did not wait"},
		{pushed, lanes[0], []wire.Message{&wire.Held{Flush: flush}, &wire.Full{Flush: flush}}, "found no room, which it did not ask for"},
		{pushed, lanes[0], []wire.Message{&wire.Full{Flush: flushID(2)}}, "found no room, which it did not ask for"},
		{both, lanes[0], []wire.Message{&wire.Held{Flush: flush}, committed(wire.Commitment{Flush: flush, Commit: 1}), committed(wire.Commitment{Flush: flush, Commit: 1})},
			"is committed, but it held nothing more of it"},
		{some, lanes[0], []wire.Message{answerOf(2, []uint32{6})}, "other rows of t2/p0 than were asked for"},
		{some, lanes[0], []wire.Message{answerOf(2, nil)}, "other rows of t2/p0 than were asked for"},
		{some, lanes[0], []wire.Message{answerOf(2, []uint32{5, 6})}, "other rows of t2/p0 than were asked for"},
		{asked, lanes[0], []wire.Message{answer(1, []uint32{0, 1}, 2)}, "other rows of t0/p0 than were asked for"},
		{asked, lanes[0], []wire.Message{answer(1, []uint32{}, 0)}, "other rows of t0/p0 than were asked for"},
		{asked, lanes[0], []wire.Message{&wire.Granted{Request: 1, Pair: wire.Pair{Generation: 1}, Values: make([]float32, 4)}}, "a lease on t0/p0 that was not asked for"},
		{leased, lanes[0], []wire.Message{answer(1, nil, 4)}, "other rows of t0/p0 than were asked for"},
		{leased, lanes[0], []wire.Message{&wire.Granted{Request: 1, Pair: wire.Pair{Generation: 1}, Mode: wire.Shared, Values: make([]float32, 4)}}, "a lease on t0/p0 that was not asked for"},
		{leased, lanes[0], []wire.Message{&wire.Granted{Request: 2, Pair: wire.Pair{Generation: 1}, Mode: wire.Exclusive, Values: make([]float32, 4)}}, "a lease on t0/p0 that was not asked for"},
	} {
		d := newDesk(t, table.Schema{Name: "long", Rows: 64, Width: 1, Partitions: 1})
		c.before(d)
		d.said()
		for _, m := range c.says {
			d.deliver(c.from, m)
		}
		d.deliver(lanes[0], &wire.Held{Flush: flush}) // nothing counts any more
		d.dispatch(1, 0, 1)
		wantBreach(t, &d.fx, c.want)
		d.deliver(controller, &wire.End{Reason: c.want})
		if d.Ended() == nil {
			t.Errorf("%s: the end was not heard", c.want)
		}
	}
}

// wantBreach wants the last message to be the only complaint, and no task begun or message answered after it.
func wantBreach(t *testing.T, fx *client.Effects, want string) {
	t.Helper()
	n := len(fx.Envelopes)
	if n == 0 || len(fx.Run) > 0 {
		t.Fatalf("%d messages, %d tasks begun; want %q", n, len(fx.Run), want)
	}
	m, ok := fx.Envelopes[n-1].Message.(*wire.Complaint)
	if !ok || !m.Breach || m.Node != 0 || !strings.Contains(m.Reason, want) || fx.Envelopes[n-1].To != controller {
		t.Errorf("says %+v, want %q", fx.Envelopes[n-1].Message, want)
	}
	fx.Reset()
}
