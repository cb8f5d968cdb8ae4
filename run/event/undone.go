package event

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"bellows/figures"
	"bellows/node"
)

// Unknown is the number of lost units, and of seconds, if no process that knew it is left: never 0, which would mean
// that nothing is lost.
const Unknown = -1

// Undone says what the loss of nodes has cost. goesOn: the run had resumed from a checkpoint.
func Undone(since node.Since, goesOn bool) string {
	from := "the last checkpoint"
	if since.Commit == 0 && !goesOn {
		from = "the beginning, without a checkpoint yet,"
	}
	if since.Units < 0 {
		return fmt.Sprintf("work since %s is lost, the amount is unknown", from)
	}
	return fmt.Sprintf("work since %s is lost: %s, %s s", from, figures.Plural(int(since.Units), "unit"), figures.Duration(since.Trained.Seconds()))
}

// ToldSince returns what the log in a run's folder has of its last attempt after one of its records, 0 for the
// attempt's beginning: the units that had counted, and the time until the last event. It is a lower bound for the cost
// of that attempt's end: work after the last such event is in no file. known is false if the log has nothing.
//
// A passage counts as one unit for each of its clocks.
func ToldSince(folder string, record uint64) (units int64, took time.Duration, known bool) {
	f, err := os.Open(filepath.Join(folder, File))
	if err != nil {
		return 0, 0, false
	}
	defer f.Close()
	var begun, last time.Time
	lines := bufio.NewReader(f)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			if !errors.Is(err, io.EOF) {
				return 0, 0, false
			}
			break
		}
		var e struct {
			Kind    Kind
			Time    time.Time
			Stop    bool
			Records [2]uint64
			Visits  []Passage
		}
		if json.Unmarshal(line, &e) != nil {
			continue // its last line, or a damaged one
		}
		switch e.Kind {
		case Started, Resumed, RolledBack:
			units, begun = 0, time.Time{}
		case Joined:
			begun = e.Time
		case Visited:
			for _, p := range e.Visits {
				units += int64(p[2] - p[1] + 1)
			}
			if e.Stop && e.Records[1] <= record {
				units, begun = 0, e.Time
			}
		}
		if last = e.Time; begun.IsZero() {
			begun = last
		}
	}
	return units, last.Sub(begun), units > 0
}
