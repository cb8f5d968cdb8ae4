package train

import (
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"bellows"
	"bellows/core/client"
	"bellows/core/slots"
	"bellows/core/tally"
	"bellows/link/wire"
	"bellows/table"
)

// A Runner runs a node's tasks on a fixed number of compute slots. It is the shell of one client: Step passes arriving
// messages to the client, and messages that a step sends are enqueued before the lock is released, so that messages
// leave in the order of steps.
//
// A task asks its client on its own goroutine: lock, ask, unlock, and then, if it must wait, Bus.Drain, which may run
// the lane that is asked in this very process (docs/2-goroutines-and-locks.md). So on few cores a question is answered
// without waking another goroutine. Only then does the task give its slot away (wait).
//
// Invariants:
//   - The client is entered only under mu. mu is held no longer than a step: not while a task computes, nor while a
//     message is written (docs/2-goroutines-and-locks.md).
//   - A task computes with a slot, and at most as many compute as there are slots (TestSlotsAreConserved, P9 of the
//     simulation); a waiting task has none (TestWaitingTaskReleasesSlot).
//   - Every message that a step sends is enqueued (TestStepMessagesAreEnqueued).
//   - A split may arrive while the job runs, and leave while none of its work is in progress: its first task here makes
//     its executor (splits).
//   - A task that asks or waits after the job has ended is unwound, by a panic that call recovers
//     (TestAskAfterEndUnwinds, TestWaitAtEndUnwinds): an application need not check for the end.
type Runner struct {
	mu       sync.Mutex // guards client
	client   *client.Client
	tables   []table.Schema
	bus      Bus
	notice   func(string)
	tasks    []*Task // by split; nil: it is not here
	splits   splits
	pool     pool
	turns    Turns // nil: the slots run tasks
	effects  sync.Pool
	phases   phases
	fill     func(*wire.Report) // nil: no reports are sent
	route    wire.Envelope      // the addresses of reports
	reported time.Time          // time of the last report; under mu
	items    int64              // visited by tasks that have run to their end; under mu
	ended    chan struct{}
	endOnce  sync.Once
}

// Bus sends a runner's messages. Enqueue, called under the lock that orders the client's steps, only queues them.
// Drain, called without the lock, may run their receivers. Leave has another goroutine run them, because the timer's
// goroutine must not be delayed.
type Bus interface {
	Enqueue(out *wire.Outbox)
	Drain()
	Leave()
}

// NewRunner makes the runner of a client and the executors of the splits that are active on its node. notice receives
// sentences about long waits.
func NewRunner(c *client.Client, job *Job, active []bellows.SplitID, slotCount int, bus Bus,
	notice func(string)) (*Runner, error) {
	r := &Runner{client: c, tables: job.Tables, bus: bus, notice: notice, tasks: make([]*Task, job.Splits),
		splits: newSplits(job), ended: make(chan struct{})}
	r.effects.New = func() any { return new(client.Effects) }
	r.pool.scheduler, r.pool.tasks, r.pool.run = slots.New(slotCount, job.Splits), r.tasks, r.run
	r.phases.meter, r.phases.base = tally.NewMeter(slotCount), time.Now()
	return r, r.splits.begin(active)
}

// Share makes the runner yield processors as soon as it has no work. It is called before the first task, if other
// processes of the job compute on the same machine.
func (r *Runner) Share() { r.pool.shared = true }

// Step passes messages to the client and enqueues what it sends.
func (r *Runner) Step(batch []wire.Envelope) {
	fx := r.lock()
	for _, e := range batch {
		r.client.Deliver(e, fx)
	}
	r.unlock(fx)
}

// Tick tells the client the time, in milliseconds of any monotonic clock.
func (r *Runner) Tick(nowMillis int64) {
	fx := r.lock()
	split, millis, computes := r.pool.longest(r.client.Tick(nowMillis, fx))
	if computes && r.turns == nil {
		r.client.Computes(split, millis, fx)
	}
	r.unlock(fx)
	r.bus.Leave()
}

// lock enters the client and returns effects for the step to fill.
func (r *Runner) lock() *client.Effects {
	fx := r.effects.Get().(*client.Effects)
	r.mu.Lock()
	return fx
}

// unlock leaves the client and carries out its effects. Messages are enqueued before another step can begin, so that
// they keep their order.
func (r *Runner) unlock(fx *client.Effects) {
	for _, s := range fx.Left { // before the end: Close waits for all that have left
		r.tasks[s] = nil
		r.splits.leave(s)
	}
	if fx.Ended != nil { // before the last message leaves: its receiver may release this node
		r.endOnce.Do(func() { close(r.ended) })
	}
	r.phases.follow(r.client, fx.Ended != nil)
	r.report(fx)
	r.bus.Enqueue(&fx.Outbox)
	for _, t := range fx.Run {
		s := t.Unit.Split
		if r.tasks[s] == nil {
			r.tasks[s] = &Task{runner: r, split: s, ready: make(chan struct{}, 1)}
		}
		r.tasks[s].core = t
	}
	r.mu.Unlock()
	for _, t := range fx.Run {
		r.begin(r.tasks[t.Unit.Split])
	}
	for _, t := range fx.Wake {
		r.wake(r.tasks[t.Unit.Split])
	}
	for _, n := range fx.Notices {
		r.notice(n)
	}
	fx.Reset()
	r.effects.Put(fx)
}

