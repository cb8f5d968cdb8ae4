package session

import (
	"cmp"
	"math"
	"slices"

	"bellows/core/planted"
	"bellows/link/traffic"
	"bellows/link/wire"
)

// Messages between two actors keep their order, and no code relies on more (docs/5-wire.md). So short messages of other
// actors pass a long one, also between its parts (Between). Long messages of two pairs of actors take turns: an answer
// does not wait for the state of a partition that another lane sends, nor a push for all of it. The bytes that pass one
// long message are bounded, so that it gets its turn.
//
// A message that passes another comes before it in the list, as it will at the other end: the counts of both ends mean
// the same messages. It only ever moves towards the head, so that a mark stays after all that was posted before it.
//
// Rejected: a queue for each pair of actors, with shares of bytes: as many lists as a node has actors, and a message
// would be in one of them and in the list of unacknowledged messages. Also a separate stream for short messages: what a
// lane sends to a client would use two streams, and the numbers of flushes would arrive before the rows of those
// flushes.
const (
	shortMost = 128 << 10 // bytes of a short message: with half of it, pushes of 64 KiB cost a tenth more, since each is looked for anew
	passMost  = 256 << 10 // bytes that pass a long one at a time
	lookMost  = 512       // messages that are looked at for one that may pass
)

// Shorten makes messages long from so many bytes on; 0: as many as are worth it. No message that travels in parts may
// be short.
func (e *End) Shorten(most int) { e.shortMost = most }

// pairOf is two actors, in the order of what one says to the other.
type pairOf struct{ from, to wire.Address }

func pairFor(e *wire.Envelope) pairOf { return pairOf{e.From, e.To} }

// pass is what one that passes costs.
const pass = 64

func (e *End) short(m *wire.Envelope) bool {
	return weight(m.Message) <= cmp.Or(e.shortMost, shortMost)
}

// SetRanks orders the classes of the session by other ranks than the default ones. Call it before the first message is
// posted. It is
// meant for an eviction, which raises migration.
func (e *End) SetRanks(r *traffic.Ranks) { e.ranks = r }

// rank returns the rank of a message's class.
func (e *End) rank(m *wire.Envelope) uint8 {
	if e.ranks != nil {
		return e.ranks[ClassOf(m)]
	}
	return traffic.Default[ClassOf(m)]
}

// ranked returns 1 for a message of the ordinary stream with another rank than flushes, and else 0. Without such
// messages all ranks
// in the stream are equal, and need not be compared.
func (e *End) ranked(m *wire.Envelope) int {
	ranks := e.ranks
	if ranks == nil {
		ranks = &traffic.Default
	}
	if c := ClassOf(m); c == traffic.Control || ranks[c] == ranks[traffic.Flushes] {
		return 0
	}
	return 1
}

// best returns the lowest rank of the messages that may leave: of each pair of actors the first.
func (e *End) best(s *stream) uint8 {
	e.waiting = e.waiting[:0]
	best := uint8(math.MaxUint8)
	for i := s.next; i < min(len(s.list), s.next+lookMost); i++ {
		m := &s.list[i]
		if _, mark := m.Message.(*wire.Mark); mark || e.waits(pairFor(m)) {
			continue
		}
		best = min(best, e.rank(m))
		e.waiting = append(e.waiting, pairFor(m))
	}
	return best
}

// choose returns the place of the next message of the ordinary stream. The message at next must not be a mark. Of the
// messages that may
// leave it takes one of the lowest rank. A message of a higher rank waits for as long as there are others.
func (e *End) choose(s *stream) int {
	rank := uint8(math.MaxUint8)
	if s.ranked > 0 {
		rank = e.best(s)
	} else if e.short(&s.list[s.next]) {
		return s.next
	}
	e.waiting = e.waiting[:0]
	first, other := -1, -1
	for i := s.next; i < min(len(s.list), s.next+lookMost); i++ {
		m := &s.list[i]
		if _, mark := m.Message.(*wire.Mark); mark || e.waits(pairFor(m)) {
			continue
		}
		switch {
		case rank < math.MaxUint8 && e.rank(m) > rank:
		case e.short(m) && (first < 0 || s.passed < passMost):
			return i
		case first < 0:
			first, other = i, i
		case other == first && pairFor(m) != s.last && !e.short(m):
			other = i
		}
		e.waiting = append(e.waiting, pairFor(m))
	}
	if pairFor(&s.list[first]) != s.last {
		return first
	}
	return other
}

// waits reports whether something of two actors has been passed over, which what follows of them must not pass.
func (e *End) waits(p pairOf) bool {
	return slices.Contains(e.waiting, p) && !planted.On("own-order-passed")
}

// give moves the message at a place to the front, and reports whether it is long.
func (e *End) give(s *stream, at int) (m wire.Envelope, long bool) {
	m = s.list[at]
	copy(s.list[s.next+1:at+1], s.list[s.next:at])
	s.list[s.next] = m
	s.next++
	if s.ranked > 0 {
		s.ranked -= e.ranked(&m)
	}
	if long = !e.short(&m); long {
		s.last, s.passed = pairFor(&m), 0
	} else if at >= s.next {
		s.passed += pass + weight(m.Message)
	}
	return m, long
}

// Between appends the messages that may be written between two parts of the last message that Take gave: short ones of
// other pairs of actors, which are then before it.
func (e *End) Between(to []wire.Envelope) []wire.Envelope {
	s := &e.streams[Ordinary]
	if !e.synced || s.next == s.head || s.next == len(s.list) {
		return to
	}
	e.waiting = append(e.waiting[:0], pairFor(&s.list[s.next-1]))
	passed := 0
	for i := s.next; i < min(len(s.list), s.next+lookMost) && passed < passMost; i++ {
		m := s.list[i]
		if _, mark := m.Message.(*wire.Mark); mark || e.waits(pairFor(&m)) {
			continue
		}
		if !e.short(&m) || s.ranked > 0 && e.rank(&m) > e.rank(&s.list[s.next-1]) {
			e.waiting = append(e.waiting, pairFor(&m))
			continue
		}
		copy(s.list[s.next:i+1], s.list[s.next-1:i])
		if planted.On("beside-behind") {
			s.list[s.next-1], s.list[s.next] = s.list[s.next], m
		} else {
			s.list[s.next-1] = m
		}
		s.next++
		if s.ranked > 0 {
			s.ranked -= e.ranked(&m)
		}
		passed += pass + weight(m.Message)
		to = append(to, m)
	}
	return to
}
