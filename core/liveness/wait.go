package liveness

// Wait measures how long an actor has waited for what it needs next. An event ends one wait and begins the next.
//
// A wait is named once, when it has lasted longer than the notice. A recurring wait is named only if it has also
// lasted four times as long as any earlier one, so that a job with long clocks does not name each
// (TestOnlyAnUnusualWaitIsNamed).
type Wait struct {
	sinceMillis   int64
	longestMillis int64 // of the recurring waits that have ended
	named         bool
}

// unusual is how many times longer than any before a recurring wait must be to be named.
const unusual = 4

// Begin begins a recurring wait, when none was under way.
func (w *Wait) Begin(nowMillis int64) { w.sinceMillis, w.named = nowMillis, false }

// Next ends a recurring wait and begins another.
func (w *Wait) Next(nowMillis int64) {
	w.longestMillis = max(w.longestMillis, nowMillis-w.sinceMillis)
	w.Begin(nowMillis)
}

// Restart begins a wait of another kind, for which earlier ones are no measure.
func (w *Wait) Restart(nowMillis int64) { *w = Wait{sinceMillis: nowMillis} }

// Skip leaves out time in which the actor did not run (heartbeat.Monitor.Tick says how much).
func (w *Wait) Skip(millis int64) { w.sinceMillis += millis }

// Look returns how long the wait has lasted, and whether it is to be named now.
func (w *Wait) Look(nowMillis, noticeMillis int64) (waitedMillis int64, name bool) {
	waitedMillis = nowMillis - w.sinceMillis
	if w.named || waitedMillis <= max(noticeMillis, unusual*w.longestMillis) {
		return waitedMillis, false
	}
	w.named = true
	return waitedMillis, true
}
