// Package coord is the actor that controls one job: it runs the application's driver, dispatches tasks, numbers
// flushes, and ends the job.
//
// It is the coordinator of a two-phase commit with the lanes as participants (package server, which explains the terms
// of both). A flush that every lane holds is done; the controller's number for it is the decision, and nothing else
// makes it count. One stream of numbers has the flushes and all other decisions of the controller (wire.Record): it is
// the log of decisions. Every lane keeps it, so that another controller can be made from it (Recover), which repeats
// what this one did.
//
// The caller's duties, in order:
//
//  1. New, and Resume if a saved run resumes; or Recover, if this controller follows another.
//  2. Start, once. The first tasks leave when all nodes of the job are ready.
//  3. Step with the messages that arrive, Tick a few times a second, Broken and Lost when a node cannot be reached,
//     Interrupt when the user interrupts the job. Cut, from time to time, if the job must survive the loss of its
//     nodes; then CutKept or CutLost, as Effects.Cuts asks.
//  4. Carry out the Effects, in their order, before the next call. The job is over when they have an Outcome.
//
// When the job has finished or was interrupted, the controller first collects the state of the tables (package
// checkpoint). Any failure ends the job with a sentence: the controller never waits without a deadline. The package
// refuses to know what a driver decides, and to keep anything of the tables.
package coord
