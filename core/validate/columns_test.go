package validate_test

import (
	"strings"
	"testing"

	"bellows/core/validate"
	"bellows/link/padding"
	"bellows/link/wire"
	"bellows/table"
)

// TestPaddingOfLeases checks that rows of a lease come without the padding of their table, and without no other.
func TestPaddingOfLeases(t *testing.T) {
	t.Parallel()
	ck := ofTables([]table.Schema{{Name: "w", Rows: 3, Width: 16, Padding: 5, Partitions: 1}})
	values := make([]float32, 48)
	for c, want := range map[padding.Columns]string{
		padding.Find(16, 5):  "",
		{}:                   "is {0 0}, not {11 5}",
		padding.Find(16, 4):  "is {12 4}, not {11 5}",
		padding.Find(12, 5):  "is {7 5}, not {11 5}",
		padding.Find(48, 15): "is {33 15}, not {11 5}",
	} {
		for _, m := range []wire.Envelope{
			{From: lane0, To: worker, Message: &wire.Granted{Pair: pair(0, 0), Columns: c, Values: values}},
			{From: lane0, To: worker, Message: &wire.Granted{Pair: pair(0, 0), Columns: c, Revision: 1, Unchanged: true}},
			{From: worker, To: lane0, Message: &wire.Push{Flush: own, Pairs: []wire.Pair{pair(0, 0)},
				Leases: []wire.LeaseEnd{{Pair: pair(0, 0), Columns: c, Values: values}}}},
		} {
			checkColumns(t, ck, m, want)
		}
	}
}

func checkColumns(t *testing.T, ck *validate.Checker, m wire.Envelope, want string) {
	t.Helper()
	err := ck.Message(header(t, attempt{m.From, m.To, m.Message, want}), m)
	if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("%T: %v, want %q", m.Message, err, want)
	}
}
