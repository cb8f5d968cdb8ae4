package session

// Cuts decides how long the parts of messages on a connection are: as long as the connection takes in partTime, since
// other messages wait that long between two parts (End.Between). A message in one frame needs no joining by its
// receiver, which costs a copy. So a fast connection takes frames as long as the format allows, and uses shorter ones
// only if there are several anyway. The zero Cuts is ready and assumes a fast connection.
//
// One fast write is believed at once, slow ones only gradually: on a busy machine a short write sometimes waits for the
// reader, and such a connection is not slow.
//
// Rejected: parts of 1 MiB for every longer message, since one of 8 MiB would be copied once more even if no other
// message waits.
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

// Parts returns how long a message may be that travels whole (0: as a frame may be), and how long the parts of others
// are, in bytes.
func (c *Cuts) Parts() (whole, part int) {
	if c.rate == 0 || c.rate >= wholeMost {
		return 0, partUsual
	}
	whole = int(max(c.rate, partLeast))
	return whole, min(whole, partUsual)
}
