package run

import (
	"encoding/json"
	"errors"

	"bellows"
	"bellows/run/event"
)

// End is what a command tells behind its finished run. The record has it from the moment in which the run is finished, so that whoever finds it so can tell it in the place of a process
// that was killed too early to (Finish).
type End struct {
	Event event.Event     `json:"event"` // as the log is to have it, with no number yet
	Last  json.RawMessage `json:"last"`  // the last line of train --json
}

// Finish does what is left of a finished run whose process was killed: its checkpoints go, and its log says that it has finished. It returns what that says, and the last line, which is nil
// where an older version has kept none.
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
