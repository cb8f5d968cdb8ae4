package verbs

import (
	"fmt"
	"math"
	"strings"

	"bellows/api"
	"bellows/cli/internal/screen"
	"bellows/core/tally"
	"bellows/figures"
	"bellows/node"
	"bellows/progress"
	"bellows/run/event"
	"bellows/train"
)

// epochs turns the runtime's report of an epoch into a line of the table, an event, the board's figures, and the live
// line's text about the next.
//
// The runtime counts items and epochs from the start of the run, resumed parts included, but time from the start of
// this process. The time of an epoch is the difference to the previous one; for the run, before is added. The first
// epoch after a resume has no previous one: only items that this process has visited count for it
// (TestTheFirstEpochAfterAResume). One goroutine at a time uses it: the runtime's until the job has ended, then the
// command's.
type epochs struct {
	*training
	members string  // how many do what
	before  float64 // seconds of training before the image from which the run resumes
	resumed bool    // the run resumes from an image

	last  train.Epoch // that was reported
	spent node.Spent  // up to it
	wait  float64     // share of the slots' time, as last known
	rate  float64     // items a second of the last epoch, 0: unknown
	ends  bool        // the job is interrupted, and finishes what has begun
	live  bool        // another process has seen the beginning of the epoch that ends next: what it took is not known
}

// goOn continues after the last epoch that the replaced process has reported; nil: none.
func (p *epochs) goOn(e *event.Event) {
	p.live = true
	if e == nil || e.Epoch == nil || e.Figures == nil {
		return
	}
	p.last.Number, p.last.Items = *e.Epoch, e.Examples
	for _, name := range p.about.Metrics {
		if v, some := e.Metrics[name]; some {
			p.last.Metrics = append(p.last.Metrics, train.Metric{Name: name, Value: v})
		}
	}
	p.journal.board.Epoch(p.last.Number, e.Metrics)
}

// add shows an epoch. The runtime calls it in order.
func (p *epochs) add(e train.Epoch, so node.Spent) {
	row, told := p.hear(e, so)
	p.journal.table.Add(row)
	p.journal.board.Epoch(e.Number, told.Metrics)
	p.journal.announce(told)
}

// hear returns what the table and the log have of an epoch that has ended.
func (p *epochs) hear(e train.Epoch, so node.Spent) (screen.Row, event.Event) {
	seconds := (so.Trained - p.spent.Trained).Seconds()
	slots := so.Slots.Since(&p.spent.Slots)
	if p.live {
		slots = tally.Spent{}
	}
	if slots.Total() > 0 { // else an epoch shorter than nodes report
		p.wait = slots.Waited()
	}
	items := e.Items - p.last.Items
	if p.resumed && p.last.Number == 0 {
		items = p.counted.First()
	}
	rate := math.NaN()
	if items > 0 && seconds > 0 && !p.live {
		rate = float64(items) / seconds
		p.rate = rate
	}
	p.spent, p.last, p.live = so, e, false
	p.follow()
	row := screen.Row{Epoch: e, Seconds: p.before + so.Trained.Seconds(), Rate: rate, Wait: p.wait, Members: p.members}
	metrics := finiteMetrics(e.Metrics)
	var parts []string
	for _, m := range e.Metrics {
		parts = append(parts, figures.Metric(m.Name)+" "+figures.Value(m.Name, m.Value))
	}
	reached := &event.Figures{Metrics: metrics, Seconds: row.Seconds, Examples: e.Items, Phases: api.Phases(&slots)}
	if finite(rate) {
		reached.ExamplesPerSecond = rate
	}
	return row, event.Event{Kind: event.Epoch, Epoch: new(e.Number), Figures: reached,
		Sentence: fmt.Sprintf("epoch %d: %s, after %s s", e.Number, strings.Join(parts, ", "), figures.Duration(row.Seconds))}
}

// follow tells the live line what comes after the last epoch, and how long all may take that are left: by the items so far, since what is
// visited before the first epoch belongs to none.
func (p *epochs) follow() {
	if p.ends {
		return
	}
	next := progress.Part{Doing: "training", Unit: p.about.Unit, Total: p.made.Items}
	if p.last.Number > 0 || !p.resumed {
		next.Doing = fmt.Sprintf("epoch %d", p.last.Number+1)
		next.Doing += p.ofAll()
	}
	if p.last.Number == 0 && !p.resumed {
		next.Total += p.made.Before
	}
	p.stages.Meter.Begin(next)
	outlook := ""
	if left := p.total() - p.last.Number; left > 1 && p.last.Items > 0 {
		outlook = fmt.Sprintf("%s for all", figures.Remaining((p.before+p.spent.Trained.Seconds())/float64(p.last.Items)*float64(p.made.Items)*float64(left)))
	}
	p.stages.Live.Outlook(outlook)
}

// stop tells the live line what is finished of an interrupted job, and how long it may take by what epochs took; and then that its tables are
// collected, which takes as long as copying them.
func (p *epochs) stop(left int) {
	if p.ends && left == 0 {
		p.stages.Live.Outlook("then saving")
		p.stages.Meter.Begin(progress.Part{Doing: "collecting the tables"})
		return
	}
	p.ends = true
	p.stages.Live.Turn("Ctrl-C stops at once")
	p.stages.Meter.Begin(progress.Part{Doing: "finishing what has begun", Unit: p.about.Unit, Total: int64(left)})
	if left > 0 && p.rate > 0 {
		outlook := "about " + figures.Remaining(float64(left)/p.rate) + " in all"
		if !p.stages.Lost {
			outlook += ", then saving"
		}
		p.stages.Live.Outlook(outlook)
	}
}

// total returns how many epochs the run takes: the configured number, else the application's current estimate; 0:
// unknown.
func (p *epochs) total() int {
	if p.last.Number == 0 && p.opt.epochs == 0 && p.made != nil {
		return p.made.Expected
	}
	return max(p.opt.epochs, p.last.Expected)
}

// ofAll returns the total in words, to follow the number of an epoch.
func (p *epochs) ofAll() string {
	switch n := p.total(); {
	case n == 0:
		return ""
	case p.opt.epochs == 0:
		return fmt.Sprintf(" of about %d", n)
	default:
		return fmt.Sprintf(" of %d", n)
	}
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// finiteMetrics returns the metrics that JSON can hold.
func finiteMetrics(metrics []train.Metric) map[string]float64 {
	out := map[string]float64{}
	for _, m := range metrics {
		if finite(m.Value) {
			out[m.Name] = m.Value
		}
	}
	return out
}
