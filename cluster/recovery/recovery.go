// Package recovery restarts a run after a node or leader failure, counts the restarts, and records what each has cost.
// It exchanges both with the manager of the cluster.
//
// The caller's duties, in order:
//
//  1. In a cluster, Finished reports whether no work is left. Claim returns the run's folder, under the name that the job has, and CheckRunExists refuses
//     a folder that is not the run's.
//  2. Takeover returns the event to record where another process has led the job before this one.
//  3. NotifyManager runs while the job does. Call ReportCheckpoint at each checkpoint, and Resumed when tasks leave.
//  4. After a loss of nodes with their state, CanRollBack reports whether the run may be rolled back once more, and RolledBack records it.
//
// The package does not start or end processes: its caller does.
package recovery

import (
	"context"
	"fmt"
	"time"

	"bellows"
	"bellows/api"
	"bellows/cluster"
	"bellows/cluster/lead"
	"bellows/node"
	"bellows/run"
	"bellows/run/board"
	"bellows/run/event"
)

// Recovery has the restarts of one run in this process. The zero value, with the Lead of a cluster's job, is ready.
//
// The goroutine of the command owns it. Any goroutine may call NotifyManager, ReportCheckpoint and Resumed while the job runs.
type Recovery struct {
	Lead       *lead.Lead // nil: it is no job of a cluster
	Recoveries []Restart
	InRow      int           // with no new checkpoint in between
	lostAt     time.Time     // zero: it trains
	goesOn     *goingOn      // its nodes have continued since another process led; nil: they have not
	cut        chan struct{} // has room for one: the manager must be notified without delay
}

// Restart is the cost of one failure, in the last line of `train --json`.
type Restart struct {
	Kind string `json:"kind"` // "rolled-back", or "taken-over"
	*event.Rollback
	Seconds float64 `json:"seconds"` // from the loss until the first tasks left; 0: none
}

// Finished reports whether a job had finished before the process that led it was lost. Then its model is there.
func Finished(l *lead.Lead) bool {
	if l.Term < 2 || l.Run == "" {
		return false
	}
	p, err := run.Look(l.Run)
	return err == nil && p.Finished && p.Order == l.Order
}

// Order asks for the folder of a cluster's job, by its name and where another process has begun it.
func (v *Recovery) Order(req *run.Request) {
	v.cut = make(chan struct{}, 1)
	l := v.Lead
	if l == nil {
		return
	}
	req.Order, v.InRow = l.Order, l.InRow
	if s := l.Follows(); s != nil {
		req.Follow, req.Era = s.Saved(), s.Era()
	}
	if l.Term > 1 && l.Run != "" {
		req.Out = l.Run
	}
}

// CheckRunExists returns an error if the job made progress but its run folder is gone, or has no checkpoint to resume from.
func (v *Recovery) CheckRunExists(f *run.Folder, kept bool) error {
	l := v.Lead
	switch {
	case l == nil || l.Died == nil || f.Saved != nil || f.Live:
		return nil
	case !kept:
		return bellows.Errorf(bellows.Lost, "resume", fmt.Sprintf("job %d", l.Job), "%s, and it keeps no checkpoints", l.Died.Died).Hinted("repeat the command without --checkpoint none to start over")
	case l.Checkpoint == nil || f.Resumed:
		return nil
	}
	return bellows.Errorf(bellows.NoInput, "resume", fmt.Sprintf("job %d", l.Job), "its run is no longer in %s, and had a checkpoint at record %d", l.Run, l.Checkpoint.Commit).
		Hinted("bring the folder back and give the command again, or submit it again to start over")
}

// Takeover returns the event of a job of a cluster that this process leads in the place of one that was lost; ok: it is such a one, and was not interrupted at a safe point.
func (v *Recovery) Takeover(f *run.Folder) (e event.Event, ok bool) {
	l := v.Lead
	if l == nil || l.Died == nil || f.Orderly {
		return e, false
	}
	d := v.cost(f)
	b := &event.Rollback{Reason: d.Died, NoticedBy: d.NoticedBy, TookOver: d.TookOver, Units: d.Units, Lost: d.Seconds, InRow: max(1, v.InRow)}
	v.lostAt = d.Time
	if f.Live {
		v.goesOn.is = true
		return v.followed(b, f), true
	}
	if f.Apart != nil {
		b.Reason, b.Units, b.Lost = v.leaderLost(f.Apart.Error()), l.Following.Units, l.Following.Seconds
	}
	return v.event(b, f, node.Since{Units: b.Units, Trained: trained(b.Lost)}), true
}

// cost returns the death of the previous leader. If no remaining process knows the lost work, it comes from the run's
// log, and the manager receives it.
func (v *Recovery) cost(f *run.Folder) *cluster.Recovery {
	d := *v.Lead.Died
	d.Died = v.Lead.Names.Job(d.Died)
	if d.Units >= 0 {
		return &d
	}
	record := uint64(0)
	if m := f.Saved; m != nil && m.At.Era+1 == f.Life { // of the life before this one
		record = uint64(m.At.Commit)
	}
	units, took, known := event.ToldSince(f.Dir, record)
	if !known {
		d.Units, d.Seconds = event.Unknown, event.Unknown
		return &d
	}
	d.Units, d.Seconds = units, took.Seconds()
	v.Lead.HowFar(cluster.Progress{Cost: &cluster.Cost{Units: d.Units, Seconds: d.Seconds}})
	return &d
}

