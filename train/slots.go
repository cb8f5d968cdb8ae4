package train

import (
	"runtime"
	"sync"
	"time"

	"bellows"
	"bellows/core/slots"
)

// pool holds the goroutines that run tasks ("runner" in the docs) as the scheduler of the compute slots decides. A
// goroutine holds a slot from the beginning of a task until it parks in a wait or finds nothing more to do.
//
// A task's stack cannot be set aside. So a waiting task keeps its goroutine, and another goroutine takes its slot:
// there are as many goroutines as unfinished tasks, at most one for each split, and idle ones are used again
// (TestGoroutinesAreUsedAgain). The goroutine that gives up a slot hands it over itself (give), without a central
// scheduler.
type pool struct {
	mu        sync.Mutex // guards scheduler and idle
	scheduler slots.Scheduler
	idle      []chan *Task // goroutines without work
	live      sync.WaitGroup
	tasks     []*Task // by split
	run       func(*Task)
	shared    bool // other processes compute on this machine
}

// begin starts a task as soon as there is a slot for it.
func (p *pool) begin(t *Task) {
	p.mu.Lock()
	p.give(p.scheduler.Begin(t.split))
}

// wake continues a task as soon as there is a slot for it.
func (p *pool) wake(t *Task) {
	p.mu.Lock()
	p.give(p.scheduler.Wake(t.split))
}

// retry reports whether a task has been woken since it asked, so that it may ask again without waiting.
func (p *pool) retry(t *Task) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.scheduler.Retry(t.split)
}

// park gives the slot of a task to the next one, and returns when the task has been woken and has a slot again. It is
// called on the task's goroutine.
func (p *pool) park(t *Task) {
	p.mu.Lock()
	p.give(p.scheduler.Park(t.split))
	<-t.ready
}

// give carries out a turn: it continues a task, or begins one on an idle or a new goroutine. It unlocks, because the
// receiver of a task may call back at once.
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

// loop runs tasks on one goroutine: one after another while there are any, then idle.
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
		if closed { // after Close no one would close mine
			return
		}
		t = p.await(mine)
	}
}

// spinMax is how long a goroutine without work polls before it sleeps. Waking it takes 50 µs and more on virtual
// machines, and most gaps between the tasks of neighbouring clocks are shorter. If other processes share the
// processors, polling would take them from processes with work.
const spinMax = 100 * time.Microsecond

// spinMost bounds the number of polls, each of some 200 ns, so that spinMax ends first. It ends the polling in a test
// whose clock stands still while any goroutine is busy (TestIdleGoroutineSleeps).
const spinMost = 1 << 12

// await returns the next task, nil if there will be none.
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

// longest returns the split whose task has computed for longest, and for how long, after more time has passed.
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
