// Package shell is what a node of a job does around its actors, as step functions: Lead at node 0,
// Member at every other. A process, the fault machine of the simulation, and its laboratory each
// drive both: they bring messages, the time and what has come about, and carry out effects.
//
// The caller's duties, in order:
//
//  1. Make the node's lanes and client of one core.Job, and a Lead or a Member beside them. Lanes
//     that are not at node 0 take their time from the Member.
//  2. Start, when all of them are there and the node is joined to every other.
//  3. Give what comes for the controller to Lead.Step. A Member has no messages of its own.
//  4. Every TickMillis tell the client and the sessions of the node the time, and then Tick. It says
//     whether the node knows that the job is over: its client has ended or, where there is none, one
//     of its lanes (server.Lane.Ending).
//  5. Say Disconnected when the connections to a node have ended for good, and at node 0 Lost when a
//     process has died for sure.
//  6. Say TasksEnded once, when the client has ended and no task runs any more, executors closed.
//  7. Where a node is to join later, Invite it at node 0, tell it whom not to call, and make its shell
//     with NewGuest. End the connections to who is turned away (Joins). One that is to leave is
//     Removed, and goes when Effects.Left says so.
//  8. Carry out the effects of each call before the next.
//
// The package refuses to judge what a loss means to the job (package coord does), and to know where
// messages travel.
package shell

// TickMillis is how often a node's shell tells its actors the time, and says that it lives: many times in each of the waits
// of liveness.Times, and seldom enough that an idle node costs nothing.
const TickMillis = 100
