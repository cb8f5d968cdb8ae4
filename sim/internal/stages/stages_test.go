package stages

import (
	"testing"

	"bellows"
	"bellows/link/wire"
	"bellows/sim/internal/schedule"
)

func TestMessagesAreUnderWayUntilDelivered(t *testing.T) {
	t.Parallel()
	var w Watch
	w.Add()
	w.Add()
	flush := bellows.FlushID{Client: 1, Seq: 1}
	records := &wire.Records{List: []wire.Record{{Number: 1, Flush: flush}, {Number: 2, Control: bellows.Control{Kind: bellows.KeepTables}}}}
	for _, c := range []struct {
		message wire.Message
		stage   schedule.Stage
	}{
		{&wire.Push{Flush: flush}, schedule.PushUnderWay},
		{&wire.Done{Flush: flush}, schedule.DoneUnderWay},
		{records, schedule.RecordUnderWay},
	} {
		e := wire.Envelope{From: wire.ClientAt(1), To: wire.LaneAt(0, 0), Message: c.message}
		w.Posted(e)
		if !w.IsIn(1, c.stage) || w.IsIn(0, c.stage) {
			t.Errorf("%T posted: node 1 is not in the stage %v, or node 0 is", c.message, c.stage)
		}
		if w.Delivered(e); w.IsIn(1, c.stage) {
			t.Errorf("%T delivered: node 1 is still in the stage %v", c.message, c.stage)
		}
	}
}

func TestPullIsParkedUntilRowsLeave(t *testing.T) {
	t.Parallel()
	var w Watch
	w.Add()
	w.Delivered(wire.Envelope{From: wire.ClientAt(0), To: wire.LaneAt(0, 0), Message: &wire.Pull{}})
	if !w.IsIn(0, schedule.PullParked) {
		t.Error("a pull was delivered, and its node is not in the stage")
	}
	w.After(wire.LaneAt(0, 0), []wire.Envelope{{To: wire.ClientAt(0), Message: &wire.Rows{}}})
	if w.IsIn(0, schedule.PullParked) {
		t.Error("the rows have left, and the node is still in the stage")
	}
}
