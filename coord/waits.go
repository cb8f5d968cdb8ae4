package coord

// waits is how long the controller has waited for what is next: a commit while tasks are out, the last words, the state. What comes ends
// one wait and begins the next.
//
// A wait is named once, when it lasts longer than notice says; one for a commit only when it also lasts four times as long as any before it, so
// that a job whose clocks take long is not told of each (TestOnlyAnUnusualWaitIsNamed).
type waits struct {
	sinceMillis   int64
	longestMillis int64 // of the waits for commits that have ended
	named         bool
}

// unusual is how many times longer than any before a wait must be to be named.
const unusual = 4

// began starts a wait for a commit: tasks are out, and none were.
func (w *waits) began(nowMillis int64) { w.sinceMillis, w.named = nowMillis, false }

// moved ends a wait and begins another.
func (w *waits) moved(nowMillis int64) {
	w.longestMillis = max(w.longestMillis, nowMillis-w.sinceMillis)
	w.began(nowMillis)
}

// end begins a wait of another kind, of which nothing is known.
func (w *waits) end(nowMillis int64) { *w = waits{sinceMillis: nowMillis} }

// slept leaves out time in which the controller did not run. Some of each sleep counts, so that a controller that is always slow comes to the
// end of its waits, too (TestASlowControllerEndsItsWaits).
func (w *waits) slept(millis int64) { w.sinceMillis += millis }

// look is how long the wait has lasted, and whether it is to be named now.
func (w *waits) look(nowMillis, noticeMillis int64) (waitedMillis int64, name bool) {
	waitedMillis = nowMillis - w.sinceMillis
	if w.named || waitedMillis <= max(noticeMillis, unusual*w.longestMillis) {
		return waitedMillis, false
	}
	w.named = true
	return waitedMillis, true
}
