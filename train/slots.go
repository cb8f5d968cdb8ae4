package train

import (
	"runtime"
	"sync"
	"time"
)

// slots is a fixed number of places to compute and the tasks that want one. A goroutine that runs
// tasks ("runner" in the docs) holds a slot from the moment it begins a task until it parks in a wait
// or finds nothing more to do.
type slots struct {
	mu     sync.Mutex
	free   int
	queue  []turn // in order; woken tasks first
	head   int
	woken  []turn
	idle   []chan *Task // goroutines without work
	live   sync.WaitGroup
	closed bool
	run    func(*Task)
	shared bool // other processes compute here too
}

// turn is a task that wants a slot: to begin, or to go on after a wait.
type turn struct {
	task   *Task
	resume bool
}

// ready gives a task a slot, or a place in the queue.
func (s *slots) ready(t *Task, resume bool) {
	s.mu.Lock()
	if s.free == 0 {
		s.push(turn{t, resume})
		s.mu.Unlock()
		return
	}
	s.free--
	s.begin(turn{t, resume})
}

// begin lets a turn have a slot that is already counted as taken. It unlocks.
func (s *slots) begin(n turn) {
	if n.resume {
		s.mu.Unlock()
		n.task.ready <- struct{}{}
		return
	}
	if len(s.idle) > 0 {
		ch := s.idle[len(s.idle)-1]
		s.idle = s.idle[:len(s.idle)-1]
		s.mu.Unlock()
		ch <- n.task
		return
	}
	if s.closed { // the slot is for those who wait to be unwound
		s.free++
		s.mu.Unlock()
		return
	}
	s.live.Add(1)
	s.mu.Unlock()
	go s.loop(n.task)
}

func (s *slots) push(n turn) {
	if n.resume {
		s.woken = append(s.woken, n)
		return
	}
	s.queue = append(s.queue, n)
}

func (s *slots) pop() (turn, bool) {
	if len(s.woken) > 0 {
		n := s.woken[0]
		s.woken = append(s.woken[:0], s.woken[1:]...)
		return n, true
	}
	if s.head == len(s.queue) {
		return turn{}, false
	}
	n := s.queue[s.head]
	if s.head++; s.head == len(s.queue) {
		s.queue, s.head = s.queue[:0], 0
	}
	return n, true
}

// park gives the caller's slot to the next in the queue.
func (s *slots) park() {
	s.mu.Lock()
	if n, ok := s.pop(); ok {
		s.begin(n)
		return
	}
	s.free++
	s.mu.Unlock()
}

// keep is park and its end at once: a task was woken before it parked, so that a second slot was
// taken for it, which goes to the next in the queue.
func (s *slots) keep() { s.park() }

// loop runs tasks on one goroutine: one after the other while there are any, then idle.
func (s *slots) loop(t *Task) {
	defer s.live.Done()
	mine := make(chan *Task, 1)
	for t != nil {
		s.run(t)
		s.mu.Lock()
		n, ok := s.pop()
		switch {
		case ok && !n.resume:
			s.mu.Unlock()
			t = n.task
			continue
		case ok:
			closed := s.closed
			if !closed {
				s.idle = append(s.idle, mine)
			}
			s.begin(n)
			if closed { // nobody would close mine any more
				return
			}
		case s.closed:
			s.free++
			s.mu.Unlock()
			return
		default:
			s.free++
			s.idle = append(s.idle, mine)
			s.mu.Unlock()
		}
		t = s.await(mine)
	}
}

// patience is how long a goroutine without work looks for some before it sleeps: to wake it takes 50 µs and
// more on virtual machines, and most gaps between the tasks of neighbouring clocks are shorter. Where other
// processes have the same processors it would take them away from those that have work.
const patience = 100 * time.Microsecond

// await is the next task, nil when there will be none.
func (s *slots) await(mine <-chan *Task) *Task {
	for began := time.Now(); !s.shared && time.Since(began) < patience; runtime.Gosched() {
		select {
		case t := <-mine:
			return t
		default:
		}
	}
	return <-mine
}

// close ends the idle goroutines and waits for the others.
func (s *slots) close() {
	s.mu.Lock()
	s.closed = true
	for _, ch := range s.idle {
		close(ch)
	}
	s.idle = nil
	s.mu.Unlock()
	s.live.Wait()
}
