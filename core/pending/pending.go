// Package pending names what a client waits for at a lane, and what the lane says of it.
//
// A wait there has an end because the lane says what it has of it: a client lists what has lasted (wire.Inquiry), and the lane's word (wire.Standing)
// comes behind all that it has answered before. So what it has nothing of, and the client still waits for, is lost. What lasts is named once
// (Patience). The package reads no clock, and refuses to say when a wait ends.
package pending

import "bellows"

// Most is how many waits one message may list; a client that waits for more sends several.
const Most = 1 << 8

// Wait is one thing that a client waits for.
type Wait struct {
	Of Of
	// Number is that of the question, or of the flush in its client. Of rows that come unasked it is what is sure to be sent: those of a
	// commit, or of a clock, counted from 1; 0: nothing is sure yet.
	Number uint64
	// Ref and Generation are what it is about; of a question about several partitions, or of a flush, any of them.
	Ref        bellows.PartitionRef
	Generation bellows.Generation
	// Behind is the lane's word: what keeps it waiting, and Who, whose that is: a split's number behind a clock, a node's behind a lease;
	// behind room 1, where the client was told that there is some, else 0.
	Behind Behind
	Who    uint32
}

// Of is what kind of thing is waited for.
type Of uint8

// What a client waits for.
const (
	Answer Of = iota // to a Pull or an Acquire
	Relay            // rows that come unasked
	Flush            // that all that a lane was sent of a flush is visible
	Clocks           // rows that come unasked, as a Relay, of a table that has a barrier as far as the client knows
)

// Behind is what keeps a lane from answering.
type Behind uint8

// What keeps a lane from answering.
const (
	Nothing Behind = iota // it has answered all of it, or has never had it
	Clock                 // a split has not completed a clock
	Record                // the controller has not recorded what must be
	Lease                 // a node has a lease
	Room                  // there is no room for it, or its client has not read what it was sent
	Silence               // the lane has not heard the controller for a lease
)
