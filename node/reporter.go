package node

import "sync"

// reporter calls what the user of a job has given to be called, in order, on a goroutine of its own: neither the controller
// nor a task waits for a screen, a file or a pipe that nobody reads (TestNobodyWaitsForReports).
//
// It is open until close, which takes no more and returns when all has been called (TestTheEndWaitsForReports). What is
// called must not wait for the end of the job, which waits for it.
//
// Locks: mu guards the queue and closed, and change is told of both; nothing is called with it held.
//
// Turned down: dropping reports that nobody has taken yet. Each epoch is a line of what the user asked for, and thousands of
// them fit.
type reporter struct {
	mu     sync.Mutex
	change sync.Cond // of what follows
	queue  []func()
	closed bool // no more is taken
	ended  chan struct{}
}

// reportsMost is how many reports may wait. Beyond them, who has one waits.
const reportsMost = 1 << 12

func newReporter() *reporter {
	r := &reporter{ended: make(chan struct{})}
	r.change.L = &r.mu
	go r.loop()
	return r
}

// say has f called. After close it is not: the job is over, and whoever started it has been answered.
func (r *reporter) say(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.queue) == reportsMost && !r.closed {
		r.change.Wait()
	}
	if !r.closed {
		r.queue = append(r.queue, f)
		r.change.Broadcast()
	}
}

// loop takes all that is queued at a time, and calls it without the lock.
func (r *reporter) loop() {
	defer close(r.ended)
	var batch []func()
	for {
		r.mu.Lock()
		for len(r.queue) == 0 && !r.closed {
			r.change.Wait()
		}
		batch, r.queue = r.queue, batch[:0]
		r.change.Broadcast()
		r.mu.Unlock()
		if len(batch) == 0 {
			return
		}
		for _, f := range batch {
			f()
		}
		clear(batch)
	}
}

// close returns when all has been called that was said before.
func (r *reporter) close() {
	r.mu.Lock()
	r.closed = true
	r.change.Broadcast()
	r.mu.Unlock()
	<-r.ended
}
