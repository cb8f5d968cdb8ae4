// Package cores shares the cores of a machine of the laboratory among its computations, in virtual time.
//
// Without a Slice all jobs share the cores evenly and at once. With one, a core has one job at a time, as under a scheduler: a job
// that others wait for gives way after a slice and queues again, and a Woken job, which handles messages, takes the core of the job
// that has had its core for longest. Load is other work on the machine, which takes a share of all cores; what is left goes to the
// jobs. Each job may be slower than the machine, by a factor that changes.
//
// Begin jobs, and call Tick when it is due; Tick returns the jobs that are done. The package refuses to know what a job is.
package cores

import (
	"math"
	"slices"
)

// Config describes a machine. Slow and Load may be nil. Each returns a figure, and for how many nanoseconds it holds.
type Config[O any] struct {
	Count int
	Speed float64 // of a core
	Slice int64   // nanoseconds; 0: the cores are shared evenly
	Slow  func(O) (slower float64, left int64)
	Load  func() (share float64, left int64) // share of the machine, 0 to 1
	// Schedule asks for a Tick with a stamp. A later one replaces it.
	Schedule func(delay int64, stamp uint32)
}

// Job is work for one core.
type Job[O any] struct {
	Owner O
	Rest  float64 // nanoseconds of a core of speed 1
	Woken bool    // it handles messages

	used  float64 // nanoseconds of a core that it has had
	share float64 // of a core, now
	rate  float64 // how much of Rest passes in a nanosecond
	runs  bool
	ends  int64 // of its slice
}

// Done is a job that has so little left, in nanoseconds.
const Done = 0.5

// Limits of what others may do to a machine: patterns are as wild as their user likes.
const (
	slowerLeast = 1e-3
	loadMost    = 0.999
)

// Machine is the cores of a machine.
type Machine[O any] struct {
	cfg   Config[O]
	jobs  []*Job[O] // those with a core, and then those that wait, in order
	since int64     // when each job's Rest was what it says
	stamp uint32
	over  []*Job[O] // scratch
}

// New makes a machine without work.
func New[O any](cfg Config[O]) *Machine[O] { return &Machine[O]{cfg: cfg} }

// Full reports whether every core has work.
func (m *Machine[O]) Full() bool { return len(m.jobs) >= m.cfg.Count }

// Begin adds a job.
func (m *Machine[O]) Begin(now int64, j *Job[O]) {
	m.advance(now)
	j.runs, j.used, j.share = false, 0, 0
	m.jobs = append(m.jobs, j)
	if m.cfg.Slice > 0 && j.Woken && len(m.jobs) > m.cfg.Count {
		m.preempt(now)
	}
	m.reschedule(now)
}

// preempt gives the last job the core of the job that has had its core for longest, and handles no messages. That one is the first
// of those that wait.
func (m *Machine[O]) preempt(now int64) {
	last := len(m.jobs) - 1
	victim := -1
	for i, j := range m.jobs[:m.cfg.Count] {
		if !j.Woken && (victim < 0 || j.ends < m.jobs[victim].ends) {
			victim = i
		}
	}
	j := m.jobs[last]
	m.jobs = m.jobs[:last]
	if victim < 0 { // all handle messages: it is the next
		m.jobs = slices.Insert(m.jobs, m.cfg.Count, j)
		return
	}
	out := m.jobs[victim]
	m.jobs[victim], out.runs = j, false
	m.jobs = slices.Insert(m.jobs, m.cfg.Count, out)
}

// Remove drops the jobs of an owner that is no more.
func (m *Machine[O]) Remove(now int64, gone func(O) bool) {
	m.advance(now)
	m.jobs = slices.DeleteFunc(m.jobs, func(j *Job[O]) bool { return gone(j.Owner) })
	m.reschedule(now)
}

// Tick returns the jobs that are done, if the stamp is that of the last Schedule. The list is good until the next Tick.
func (m *Machine[O]) Tick(now int64, stamp uint32) []*Job[O] {
	if stamp != m.stamp {
		return nil
	}
	m.advance(now)
	m.over = m.over[:0]
	m.jobs = slices.DeleteFunc(m.jobs, func(j *Job[O]) bool {
		if j.Rest < Done {
			m.over = append(m.over, j)
		}
		return j.Rest < Done
	})
	m.turn(now)
	m.reschedule(now)
	return m.over
}

// Used returns how many nanoseconds of cores a job has had that is done.
func (j *Job[O]) Used() float64 { return j.used }

// Used returns how many nanoseconds of cores the jobs of some owners have had since they began, those aside that are done.
func (m *Machine[O]) Used(now int64, of func(O) bool) (sum float64) {
	for _, j := range m.jobs {
		if of(j.Owner) {
			sum += j.used + float64(now-m.since)*j.share
		}
	}
	return sum
}

// turn ends slices: a job queues again when its slice is over and another waits.
func (m *Machine[O]) turn(now int64) {
	if m.cfg.Slice == 0 {
		return
	}
	for i := 0; i < min(m.cfg.Count, len(m.jobs)) && len(m.jobs) > m.cfg.Count; {
		j := m.jobs[i]
		if !j.runs || j.ends > now {
			i++
			continue
		}
		j.runs = false
		next := m.jobs[m.cfg.Count]
		m.jobs = append(slices.Delete(m.jobs, m.cfg.Count, m.cfg.Count+1), j)
		m.jobs[i] = next
		i++
	}
}

// advance brings what is left of every job up to now.
func (m *Machine[O]) advance(now int64) {
	if passed := float64(now - m.since); passed > 0 {
		for _, j := range m.jobs {
			j.Rest -= passed * j.rate
			j.used += passed * j.share
		}
	}
	m.since = now
}

// reschedule settles how fast each job proceeds, and asks for a Tick when the first of them is done, a speed changes, or a slice ends.
func (m *Machine[O]) reschedule(now int64) {
	m.stamp++
	if len(m.jobs) == 0 {
		return
	}
	running := m.jobs
	if m.cfg.Slice > 0 {
		running = m.jobs[:min(m.cfg.Count, len(m.jobs))]
		for _, j := range m.jobs[len(running):] {
			j.rate, j.share = 0, 0
		}
	}
	next := int64(math.MaxInt64)
	free := float64(m.cfg.Count)
	if m.cfg.Load != nil {
		share, left := m.cfg.Load()
		free *= 1 - min(max(share, 0), loadMost)
		next = max(1, left)
	}
	share := min(1, free/float64(len(running)))
	for _, j := range running {
		j.share, j.rate = share, share*m.cfg.Speed
		if m.cfg.Slow != nil {
			slower, left := m.cfg.Slow(j.Owner)
			j.rate /= max(slower, slowerLeast)
			next = min(next, max(1, left))
		}
		if m.cfg.Slice > 0 {
			if !j.runs {
				j.runs, j.ends = true, now+m.cfg.Slice
			}
			if len(m.jobs) > len(running) {
				j.ends = max(j.ends, now+1)
				next = min(next, j.ends-now)
			}
		}
		next = min(next, int64(math.Ceil(max(0, j.Rest)/j.rate)))
	}
	m.cfg.Schedule(next, m.stamp)
}
