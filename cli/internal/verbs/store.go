package verbs

import (
	"errors"

	"bellows"
	"bellows/cli/internal/line"
	"bellows/run"
)

// store saves the result of a run: in its folder or, if that cannot be written, on a full disk for example, below the
// first of some other places with room. The result of hours of training is not lost for want of room (full.txtar).
//
// Rejected: waiting for room, which blocks the caller, usually a program; and reserving room when a run begins, which
// does not help if the disk is removed, and which others lack meanwhile.
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

// movedError returns the error of a run that has finished, and whose model is not where it should be.
func (t *training) movedError() error {
	var typed *bellows.Error
	if !errors.As(t.unstored, &typed) {
		typed = &bellows.Error{Kind: bellows.CannotWrite, Op: "save", Err: t.unstored}
	}
	moved := *typed
	moved.Hint = "nothing is lost: the run has finished, and its model is whole in " + t.folder.Dir + ", to be used there or moved"
	return &moved
}
