package api

import (
	"encoding/json"
	"slices"
	"sync"
)

// feedMost is the number of events that a feed keeps. A slower follower misses some, and detects it by their numbers.
const feedMost = 1000

// A Feed holds the last events of a job. It is safe for concurrent use; NewFeed makes one.
//
// Invariants, under mu: lines[i] is event first+i of the job, and there are at most feedMost. more is closed exactly
// when there are events after those that linesFrom returned with it, or the feed has ended (TestEventsAreFollowed,
// TestFeedForgets).
//
// Rejected: a channel for each follower. A slow follower would block the job, or have to be dropped; a follower that
// asks for events after a place sees by the numbers what it has missed.
type Feed struct {
	mu    sync.Mutex
	lines []json.RawMessage
	first int           // the place of lines[0] among all events
	more  chan struct{} // closed when there is another event, or the end
	ended bool
}

// NewFeed returns a feed without events.
func NewFeed() *Feed { return &Feed{more: make(chan struct{})} }

// Append adds an event: one line of JSON, without the line feed.
func (f *Feed) Append(line []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return
	}
	if len(f.lines) == feedMost {
		f.lines = slices.Delete(f.lines, 0, feedMost/10)
		f.first += feedMost / 10
	}
	f.lines = append(f.lines, slices.Clone(line))
	close(f.more)
	f.more = make(chan struct{})
}

// Close says that no event will come any more. Closing twice is allowed.
func (f *Feed) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.ended {
		f.ended = true
		close(f.more)
	}
}

// Last returns the last events, at most n, the oldest first.
func (f *Feed) Last(n int) []json.RawMessage {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.lines[max(0, len(f.lines)-n):])
}

// from returns the events from a place on, the place after them, a channel that is closed when there are more, and
// whether the feed has ended.
func (f *Feed) linesFrom(place int) (lines []json.RawMessage, next int, more <-chan struct{}, ended bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := max(0, place-f.first)
	return slices.Clone(f.lines[min(at, len(f.lines)):]), f.first + len(f.lines), f.more, f.ended
}
