package core

import (
	"bellows/core/liveness"
	"bellows/core/planted"
)

// Silence is how somebody knows whether one other can still reach it: the other way round of liveness.Detector. A lane that has not heard
// the controller for a lease may serve a partition that is another's: it serves no reads and grants no leases until it hears it
// again (TestALaneThatHearsNobodyServesNoReads). Between two ticks no time is known: who was stopped may serve until the first tick
// after. The zero value has heard nothing.
type Silence struct {
	sinceMillis int64  // when the other was last heard, or the tick before that
	atMillis    int64  // of the last tick
	heard       uint64 // bytes at the last tick
	spoken      bool   // the other has said something since then
	begun       bool   // there was a tick
	named       bool
	cut         bool // longer than a lease
}

// Tick tells the time, and how many bytes have come from the other's node: any byte is a sign of life, also one of a long message
// that is still on its way. It reports how long nothing came, and whether that is to be named, once.
func (s *Silence) Tick(nowMillis int64, heard uint64, times *liveness.Times) (silentMillis int64, name bool) {
	switch {
	case !s.begun:
		*s = Silence{sinceMillis: nowMillis, heard: heard, begun: true}
	case s.spoken || heard != s.heard: // at any time since the tick before, which is long ago where the node was stopped
		*s = Silence{sinceMillis: s.atMillis, heard: heard, begun: true}
	}
	s.atMillis = nowMillis
	silentMillis = nowMillis - s.sinceMillis
	s.cut = silentMillis > times.Lease && !planted.On("unheard-lane-serves")
	name = silentMillis > times.Notice && !s.named
	s.named = s.named || name
	return silentMillis, name
}

// Hears notes a word of the other, after which nothing is cut at once, and does not wait for a tick.
func (s *Silence) Hears() { s.spoken, s.cut = true, false }

// Cut reports whether the other has not been heard for longer than a lease.
func (s *Silence) Cut() bool { return s.cut }
