package fence

import "bellows"

// Terms is what an actor knows of the controllers of its job. The zero value has heard none.
//
// A message without a term (0) can come from any controller, and is never dropped.
type Terms struct {
	highest bellows.Term
	dropped int
}

// Succession says how a controller relates to those that were heard before.
type Succession uint8

const (
	// SameController has been heard before, or the message has no term.
	SameController Succession = iota
	// FirstController is the first that was heard with a term.
	FirstController
	// NewController has replaced one that was heard before.
	NewController
)

// Older reports whether a message of a term is to be dropped: a later controller has been heard
// (TestTermsDropOlderControllers).
func (t *Terms) Older(term bellows.Term) bool { return term > 0 && term < t.highest }

// Drop counts a message that was dropped.
func (t *Terms) Drop() { t.dropped++ }

// Hear notes the term of a message that is not dropped. The highest term never falls.
func (t *Terms) Hear(term bellows.Term) Succession {
	before := t.highest
	switch {
	case term <= before:
		return SameController
	case before == 0:
		t.highest = term
		return FirstController
	}
	t.highest = term
	return NewController
}

// Highest returns the highest term heard; 0: none.
func (t *Terms) Highest() bellows.Term { return t.highest }

// Dropped returns how many messages of earlier controllers were dropped.
func (t *Terms) Dropped() int { return t.dropped }
