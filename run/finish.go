package run

import (
	"encoding/json"
	"errors"

	"bellows"
	"bellows/run/event"
)

// End is what a command prints after its finished run. The record has it from the moment when the run is finished, so
// that it can be printed for a process that was killed too early (Finish).
type End struct {
	Event event.Event     `json:"event"` // as the log is to have it, with no number yet
	Last  json.RawMessage `json:"last"`  // the last line of train --json
}

// Finish completes a finished run whose process was killed: it removes the checkpoints, and logs that the run has
// finished. It returns that event, and the last line, which is nil if an older version has kept none.
func Finish(dir string) (finished event.Event, last json.RawMessage, err error) {
	f, err := open(dir)
	if err != nil {
		return finished, nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r := readRecord(dir)
	if r == nil || r.State != done {
		return finished, nil, bellows.Errorf(bellows.BadData, "finish run", dir, "its record does not say that it has finished")
	}
	f.record, f.begun = *r, true
	if err := f.end(done, nil); err != nil || r.End == nil {
		return finished, nil, err
	}
	if f.Log, err = event.OpenLog(dir, true); err != nil {
		return finished, nil, err
	}
	if finished = f.Log.Last(); finished.Kind == event.Finished {
		return finished, r.End.Last, nil
	}
	if err = f.Log.Begin(); err == nil {
		finished, err = f.Log.Append(r.End.Event)
	}
	return finished, r.End.Last, err
}
