package run

import (
	"strings"
	"testing"

	"bellows"
	"bellows/core/audit"
	"bellows/node"
	"bellows/train"
)

// TestTheAuditOfARun judges runs, whole or in parts, by what their jobs counted.
func TestTheAuditOfARun(t *testing.T) {
	t.Parallel()
	ledger := func(sent, taken audit.Sum) []audit.TableLedger {
		return []audit.TableLedger{{Name: "w", Ledger: audit.Ledger{Sent: sent, Taken: taken}}}
	}
	part := func(dropped int64) audit.Account {
		return audit.Account{Sent: 5, Applied: 5 - dropped, Dropped: dropped}
	}
	for name, c := range map[string]struct {
		before, last audit.Account
		interrupted  bool
		want         string // empty: it agrees
	}{
		"all is applied":                       {last: part(0)},
		"a finished job has dropped something": {last: part(2), want: "the job finished, and 2 of 5 updates were dropped"},
		"an interrupted one may":               {last: part(2), interrupted: true},
		"and what it dropped was run again":    {before: part(2), last: part(0)},
		"rows are lost":                        {last: audit.Account{Sent: 5, Applied: 4}, want: "5 updates were sent, 4 applied and 0 dropped"},
		"rows were lost before":                {before: audit.Account{Sent: 5, Applied: 4}, last: part(0), want: "10 updates were sent, 9 applied and 0 dropped"},
		"bits are lost":                        {last: audit.Account{Tables: ledger(10, 11)}, want: "table w: the bits of what clients sent add up to 000000000000000a, of what lanes took and dropped to 000000000000000b"},
		"bits were lost before":                {before: audit.Account{Tables: ledger(10, 11)}, last: audit.Account{Tables: ledger(1, 1)}, interrupted: true, want: "000000000000000b"},
	} {
		res := &node.Result{Audit: node.Audit{Account: c.last}}
		if c.interrupted {
			res.Image = &train.Image{}
		}
		a := Judge(res, Progress{Account: c.before.Plus(&c.last)})
		err := a.Verdict()
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || bellows.KindOf(err) != bellows.Bug) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
