// Package cluster has what the processes of a local cluster share: its folder, the manager's API and a client for it,
// and sessions. Sessions are between the manager, its agents and the process that leads a job.
//
// The duties of a command, in order:
//
//  1. Find returns a Client of the cluster that the user means: that of the state folder, or one at an address.
//  2. Status, Submit, Output, Interrupt, Scale, Drain and Shutdown are its requests. Each is bounded, and its error says
//     what to do.
//
// A manager holds the lock of its folder as long as it lives. So a record without a lock belongs to a manager that was
// killed, whatever process has its number now. All processes that it starts inherit a second lock: only a holder of that
// lock knows that nothing of the cluster runs.
//
// The package refuses peers without the token, lines that are too long, and unknown fields.
package cluster
