package board

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"bellows/api"
)

// eventsShown is how many of the last events a status has.
const eventsShown = 10

// Board is what a training command shows of its job. Any goroutine may use it.
type Board struct {
	Measured api.Measured // set before Post; nil: the job has no figures
	look     func(context.Context) (api.Progress, error)
	feed     *api.Feed

	mu     sync.Mutex
	before float64    // seconds of training up to the state that the job resumes from
	fixed  api.Status // what look does not say
	from   *api.Checkpoint
	at     time.Time // when that was made
}

// New makes the board of a job with Job, App, PID, Model and Started filled in. look returns its progress; before is
// the time in seconds that earlier processes trained it for.
func New(fixed api.Status, before float64, look func(context.Context) (api.Progress, error)) *Board {
	fixed.State, fixed.Metrics = api.Starting, map[string]float64{}
	return &Board{look: look, before: before, feed: api.NewFeed(), fixed: fixed}
}

// Event adds an event, which is anything that JSON can hold.
func (b *Board) Event(e any) error {
	line, err := json.Marshal(e)
	if err == nil {
		b.feed.Append(line)
	}
	return err
}

// Epoch says that an epoch was finished, with these figures, which the board keeps.
func (b *Board) Epoch(number int, metrics map[string]float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fixed.Epoch, b.fixed.Metrics = number, metrics
}

// GoesOn declares that the job resumes from a state after so many seconds of training.
func (b *Board) GoesOn(before float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.before = before
}

// Saved sets the checkpoint that the job resumes from, and its time; nil: none. It is shown until the job has taken one
// itself.
func (b *Board) Saved(c *api.Checkpoint, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.from, b.at = c, at
}

// End says that the job is over, and how.
func (b *Board) End(s api.State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fixed.State = s
}

// Status returns the job as it is now.
func (b *Board) Status(ctx context.Context) (api.Status, error) {
	p, err := b.look(ctx)
	b.mu.Lock()
	s, before, from, at := b.fixed, b.before, b.from, b.at
	b.mu.Unlock()
	s.Progress = p
	if c := s.Checkpoint; c != nil && c.Commit == 0 && from != nil {
		s.Checkpoint = &api.Checkpoint{Era: from.Era, Commit: from.Commit, Bytes: from.Bytes, Age: time.Since(at).Seconds(), Units: c.Units, Seconds: c.Seconds}
	}
	s.Seconds += before
	s.Elapsed = time.Since(s.Started).Seconds()
	s.Events = b.feed.Last(eventsShown)
	if s.State == api.Starting && running(p.Nodes) {
		s.State = api.Running
	}
	return s, err
}

// running reports whether no node is awaited any more.
func running(nodes []api.Node) bool {
	for _, n := range nodes {
		if n.State == api.Joining {
			return false
		}
	}
	return len(nodes) > 0
}

// Close ends the stream of events for its readers.
func (b *Board) Close() { b.feed.Close() }
