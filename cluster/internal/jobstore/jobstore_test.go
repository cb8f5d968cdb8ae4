package jobstore

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"bellows/cluster"
)

// FuzzEntry reads what a registry has of a job: what is taken can be written, and is read as the same again.
func FuzzEntry(f *testing.F) {
	whole := Job{Number: 7, Request: cluster.Submission{App: "mf", Word: "bellows", Args: []string{"train", "mf", "x"}, Dir: "/"}, State: cluster.Running, Run: "runs/mf-1", Submitted: time.Unix(1, 0).UTC(),
		Order: "ABC234", Term: 2, InRow: 1, Checkpoint: &cluster.Checkpoint{Era: 1, Commit: 9}, Recoveries: []cluster.Recovery{{Died: "node 1"}}}
	text, err := json.Marshal(whole)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(JobKey(7), text)
	f.Add(JobKey(8), text)
	f.Add(JobKey(1), []byte(`{"number":1,"state":"queued","term":-1}`))
	f.Add("jobs/1", []byte(`{"number":1,"state":"gone","order":"../x"}`))
	f.Fuzz(func(t *testing.T, key string, value []byte) {
		r, err := Decode(key, value)
		if err != nil {
			return
		}
		if key != JobKey(r.Number) || r.Term < 0 || strings.ContainsAny(r.Order, "/.") {
			t.Fatalf("%q: %+v", key, r)
		}
		again, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		o, err := Decode(key, again)
		if err != nil {
			t.Fatal(err)
		}
		if twice, err := json.Marshal(o); err != nil || string(twice) != string(again) {
			t.Fatalf("%s is read as %s, %v", again, twice, err)
		}
	})
}
