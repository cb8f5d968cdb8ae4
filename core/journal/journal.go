package journal

import (
	"cmp"

	"bellows"
	"bellows/core/gate"
	"bellows/core/recordlog"
	"bellows/core/visits"
	"bellows/link/wire"
)

// Options are fixed for the life of a Journal.
type Options struct {
	Self       wire.Address // the controller, which is the sender of all messages
	Term       bellows.Term
	RecordsMax int  // records that wait to be sent at most
	TailMax    int  // bytes of records that each lane keeps (recordlog.Meter.Most); 0: the default
	Confirms   bool // reports wait until a lane has their records
}

// Journal is the log of one controller.
//
// A record gets the next number and joins the pending message, which goes to every lane: one message, shared by all.
// The pending message is sent when a receiver needs it. Other records wait for the one that completes their
// clock, so that a clock of many nodes is one message for each lane. A record is then held by all lanes once each has
// said that it has that number (Covered), and is forgotten once a saved state covers it (Forget).
//
// Invariants, and what holds them:
//
//   - Numbers have no gaps. Each is sent once to each lane, in order: TestRecordsAreNumberedWithoutGaps, P1 of the
//     simulation.
//   - A flush has at most one number: TestCountedAfterAppend.
//   - Covered is a number that every lane asked has said it has; lanes are never told to forget a later record:
//     TestCoveredWaitsForEveryLane, TestForgetNeedsCoverage.
//   - Nothing is reported before a lane has its record, if Confirms: TestReportsWaitForALane.
//
// Rejected: an acknowledgement of each record. Only a save needs one (docs/decisions/0032).
type Journal struct {
	opt      Options
	number   bellows.CommitNumber
	counted  gate.Counted  // flushes that have a number
	pending  *wire.Records // records that have not been sent; nil: none
	urgent   bool          // some of them cannot wait for the end of their clock
	coverage coverage
	reports  reports
}

// New returns an empty journal.
func New(opt Options) *Journal {
	meter := recordlog.Meter{Most: cmp.Or(opt.TailMax, recordlog.BytesMost)}
	return &Journal{opt: opt, coverage: coverage{meter: meter}}
}

// Number returns the number of the newest record, or 0.
func (j *Journal) Number() bellows.CommitNumber { return j.number }

// Counted reports whether a flush has a number.
func (j *Journal) Counted(f bellows.FlushID) bool { return j.counted.Contains(f) }

// Recorded returns all flushes that have a number, for an actor that begins.
func (j *Journal) Recorded() []wire.Recorded { return j.counted.List() }

// AppendFlush numbers a flush, copying its message. From here on it counts: the record reaches every lane that is left;
// if it reaches none, the next controller numbers the flush again, which the lanes still hold. Pending records are sent
// first if the message has no room for it.
func (j *Journal) AppendFlush(m *wire.Done, lanes []wire.Address, out *wire.Outbox) {
	if j.pending != nil && !j.pending.Room(m) {
		j.Send(lanes, out)
	}
	j.number++
	j.counted.Add(m.Flush)
	j.open().Append(j.number, m)
	j.measureNewest()
}

// AppendControl numbers a control record. Lanes need it before anything that follows, so that it does not wait.
func (j *Journal) AppendControl(r bellows.Control) {
	j.number++
	j.open().AppendControl(j.number, r)
	j.measureNewest()
	j.urgent = true
}

// open returns the message that the next record joins.
func (j *Journal) open() *wire.Records {
	if j.pending == nil {
		j.pending = wire.New[wire.Records]()
		j.pending.Term, j.pending.Keep = j.opt.Term, j.coverage.keep()
	}
	return j.pending
}

// measureNewest adds the newest record to the meter of the tails.
func (j *Journal) measureNewest() { j.Measure(&j.pending.List[len(j.pending.List)-1]) }

// Measure adds a record to the meter of the tails: one that another controller has numbered, and that the lanes keep.
func (j *Journal) Measure(r *wire.Record) { j.coverage.meter.Add(r) }

// Hurry makes the pending records urgent: they are sent at the end of the step.
func (j *Journal) Hurry() { j.urgent = true }

// Pressing reports whether the pending records must be sent at the end of the step: a dispatch relies on them, they end
// a lease or a clock, they are control records, or they are many.
func (j *Journal) Pressing(dispatching bool) bool {
	return j.pending != nil && (j.urgent || dispatching || len(j.pending.List) >= j.opt.RecordsMax)
}

