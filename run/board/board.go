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
	look func(context.Context) (api.Progress, error)
	feed *api.Feed

	mu     sync.Mutex
	before float64    // seconds of training that led to what the job goes on from
	fixed  api.Status // what look does not say
	from   *api.Checkpoint
	at     time.Time // when that was made
}

// New makes the board of a job of which Job, App, PID, Model and Started are given. look says how far it
// is; before is the time in seconds that it was trained for by earlier processes.
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

// GoesOn says that the job goes on from a point to which that many seconds of training have led.
func (b *Board) GoesOn(before float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.before = before
}

// Saved says which checkpoint the job goes on from, and when that was made; nil: none. It stands until the job has one of its own.
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

// Close says that nothing more will happen: who follows the events sees their end.
func (b *Board) Close() { b.feed.Close() }
