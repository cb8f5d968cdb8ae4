package event

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"bellows"
)

// Chain orders a run's events: each has the next number, and a digest over itself and all before it. The zero value has
// none.
//
// A digest is no signature: anyone can make a log of their own. It shows lines that were removed, altered by hand or
// damaged.
type Chain struct {
	seq    uint64
	digest string
}

// digestField begins the last field of a line.
const digestField = `,"digest":"`

// Link numbers, dates and seals the next event, and returns its line. What JSON cannot hold is an error of kind Bug;
// its number stays free.
func (c *Chain) Link(e Event, at time.Time) (Event, []byte, error) {
	c.seq++
	e.Seq, e.Time, e.Digest = c.seq, at, ""
	line, err := json.Marshal(e)
	if err != nil {
		return e, nil, bellows.Errorf(bellows.Bug, "write event", string(e.Kind), "%w", err)
	}
	e.Digest = c.seal(line)
	line = append(line[:len(line)-1], digestField...)
	return e, append(append(line, e.Digest...), `"}`...), nil
}

// seal returns the digest of a line that has none yet.
func (c *Chain) seal(line []byte) string {
	h := sha256.New()
	h.Write([]byte(c.digest))
	h.Write(line)
	c.digest = hex.EncodeToString(h.Sum(nil)[:8])
	return c.digest
}

// Break is what of a line does not fit the chain.
type Break int

// The possible defects of a line.
const (
	Whole    Break = iota
	Unsealed       // it has no digest
	Altered        // its digest is of another line, or of others before it
)

// Follows takes the next line of a log, and says whether it follows.
func (c *Chain) Follows(line []byte) Break {
	line = bytes.TrimSpace(line)
	at := bytes.LastIndex(line, []byte(digestField))
	if at < 0 {
		return Unsealed
	}
	said := line[at+len(digestField):]
	bare := append(bytes.Clone(line[:at]), '}')
	if string(said) != c.seal(bare)+`"}` {
		return Altered
	}
	return Whole
}
