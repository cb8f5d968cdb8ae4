package run

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"bellows/run/event"
)

// TestFinishedRunReportsLeftovers kills a process when its run is marked as finished: before it drops the checkpoints,
// before it reports the end, or after that.
func TestFinishedRunReportsLeftovers(t *testing.T) {
	t.Parallel()
	for _, said := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "run")
		f, err := Claim(Request{Config: Config{App: "mf"}, Out: dir})
		if err == nil {
			err = f.Begin()
		}
		if err == nil {
			_, err = f.Log.Append(event.Event{Kind: event.Epoch, Sentence: "epoch 1"})
		}
		if err != nil {
			t.Fatal(err)
		}
		cut := filepath.Join(f.place(), "cuts", ".7.part-ABCDEFGHIJKLMNOPQRSTUVWXYZ") // of a writer that was killed
		if err := errors.Join(os.MkdirAll(filepath.Dir(cut), 0o777), os.WriteFile(cut, nil, 0o666)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Finish(dir); err == nil {
			t.Fatal("a run that continues in another process is finished")
		}
		end := End{Event: event.Event{Kind: event.Finished, Node: event.Leader, Sentence: "finished"}, Last: json.RawMessage(`{"app":"mf"}`)}
		f.record.State, f.record.End = done, &end // what Done writes first
		if err := f.record.write(dir); err != nil {
			t.Fatal(err)
		}
		if said {
			if _, err := f.Log.Append(end.Event); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the cleaner may also be killed
			e, last, err := Finish(dir)
			var so struct{ App string }
			if err == nil {
				err = json.Unmarshal(last, &so)
			}
			if err != nil || e.Seq != 2 || e.Kind != event.Finished || e.Sentence != "finished" || so.App != "mf" {
				t.Errorf("said %v: %+v, %s, %v", said, e, last, err)
			}
		}
		if _, err := os.Stat(f.place()); !os.IsNotExist(err) {
			t.Errorf("said %v: checkpoints are left: %v", said, err)
		}
		log, err := event.OpenLog(dir, true)
		if err != nil || log.Last().Seq != 2 {
			t.Errorf("said %v: the log ends with %+v, %v", said, log.Last(), err)
		}
	}
}
