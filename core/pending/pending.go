// Package pending lists what a client waits for at a lane (Wait), what keeps the lane from answering (Behind), and
// names long waits once.
//
// A wait at a lane has an end because a client lists the waits that have lasted (wire.Inquiry), and the lane answers
// what it has of each (wire.Standing). That answer comes after all earlier answers. So if the lane has nothing of a
// wait, and the client still waits, the message is lost. A long wait is named once (Patience). The package reads no
// clock, and does not decide when a wait ends.
package pending

import "bellows"

// Most is how many waits one message may list; a client that waits for more sends several.
const Most = 1 << 8

// Wait is one thing that a client waits for.
type Wait struct {
	Of Of
	// Number is the number of the question, or of the flush in its client. For rows of a subscription it is the commit
	// or the clock, counted from 1, with rows that are sure to be sent; 0: nothing is sure yet.
	Number uint64
	// Ref and Generation are what it is about; of a question about several partitions, or of a flush, any of them.
	Ref        bellows.PartitionRef
	Generation bellows.Generation
	// Behind is the lane's answer: the reason for the wait. Who says which actor is meant: a split's number for a
	// clock, a node's for a lease; and for room 1 if the client was notified of room, else 0.
	Behind Behind
	Who    uint32
}

// Of is what kind of thing is waited for.
type Of uint8

// The things that a client waits for.
const (
	Answer Of = iota // to a Pull or an Acquire
	Relay            // rows that come unasked
	Flush            // that all that a lane was sent of a flush is visible
	Clocks           // rows that come unasked, as a Relay, of a table that has a barrier as far as the client knows
)

// Behind is what keeps a lane from answering.
type Behind uint8

// The causes that keep a lane from answering.
const (
	Nothing Behind = iota // it has answered all of it, or has never had it
	Clock                 // a split has not completed a clock
	Record                // the controller has not recorded what must be
	Lease                 // a node has a lease
	Room                  // no room for it, or its client has not read what it was sent
	Silence               // the lane has not heard the controller for a lease
)
