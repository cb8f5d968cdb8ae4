package fabric

import (
	"sync/atomic"

	"bellows/core/tally"
	"bellows/link/wire"
)

// traffic counts frames of one direction, by class; any goroutine may add to it. Those that came are counted one by one, by
// readers, and those that left a batch at a time, when all of it has: what a broken connection takes with it was not sent.
type traffic [tally.Classes]struct{ frames, bytes atomic.Int64 }

func (t *traffic) count(h wire.Header) {
	f := &t[h.Class()]
	f.frames.Add(1)
	f.bytes.Add(int64(wire.HeaderSize) + int64(h.Length))
}

// add counts frames that have left, and returns their bytes.
func (t *traffic) add(sent *tally.Traffic) (bytes int64) {
	for c, f := range sent {
		if f.Frames > 0 {
			t[c].frames.Add(f.Frames)
			t[c].bytes.Add(f.Bytes)
			bytes += f.Bytes
		}
	}
	return bytes
}

func (t *traffic) load(to *tally.Traffic) {
	for c := range t {
		to[c] = tally.Flow{Frames: t[c].frames.Load(), Bytes: t[c].bytes.Load()}
	}
}
