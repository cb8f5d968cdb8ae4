package verbs

import (
	"context"
	"errors"
	"strings"
	"time"

	"bellows"
	"bellows/cli/internal/event"
	"bellows/cli/internal/line"
	"bellows/cli/internal/run"
	"bellows/node"
)

// rollbacksMost is how many times in a row a run is rolled back with no new checkpoint in between: who loses nodes as often as that does not come forward.
const rollbacksMost = 5

// recovered is how often the run was rolled back, and since when it is.
type recovered struct {
	recoveries []recovery
	inRow      int
	lostAt     time.Time // zero: it trains
}

// recovery is what a loss of nodes has cost, in the last line of `train --json`.
type recovery struct {
	Kind string `json:"kind"` // "rolled-back"
	*event.Rollback
	Seconds float64 `json:"seconds"` // from the loss until the first tasks left; 0: there were none
}

// rollBack prepares another life of a run whose nodes were lost, and reports whether there is to be one: from the last checkpoint, or from the beginning, as the
// same command would go on, with all processes started anew. Who keeps no checkpoints has nothing to go back to, and jobs of a cluster end as before. Those of the life before have ended by now (launch.Processes.Run).
func (t *training) rollBack(ctx context.Context, res *node.Result, lost error) bool {
	if line.KindOf(lost) != bellows.Lost || ctx.Err() != nil || !t.folder.Begun() || res != nil && res.Tables != nil ||
		t.opt.cluster.lead != nil || t.opt.checkpoint == run.NoCheckpoints || len(t.members) < 2 || !t.repeatable() || t.made.Job.Stays != "" {
		return false
	}
	since := node.Since{}
	if res != nil {
		since = res.Since
	}
	if since.Commit > 0 {
		t.inRow = 0
	}
	if t.inRow == rollbacksMost {
		t.Talk("the run was rolled back %d times in a row without a new checkpoint, and is not again", t.inRow)
		return false
	}
	t.inRow++
	t.lostAt = time.Now()
	if err := t.again(ctx, lost, since); err != nil {
		t.Talk("the run cannot be rolled back: %v", err)
		return false
	}
	return true
}

// again goes back to the last checkpoint, says so, and makes the job anew, of data that are read anew.
func (t *training) again(ctx context.Context, lost error, since node.Since) error {
	undone := event.Undone(since, t.folder.Saved != nil)
	if err := t.folder.RollBack(ctx); err != nil {
		return err
	}
	reason, _, _ := strings.Cut(lost.Error(), "\n")
	b := &event.Rollback{Reason: reason, Era: uint32(t.folder.Life), Units: since.Units, Lost: since.Trained.Seconds(), InRow: t.inRow, Out: since.Out}
	if m := t.folder.Saved; m != nil {
		t.saved, b.ToEra, b.ToCommit = t.folder.GoOn(context.Background()), uint32(m.At.Era), uint64(m.At.Commit)
	}
	t.recoveries = append(t.recoveries, recovery{Kind: string(event.RolledBack), Rollback: b})
	t.passed()
	t.journal.tell(event.OfRollback(b, t.folder.Dir, undone, rollbacksMost))
	read := t.inputs.seconds
	err := t.inputs.close()
	t.inputs = inputs{}
	if err = errors.Join(err, t.make(ctx, nil)); err == nil {
		err = t.folder.Same(t.config(t.made.Settings))
	}
	if t.inputs.seconds += read; err != nil {
		return err
	}
	stated := event.OfJob(&t.made.Job, t.counted.Driver, t.saved)
	if t.saved == nil {
		stated = event.Again(stated)
	}
	t.journal.tell(stated)
	t.journal.board.GoesOn(t.folder.Before.Seconds)
	t.epochs = t.life()
	return nil
}

// goesOn notes that the first tasks of a life have left.
func (t *training) goesOn() {
	if n := len(t.recoveries); n > 0 && !t.lostAt.IsZero() {
		t.recoveries[n-1].Seconds, t.lostAt = time.Since(t.lostAt).Seconds(), time.Time{}
	}
}
