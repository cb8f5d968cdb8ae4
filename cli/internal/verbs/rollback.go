package verbs

import (
	"context"
	"errors"
	"fmt"

	"bellows"
	"bellows/cli/internal/line"
	"bellows/cli/internal/processes"
	"bellows/cluster/recovery"
	"bellows/figures"
	"bellows/node"
	"bellows/node/launch"
	"bellows/run"
	"bellows/run/event"
)

// rollBack prepares another attempt of a run that lost nodes, and reports whether there is to be one: from the last
// checkpoint, or from the beginning, as the same command would resume it. All processes start anew, in a cluster at the
// nodes that it has now. A run without checkpoints has nothing to go back to. The processes of the last attempt have
// ended by now (launch.Processes.Run).
func (t *training) rollBack(ctx context.Context, res *node.Result, lost error) bool {
	if line.KindOf(lost) != bellows.Lost || ctx.Err() != nil || !t.folder.Begun() && len(t.Recoveries) == 0 || res != nil && res.Tables != nil ||
		t.opt.checkpoint == run.NoCheckpoints || len(t.members) < 2 || !t.repeatable() || t.made.Job.Stays != "" {
		return false
	}
	since := t.Undone()
	if res != nil {
		since = res.Since
	}
	if !t.CanRollBack(since) {
		t.Talk("the run gives up: it was rolled back %d times in a row without a new checkpoint", t.InRow)
		return false
	}
	if err := t.again(ctx, lost, since); err != nil {
		t.Talk("the run cannot be rolled back: %v", err)
		return false
	}
	return true
}

// again goes back to the last checkpoint, reports that, and makes the job anew, of data that are read again.
func (t *training) again(ctx context.Context, lost error, since node.Since) error {
	err := t.folder.RollBack(ctx)
	if err == nil {
		err = t.refit(ctx)
	}
	if err != nil {
		return err
	}
	if t.folder.Saved != nil {
		t.saved = t.folder.GoOn(context.Background())
	}
	e := t.RolledBack(t.folder, t.Cause(launch.Sentence(lost)), t.anew(), since)
	t.passed()
	t.journal.announce(e)
	read := t.inputs.seconds
	err = t.inputs.close()
	t.inputs = inputs{}
	if err = errors.Join(err, t.make(ctx, nil)); err == nil {
		err = t.folder.Same(t.config(ctx, t.made.Settings))
	}
	if t.inputs.seconds += read; err != nil {
		return err
	}
	stated := event.OfJob(&t.made.Job, t.counted.Driver, t.saved)
	if t.saved == nil {
		stated = event.Again(stated)
	}
	t.journal.announce(stated)
	t.journal.board.GoesOn(t.folder.Before.Seconds)
	recovery.ShowCheckpoint(t.journal.board, t.folder)
	t.epochs = t.life()
	return nil
}

// refit takes the nodes that the cluster has now. The number of compute slots may change, but not above what makes other splits.
func (t *training) refit(ctx context.Context) (err error) {
	l := t.Lead
	if l == nil {
		return nil
	}
	if err := l.Renew(ctx, t.most, t.Talk); err != nil {
		return err
	}
	t.slots = l.Slots()
	t.members, err = t.opt.cluster.Members(t.slots, t.opt.workers)
	return err
}

// anew returns the words for what replaces lost processes.
func (t *training) anew() string {
	if t.Lead == nil {
		return "processes that are started anew"
	}
	return fmt.Sprintf("processes that are started anew at %s of the cluster", figures.Plural(processes.Count(t.members).Processes, "node"))
}

// takeUp tells that an unfinished run is taken up: by the same command, or in the place of a process of the cluster that was lost.
func (t *training) takeUp() {
	t.passed()
	e, lost := t.Takeover(t.folder)
	if !lost {
		e = event.Event{Kind: event.Resumed, Model: t.folder.Dir, Sentence: t.resumedSentence()}
	}
	t.journal.announce(e)
}
