package claim_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core"
	"bellows/core/claim"
	"bellows/core/journal"
	"bellows/core/route"
	"bellows/link/wire"
	"bellows/table"
)

var (
	self  = wire.Address{Role: wire.Controller}
	lanes = []wire.Address{wire.LaneAt(1, 0)}
)

// jobOf returns a job of two splits on nodes 1 and 2. A clock has six items, which are one unit, and in odd clocks
// three. Clock 4 has none.
func jobOf() core.Job {
	tables := []table.Schema{{Name: "w", Rows: 4, Width: 1}}
	return core.Job{
		Controller: self, Lanes: lanes, Clients: []wire.Address{wire.ClientAt(1), wire.ClientAt(2)}, Tables: tables,
		Route: route.Spread(tables, 2, lanes, []bellows.NodeID{1, 2}),
		Items: func(_ bellows.SplitID, c bellows.Clock) bellows.Range {
			if c == 4 {
				return bellows.Range{}
			}
			return bellows.Range{Begin: 10, End: 16}
		},
		Units: func(_ bellows.SplitID, c bellows.Clock) int { return 1 + 2*int(c%2) },
	}
}

// unit returns the whole of a clock.
func unit(s bellows.SplitID, c bellows.Clock) bellows.Unit {
	return bellows.Unit{Split: s, Clock: c, Items: bellows.Range{Begin: 10, End: 16}}
}

// third returns one of the three units of an odd clock.
func third(s bellows.SplitID, c bellows.Clock, i int) bellows.Unit {
	return bellows.Unit{Split: s, Clock: c, Items: bellows.Range{Begin: 10 + 2*i, End: 12 + 2*i}}
}

// book is a Book and the messages that it has sent.
type book struct {
	*claim.Book
	t   *testing.T
	job core.Job
	out wire.Outbox
}

func newBook(t *testing.T) *book {
	b := &book{t: t, job: jobOf()}
	b.Book = claim.NewBook(&b.job, 3)
	return b
}

// dispatch claims the next clock of a split for a node, by a record.
func (b *book) dispatch(s bellows.SplitID, commit bellows.CommitNumber, node bellows.NodeID) {
	b.Dispatch(s, []float64{float64(b.Next(s)), float64(s)}, commit, node, false)
}

// sent returns the messages since the last call: a line for each claim, and an empty line after each dispatch but the
// last.
func (b *book) sent() (lines []string) {
	b.Send(&b.out)
	for i, e := range b.out.Envelopes {
		if e.From != self {
			b.t.Errorf("%v sends", e.From)
		}
		switch m := e.Message.(type) {
		case *wire.Dispatch:
			if i > 0 {
				lines = append(lines, "")
			}
			for _, one := range m.Tasks {
				line := fmt.Sprintf("%v: %v %v by record %d, term %d", e.To, one.Unit, one.Args, m.Commit, m.Term)
				lines = append(lines, line)
			}
		case *wire.Recall:
			lines = append(lines, fmt.Sprintf("%v: recall split %d, term %d", e.To, m.Split, m.Term))
		}
	}
	b.out.Envelopes = nil
	return lines
}

// expectSent compares what was sent since the last call.
func (b *book) expectSent(want ...string) {
	b.t.Helper()
	if got := b.sent(); !slices.Equal(got, want) {
		b.t.Errorf("sent:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// complete counts units of a node, and gives their results to the driver.
func (b *book) complete(node bellows.NodeID, units ...bellows.Unit) {
	b.t.Helper()
	for _, u := range units {
		if err := b.Complete(u, node); err != nil {
			b.t.Fatal(err)
		}
		b.Settle(&u)
	}
}

// expectError compares the text of an error.
func expectError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

// arrival returns the message that a flush of a client with some units is done.
func arrival(client, seq int, units ...bellows.Unit) journal.Arrival {
	m := wire.New[wire.Done]()
	m.Flush = bellows.FlushID{Client: bellows.NodeID(client), Incarnation: 1, Seq: uint64(seq)}
	for _, u := range units {
		m.Append(u, nil)
	}
	return journal.Arrival{From: wire.ClientAt(bellows.NodeID(client)), Done: m}
}
