package journal_test

import (
	"fmt"
	"slices"
	"testing"

	"bellows"
	"bellows/core/journal"
	"bellows/link/wire"
)

var (
	self  = wire.Address{Role: wire.Controller}
	lanes = []wire.Address{wire.LaneAt(0, 0), wire.LaneAt(1, 0)}
	keep  = bellows.Control{Kind: bellows.KeepTables}
)

// book is a journal, the messages it has sent and its reports.
type book struct {
	*journal.Journal
	out  wire.Outbox
	told journal.Told
}

func newBook(opt journal.Options) *book {
	opt.Self, opt.Term = self, 3
	if opt.RecordsMax == 0 {
		opt.RecordsMax = 4
	}
	return &book{Journal: journal.New(opt)}
}

// done returns the message that the flush of a client is done, which has one unit of the split of the same number.
func done(client, seq int) *wire.Done {
	m := wire.New[wire.Done]()
	m.Flush = flush(client, seq)
	m.Append(bellows.Unit{Split: bellows.SplitID(client), Clock: bellows.Clock(seq), Items: bellows.Range{End: 1}}, nil)
	return m
}

func flush(client, seq int) bellows.FlushID {
	return bellows.FlushID{Client: bellows.NodeID(client), Incarnation: 1, Seq: uint64(seq)}
}

func (b *book) append(client, seq int) { b.AppendFlush(done(client, seq), lanes, &b.out) }

// visit appends a flush and reports its unit.
func (b *book) visit(client, seq int) {
	m := done(client, seq)
	b.AppendFlush(m, lanes, &b.out)
	b.AddVisits(m.Results, &b.told)
}

// sent returns the messages since the last call, a line each.
func (b *book) sent() (lines []string) {
	for _, e := range b.out.Envelopes {
		line := fmt.Sprintf("%v: %T", e.To, e.Message)
		switch m := e.Message.(type) {
		case *wire.Records:
			var numbers []bellows.CommitNumber
			for _, r := range m.List {
				numbers = append(numbers, r.Number)
			}
			line = fmt.Sprintf("%v: records %v", e.To, numbers)
			if m.Keep > 0 {
				line += fmt.Sprintf(" keep %d", m.Keep)
			}
			if m.Term != 3 {
				line += " of another term"
			}
		case *wire.Query:
			line = fmt.Sprintf("%v: query %d of term %d", e.To, m.From, m.Term)
		}
		if e.From != self {
			line += " from another"
		}
		lines = append(lines, line)
	}
	b.out.Envelopes = nil
	return lines
}

// reported returns the reports since the last call.
func (b *book) reported() string {
	visits, epochs := []bellows.CommitNumber{}, []string{}
	for _, v := range b.told.Visits {
		visits = append(visits, v.Commit)
	}
	for _, e := range b.told.Epochs {
		epochs = append(epochs, fmt.Sprintf("%d@%d", e.Number, e.Commit))
	}
	b.told = journal.Told{}
	return fmt.Sprint("visits ", visits, " epochs ", epochs)
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("sent %q, want %q", got, want)
	}
}

func (b *book) expectReports(t *testing.T, want string) {
	t.Helper()
	if got := b.reported(); got != want {
		t.Errorf("reported %s, want %s", got, want)
	}
}

// TestRecordsAreNumberedWithoutGaps appends flushes and control records, and sends them in messages of several.
func TestRecordsAreNumberedWithoutGaps(t *testing.T) {
	b := newBook(journal.Options{})
	b.append(1, 1)
	b.append(2, 1)
	expect(t, b.sent())
	b.Send(lanes, &b.out)
	if first, second := b.out.Envelopes[0].Message, b.out.Envelopes[1].Message; first != second {
		t.Error("the lanes get different messages")
	}
	expect(t, b.sent(), "lane 0 of node 0: records [1 2]", "lane 0 of node 1: records [1 2]")
	b.Send(lanes, &b.out)
	expect(t, b.sent())
	b.AppendControl(keep)
	b.append(1, 2)
	b.Send(lanes[1:], &b.out)
	expect(t, b.sent(), "lane 0 of node 1: records [3 4]")
	if b.Number() != 4 {
		t.Errorf("number %d", b.Number())
	}
}

