package link

import "time"

// Flow measures what one node sends to another: its bytes, and the time in which some of them wait or are under way, until
// the sender knows that they have arrived. All times are those of the Net.
type Flow struct {
	out   int   // bytes that were posted and have not arrived
	bytes int64 // that have arrived
	since int64 // when the present or last busy time began
	ends  int64 // when it ended or will, if nothing is out
	busy  int64 // earlier busy times
}

// Post notes that bytes wait from now on.
func (f *Flow) Post(now int64, bytes int) {
	if f.out == 0 && now > f.ends {
		f.busy += f.ends - f.since
		f.since = now
	}
	f.out += bytes
}

// Arrive notes that bytes have arrived. The sender learns it one latency later.
func (f *Flow) Arrive(now int64, bytes int, latency int64) {
	f.bytes += int64(bytes)
	f.drop(now+latency, bytes)
}

// drop notes that bytes that were posted do not wait any more from a moment on.
func (f *Flow) drop(at int64, bytes int) {
	if f.out -= bytes; f.out == 0 {
		f.ends = at
	}
}

// Sent returns the bytes that have arrived and the busy time.
func (f *Flow) Sent(now int64) (bytes int64, busy time.Duration) {
	end := now
	if f.out == 0 {
		end = min(now, f.ends)
	}
	return f.bytes, time.Duration(f.busy + end - f.since)
}
