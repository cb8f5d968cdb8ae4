package sock

import (
	"sync"
	"time"
)

// acked is what the other machine has acknowledged of a connection, as the system last told.
//
// Lock: mu guards all of it; it is held while the system is asked, which does not wait.
type acked struct {
	mu    sync.Mutex
	bytes int64
	busy  time.Duration
	told  bool // by the system, once
}

// Acknowledged implements transport.SendMeter. A closed connection cannot be asked: it keeps what Close asked.
func (c *conn) Acknowledged() (bytes int64, busy time.Duration, told bool) {
	a := &c.acked
	a.mu.Lock()
	defer a.mu.Unlock()
	if c.raw != nil {
		if bytes, busy, told := acknowledged(c.raw); told {
			a.bytes, a.busy, a.told = bytes, busy, true
		}
	}
	return a.bytes, a.busy, a.told
}