// Send sends the pending records to each lane: one message, shared by all.
func (j *Journal) Send(lanes []wire.Address, out *wire.Outbox) {
	if j.pending == nil {
		return
	}
	j.pending.Share(len(lanes))
	for _, a := range lanes {
		out.Send(j.opt.Self, a, j.pending)
	}
	j.pending, j.urgent = nil, false
}

// Discard drops the pending records.
func (j *Journal) Discard() { j.pending = nil }

// Replay takes in the next record, which another controller has numbered.
func (j *Journal) Replay(r *wire.Record) {
	j.number++
	if r.Control.Kind == bellows.NoControl {
		j.counted.Add(r.Flush)
	}
}

// Advance gives the next number to a control record that another controller has numbered, and that the driver asks
// for again.
func (j *Journal) Advance() { j.number++ }

// Save adds to a saved state what the journal knows of its record.
func (j *Journal) Save(to *Saved) {
	j.coverage.meter.Mark(j.number)
	to.Commit, to.Counted = j.number, j.counted.Clone()
}

// Restore continues from a saved state that every lane has the records of.
func (j *Journal) Restore(from *Saved) {
	j.number, j.counted = from.Commit, from.Counted.Clone()
	j.coverage.covered, j.coverage.forgotten = from.Commit, from.Commit
}

// SaveBegins notes that a save begins, so that none is due for a while.
func (j *Journal) SaveBegins() { j.coverage.meter.Asked() }

// SaveDue reports whether the job should be saved now: the records since it was last saved use half of each lane's
// tail.
func (j *Journal) SaveDue() bool { return j.coverage.meter.Due() }

// AskAll asks each lane whether it has the records up to one. It replaces an earlier question.
func (j *Journal) AskAll(upTo bellows.CommitNumber, lanes []wire.Address, out *wire.Outbox) {
	if upTo > j.number {
		return
	}
	j.Send(lanes, out)
	j.coverage.ask(upTo, lanes)
	for _, l := range lanes {
		out.Send(j.opt.Self, l, &wire.Query{Term: j.opt.Term})
	}
}

// TakeAnswer takes a lane's answer: it has the records up to last.
func (j *Journal) TakeAnswer(from wire.Address, last bellows.CommitNumber) {
	j.coverage.answer(from, last)
}

// Remove stops waiting for the answer of an actor that takes part no more.
func (j *Journal) Remove(a wire.Address) { j.coverage.remove(a) }

// Covered returns the last record that was asked about and that every lane has.
func (j *Journal) Covered() bellows.CommitNumber { return j.coverage.covered }

// Forget lets the lanes forget the records up to one, at most up to Covered: the caller has stored a state that covers
// them. Lanes learn it from the next records (wire.Records.Keep).
func (j *Journal) Forget(upTo bellows.CommitNumber) { j.coverage.forget(upTo) }

// AddVisits reports the units of the newest record.
func (j *Journal) AddVisits(results []wire.Result, told *Told) {
	list := &told.Visits
	if j.opt.Confirms {
		list = &j.reports.visits
	}
	for i := range results {
		*list = append(*list, visits.Visit{Commit: j.number, Unit: results[i].Unit})
	}
}

// AddEpoch reports an epoch that ends with the newest record.
func (j *Journal) AddEpoch(e Epoch, told *Told) {
	e.Commit = j.number
	list := &told.Epochs
	if j.opt.Confirms {
		list = &j.reports.epochs
	}
	*list = append(*list, e)
}

// Confirm notes that a lane has the records up to one.
func (j *Journal) Confirm(last bellows.CommitNumber) { j.reports.confirm(last) }

// Confirmed reports whether what counts up to a record may be reported.
func (j *Journal) Confirmed(n bellows.CommitNumber) bool {
	return !j.opt.Confirms || n <= j.reports.confirmed
}

// Release reports all visits and epochs that a lane has the records of; or all, when the job is over.
func (j *Journal) Release(all bool, told *Told) { j.reports.release(all, told) }

// ReportDue reports whether enough waits that a lane should be asked now, instead of at the next tick.
func (j *Journal) ReportDue() bool { return j.reports.due() }

// AskLane asks the next lane in turn for the newest record it has, if anything waits to be reported.
func (j *Journal) AskLane(lanes []wire.Address, out *wire.Outbox) {
	if j.reports.empty() {
		return
	}
	j.Send(lanes, out)
	turn := j.reports.ask(j.number)
	out.Send(j.opt.Self, lanes[turn%len(lanes)], &wire.Query{Term: j.opt.Term})
}
