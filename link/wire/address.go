// Package wire holds the messages between the roles of a job: clients, server lanes and the
// controller. In one process they are handed over as they are; between processes the codec of this
// package turns them into frames.
//
// A message is sent once, by pointer, and belongs to its receiver, which calls Free when it has done
// with it; the sender looks at it no more. What a field borrows from elsewhere is said at the field.
//
// Between processes, the sender's and then the receiver's duties in order:
//
//  1. Add messages to a Batch, which then stands for their receivers, and write its Buffers.
//  2. Reset the batch when they are written. What its messages hold must not change before.
//  3. Read HeaderSize bytes and give them to ParseHeader: only what it accepts is fit to take memory by.
//  4. Read the payload into Header.Payload, and give both to the connection's Joiner, which makes a message of a frame or of
//     several. Any error so far ends the connection.
//  5. Check the header's roles (Allowed), and what header and message say against the job: addresses, tables,
//     partitions, rows, widths. Package validate does.
//  6. Free the message when nobody looks at its lists any more; Pull and Granted say who may for longer.
//
// The package refuses to open, read or write anything, to number, repeat or order frames, and to know a
// job's tables. The format is in docs/5-wire.md, and pinned under testdata.
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

// ControllerAt is where the controller of a job is: at node 0, which leads.
func ControllerAt() Address { return Address{Role: Controller} }

// ClientAt is a node's client, or who would be: as that a node without one speaks, too.
func ClientAt(n bellows.NodeID) Address { return Address{Node: n, Role: Client} }

// LaneAt is one of a node's lanes, counted from 0.
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
	// Era is the sender's history of the job, as its Outbox has stamped it. What comes of an older one, or of one that the receiver does
	// not know, it takes no notice of.
	Era     bellows.Era // here it fills what alignment leaves free: envelopes are copied often
	Message Message
}

// In reports whether the envelope is of an era. The receiver asks before anything else: what an older history of the job has to say would undo
// this one, and what a newer one says is for those who have heard of it. Neither is a breach: it was under way.
func (e Envelope) In(era bellows.Era) bool { return in(e.Era, era) }

func in(said, era bellows.Era) bool {
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
