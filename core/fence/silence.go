package fence

import "bellows/core/planted"

// Silence tells a lane whether the controller can still reach it. A lane that has not heard the
// controller for a lease may have been replaced: it serves no reads and grants no leases until it
// hears the controller again (TestLaneWithoutControllerServesNoReads). Between two ticks a lane knows
// no time. If its process was stopped, it may serve until the first tick after that.
type Silence struct {
	Cut bool // the silence has lasted longer than a lease

	sinceMillis int64  // when the controller was last heard, or the tick before that
	atMillis    int64  // of the last tick
	heard       uint64 // bytes at the last tick
	spoken      bool   // the controller has sent this lane a message since then
	begun       bool   // there was a tick
	named       bool
}

// Tick notes the time, and how many bytes have come from the controller's node. Any byte is a sign of
// life, also one of a long message that is still on its way. Tick returns for how many milliseconds the
// controller has been silent, and whether to report that: once, when it is longer than noticeMillis.
func (s *Silence) Tick(nowMillis int64, heard uint64, leaseMillis, noticeMillis int64) (silent int64, name bool) {
	switch {
	case !s.begun:
		*s = Silence{sinceMillis: nowMillis, heard: heard, begun: true}
	case s.spoken || heard != s.heard: // at some time since the tick before, long ago if the node was stopped
		*s = Silence{sinceMillis: s.atMillis, heard: heard, begun: true}
	}
	s.atMillis = nowMillis
	silent = nowMillis - s.sinceMillis
	s.Cut = silent > leaseMillis && !planted.On("unheard-lane-serves")
	name = silent > noticeMillis && !s.named
	s.named = s.named || name
	return silent, name
}

// Hears notes a message of the controller. The lane serves again at once, without waiting for a tick.
func (s *Silence) Hears() { s.spoken, s.Cut = true, false }