// TestASharedMessageIsFreedByAll frees the message of two lanes twice: only then it is used again.
func TestASharedMessageIsFreedByAll(t *testing.T) {
	b := newBook(journal.Options{})
	b.append(1, 1)
	b.Send(lanes, &b.out)
	m := b.out.Envelopes[0].Message.(*wire.Records)
	wire.Free(m)
	if len(m.List) != 1 {
		t.Error("one lane has freed what the other still reads")
	}
}

// TestLargeRecordsAreSentApart appends two flushes with more numbers than a message may have.
func TestLargeRecordsAreSentApart(t *testing.T) {
	b := newBook(journal.Options{})
	for client := 1; client <= 2; client++ {
		m := wire.New[wire.Done]()
		m.Flush = flush(client, 1)
		m.Append(bellows.Unit{Items: bellows.Range{End: 1}}, make([]float64, 1<<17+1))
		b.AppendFlush(m, lanes[:1], &b.out)
	}
	expect(t, b.sent(), "lane 0 of node 0: records [1]")
	b.Send(lanes[:1], &b.out)
	expect(t, b.sent(), "lane 0 of node 0: records [2]")
}

// TestCountedAfterAppend asks for flushes by client and number, before and after.
func TestCountedAfterAppend(t *testing.T) {
	b := newBook(journal.Options{})
	if b.Counted(flush(1, 1)) {
		t.Error("a flush is known that never came")
	}
	b.append(1, 1)
	b.Replay(&wire.Record{Number: 2, Flush: flush(2, 1)})
	b.Replay(&wire.Record{Number: 3, Control: keep})
	b.Advance()
	if !b.Counted(flush(1, 1)) || !b.Counted(flush(2, 1)) || b.Counted(flush(1, 2)) || b.Number() != 4 {
		t.Errorf("number %d, recorded %+v", b.Number(), b.Recorded())
	}
	if list := b.Recorded(); len(list) != 2 || list[0].UpTo != 1 || list[1].UpTo != 1 {
		t.Errorf("recorded %+v", list)
	}
}

// TestPressing lists what has pending records be sent at the end of a step.
func TestPressing(t *testing.T) {
	b := newBook(journal.Options{RecordsMax: 3})
	press := func(what string, want bool) {
		t.Helper()
		if got := b.Pressing(false); got != want {
			t.Errorf("%s: pressing %v", what, got)
		}
	}
	press("nothing pending", false)
	if b.Pressing(true) {
		t.Error("a dispatch presses where nothing is pending")
	}
	b.append(1, 1)
	press("a record", false)
	if !b.Pressing(true) {
		t.Error("a dispatch does not press")
	}
	b.append(1, 2)
	press("two", false)
	b.append(1, 3)
	press("as many as may wait", true)
	b.Send(lanes, &b.out)
	press("after they were sent", false)
	b.append(1, 4)
	b.Hurry()
	press("one that is urgent", true)
	b.Send(lanes, &b.out)
	b.append(1, 5)
	press("the one after that", false)
	b.AppendControl(keep)
	press("a control record", true)
	b.Discard()
	press("after they were dropped", false)
	b.sent()
	b.Send(lanes, &b.out)
	expect(t, b.sent())
}

// TestCoveredWaitsForEveryLane asks two lanes; one has fewer records at first.
func TestCoveredWaitsForEveryLane(t *testing.T) {
	b := newBook(journal.Options{})
	b.append(1, 1)
	b.append(1, 2)
	b.AskAll(3, lanes, &b.out) // which there is not
	expect(t, b.sent())
	b.AskAll(2, lanes, &b.out)
	expect(t, b.sent(), "lane 0 of node 0: records [1 2]", "lane 0 of node 1: records [1 2]",
		"lane 0 of node 0: query 0 of term 3", "lane 0 of node 1: query 0 of term 3")
	b.TakeAnswer(lanes[0], 5)
	b.TakeAnswer(lanes[1], 1)
	if b.Covered() != 0 {
		t.Error("covered, and a lane has only one record")
	}
	b.TakeAnswer(lanes[1], 2)
	if b.Covered() != 2 {
		t.Errorf("covered %d", b.Covered())
	}
	b.append(1, 3)
	b.AskAll(3, lanes, &b.out)
	b.Remove(lanes[0])
	if b.Covered() != 2 {
		t.Error("covered before the other lane has answered")
	}
	b.TakeAnswer(lanes[1], 3)
	if b.Covered() != 3 {
		t.Errorf("covered %d after a lane was removed", b.Covered())
	}
	b.AskAll(1, lanes, &b.out)
	b.TakeAnswer(lanes[0], 1)
	b.TakeAnswer(lanes[1], 1)
	if b.Covered() != 3 {
		t.Errorf("covered falls to %d", b.Covered())
	}
}

