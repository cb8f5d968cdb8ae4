package client

import "bellows/tally"

// Waits is what the node waits for, for whoever measures it: tasks that wait for a read or a lease, flushes
// that some lane does not hold yet, and flushes that are held and not yet visible everywhere. Of a flush for
// one lane, which passes its done on, the client learns that it is held when it is recorded.
func (c *Client) Waits() tally.Waits {
	return tally.Waits{Tasks: c.waiting, Pushes: c.unheld, Commits: len(c.flushes) - c.unheld}
}

// settle notes that a flush is known to be held.
func (c *Client) settle(f *flush) {
	if f.unheld {
		f.unheld = false
		c.unheld--
	}
}
