package lab

import (
	"time"

	"bellows/policy/advise"
	"bellows/policy/gauge"
	"bellows/policy/reshape"
)

// Advised is a decision of the job about its shape.
type Advised struct {
	advise.Advice
	At   time.Duration
	Done time.Duration // when the job had the other shape; 0: it has not
	Err  string        // why it has not
}

type advising struct {
	advise.Advisor
	told  chan error // of the clocks that it waits for
	list  []Advised
	asks  bool          // it asks for a shape now
	asked reshape.AskID // the last shape that it has asked for
}

// advise lets the job look at its figures when enough clocks have passed in one shape.
func (w *world) advise() {
	if w.cfg.Choose == nil {
		return
	}
	a := &w.advising
	if a.told == nil {
		a.Ask, a.told = *w.cfg.Choose, make(chan error, 1)
		w.feed.Await(gauge.ClocksLeast, a.told)
	}
	if w.changing() {
		return
	}
	select {
	case err := <-a.told:
		if err != nil {
			return // the job is over
		}
	default:
		return
	}
	w.feed.Await(gauge.ClocksLeast, a.told)
	m, err := w.feed.Moment(measured{w}.Whole())
	if err != nil || m.Clocks < gauge.ClocksLeast {
		return
	}
	d, err := a.Step(&m)
	if err != nil {
		return
	}
	a.list = append(a.list, Advised{Advice: d, At: w.elapsed()})
	if d.Change {
		policy := d.Policy(m.Figures)
		w.agenda.After(0, event{what: later, do: func() {
			a.asks = true
			a.asked, _ = w.shaper().Ask(reshape.Ask{Shape: policy})
			a.asks = false
		}})
	}
}

// answered takes the answer to what the job has asked for itself, and reports whether it is one.
func (a *advising) answered(o *reshape.Outcome, now time.Duration) bool {
	if !a.asks && (a.asked == 0 || o.Ask != a.asked) {
		return false
	}
	last := &a.list[len(a.list)-1]
	if last.Err = o.Err; o.Err == "" {
		last.Done = now
	}
	return true
}
