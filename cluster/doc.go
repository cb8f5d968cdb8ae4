// Package cluster is what the processes of a local cluster know of each other: its folder, the words of the manager's API, the sessions
// over which the manager, its agents and the process that leads a job talk, and a client for commands.
//
// The duties of a command, in order:
//
//  1. Find gives a Client of the cluster that the user means: that of the state folder, or one at an address.
//  2. Status, Submit, Output, Interrupt, Scale, Drain and Down are its questions. Each is bounded, and its error says what to do.
//
// A manager holds the lock of its folder as long as it lives, so that a record without a lock is of a manager that was killed, whatever
// process has its number now. All that it starts inherits a second lock: who has that one alone knows that nothing of the cluster runs.
//
// The package refuses to talk to whoever does not show the token, to take lines that are too long, and fields that it does not know.
package cluster
