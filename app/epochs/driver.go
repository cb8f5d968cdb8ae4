package epochs

import (
	"fmt"
	"math"

	"bellows"
	"bellows/train"
)

// Policy is what an application makes of its epochs. Slices are valid during the call, and what a Policy returns is copied.
type Policy interface {
	// Train appends to args the arguments of a training task: of a split, in a clock of the epoch.
	Train(args []float64, p *Progress, split, clock int) []float64
	// Score takes the sum of the epoch's training results, and returns the arguments of the scoring tasks.
	Score(p *Progress, trained []float64) []float64
	// End judges the epoch that p counts already, by the sums of its training and of its scoring results.
	End(p *Progress, trained, scores []float64) Verdict
	// Save is all that the policy remembers, always as many numbers; Restore is its way back.
	Save() []float64
	Restore(state []float64)
}

// Verdict is what becomes of an epoch.
type Verdict struct {
	Metrics  []train.Metric
	Keep     bool // the job returns the model of this epoch, unless a later one is kept
	Void     bool // the epoch is not reported and may not be kept; whether another follows is for Stop to say
	Stop     bool // the run ends, whatever the ending says
	Expected int  // epochs after which the policy thinks that it will stop the run; 0: it cannot say
}

// Dispatcher is what a driver asks of the controller; a *train.Dispatcher is one.
type Dispatcher interface {
	DispatchTask(split bellows.SplitID, args ...float64)
	ShowEpoch(e train.Epoch)
	Keep()
	Finish()
}

// Results is how many numbers a task signals, at most: a training task, and a scoring task.
type Results struct{ Train, Score int }

// Driver is a train.Driver that runs epochs of jobs whose clocks are not divided (train.Job.Units).
//
// Its stages follow each other: opening (a stage for each opening clock of the layout), then training and scoring
// alternately. A stage ends when all of its tasks have completed.
//
// Invariants: done[s] <= sent[s] <= the clocks of the stage; left counts the tasks of the stage that have not
// completed; no task is out while an epoch is judged. TestTasksOfAPhase holds the first two, the controller the third.
//
// Rejected: a driver in each application. There were three; each ordered, counted, summed, kept and saved on its own,
// and they differed where that was not intended.
type Driver struct {
	Progress
	layout     Layout
	order      Order
	ending     Ending
	policy     Policy
	size       Results
	stage      stage
	opened     int  // opening clocks that are done
	unfinished bool // the run has ended at its limit of epochs
	left       int
	args       []float64 // of scoring tasks
	taskArgs   []float64 // of the last training task: memory to use again
	sent, done []int     // by split: clocks of this stage
	trained    []float64 // by (split, clock)
	scores     []float64 // by split
}

type stage int

const (
	opening stage = iota
	training
	scoring
)

// New returns the driver of a run that has not begun.
func New(l Layout, o Order, e Ending, r Results, c Policy) *Driver {
	return &Driver{
		Progress: Progress{Best: math.Inf(1), Marked: math.Inf(1)}, layout: l, order: o, ending: e, size: r, policy: c,
		sent: make([]int, l.Splits), done: make([]int, l.Splits),
		trained: make([]float64, l.Splits*l.Clocks*r.Train), scores: make([]float64, l.Splits*r.Score),
	}
}

// DispatchInitialTasks implements train.Driver.
func (d *Driver) DispatchInitialTasks(to *train.Dispatcher) { d.Begin(to) }

// HandleTaskCompletion implements train.Driver.
func (d *Driver) HandleTaskCompletion(c train.Completion, to *train.Dispatcher) { d.Complete(c, to) }

// Cycle returns what the clocks are for (visits.Cycler): so many before the first epoch, and so many of each, of
// which the last scores.
func (d *Driver) Cycle() (opens, clocks int) { return d.layout.Opens, d.layout.Clocks + 1 }

// Begin begins the run.
func (d *Driver) Begin(to Dispatcher) {
	if d.layout.Opens > 0 {
		d.enter(opening, to)
		return
	}
	d.enter(training, to)
}

// clocks returns the number of clocks of the stage.
func (d *Driver) clocks() int {
	if d.stage == training {
		return d.layout.Clocks
	}
	return 1
}

// enter begins a stage: clock after clock, the splits that may begin it, in their order.
func (d *Driver) enter(p stage, to Dispatcher) {
	d.stage, d.args = p, nil
	if p == scoring {
		d.args = d.policy.Score(&d.Progress, sum(d.trained, d.size.Train))
	}
	clear(d.sent)
	clear(d.done)
	d.left = d.layout.Splits * d.clocks()
	for moved := true; moved; {
		moved = false
		for s := range d.sent {
			moved = d.release(s, to) || moved
		}
	}
}

// release dispatches a split's next clock of the stage, if there is one and it may go.
func (d *Driver) release(split int, to Dispatcher) bool {
	clock, args := d.sent[split], d.args
	if clock == d.clocks() {
		return false
	}
	if d.stage == training {
		if !d.order.Ready(split, clock, d.done) {
			return false
		}
		d.taskArgs = d.policy.Train(d.taskArgs[:0], &d.Progress, split, clock)
		args = d.taskArgs
	}
	d.sent[split]++
	to.DispatchTask(bellows.SplitID(split), args...)
	return true
}

