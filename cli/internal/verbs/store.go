package verbs

import (
	"errors"

	"bellows"
	"bellows/cli/internal/line"
	"bellows/run"
)

// store stores what a run has trained: in its folder or, where that cannot be written, since its disk is full say, below the first of some
// other places in which there is room. What took hours to train is not lost for want of room (full.txtar).
//
// Turned down: to wait for room, which keeps whoever started the command waiting too, most of them programs; and to reserve room when a run begins,
// which does not help against a disk that is taken away, and which others miss meanwhile.
func (t *training) store(write func() error) error {
	err := write()
	if err == nil || t.unstored != nil {
		return err
	}
	if kind := line.KindOf(err); kind != bellows.CannotWrite && kind != bellows.IO {
		return err
	}
	own := t.folder.Dir
	for _, place := range run.Places() {
		if t.folder.Elsewhere(place) != nil {
			continue
		}
		if write() == nil {
			t.unstored = err
			return nil
		}
		if failed := t.folder.RestoreFolder(own); failed != nil {
			return errors.Join(err, failed)
		}
	}
	return err
}

// movedError returns how a run ends that has finished, and whose model is not where it should be.
func (t *training) movedError() error {
	var typed *bellows.Error
	if !errors.As(t.unstored, &typed) {
		typed = &bellows.Error{Kind: bellows.CannotWrite, Op: "save", Err: t.unstored}
	}
	moved := *typed
	moved.Hint = "nothing is lost: the run has finished, and its model is whole in " + t.folder.Dir + ", to be used there or moved"
	return &moved
}
