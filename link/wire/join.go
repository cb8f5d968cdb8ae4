package wire

import (
	"cmp"
	"errors"
	"fmt"

	"bellows/core/planted"
	"bellows/link/wire/internal/memory"
)

// errPart is why a frame is no message.
var errPart = errors.New("it is a part of a message only")

// Joiner makes messages of the frames of one connection, which it takes in their order. It keeps the received parts of
// a message in less than four times their memory, and in twice if parts are as long as allowed (TestMemoryOfParts). The
// zero Joiner is ready.
//
// It is between two messages, with empty parts, or within one, with before as the last part received. Within one, a
// whole message is allowed only if it may overtake: messages from or to the controller, or between other actors. It is
// handed out at once (TestPartsKeepTheirPlace). A part must belong to the message that has begun (TestJoinerRefusals).
// An error is final: what follows in the stream means nothing.
//
// Rejected: numbers for the parts, and several messages in parts at a time. A connection keeps order, so there is
// nothing to number. Messages that do not overtake keep the order in which they were sent, so that the second could not
// be handed out before the first anyway.
type Joiner struct {
	before Header // of the part that came last, while others must follow
	parts  memory.Chain
	most   int // bytes of a message in parts, 0: messageMax
}

// Decode makes the message of a frame, as the function Decode does, or of several when the last part has come; until then
// it returns no message. Any error means that nothing more can be read.
func (j *Joiner) Decode(h Header, payload []byte) (Envelope, error) {
	if h.Part == partWhole && j.parts.Len() == 0 {
		return Decode(h, payload)
	}
	err := j.follows(h)
	if err == nil && h.Part == partWhole {
		if planted.On("parts-forgotten") {
			j.parts.Drop()
		}
		return Decode(h, payload)
	}
	if err == nil {
		err = check(h, payload)
	}
	if err != nil {
		j.parts.Drop()
		return Envelope{}, bad(h, err)
	}
	j.before = h
	if j.parts.Add(payload); h.Part == partMore {
		return Envelope{}, nil
	}
	payload = j.parts.Join()
	h.Length, h.Part = uint32(len(payload)), partWhole
	m, err := decode(h.Kind, payload)
	if err != nil {
		return Envelope{}, bad(h, err)
	}
	return Envelope{h.From, h.To, h.Era, m}, nil
}

// follows refuses a frame that cannot come now. Between the parts of a message come whole messages that the controller says
// or hears, or a session, or that are between other actors; what its own sender says to its receiver keeps the order in which it was sent.
func (j *Joiner) follows(h Header) error {
	begun := j.parts.Len() > 0
	if begun && h.Part == partWhole {
		if h.From.Role == Controller || h.To.Role == Controller || h.BelowActors() || h.From != j.before.From || h.To != j.before.To {
			return nil
		}
		return fmt.Errorf("it comes between the parts of a %s from %v to %v", kindName(j.before.Kind), j.before.From, j.before.To)
	}
	switch most := cmp.Or(j.most, messageMax); {
	case !inParts(h.Kind):
		return fmt.Errorf("a %s has no parts", kindName(h.Kind))
	case h.Length == 0:
		return errors.New("it is empty")
	case !begun && h.Part == partLast:
		return errors.New("the parts before it have not come")
	case begun && (h.Kind != j.before.Kind || h.From != j.before.From || h.To != j.before.To || h.Era != j.before.Era):
		return fmt.Errorf("the message before it, a %s from %v to %v, has not ended", kindName(j.before.Kind), j.before.From, j.before.To)
	case j.parts.Len()+int(h.Length) > most:
		return tooLong{j.parts.Len() + int(h.Length), most}
	}
	return nil
}