// Complete stores a result and dispatches what it makes ready.
func (d *Driver) Complete(c train.Completion, to Dispatcher) {
	split := int(c.Split)
	d.left--
	d.done[split]++
	switch d.stage {
	case training:
		copy(d.trained[(split*d.layout.Clocks+d.layout.Place(c.Clock))*d.size.Train:][:d.size.Train], c.Result)
		d.Items += int64(c.Items.Len())
		d.release(split, to)
		if next := d.order.Next(split); next != split {
			d.release(next, to)
		}
	case opening:
		if d.opened > 0 {
			d.Items += int64(c.Items.Len())
		}
	case scoring:
		copy(d.scores[split*d.size.Score:][:d.size.Score], c.Result)
	}
	switch {
	case d.left > 0:
	case d.stage == training:
		d.enter(scoring, to)
	case d.stage == opening:
		d.open(to)
	case d.end(to):
		d.enter(training, to)
	default:
		to.Finish()
	}
}

// open ends an opening clock. Clocks after the first count like visits of epochs: the first makes the items to visit.
func (d *Driver) open(to Dispatcher) {
	if d.opened++; d.opened < d.layout.Opens {
		d.enter(opening, to)
		return
	}
	d.enter(training, to)
}

// end judges an epoch and says whether another follows.
func (d *Driver) end(to Dispatcher) bool {
	d.Epoch++
	v := d.policy.End(&d.Progress, sum(d.trained, d.size.Train), sum(d.scores, d.size.Score))
	if v.Void {
		return !v.Stop
	}
	reached := d.ending.Goal.Reached(v.Metrics)
	impatient := d.ending.EarlyStop && d.Since >= d.ending.Patience
	goes := !v.Stop && !reached && !impatient && d.Epoch < d.ending.Epochs
	d.unfinished = !goes && !v.Stop && !reached && !impatient
	to.ShowEpoch(train.Epoch{Number: d.Epoch, Expected: d.expected(goes, v.Expected), Items: d.Items, Metrics: v.Metrics})
	if v.Keep || reached {
		to.Keep()
	}
	return goes
}

// Doubts returns a warning if the run has ended at the default limit of epochs before it converged. far says
// how far it was from that, in parentheses, or is empty. An earlier driver's end, before a takeover, is not known.
func (d *Driver) Doubts(far, remedy string) []string {
	if !d.unfinished || !d.ending.Chosen {
		return nil
	}
	return []string{fmt.Sprintf("training ended at its limit of %d epochs and had not converged%s; %s", d.ending.Epochs, far, remedy)}
}

// DoubtsOfStopping returns Doubts of a run that stops early by the rows that are held out, and nil of one that does
// not.
func (d *Driver) DoubtsOfStopping() []string {
	if !d.ending.EarlyStop {
		return nil
	}
	return d.Doubts("", "give more with --epochs")
}

// expected returns how many epochs the run will probably take, whether it continues or not, given the policy's own
// estimate. A run that may stop early rarely takes all its epochs, so their number says nothing about it.
func (d *Driver) expected(goes bool, thought int) int {
	switch {
	case !goes:
		return d.Epoch
	case thought > 0:
		return min(max(thought, d.Epoch+1), d.ending.Epochs)
	case d.ending.EarlyStop || d.ending.Goal != nil:
		return 0
	}
	return d.ending.Epochs
}

// sum adds vectors of n numbers up, in their order.
func sum(of []float64, n int) []float64 {
	out := make([]float64, n)
	for ; len(of) > 0; of = of[n:] {
		for i, v := range of[:n] {
			out[i] += v
		}
	}
	return out
}

// stateWords is how many numbers of a state stand before those of the splits.
const stateWords = 7

// Save implements train.Driver.
func (d *Driver) Save() []float64 {
	s := []float64{float64(d.stage), float64(d.Epoch), float64(d.Items), d.Best, d.Marked, float64(d.Since), float64(d.opened)}
	for k := range d.sent {
		s = append(s, float64(d.sent[k]), float64(d.done[k]))
	}
	s = append(s, d.trained...)
	s = append(s, d.scores...)
	return append(s, d.policy.Save()...)
}

// Restore implements train.Driver. It takes what Save gave for the same run.
func (d *Driver) Restore(s []float64) error {
	own := stateWords + 2*len(d.sent) + len(d.trained) + len(d.scores)
	if want := own + len(d.policy.Save()); len(s) != want {
		return bellows.Errorf(bellows.BadData, "restore driver", "epochs", "%d numbers, want %d: the state is of another run", len(s), want)
	}
	if !(s[0] >= 0 && s[0] <= float64(scoring)) || s[0] != math.Trunc(s[0]) {
		return bellows.Errorf(bellows.BadData, "restore driver", "epochs", "there is no stage %v", s[0])
	}
	d.stage, d.Epoch, d.Items = stage(s[0]), int(s[1]), int64(s[2])
	d.Best, d.Marked, d.Since, d.opened = s[3], s[4], int(s[5]), int(s[6])
	d.left = d.layout.Splits * d.clocks()
	for k := range d.sent {
		sent, done := s[stateWords+2*k], s[stateWords+2*k+1]
		if !(0 <= done && done <= sent && sent <= float64(d.clocks())) || done != math.Trunc(done) || sent != math.Trunc(sent) {
			return bellows.Errorf(bellows.BadData, "restore driver", "epochs", "split %d has done %v of %v clocks", k, done, sent)
		}
		d.sent[k], d.done[k] = int(sent), int(done)
		d.left -= d.done[k]
	}
	at := stateWords + 2*len(d.sent)
	at += copy(d.trained, s[at:])
	copy(d.scores, s[at:])
	d.policy.Restore(s[own:])
	return nil
}
