// Package transit is messages on their way between two nodes: what was posted, what travels, and what is made of it where it arrives.
//
// Tell a Transit of every message that leaves a node (Leaves), and have it make what travels (Frames) and what arrives (Copied, or Receive frame by frame).
// It sees that a message is the same at both ends, as the codec leaves it, and that damage is refused; what is not so is told to who made it. It refuses to know
// when anything arrives.
package transit

import (
	"bellows/link/wire"
	"bellows/sim/internal/coverage"
	"bellows/sim/internal/msgcopy"
	"bellows/vec"
)

// Transit is the messages under way.
type Transit struct {
	formats  []vec.Format            // in which values of tables travel
	sent     map[wire.Message]uint64 // digests of messages under way; for look-ups only
	violated func(format string, args ...any)
}

// New makes a transit with nothing under way.
func New(formats []vec.Format, violated func(format string, args ...any)) Transit {
	return Transit{formats, map[wire.Message]uint64{}, violated}
}

// Leaves takes note of a message that leaves a node, with its digest.
func (t *Transit) Leaves(m wire.Message, digest uint64) { t.sent[m] = digest }

// Frames is a message as it travels: several where it is long.
func (t *Transit) Frames(e wire.Envelope) [][]byte {
	return msgcopy.Encode(e, t.sent[e.Message], t.formats)
}

// Damaged sees that a frame with a bit turned over is refused by the codec, whatever the bit that draw says.
func (t *Transit) Damaged(e wire.Envelope, draw func(n int) int) {
	b := t.Frames(e)[0]
	at := draw(8 * len(b))
	b[at/8] ^= 1 << (at % 8)
	if got, err := msgcopy.Decode(new(wire.Joiner), b); err == nil {
		t.violated("P10: a frame of %T with bit %d turned over is taken for %s", e.Message, at, msgcopy.Describe(got.Message))
	}
}

// verify compares what has been read of a message that was under way with what was sent.
func (t *Transit) verify(e wire.Envelope, digest uint64) {
	if digest != t.sent[e.Message] {
		t.violated("a message changed while it was under way: %T from %v to %v", e.Message, e.From, e.To)
	}
}

// Copied is a message as another node gets it, and its digest.
func (t *Transit) Copied(e wire.Envelope) (wire.Envelope, uint64) {
	got, digest, err := msgcopy.Copy(e)
	t.verify(e, digest)
	if err != nil {
		t.violated("P10: a sound %T is refused: %v", e.Message, err)
	}
	return got, digest
}

// Receive decodes a frame, behind which others of its message may follow: it must be the last of a message, which is as it was sent, with that digest, or no message yet.
func (t *Transit) Receive(j *wire.Joiner, e wire.Envelope, frame []byte, more bool, seen *coverage.Coverage) (got wire.Envelope, digest uint64) {
	got, err := msgcopy.Decode(j, frame)
	if !more {
		digest = msgcopy.Digest(e.Message)
		t.verify(e, digest)
	}
	switch {
	case err != nil:
		t.violated("P10: a sound %T is refused: %v", e.Message, err)
	case more != (got.Message == nil):
		t.violated("a %T ends before its last part, or not with it", e.Message)
	case !more && (got.From != e.From || got.To != e.To || got.Era != e.Era || msgcopy.Digest(got.Message) != digest):
		t.violated("a %T from %v to %v changed in the codec", e.Message, e.From, e.To)
	}
	seen.HitIf(coverage.Narrowed, coverage.InSixteen(got.Message))
	return got, digest
}
