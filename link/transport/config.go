package transport

import (
	"fmt"
	"time"

	"bellows"
)

// Config describes this side of connections, and its timeouts. The zero durations are the defaults.
type Config struct {
	// Self is what this side sends as its Hello. Versions left 0 are those of this release. A zero token is refused,
	// since a forgotten one looks like that.
	Self Hello

	// Admit decides whether a peer with the right version and token is the one expected; its error is the reason that
	// both sides print. It is asked before the peer has answered, and again for each try, so it decides and records
	// nothing. A listener calls it from several goroutines at once. nil admits every node of the job.
	Admit func(peer Hello) error

	// GreetTimeout bounds the handshake, dialling included. 0 is 5 s: far above a round trip between busy machines,
	// and short enough that a stopped peer keeps its place at the listener only briefly. Too low refuses slow peers.
	GreetTimeout time.Duration

	// WriteStall is how long a peer may take no byte before a write gives it up. 0 is 10 s, above any pause of a live
	// process, as reading goroutines do not wait for computation. Too low loses nodes that are merely swapping.
	WriteStall time.Duration

	// ReadSilence is how long a peer may send no byte before a read gives it up. 0 is for ever, for callers that watch
	// beats themselves; otherwise several times the interval of beats. Too low loses peers that have nothing to say.
	ReadSilence time.Duration
}

// WithDefaults returns c with its defaults in place, or an error that says what is wrong with it.
func (c Config) WithDefaults() (Config, error) {
	if c.Self.Lowest == 0 && c.Self.Highest == 0 {
		c.Self.Lowest, c.Self.Highest = VersionLowest, VersionHighest
	}
	if c.GreetTimeout == 0 {
		c.GreetTimeout = 5 * time.Second
	}
	if c.WriteStall == 0 {
		c.WriteStall = 10 * time.Second
	}
	switch {
	case c.Self.Token == Token{}:
		return c, c.wrong("the job's token is missing")
	case c.Self.Lowest > c.Self.Highest:
		return c, c.wrong(fmt.Sprintf("the lowest protocol version %d is above the highest %d", c.Self.Lowest, c.Self.Highest))
	case c.GreetTimeout < 0 || c.WriteStall < 0 || c.ReadSilence < 0:
		return c, c.wrong("a time to wait is negative")
	}
	return c, nil
}

func (c Config) wrong(why string) error {
	return bellows.Errorf(bellows.Config, "set up transport of", fmt.Sprintf("node %d", c.Self.Node), "%s", why)
}

// Only admits one node and no other.
func Only(node bellows.NodeID) func(Hello) error {
	return func(peer Hello) error {
		if peer.Node != node {
			return fmt.Errorf("it waits for node %d", node)
		}
		return nil
	}
}
