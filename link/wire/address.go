// Package wire defines the messages between clients, lanes and the controller, and encodes them into frames and
// decodes them. Within one process they are passed by pointer; between processes the codec of this package turns them
// into frames.
//
// A message is sent once, by pointer, and belongs to its receiver, which calls Free when it no longer needs it; the
// sender does not touch it any more. The comment of a field says if it borrows memory.
//
// Between processes, the sender's and then the receiver's duties in order:
//
//  1. Add messages to a Batch, which then owns them in place of their receivers, and write its Buffers.
//  2. Reset the batch when they are written. The content of its messages must not change before.
//  3. Read HeaderSize bytes and give them to ParseHeader: allocate memory only for a header that it accepts.
//  4. Read the payload into Header.Payload, and give both to the connection's Joiner, which makes a message of a frame or
//     of several. Any error so far ends the connection.
//  5. Check the header's roles (Allowed), and header and message against the job: addresses, tables, partitions, rows,
//     widths. Package validate does.
//  6. Free the message when its lists are no longer used; Pull and Granted name the actors that may use them for
//     longer.
//
// The package does not open, read or write anything, does not number, repeat or order frames, and does not know a job's
// tables. The format is in docs/5-wire.md, and pinned under testdata.
package wire

import (
	"fmt"

	"bellows"
	"bellows/core/planted"
)

// Role is the part that an actor plays in a node.
type Role uint8

// The roles.
const (
	Client Role = iota
	Lane
	Controller
)

// roles is the number of roles.
const roles = Controller + 1

// Address names one actor of a job.
type Address struct {
	Node  bellows.NodeID
	Role  Role
	Index uint16 // which lane of the node; 0 for others
}

// ControllerAt returns where the controller of a job is: at node 0, which leads.
func ControllerAt() Address { return Address{Role: Controller} }

// ClientAt returns the address of a node's client. A node without a client also sends under that address.
func ClientAt(n bellows.NodeID) Address { return Address{Node: n, Role: Client} }

// LaneAt returns one of a node's lanes, counted from 0.
func LaneAt(n bellows.NodeID, i int) Address { return Address{Node: n, Role: Lane, Index: uint16(i)} }

func (a Address) String() string {
	switch a.Role {
	case Client:
		return fmt.Sprintf("node %d", a.Node)
	case Lane:
		return fmt.Sprintf("lane %d of node %d", a.Index, a.Node)
	}
	return "the controller"
}

// Message is what one actor tells another. The concrete types are the pointers declared here.
type Message interface{ kind() uint8 }

// Envelope is a message under way.
type Envelope struct {
	From, To Address
	// Era is the sender's history of the job, as its Outbox has stamped it. The receiver ignores messages of an older
	// era, or of one that it does not know.
	Era     bellows.Era // here it fills what alignment leaves free: envelopes are copied often
	Message Message
}

// In reports whether the envelope is of an era. The receiver asks before anything else: messages of an older history of
// the job would undo this one, and those of a newer one are for nodes that know it. Neither is a protocol violation: it
// was under way.
func (e Envelope) IsOfEra(era bellows.Era) bool { return sameEra(e.Era, era) }

func sameEra(said, era bellows.Era) bool {
	return said == era || said < era && planted.On("old-era-taken")
}

// Outbox collects what a step wants sent. Messages of one outbox to one address arrive in order.
type Outbox struct {
	Envelopes []Envelope
	// Era is that of what is sent. An actor sets it when its step begins.
	Era bellows.Era
}

// Send adds a message.
func (o *Outbox) Send(from, to Address, m Message) {
	o.Envelopes = append(o.Envelopes, Envelope{from, to, o.Era, m})
}
