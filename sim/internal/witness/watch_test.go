package witness

import (
	"strings"
	"testing"

	"bellows"
	"bellows/core/route"
	"bellows/link/wire"
	"bellows/sim/internal/account"
	"bellows/sim/internal/model"
	"bellows/sim/internal/schedule"
	"bellows/sim/internal/trace"
)

// TestRowsNeverGoBack shows a client rows of a commit, and then of one before.
func TestRowsNeverGoBack(t *testing.T) {
	t.Parallel()
	s := schedule.New(1)
	r := route.Spread(s.Job.Schemas, s.Job.Splits, []wire.Address{wire.LaneAt(0, 0)}, []bellows.NodeID{1})
	h, o := account.NewHistory(r), model.NewOracle(s.Job)
	for n := range bellows.CommitNumber(2) {
		if err := o.Record(&wire.Record{Number: n + 1, Control: bellows.Control{Kind: bellows.KeepTables}}); err != nil {
			t.Fatal(err)
		}
	}
	tr := &trace.Trace{Clock: new(int64)}
	w := Watch{Witness: New(s, o, tr.Violated), Trace: tr, History: &h, Ledger: &account.Watch{Ledger: account.NewLedger(r)}}
	show := func(g bellows.Generation, n bellows.CommitNumber) {
		part := wire.RowsPart{Pair: wire.Pair{Generation: g}, Commit: n, Complete: bellows.NoClock}
		w.Delivered(wire.Envelope{To: wire.ClientAt(1), Message: &wire.Rows{Parts: []wire.RowsPart{part}}})
	}
	show(2, 1)
	show(2, 2)
	if show(1, 1); tr.Violation != "" { // of an earlier owner
		t.Fatal(tr.Violation)
	}
	if show(2, 1); !strings.HasPrefix(tr.Violation, "P3") {
		t.Errorf("%q", tr.Violation)
	}
	tr.Violation = ""
	if show(2, 3); !strings.HasPrefix(tr.Violation, "P1") {
		t.Errorf("a commit that is not recorded: %q", tr.Violation)
	}
}
