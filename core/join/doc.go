// Package join connects a node to the others before it takes part: which nodes it dials, which calls it accepts, and
// how long it waits. It says with which sentence a node gives up. It is a step function.
//
// A node dials those of lower number, one after the other, and then accepts the calls of the others. A pair has
// several connections, each by its number. A node that does not listen yet is dialled again. A call that is not
// expected is turned away, and so is the second of two for one place.
//
// A running job is joined in the same way. Several nodes may be on their way, but only one at a time dials all nodes
// that take part. Admission is node 0's half of that, and Newcomers the half of each called node.
//
// The caller's duties, in order:
//
//  1. Make a Joining with New, and call Begin.
//  2. Make every call of Effects.Dial, once, and report it by Answered or Failed.
//  3. While it Awaits calls, take one at a time and report it by Called; or report TurnedAway or Closed if
//     none comes.
//  4. Call Tick at Next, or sooner.
//  5. Carry out the effects of each call before the next, and stop when Effects.Over is set: joined,
//     or with an error.
//
// The package does not know what a connection is. It does not decide which nodes may connect: a transport asks for
// the job's token. It does not compare jobs: package coord compares the fingerprints of the first nodes when they are
// ready, and Admission those of newcomers.
package join
