package node

import (
	"math"
	"time"

	"bellows"
	"bellows/api"
	"bellows/core/coord"
)

// The default interval between two cuts follows from these.
const (
	// FailureTime is the assumed mean lifetime of a node: two and a half hours, as recordings show for preemptible
	// machines (docs/decisions/0083). Better machines lose little: with ten times that lifetime, cuts could be three
	// times as rare, and save two thirds of little.
	FailureTime = 150 * time.Minute
	// costMost is the share of a run's time that cuts may take, whatever a node's life is: 2 %.
	costMost = 50
	// earlyCostMost is the share of a run's time that early cuts may take (coord.Controller.CutDue): 5 %. If the tails fill faster than that, the loss of the controller costs the work since the
	// last cut, which is at most 20 times as long as a cut takes.
	earlyCostMost = 20
	// intervalLeast is the least that comes out: a small job need not be saved many times a second.
	intervalLeast = 10 * time.Second
)

// Interval returns the time between cuts, by the duration of a cut and the number of nodes: sqrt(2·Ts·Tf/N) (Bösen
// §3.2.4), which minimises the sum of the cost of cuts and the loss by failures. It is at least 50 times the duration
// of a cut.
func Interval(cut time.Duration, nodes int) time.Duration {
	best := math.Sqrt(2 * cut.Seconds() * FailureTime.Seconds() / float64(max(1, nodes)))
	return max(time.Duration(best*float64(time.Second)), intervalLeast, costMost*cut)
}

// saving decides when the controller of a saved job takes cuts.
//
// States: due at some time; cutting, from the request to begin one until it is written or abandoned; over, with the
// job. All of it belongs to the controller's steps.
type saving struct {
	due   time.Time
	early time.Time // no early cut begins before this
	every time.Duration
	note  *manifest            // of the cut that is under way; nil: none is
	told  bellows.CommitNumber // the last cut up to which visits were reported
	so    Since                // the job's beginning
	at    Since                // the cut that is under way, since the job's beginning
	last  Since                // the work since the last existing cut
	safe  bellows.CommitNumber
	letGo bellows.CommitNumber
	there time.Time // when the last was
	bytes int64     // that were written for it
}

// Since is what was done since the last cut that is there: what a death costs.
type Since struct {
	Commit  bellows.CommitNumber // the cut; 0: none
	Units   int64                // that count: of a split in a clock, or a part of it
	Trained time.Duration
	Out     int // units dispatched at the job's end; their updates do not count
}

// count counts what the step has numbered.
func (l *lead) count() {
	s, at := &l.saving, l.shell.CutAt()
	for _, v := range l.fx.Visits {
		if at > s.at.Commit && v.Commit > at {
			s.mark(at, l.trainedFor())
		}
		s.so.Units++
	}
	if at > s.at.Commit {
		s.mark(at, l.trainedFor())
	}
}

// mark notes how far the job was at a cut.
func (s *saving) mark(at bellows.CommitNumber, trained time.Duration) {
	s.at = Since{Commit: at, Units: s.so.Units, Trained: trained}
}

// since returns what was done since the last cut that exists.
func (l *lead) since() Since {
	s := &l.saving
	return Since{Commit: s.last.Commit, Units: s.so.Units - s.last.Units, Trained: l.trainedFor() - s.last.Trained}
}

// checkpoint returns the last cut that exists, for status requests.
func (l *lead) checkpoint() *api.Checkpoint {
	s, since := &l.saving, l.since()
	c := &api.Checkpoint{Commit: uint64(since.Commit), Bytes: s.bytes, Units: since.Units, Seconds: since.Trained.Seconds()}
	if l.scribe != nil {
		c.Era = uint32(l.opt.Era)
	}
	if since.Commit > 0 {
		c.Age = time.Since(s.there).Seconds()
	}
	return c
}

// beginSaving sets the time of the first cut, at the job's beginning: the duration of a cut is not known yet.
func (l *lead) beginSaving() {
	s := &l.saving
	if l.scribe == nil {
		return
	}
	if why := l.job.Stays; why != "" {
		l.notice("no checkpoint is written of this job: " + why)
	}
	if s.every = l.scribe.cuts.Every; s.every == 0 {
		s.every = intervalLeast
	}
	s.due = time.Now().Add(s.every)
}

// save begins a cut when it is time, and lets go what the last one covers.
func (l *lead) save() {
	if l.scribe == nil || !l.begun || l.stopping || l.finished || l.job.Stays != "" {
		return
	}
	s, now := &l.saving, time.Now()
	if l.shell.Covered() >= s.safe && s.safe > s.letGo {
		s.letGo = s.safe
		l.shell.LetGo(s.safe)
	}
	if now.Before(s.due) && (now.Before(s.early) || !l.shell.CutDue()) || s.note != nil {
		return
	}
	if l.shell.Cut(&l.fx) != nil { // something else is under way: at the next tick
		return
	}
	s.note = &manifest{began: now}
	if note := l.scribe.cuts.Note; note != nil {
		s.note.note = note(Spent{l.trainedFor(), l.spent()})
	}
}

// takeCuts starts to write cuts that are stored. The controller reports those that were abandoned.
func (l *lead) takeCuts() {
	for i := range l.fx.Cuts {
		c, s := &l.fx.Cuts[i], &l.saving
		if c.Reason != "" || s.note == nil || l.scribe == nil {
			l.cutOver(time.Time{})
			continue
		}
		m := *s.note
		m.CutDone = coord.CutDone{Saved: c.Saved, Shards: c.Shards}
		// after the stop that gather has reported: a process that resumes from the cut finds in the log what counts up
		// to it
		l.reporter.say(func() { l.scribe.publish(&m) })
	}
}

// cutOver settles when the next is due.
func (l *lead) cutOver(began time.Time) {
	s := &l.saving
	if s.note = nil; l.scribe == nil {
		return
	}
	now := time.Now()
	if !began.IsZero() {
		s.early = now.Add(earlyCostMost * now.Sub(began))
		if l.scribe.cuts.Every == 0 {
			s.every = Interval(now.Sub(began), len(l.members))
		}
	}
	s.due = now.Add(s.every)
}

// takeWritten handles the message that a manifest is written, or cannot be.
func (l *lead) takeWritten(w *written) {
	if w.err != nil {
		l.shell.CutLost(w.commit, w.err.Error(), &l.fx)
		return
	}
	l.shell.CutKept(w.commit, &l.fx)
	l.saving.safe = w.commit
	if s := &l.saving; s.at.Commit == w.commit {
		s.last, s.there, s.bytes = s.at, time.Now(), w.bytes
	}
	took := time.Since(w.began)
	l.cutOver(w.began)
	if w.trouble != nil {
		l.notice("what the last checkpoint makes needless is still there: " + w.trouble.Error())
	}
	if tell := l.scribe.cuts.OnCut; tell != nil {
		c := Checkpoint{Commit: w.commit, Written: w.bytes, Within: took, Every: l.saving.every}
		l.reporter.say(func() { tell(c) })
	}
}