// read asks the client for rows and reports whether they are there; if not, the task must wait. A task that holds a
// lease must not wait, unless none of those that it would wait for can wait for the lease.
func (r *Runner) read(t *Task, question func(*client.Effects) bool) bool {
	fx := r.lock()
	r.checkEnded(fx)
	if question(fx) {
		return r.leave(true, nil, fx)
	}
	return r.leave(false, r.client.MayWait(t.core), fx)
}

// lease asks the client for a lease and reports whether the task has it; if not, it must wait.
func (r *Runner) lease(t *Task, ref bellows.PartitionRef, mode Mode) bool {
	fx := r.lock()
	r.checkEnded(fx)
	ok, err := r.client.Lease(t.core, ref, mode, fx)
	return r.leave(ok, err, fx)
}

// prefetch asks the client for rows without waiting.
func (r *Runner) prefetch(question func(*client.Effects)) {
	fx := r.lock()
	r.checkEnded(fx)
	question(fx)
	r.unlock(fx)
	r.bus.Drain()
}

// leave leaves the client after a question. An error ends the task. If it is not answered yet, leave delivers what the
// task has sent, which may bring it.
func (r *Runner) leave(answered bool, err error, fx *client.Effects) bool {
	r.unlock(fx)
	if err != nil {
		panic(err)
	}
	if !answered {
		r.bus.Drain()
	}
	return answered
}

// checkEnded unwinds the task if the job has ended.
func (r *Runner) checkEnded(fx *client.Effects) {
	if r.client.Ended() != nil {
		r.unlock(fx)
		panic(unwound{})
	}
}

// wait gives the task's compute slot away until the task is woken and has a slot again (Litz §4). If the actors that
// the task has just run have woken it, it keeps the slot, and their steps count as computing. Most leases within a
// process are answered in this way, and reading the clock twice more would take a tenth of their time.
func (r *Runner) wait(t *Task) {
	if r.turns == nil && r.pool.retry(t) {
		return
	}
	r.phases.compute(-1)
	defer r.phases.compute(1)
	if r.turns != nil {
		r.turns.Wait(t)
		return
	}
	r.pool.park(t)
}

// run runs one task to its end, on the goroutine that has its slot. An unwound task is not finished: the client knows
// of the end and counts nothing more.
func (r *Runner) run(t *Task) {
	t.result = t.result[:0]
	select {
	case <-r.ended:
		return
	default:
	}
	r.phases.compute(1)
	t.active.Store(true)
	err := r.call(t)
	t.active.Store(false)
	r.phases.compute(-1)
	if err == errUnwound {
		return
	}
	t.enter(Ask{Kind: AskEnd})
	fx := r.lock()
	if err == nil {
		r.items += int64(t.core.Unit.Items.Len())
	}
	r.client.Finish(t.core, t.result, err, fx)
	r.unlock(fx)
	r.bus.Drain()
	t.leave()
}

// errUnwound is the error that call returns for an unwound task.
var errUnwound = fmt.Errorf("unwound")

// call runs an executor. A panic of the application becomes an error, which ends the job, not the process.
func (r *Runner) call(t *Task) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case unwound:
			err = errUnwound
		case error:
			err = fmt.Errorf("%w\n%s", p, debug.Stack())
		default:
			err = fmt.Errorf("%v\n%s", p, debug.Stack())
		}
	}()
	e, err := r.splits.executor(t.Split())
	if err != nil {
		return err
	}
	return e.RunTask(t)
}

// Unfinished returns the units of the tasks that executors are running.
func (r *Runner) Unfinished() (list []bellows.Unit) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for s, t := range r.tasks {
		if t != nil && t.active.Load() {
			list = append(list, r.client.Unit(bellows.SplitID(s)))
		}
	}
	return list
}

// Ended returns a channel that is closed when the client knows that the job has ended.
func (r *Runner) Ended() <-chan struct{} { return r.ended }

// Removed reports whether the client has left the job while the job continues. It is called after Ended is closed.
func (r *Runner) Removed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.client.Removed()
}

// Close waits until no task runs, closes the executors that are io.Closers, and calls the job's Ended. The job must
// have ended.
func (r *Runner) Close() error {
	<-r.ended
	r.pool.close()
	err := r.splits.close()
	if ended := r.splits.job.Ended; ended != nil {
		ended()
	}
	return err
}
