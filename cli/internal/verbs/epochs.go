package verbs

import (
	"fmt"
	"math"
	"strings"

	"bellows/api"
	"bellows/cli/internal/event"
	"bellows/cli/internal/figures"
	"bellows/cli/internal/screen"
	"bellows/node"
	"bellows/train"
)

// epochs makes of what the runtime says of an epoch a line of the table, an event, and the board's figures.
//
// The runtime counts from the start of the run for items and epochs, resumed parts included, but time from the start of this
// process: what an epoch took is the difference to the one before, and before is added where the run is meant. The first epoch after
// a resume has none before it to subtract: its items are those of any epoch. One goroutine at a time uses it: the runtime's until the job has
// ended, then the command's.
type epochs struct {
	journal *journal
	members string  // how many do what
	before  float64 // seconds of training that led to the image which the run goes on from
	items   int64   // of one epoch

	last  train.Epoch // that was reported
	spent node.Spent  // up to it
	wait  float64     // share of the slots' time, as last known
}

// add shows an epoch. The runtime calls it in order.
func (p *epochs) add(e train.Epoch, so node.Spent) {
	seconds := (so.Trained - p.spent.Trained).Seconds()
	slots := so.Slots.Since(&p.spent.Slots)
	if slots.Total() > 0 { // else an epoch shorter than nodes report
		p.wait = slots.Waited()
	}
	items := e.Items - p.last.Items
	if p.last.Items == 0 && e.Number > 1 {
		items = p.items // the first epoch after a resume
	}
	p.spent, p.last = so, e
	row := screen.Row{
		Epoch: e, Seconds: p.before + so.Trained.Seconds(), Rate: float64(items) / seconds, Wait: p.wait, Members: p.members,
	}
	p.journal.table.Add(row)
	metrics := finiteMetrics(e.Metrics)
	p.journal.board.Epoch(e.Number, metrics)
	var parts []string
	for _, m := range e.Metrics {
		parts = append(parts, fmt.Sprintf("%s %.4f", figures.Metric(m.Name), m.Value))
	}
	reached := &event.Figures{Metrics: metrics, Seconds: row.Seconds, Examples: e.Items, Phases: api.Phases(&slots)}
	if finite(row.Rate) {
		reached.ExamplesPerSecond = row.Rate
	}
	p.journal.tell(event.Event{Kind: event.Epoch, Epoch: new(e.Number), Figures: reached,
		Sentence: fmt.Sprintf("epoch %d: %s, after %s s", e.Number, strings.Join(parts, ", "), figures.Duration(row.Seconds))})
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// finiteMetrics is the metrics that JSON can hold.
func finiteMetrics(metrics []train.Metric) map[string]float64 {
	out := map[string]float64{}
	for _, m := range metrics {
		if finite(m.Value) {
			out[m.Name] = m.Value
		}
	}
	return out
}
