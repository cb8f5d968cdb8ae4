// Package checkpoint brings the state of a job's partitions to node 0 when the job is over: both ends
// of it, as step functions.
//
// The controller has a Collector. It calls Begin when everybody has said the last word, sends what
// Ask says to whom Open names, gives it every Slab and Collected that comes, and asks Over, Err and
// Images. Each lane has a Sender: it notes every Collect with Ask, and calls Send when it has been
// asked and no task of its node runs any more, which may still work in place on what it leased.
//
// A lane sends only what it was asked for: Window slabs at first, and one more for each that has
// been taken. So a model of any size needs memory for a few slabs on its way, other traffic passes
// between two of them, and a lane that goes on shows it with every slab.
//
// The package refuses to judge who is lost: its caller does, and asks Owes whether that matters.
package checkpoint
