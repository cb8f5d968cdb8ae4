package session

// Cuts decides how long the parts of messages are that a connection takes: as long as it takes partTime for one, since
// that is what waits between two of them (End.Beside). A message in one frame
// need not be joined by its receiver, which costs a copy of it: a fast connection takes frames as long as the format
// lets them be, and has shorter ones only where there are several anyway. The zero Cuts is ready,
// and takes a connection for fast.
//
// A fast write is believed at once, and a slow one little by little: where processors are short writes wait for
// whoever reads, now and then, and such a connection is none that is narrow.
//
// Turned down: parts of 1 MiB for whatever is longer, since what has 8 MiB would be copied once more where nobody
// waits for it.
type Cuts struct {
	rate int64 // bytes in partTime, as of late; 0: not known
}

const (
	partNanos  = 50_000_000
	partLeast  = 256 << 10
	partUsual  = 1<<20 - 64 // with a stamp, 1 MiB of pooled memory
	wholeMost  = 15 << 20   // bytes that are worth no limit any more
	judgeLeast = 1 << 20    // bytes of a write that says something of the connection: less may be in buffers
)

// Wrote notes that a write of so many bytes took so long.
func (c *Cuts) Wrote(bytes int, nanos int64) {
	if bytes < judgeLeast {
		return
	}
	rate := min(int64(bytes)*partNanos/max(nanos, 1), wholeMost)
	if c.rate == 0 {
		c.rate = wholeMost
	}
	c.rate = max(rate, c.rate-(c.rate-rate)/8)
}

// Parts is how long a message may be that travels whole (0: as a frame may be), and how long the parts of others are,
// in bytes.
func (c *Cuts) Parts() (whole, part int) {
	if c.rate == 0 || c.rate >= wholeMost {
		return 0, partUsual
	}
	whole = int(max(c.rate, partLeast))
	return whole, min(whole, partUsual)
}
