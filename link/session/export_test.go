package session

import "bellows/link/wire"

// Idle reports whether everything that was posted has been acknowledged, and the other end knows what has come.
func (e *End) Idle() bool {
	for i := range e.streams {
		if s := &e.streams[i]; s.head < len(s.list) {
			return false
		}
	}
	return e.received == e.told
}

// Short reports whether a message is short.
func (e *End) Short(m wire.Message) bool { return e.short(&wire.Envelope{Message: m}) }