// TestANewQuestionReplacesTheOneBefore asks twice: answers to the first do not count for the second.
func TestANewQuestionReplacesTheOneBefore(t *testing.T) {
	b := newBook(journal.Options{})
	b.append(1, 1)
	b.AskAll(1, lanes, &b.out)
	b.TakeAnswer(lanes[0], 1)
	b.append(1, 2)
	b.AskAll(2, lanes, &b.out)
	b.TakeAnswer(lanes[1], 2)
	if b.Covered() != 0 {
		t.Errorf("covered %d by one lane", b.Covered())
	}
}

// TestForgetNeedsCoverage lets lanes forget records: only those that all of them have, and never fewer than before.
func TestForgetNeedsCoverage(t *testing.T) {
	b := newBook(journal.Options{})
	for seq := 1; seq <= 3; seq++ {
		b.append(1, seq)
	}
	b.AskAll(2, lanes[:1], &b.out)
	b.Forget(2)
	b.append(1, 4)
	b.sent()
	b.Send(lanes[:1], &b.out)
	expect(t, b.sent(), "lane 0 of node 0: records [4]")
	b.TakeAnswer(lanes[0], 3)
	b.Forget(3)
	b.Forget(1)
	b.append(1, 5)
	b.Send(lanes[:1], &b.out)
	expect(t, b.sent(), "lane 0 of node 0: records [5] keep 3")
}

// TestSaveResetsTail saves a job whenever that is due. After a save that covers all records, the next is due after
// about as many records as the first.
func TestSaveResetsTail(t *testing.T) {
	b := newBook(journal.Options{TailMax: 4000})
	var records []int
	for range 3 {
		n := 0
		for ; !b.SaveDue() && n < 1000; n++ {
			b.append(1, int(b.Number())+1)
		}
		records = append(records, n)
		b.SaveBegins()
		var s journal.Saved
		b.Save(&s)
		b.AskAll(s.Commit, lanes[:1], &b.out)
		b.TakeAnswer(lanes[0], s.Commit)
		b.Forget(s.Commit)
	}
	if first := records[0]; first < 10 || min(records[1], records[2]) < first*3/4 || records[2] > first {
		t.Errorf("saves are due after %v records", records)
	}
}

// TestSaveDueAtHalfATail fills half of a small tail, saves, and fills it again.
func TestSaveDueAtHalfATail(t *testing.T) {
	b := newBook(journal.Options{TailMax: 400})
	fill := func() (n int) {
		for ; !b.SaveDue() && n < 100; n++ {
			b.append(1, int(b.Number())+1)
		}
		return n
	}
	if first := fill(); first < 3 || first > 20 {
		t.Fatalf("due after %d records", first)
	}
	b.SaveBegins()
	if b.SaveDue() {
		t.Error("due while a save is under way")
	}
	var s journal.Saved
	b.Save(&s)
	b.AskAll(s.Commit, lanes[:1], &b.out)
	b.TakeAnswer(lanes[0], s.Commit)
	b.Forget(s.Commit)
	if b.SaveDue() {
		t.Error("due after a save")
	}
	if again := fill(); again < 3 || again > 20 {
		t.Errorf("due again after %d records", again)
	}
	b.SaveBegins()
	for range 4 {
		b.append(1, int(b.Number())+1)
	}
	if !b.SaveDue() {
		t.Error("not due again although the save failed and an eighth of the tail was filled since")
	}
	b.AskAll(1, lanes, &b.out)
	if b.SaveDue() {
		t.Error("due although a save has just asked")
	}
	other := newBook(journal.Options{TailMax: 100})
	other.Measure(&wire.Record{Number: 1, Flush: flush(1, 1), Results: done(1, 1).Results})
	other.Measure(&wire.Record{Number: 2, Control: keep})
	other.AppendControl(keep)
	other.AppendControl(keep)
	other.AppendControl(keep)
	if !other.SaveDue() {
		t.Error("records of another controller or control records are not measured")
	}
}

