package gate

import "bellows/core/planted"

// Silence is how a lane knows whether the controller can still reach it. One that has not heard it
// for a lease may have been replaced: it serves no reads and grants no leases until it hears it
// again (TestALaneThatHearsNobodyServesNoReads). Between two ticks a lane knows no time: one that
// its process has stopped may serve until the first tick after.
type Silence struct {
	Cut bool // longer than a lease

	sinceMillis int64  // when the controller was last heard, or the tick before that
	atMillis    int64  // of the last tick
	heard       uint64 // bytes at the last tick
	spoken      bool   // the controller has said something to this lane since then
	begun       bool   // there was a tick
	named       bool
}

// Tick tells the time, and how many bytes have come from the controller's node: any byte
// is a sign of life, also one of a long message that is still on its way. It is how long the controller has been silent, and whether
// that is to be named: once, when it is longer than notice.
func (s *Silence) Tick(nowMillis int64, heard uint64, leaseMillis, noticeMillis int64) (silentMillis int64, name bool) {
	switch {
	case !s.begun:
		*s = Silence{sinceMillis: nowMillis, heard: heard, begun: true}
	case s.spoken || heard != s.heard: // at any time since the tick before, which is long ago where the node was stopped
		*s = Silence{sinceMillis: s.atMillis, heard: heard, begun: true}
	}
	s.atMillis = nowMillis
	silentMillis = nowMillis - s.sinceMillis
	s.Cut = silentMillis > leaseMillis && !planted.On("unheard-lane-serves")
	name = silentMillis > noticeMillis && !s.named
	s.named = s.named || name
	return silentMillis, name
}

// Hears notes a word of the controller, after which the lane serves again at once, and does not
// wait for a tick.
func (s *Silence) Hears() { s.spoken, s.Cut = true, false }
