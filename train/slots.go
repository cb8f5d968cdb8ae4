package train

import (
	"runtime"
	"sync"
	"time"

	"bellows"
	"bellows/core/slots"
)

// pool is the goroutines that run tasks ("runner" in the docs) as the scheduler of the compute
// slots decides. One holds a slot from the moment it begins a task until it parks in a wait or
// finds nothing more to do.
//
// A task's stack cannot be put aside, so one that waits keeps its goroutine, and another takes its
// slot: there are as many goroutines as tasks have begun and not ended, at most one for each split,
// and those that are left over are used again (TestGoroutinesAreUsedAgain). The goroutine that
// gives a slot away hands it over itself (give): there is no scheduler in between.
type pool struct {
	mu        sync.Mutex // guards scheduler and idle
	scheduler slots.Scheduler
	idle      []chan *Task // goroutines without work
	live      sync.WaitGroup
	tasks     []*Task // by split
	run       func(*Task)
	shared    bool // other processes compute here too
}

// begin lets a task begin as soon as there is a slot for it.
func (p *pool) begin(t *Task) {
	p.mu.Lock()
	p.give(p.scheduler.Begin(t.split))
}

// wake lets a task go on as soon as there is a slot for it.
func (p *pool) wake(t *Task) {
	p.mu.Lock()
	p.give(p.scheduler.Wake(t.split))
}

// park gives the slot of a task, on whose goroutine it is called, to the next, and returns when the
// task has been woken and has a slot again.
func (p *pool) park(t *Task) {
	p.mu.Lock()
	p.give(p.scheduler.Park(t.split))
	<-t.ready
}

// give carries out a turn: lets a task go on, or begin on a goroutine that is idle, or on a new
// one. It unlocks, since whoever is handed a task may come back at once.
func (p *pool) give(turn slots.Turn) {
	if turn.Do == slots.Nothing {
		p.mu.Unlock()
		return
	}
	t := p.tasks[turn.Split]
	switch {
	case turn.Do == slots.Resume:
		p.mu.Unlock()
		t.ready <- struct{}{}
	case len(p.idle) > 0:
		ch := p.idle[len(p.idle)-1]
		p.idle = p.idle[:len(p.idle)-1]
		p.mu.Unlock()
		ch <- t
	default:
		p.live.Add(1)
		p.mu.Unlock()
		go p.loop(t)
	}
}

// loop runs tasks on one goroutine: one after the other while there are any, then idle.
func (p *pool) loop(t *Task) {
	defer p.live.Done()
	mine := make(chan *Task, 1)
	for t != nil {
		p.run(t)
		p.mu.Lock()
		turn := p.scheduler.End(t.split)
		if turn.Do == slots.Begin {
			p.mu.Unlock()
			t = p.tasks[turn.Split]
			continue
		}
		closed := p.scheduler.Closed()
		if !closed {
			p.idle = append(p.idle, mine)
		}
		p.give(turn)
		if closed { // nobody would close mine any more
			return
		}
		t = p.await(mine)
	}
}

// spinMax is how long a goroutine without work looks for some before it sleeps: to wake it takes 50
// µs and more on virtual machines, and most gaps between the tasks of neighbouring clocks are
// shorter. Where other processes have the same processors it would take them away from those that
// have work.
const spinMax = 100 * time.Microsecond

// spinMost is how many looks it takes at most, each of some 200 ns, so that time is over first. Where a test has a clock that stands still while anybody is
// busy, this ends it (TestWhoHasNoWorkSleeps).
const spinMost = 1 << 12

// await is the next task, nil when there will be none.
func (p *pool) await(mine <-chan *Task) *Task {
	began := time.Now()
	for looks := 0; !p.shared && looks < spinMost && time.Since(began) < spinMax; looks++ {
		select {
		case t := <-mine:
			return t
		default:
			runtime.Gosched()
		}
	}
	return <-mine
}

// longest is the split whose task has computed for longest, and for how long, when so much more
// time has passed.
func (p *pool) longest(passedMillis int64) (bellows.SplitID, int64, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.scheduler.Pass(passedMillis)
	return p.scheduler.Longest()
}

// close ends the idle goroutines and waits for the others.
func (p *pool) close() {
	p.mu.Lock()
	p.scheduler.Close()
	for _, ch := range p.idle {
		close(ch)
	}
	p.idle = nil
	p.mu.Unlock()
	p.live.Wait()
}
