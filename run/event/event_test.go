package event

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"bellows"
	"bellows/node"
)

func TestEventIsOneFlatObject(t *testing.T) {
	t.Parallel()
	e := Event{Seq: 3, Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Kind: Interrupted, Node: Leader, Sentence: "a \"b\"", Epoch: new(0)}
	common := `{"seq":3,"time":"2026-01-02T03:04:05Z","kind":"interrupted","node":"node-0","sentence":"a \"b\"","epoch":0`
	for want, of := range map[string]*Figures{
		"}": nil, `,"metrics":{"x":1},"seconds":2,"examples":3,"phases":null}`: {Metrics: map[string]float64{"x": 1}, Seconds: 2, Examples: 3},
	} {
		e.Figures = of
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if string(text) != common+want {
			t.Errorf("the event is\n%s\nnot\n%s", text, common+want)
		}
	}
}

// TestInvalidJSONIsBug appends a figure that JSON cannot hold: it is reported, and later events are kept.
func TestInvalidJSONIsBug(t *testing.T) {
	t.Parallel()
	log, err := OpenLog(t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.Append(Event{Kind: Epoch, Figures: &Figures{Seconds: math.NaN()}}); bellows.KindOf(err) != bellows.Bug {
		t.Errorf("a figure that is not a number: %v", err)
	}
	if e, err := log.Append(Event{Kind: Finished}); err != nil || e.Seq != 2 {
		t.Errorf("the next event: %+v, %v", e, err)
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
}

// TestChangesAreEvents with the fields of their kinds, and no others.
func TestChangesAreEvents(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]node.Change{
		`"kind":"joined","node":"node-3","sentence":"it came","processes":{"node-3":77}}`:                                                      {Kind: node.Joined, Node: 3, Process: 77, Seconds: 1, Sentence: "it came"},
		`"kind":"moved","node":"node-2","sentence":"they went","from":"node-1","splits":[0,4]}`:                                                {Kind: node.Moved, Node: 2, From: 1, Splits: []bellows.SplitID{0, 4}, Sentence: "they went"},
		`"kind":"moved","node":"node-2","sentence":"it went","from":"node-1","table":1,"partition":3,"copied_bytes":4096,"moved_seconds":0.5}`: {Kind: node.Moved, Node: 2, From: 1, Partitions: []bellows.PartitionRef{{Table: 1, Partition: 3}}, Bytes: 4096, Seconds: 0.5, Sentence: "it went"},
		`"kind":"plan","node":"node-0","sentence":"they are to","steps":["move split 1"],"bytes":7,"took_seconds":2}`:                          {Kind: node.Planned, Steps: []string{"move split 1"}, Bytes: 7, Seconds: 2, Sentence: "they are to"},
		`"kind":"left","node":"node-3","sentence":"it went"}`:                                                                                  {Kind: node.Left, Node: 3, Seconds: 1, Sentence: "it went"},
		`"kind":"gone","node":"node-3","sentence":"it died","units":2,"splits":[5]}`:                                                           {Kind: node.Gone, Node: 3, Splits: []bellows.SplitID{5}, Units: 2, Sentence: "it died"},
	} {
		text, err := json.Marshal(FromChange(c))
		if err != nil || !strings.HasSuffix(string(text), want) {
			t.Errorf("%+v is %s, %v, not %s", c, text, err, want)
		}
	}
}
