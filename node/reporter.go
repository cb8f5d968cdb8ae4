package node

import "sync"

// A reporter calls the functions of the job's user, in order, on a separate goroutine: neither the controller nor a
// task waits for a screen, a file or a pipe that is not read (TestReportsDoNotBlock).
//
// It is open until close, which takes no more calls and returns when all have been made (TestTheEndWaitsForReports). A
// called function must not wait for the end of the job, which waits for it.
//
// Locks: mu guards the queue and closed, and change signals both; nothing is called with it held.
//
// Rejected: dropping reports that have not been taken yet. Each epoch is a line that the user asked for, and thousands
// of them fit.
type reporter struct {
	mu     sync.Mutex
	change sync.Cond // of what follows
	queue  []func()
	closed bool // no more is taken
	ended  chan struct{}
}

// reportsMost is the number of reports that may wait. Beyond it, the sender of a report waits.
const reportsMost = 1 << 12

func newReporter() *reporter {
	r := &reporter{ended: make(chan struct{})}
	r.change.L = &r.mu
	go r.loop()
	return r
}

// say calls f on the reporter's goroutine. After close it does not: the job has ended, and its caller has been
// answered.
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
