package tally

import "time"

// Phase is a state of a compute slot. At every moment a slot is in one of them, so that the phases of a node add up
// to its number of slots times the time since its first task.
type Phase uint8

// The phases.
const (
	Compute    Phase = iota // a task runs
	PullWait                // nothing runs: a task waits for a read or a lease
	PushWait                // nothing runs: a flush is not yet held by every lane
	CommitWait              // nothing runs: a flush is held, and not yet visible everywhere
	Idle                    // nothing runs, and nothing of this node is under way: other nodes work, or none
	phases
)

// Phases is the number of phases.
const Phases = int(phases)

func (p Phase) String() string {
	return [...]string{"compute", "pull_wait", "push_wait", "commit_wait", "idle"}[p]
}

// Spent is slot time by phase.
type Spent [Phases]time.Duration

// Total returns the time of all phases.
func (s *Spent) Total() (total time.Duration) {
	for _, d := range s {
		total += d
	}
	return total
}

// Add adds what other slots spent.
func (s *Spent) Add(o *Spent) {
	for p, d := range o {
		s[p] += d
	}
}

// Since returns what was spent after an earlier moment.
func (s *Spent) Since(before *Spent) (d Spent) {
	for p := range s {
		d[p] = s[p] - before[p]
	}
	return d
}

// Waited returns the share of the time in which nothing was computed, from 0 to 1; 0 of no time.
func (s *Spent) Waited() float64 {
	total := s.Total()
	if total <= 0 {
		return 0
	}
	return 1 - float64(s[Compute])/float64(total)
}

// Waits is what a node waits for.
type Waits struct {
	Tasks   int // that wait for a read or a lease
	Pushes  int // flushes that some lane does not hold yet
	Commits int // flushes that all lanes hold, and that are not yet visible at all of them
}

// Meter divides the time of a node's compute slots among the phases. Times are those since any fixed moment; one
// that is before its predecessor counts as equal to it.
type Meter struct {
	slots     int
	computing int
	waits     Waits
	began     bool
	ended     bool
	since     time.Duration
	spent     Spent
}

// NewMeter makes the meter of a number of slots. Its time begins with the first task.
func NewMeter(slots int) Meter { return Meter{slots: slots} }

// Compute notes that more tasks begin to compute, or with a negative number stop.
func (m *Meter) Compute(now time.Duration, more int) {
	if !m.began {
		m.began, m.since = true, now
	}
	m.settle(now)
	m.computing += more
}

// Busy reports whether a task computes on every slot. Then waits have no share of the time: Wait may be given any
// moment that has passed, such as 0.
func (m *Meter) Busy() bool { return m.computing >= m.slots }

// Wait notes what the node waits for from now on.
func (m *Meter) Wait(now time.Duration, w Waits) {
	m.settle(now)
	m.waits = w
}

// End stops the meter: the job is over.
func (m *Meter) End(now time.Duration) {
	m.settle(now)
	m.ended = true
}

// Spent returns the time by phase up to now.
func (m *Meter) Spent(now time.Duration) Spent {
	m.settle(now)
	return m.spent
}

// settle gives the time since the last change to the phases that the slots were in.
func (m *Meter) settle(now time.Duration) {
	d := now - m.since
	if !m.began || m.ended || d <= 0 {
		return
	}
	m.since = now
	free := max(0, m.slots-m.computing)
	pulling := min(free, m.waits.Tasks)
	rest := Idle
	if m.waits.Pushes > 0 {
		rest = PushWait
	} else if m.waits.Commits > 0 {
		rest = CommitWait
	}
	m.spent[Compute] += d * time.Duration(m.slots-free)
	m.spent[PullWait] += d * time.Duration(pulling)
	m.spent[rest] += d * time.Duration(free-pulling)
}
