package transit

import (
	"bellows/link/wire"
	"bellows/sim/internal/msgcopy"
)

// frames returns a message as it travels: several where it is long.
func (w *Network[N]) frames(e wire.Envelope) [][]byte {
	return msgcopy.Encode(e, w.sent[e.Message], w.Formats)
}

// copied returns a message as another node gets it, and its digest.
func (w *Network[N]) copied(e wire.Envelope) (wire.Envelope, uint64) {
	got, digest, err := msgcopy.Copy(e)
	w.verifySent(e, digest)
	if err != nil {
		w.Violated("P10: a sound %T is refused: %v", e.Message, err)
	}
	return got, digest
}

// receive decodes a frame: it must be the last of a message, which is as it was sent, with that digest, or no message yet.
func (w *Network[N]) receive(j *wire.Joiner, f frame) (got wire.Envelope, digest uint64) {
	e := f.envelope
	got, err := msgcopy.Decode(j, f.bytes)
	if !f.more {
		digest = msgcopy.Digest(e.Message)
		w.verifySent(e, digest)
	}
	switch {
	case err != nil:
		w.Violated("P10: a sound %T is refused: %v", e.Message, err)
	case f.more != (got.Message == nil):
		w.Violated("a %T ends before its last part, or not with it", e.Message)
	case !f.more && (got.From != e.From || got.To != e.To || got.Era != e.Era || msgcopy.Digest(got.Message) != digest):
		w.Violated("a %T from %v to %v changed in the codec", e.Message, e.From, e.To)
	}
	w.Coverage.HitIf("values-of-16-bits", inSixteen(got.Message))
	return got, digest
}

// inSixteen reports whether values of a message came in 16 bits.
func inSixteen(m wire.Message) bool {
	switch m := m.(type) {
	case *wire.Push:
		return len(m.Narrowed()) > 0
	case *wire.Rows:
		return len(m.Narrowed()) > 0
	}
	return false
}

// verifySent compares what has been read of a message that was under way between two nodes with what was sent.
func (w *Network[N]) verifySent(e wire.Envelope, digest uint64) {
	if digest != w.sent[e.Message] {
		w.Violated("a message changed while it was under way: %T from %v to %v", e.Message, e.From, e.To)
	}
}

// decodeDamaged sees that a frame with a bit turned over is refused by the codec, whatever the bit.
func (w *Network[N]) decodeDamaged(e wire.Envelope) {
	b := w.frames(e)[0]
	at := w.Rng.IntN(8 * len(b))
	b[at/8] ^= 1 << (at % 8)
	if got, err := msgcopy.Decode(new(wire.Joiner), b); err == nil {
		w.Violated("P10: a frame of %T with bit %d turned over is taken for %s", e.Message, at, msgcopy.Describe(got.Message))
	}
}
