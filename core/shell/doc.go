// Package shell decides what a node does around its actors (Lead at node 0, Member elsewhere): time, joins, removals
// and the end; node and sim run it. Both are step functions. A process, the fault machine of the simulation and its
// laboratory each drive both: they bring messages, the time and events, and carry out effects.
//
// The caller's duties, in order:
//
//  1. Make the node's lanes and client from one core.Job, and a Lead or a Member next to them. Lanes
//     that are not at node 0 take their time from the Member.
//  2. Start, when all of them are there and the node is joined to every other.
//  3. Give messages for the controller to Lead.Step. A Member receives no messages.
//  4. Every TickMillis give the client and the sessions of the node the time, and then call Tick. Its
//     argument over reports whether the node knows that the job is over: its client has ended or, if it
//     has no client, one of its lanes has (server.Lane.Ending).
//  5. Call Disconnected when the connections to a node have ended for good, and at node 0 Lost when a
//     process is known to be dead.
//  6. Call TasksEnded once, when the client has ended and no task runs any more, executors closed.
//  7. If a node is to join later, call Invite at node 0, send it the nodes that it is not to call, and make
//     its shell with NewGuest. Close the connections to a node that is turned away (Joins). To let a node
//     leave, call Remove; it exits when Effects.Left names it.
//  8. Carry out the effects of each call before the next.
//
// The package does not judge what a loss means to the job (package coord does), and does not know how messages
// travel.
package shell

// TickMillis is the time between two ticks of a node's shell, which pass the time to its actors and send a heartbeat.
// It is many times shorter than each of liveness.Times, and long enough that an idle node costs nothing.
const TickMillis = 100