// TestARestoredJournalContinues restores what another journal saved: it numbers on, and knows the flushes.
func TestARestoredJournalContinues(t *testing.T) {
	b := newBook(journal.Options{})
	b.append(1, 1)
	b.append(1, 2)
	var s journal.Saved
	b.Save(&s)
	b.append(1, 3)
	if s.Commit != 2 || s.Counted.Contains(flush(1, 3)) {
		t.Errorf("saved %+v", s)
	}
	after := newBook(journal.Options{})
	after.Restore(&s)
	if after.Covered() != 2 || after.Number() != 2 || !after.Counted(flush(1, 2)) || after.Counted(flush(1, 3)) {
		t.Errorf("covered %d, number %d, recorded %+v", after.Covered(), after.Number(), after.Recorded())
	}
	after.append(1, 3)
	if s.Counted.Contains(flush(1, 3)) {
		t.Error("the saved state changes with the journal")
	}
	after.Send(lanes[:1], &after.out)
	expect(t, after.sent(), "lane 0 of node 0: records [3] keep 3")
}

// TestReportsWaitForALane holds back visits and epochs until a lane has their records.
func TestReportsWaitForALane(t *testing.T) {
	b := newBook(journal.Options{Confirms: true})
	b.visit(1, 1)
	if b.ReportDue() {
		t.Error("a lane is to be asked about a visit")
	}
	b.AddEpoch(journal.Epoch{Number: 1}, &b.told)
	b.visit(2, 1)
	b.AddEpoch(journal.Epoch{Number: 2}, &b.told)
	b.Release(false, &b.told)
	b.expectReports(t, "visits [] epochs []")
	if !b.ReportDue() {
		t.Error("an epoch waits, and no lane is to be asked")
	}
	b.AskLane(lanes, &b.out)
	expect(t, b.sent(), "lane 0 of node 0: records [1 2]", "lane 0 of node 1: records [1 2]",
		"lane 0 of node 0: query 0 of term 3")
	if b.ReportDue() {
		t.Error("a second question while one is under way")
	}
	if b.Confirmed(1) {
		t.Error("record 1 is confirmed, and no lane has answered")
	}
	b.Confirm(1)
	b.Confirm(0)
	if !b.Confirmed(1) || b.Confirmed(2) {
		t.Error("record 1 alone is confirmed")
	}
	b.Release(false, &b.told)
	b.expectReports(t, "visits [1] epochs [1@1]")
	b.AskLane(lanes, &b.out)
	expect(t, b.sent(), "lane 0 of node 1: query 0 of term 3")
	b.AskLane(lanes, &b.out)
	expect(t, b.sent(), "lane 0 of node 0: query 0 of term 3")
	b.Confirm(2)
	b.Release(false, &b.told)
	b.expectReports(t, "visits [2] epochs [2@2]")
	b.AskLane(lanes, &b.out) // about nothing
	expect(t, b.sent())
	b.visit(1, 2)
	b.AskLane(lanes, &b.out)
	expect(t, b.sent(), "lane 0 of node 0: records [3]", "lane 0 of node 1: records [3]",
		"lane 0 of node 0: query 0 of term 3")
	b.AddEpoch(journal.Epoch{Number: 3}, &b.told)
	b.Release(true, &b.told)
	b.expectReports(t, "visits [3] epochs [3@3]")
}

// TestReportsWaitForNobody reports at once where no other process may follow.
func TestReportsWaitForNobody(t *testing.T) {
	b := newBook(journal.Options{})
	b.visit(1, 1)
	b.AddEpoch(journal.Epoch{Number: 1}, &b.told)
	b.expectReports(t, "visits [1] epochs [1@1]")
	if b.ReportDue() || !b.Confirmed(9) {
		t.Error("a lane's answer is waited for")
	}
	b.AskLane(lanes, &b.out)
	expect(t, b.sent())
}

// TestManyVisitsAreAskedAbout reports 512 visits without waiting for an epoch.
func TestManyVisitsAreAskedAbout(t *testing.T) {
	b := newBook(journal.Options{Confirms: true})
	for seq := 1; seq < 512; seq++ {
		b.visit(1, seq)
	}
	if b.ReportDue() {
		t.Error("due after 511")
	}
	b.visit(1, 512)
	if !b.ReportDue() {
		t.Error("not due after 512")
	}
}
