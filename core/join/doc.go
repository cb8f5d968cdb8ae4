// Package join is how a node joins all others of its cluster: whom it dials, whose calls it takes,
// how long it waits, and with which sentence it gives up. It is a step function.
//
// A node dials those of lower number, one after the other, and then takes the calls of the others;
// several connections of a pair are made so, each by its number. Who is not there yet is dialled
// again; a call that is not expected is turned away, and so is the second of two that claim one
// place.
//
// A job that runs is joined likewise, by nodes of which several may be on their way, and one at a time
// dials all that are there: Admission is node 0's half of that, and Newcomers that of whoever is called.
//
// The caller's duties, in order:
//
//  1. Make a Joining with New, and Begin.
//  2. Make every call of Effects.Dial, once, and tell Answered or Failed.
//  3. While it Awaits calls, take one at a time and tell Called, or TurnedAway or Closed where there
//     is none.
//  4. Tick at Next, or sooner.
//  5. Carry out the effects of each call before the next, and end when Effects.Over is set: joined,
//     or with an error.
//
// The package refuses to know what a connection is, who may speak at all (a transport asks for the
// job's token), and whether those with whom a job begins have made the same one (package coord
// compares fingerprints when they are ready; Admission does for who comes later).
package join