// event completes what is said of a rollback, and keeps it.
func (v *Recovery) event(b *event.Rollback, f *run.Folder, since node.Since) event.Event {
	b.Era = uint32(f.Life)
	if m := f.Saved; m != nil {
		b.ToEra, b.ToCommit = uint32(m.At.Era), uint64(m.At.Commit)
	}
	v.Recoveries = append(v.Recoveries, Restart{Kind: string(event.RolledBack), Rollback: b})
	return event.OfRollback(b, f.Dir, event.Undone(since, f.Saved != nil), cluster.InRowMost)
}

// CanRollBack reports whether the run may be rolled back once more, after a part of it that ended with since.
func (v *Recovery) CanRollBack(since node.Since) bool {
	if since.Commit > v.firstCut() {
		v.InRow = 0
	}
	if v.InRow >= cluster.InRowMost {
		return false
	}
	v.InRow++
	v.lostAt = time.Now()
	return true
}

// RolledBack returns the event of a rollback to the state of the folder, and notifies the manager of a cluster.
func (v *Recovery) RolledBack(f *run.Folder, reason, tookOver string, since node.Since) event.Event {
	b := &event.Rollback{Reason: reason, NoticedBy: event.Leader, TookOver: tookOver, Units: since.Units, Lost: since.Trained.Seconds(), InRow: v.InRow, Out: since.Out}
	e := v.event(b, f, since)
	if v.Lead != nil {
		v.Lead.HowFar(cluster.Progress{InRow: b.InRow, Recovery: &cluster.Recovery{Time: v.lostAt, Died: v.Lead.Names.Text(b.Reason), NoticedBy: b.NoticedBy,
			Units: b.Units, Seconds: b.Lost, TookOver: b.TookOver, InRow: b.InRow}})
	}
	return e
}

// Resumed records that the first tasks after a restart have left.
func (v *Recovery) Resumed() {
	if n := len(v.Recoveries); n > 0 && !v.lostAt.IsZero() {
		v.Recoveries[n-1].Seconds, v.lostAt = time.Since(v.lostAt).Seconds(), time.Time{}
	}
}

// tellEvery is the interval at which the manager gets the job's progress.
const tellEvery = time.Second

// NotifyManager reports to the manager of a cluster how far the job is, until ctx ends: the work that a death of this process would lose.
func (v *Recovery) NotifyManager(ctx context.Context, b *board.Board) {
	if v.Lead != nil {
		v.notify(ctx, b, v.Lead.HowFar)
	}
}

func (v *Recovery) notify(ctx context.Context, b *board.Board, howFar func(cluster.Progress)) {
	tick := time.NewTicker(tellEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-v.cut:
		}
		s, err := b.Status(ctx)
		c := s.Checkpoint
		if err != nil || c == nil {
			continue
		}
		p := cluster.Progress{Units: c.Units, Seconds: c.Seconds}
		if c.Commit > 0 {
			p.Checkpoint = &cluster.Checkpoint{Era: c.Era, Commit: c.Commit, Bytes: c.Bytes, At: time.Now().Add(-time.Duration(c.Age * float64(time.Second)))}
		}
		howFar(p)
	}
}

// ReportCheckpoint makes NotifyManager report a checkpoint without delay.
func (v *Recovery) ReportCheckpoint() {
	select {
	case v.cut <- struct{}{}:
	default: // it is being told
	}
}

// ShowCheckpoint shows on the board which checkpoint a job resumes from.
func ShowCheckpoint(b *board.Board, f *run.Folder) {
	if m := f.Saved; m != nil {
		b.Saved(&api.Checkpoint{Era: uint32(m.At.Era), Commit: uint64(m.At.Commit), Bytes: m.Bytes()}, m.Time)
		return
	}
	b.Saved(nil, time.Time{})
}

// How long the process that led a job before this one may take to leave its run's folder, and how often that is tried: a manager of another folder, or host, has not seen it end.
const (
	leavesWithin = time.Minute
	tryEvery     = 200 * time.Millisecond
)

// Claim returns the run's folder. If another process has led the job, it waits until that has left the folder, and
// reports the wait.
func (v *Recovery) Claim(ctx context.Context, req run.Request, talk func(format string, args ...any)) (*run.Folder, error) {
	v.Order(&req)
	f, err := run.Claim(req)
	if v.Lead == nil || v.Lead.Term < 2 || !run.Occupied(err) {
		return f, err
	}
	talk("the process that led job %d before is in %s still: it is waited for, %v at most", v.Lead.Job, req.Out, leavesWithin)
	late := time.NewTimer(leavesWithin)
	defer late.Stop()
	tick := time.NewTicker(tryEvery)
	defer tick.Stop()
	for run.Occupied(err) {
		select {
		case <-tick.C:
		case <-late.C:
			return nil, err
		case <-ctx.Done():
			return nil, bellows.Errorf(bellows.Interrupted, "wait for", req.Out, "%w", ctx.Err())
		}
		f, err = run.Claim(req)
	}
	return f, err
}
