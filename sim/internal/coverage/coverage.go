// Package coverage records which events a schedule has caused, out of the list of those that some schedules must cause.
// Each must come about in some schedules for the checks to mean anything.
//
// Call Hit where an event comes about, with its name: a literal in kebab-case. The source is the list of all events
// (sim's TestSchedules reads it), so that a new one is named where it comes about and nowhere else. Events that come about
// at a place, such as faults in a stage, go to HitAt. The package knows nothing of statements: that is sim/cover.
package coverage

import (
	"slices"
	"strings"

	"bellows/link/wire"
)

// Event is something that came about, at a place or, where that is empty, at any.
type Event struct{ Name, Place string }

// Coverage is the events of one schedule, in all attempts of its job. The zero Coverage is empty.
type Coverage struct{ seen map[Event]bool }

// Hit adds an event.
func (c *Coverage) Hit(name string) { c.HitAt(name, "") }

// HitIf adds an event if it has come about.
func (c *Coverage) HitIf(name string, hit bool) {
	if hit {
		c.HitAt(name, "")
	}
}

// HitAt adds an event that has come about at a place.
func (c *Coverage) HitAt(name, place string) {
	if c.seen == nil {
		c.seen = map[Event]bool{}
	}
	c.seen[Event{name, place}] = true
}

// HitMessage adds that a message came at a place. Messages that never travel have no kind, and are left out.
func (c *Coverage) HitMessage(kind uint8, place string) {
	if kinds[kind] != "" {
		c.HitAt(kinds[kind], place)
	}
}

// kinds are the names of the kinds of messages that travel, by number; empty: no kind has the number.
var kinds = func() (names [1 << 8]string) {
	for k := range names {
		name, _, _ := strings.Cut(wire.Header{Kind: uint8(k)}.String(), " of ")
		if !strings.HasPrefix(name, "message kind") {
			names[k] = name
		}
	}
	return names
}()

// Messages returns the names of the kinds of messages that HitMessage knows.
func Messages() []string {
	return slices.DeleteFunc(slices.Clone(kinds[:]), func(name string) bool { return name == "" })
}

// Seen returns the events, in any order.
func (c *Coverage) Seen() map[Event]bool { return c.seen }
