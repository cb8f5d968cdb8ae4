package launch

import (
	"context"
	"time"

	"bellows"
	"bellows/core/join"
	"bellows/core/liveness"
)

// A wait is a wait for other processes by this process's clock: join.Wait decides when it is named and when it ends, as
// for connecting nodes; this type adds the clock and the receiver of the notice.
type wait struct {
	join.Wait
	began  time.Time
	within time.Duration
	notice func(string)
}

func newWait(self bellows.NodeID, times liveness.Times, withinMillis int64, notice func(string)) *wait {
	return &wait{join.NewWait(self, times, withinMillis, 0), time.Now(), time.Duration(withinMillis) * time.Millisecond, notice}
}

// bound returns ctx with the end of the wait.
func (w *wait) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, w.within, w.Expired(w.within.Milliseconds()))
}

// next returns when the wait is named next, or ends.
func (w *wait) next() <-chan time.Time {
	return time.After(time.Until(w.began.Add(time.Duration(w.Next()) * time.Millisecond)))
}

// name reports what is awaited, if a notice is due.
func (w *wait) name(what string) {
	if s := w.Name(time.Since(w.began).Milliseconds(), what, nil); s != "" {
		w.notice(s)
	}
}
