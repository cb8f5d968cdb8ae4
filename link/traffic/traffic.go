// Package traffic names the classes of messages on a connection (control, flushes, pulls, rows, ...) and ranks which
// leaves first.
//
// The table of kinds of package link/wire gives every kind its class. Package link/session takes what leaves next by the rank of
// its class. The package refuses to know messages.
//
// Three classes and the state of partitions have one rank, and that is no oversight. Two actors rely on the order of their
// messages (docs/5-wire.md), so a rank only decides between pairs of actors; there, a push that passed all pulls, or a pull that passed
// all rows, let one client starve another. Within a rank the order of posting decides, and short messages pass long ones.
package traffic

// Class is what a message is for, as its order is concerned.
type Class uint8

// The classes.
const (
	Control   Class = iota // what the controller sends and receives
	Flushes                // pushes, and what becomes of them
	Pulls                  // reads, and requests for leases
	Rows                   // rows and leases for clients
	Migration              // the state of partitions
	Backup                 // rows for the memory of another node; no kind has it yet
	Early                  // updates that leave before their clock ends; no kind has it yet
	classes
)

// Classes is the number of classes.
const Classes = int(classes)

// Ranks order the classes: of two messages that may leave, the one of the lower rank leaves first.
type Ranks [Classes]uint8

// Default is the order of docs/5-wire.md.
var Default = Ranks{Control: 0, Flushes: 1, Pulls: 1, Rows: 1, Migration: 1, Backup: 2, Early: 3}

// String returns the name of a class.
func (c Class) String() string {
	return [...]string{"control", "flushes", "pulls", "rows", "migration", "backup", "early"}[c]
}
