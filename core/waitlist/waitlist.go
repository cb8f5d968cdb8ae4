// Package waitlist keeps client messages that a lane cannot take yet: their route is newer than its records, or their
// partition is on its way.
//
// A request or push by a newer route waits until the lane has taken the records that make that route, and so
// does all that this client sends after it. So the messages of a client are taken in the order in which it sent them,
// as if it had sent them later. A message with an older generation of a
// partition does not wait: it is refused.
//
// Memory is bounded: a push that finds no room is refused as stale, though it is not, so that its client sends it
// again. The refusal waits until the lane has moved on, since the client has a newer route and
// would send the push again at once.
// Only if even the list of refusals is full it is sent at once. Turned down: sending each at once.
package waitlist

import (
	"slices"

	"bellows"
	"bellows/core/fence"
	"bellows/core/lanestate"
	"bellows/core/planted"
	"bellows/core/prepare"
	"bellows/link/wire"
)

// List is the messages that wait. Invariants: the messages of a client are in the order in which they came
// (TestMessagesOfAClientStayInOrder); what waits is bounded (TestPushesAreBounded).
type List struct {
	max      int // messages
	bytesMax int // of pushes
	entries  []Entry
}

// Entry is a message that waits; or, of a push for which there was no room, its refusal.
type Entry struct {
	Envelope wire.Envelope
	Refused  *wire.Stale // nil: the message is here

	bytes int
}

// New returns a list of at most so many messages, with about so many bytes of pushes.
func New(most, bytes int) *List { return &List{max: most, bytesMax: bytes} }

// Empty reports whether nothing waits.
func (l *List) Empty() bool { return len(l.entries) == 0 }

// Includes reports whether something of a client waits.
func (l *List) Includes(client wire.Address) bool {
	return slices.ContainsFunc(l.entries, func(a Entry) bool { return a.Envelope.From == client })
}

// MustWait reports whether a message is by a newer route, or about a partition that is not here yet. Pushes
// of a process that was replaced wait for no route.
func MustWait(e *wire.Envelope, at *lanestate.State, clients *fence.Clients) bool {
	v := at.Route().Version()
	if planted.On("route-version-ignored") {
		return false
	}
	switch m := e.Message.(type) {
	case *wire.Pull:
		return m.Route > v || at.Awaiting() &&
			slices.ContainsFunc(m.Parts, func(p wire.PullPart) bool { return at.Awaits(p.Pair) })
	case *wire.Acquire:
		return m.Route > v || at.Awaiting() && at.Awaits(m.Pair)
	case *wire.Push:
		return m.Route > v && !clients.Outlived(e.From, m.Flush.Incarnation) ||
			at.Awaiting() && slices.ContainsFunc(prepare.Pairs(m), at.Awaits)
	}
	return false
}

// Verdict is what becomes of a message.
type Verdict uint8

const (
	// Kept waits.
	Kept Verdict = iota
	// NoRoom is a push that takes too much memory: the caller drops it, and its refusal waits (Refuse).
	NoRoom
	// Full is a message for which there is no place, nor for its refusal: the caller refuses it now.
	Full
)

// Keep keeps a message, if there is room.
func (l *List) Keep(e wire.Envelope) Verdict {
	one, all, full := Entry{Envelope: e}, 0, len(l.entries) >= l.max
	for i := range l.entries {
		all += l.entries[i].bytes
	}
	switch m := e.Message.(type) {
	case *wire.Push:
		one.bytes = prepare.Bytes(m)
		for i := range m.Leases {
			one.bytes += 4 * len(m.Leases[i].Values)
		}
		// A push of nothing has no pairs to be refused by, and takes no memory to speak of.
		nothing := len(m.Chunks)+len(m.Leases) == 0 && !planted.On("nothing-refused")
		switch {
		case full:
			return Full
		case all > 0 && all+one.bytes > l.bytesMax && !nothing:
			return NoRoom
		}
	case *wire.Pull, *wire.Acquire:
		if full {
			return Full
		}
	}
	l.entries = append(l.entries, one)
	return Kept
}

// Refuse keeps the refusal of a push for which there is no room.
func (l *List) Refuse(client wire.Address, m *wire.Stale) {
	l.entries = append(l.entries, Entry{Envelope: wire.Envelope{From: client}, Refused: m})
}

// Take returns what waits, and keeps nothing. A message that must still wait is kept again.
func (l *List) Take() []Entry {
	list := l.entries
	l.entries = nil
	return list
}

// Again keeps a refusal again that came by the current route, if something waits before it: the lane is no further. It
// reports whether it did. Otherwise the refusal is sent, by the current route.
func (l *List) Again(a Entry, version bellows.RouteVersion) bool {
	if len(l.entries) == 0 || a.Refused.Route != version {
		a.Refused.Route = version
		return false
	}
	l.entries = append(l.entries, a)
	return true
}
