// Package coord is the controller of one job: it runs the application's driver, dispatches its
// tasks, numbers the flushes that clients report done, and ends the job.
//
// It is the coordinator of a two-phase commit whose participants are the lanes (package server,
// which has the words of both). A flush that every lane holds is done; the controller's number for
// it is the decision, and nothing else makes it count. One stream of numbers has the flushes and
// all else that decides what the controller does next (wire.Record): it is the log of decisions.
// Every lane keeps it, so that another controller can be made of it (Recover), which does again
// what this one did.
//
// The caller's duties, in order:
//
//  1. New, and Resume where a saved run goes on; or Recover, where this controller follows another.
//  2. Start, once. The first tasks leave when all nodes of the job are ready.
//  3. Step with the messages that arrive, Tick a few times a second, Broken and Lost when a node
//     cannot be reached, Interrupt when the user wants out.
//     Cut, now and then, where the job is to outlive its nodes; then CutKept or CutLost, as Effects.Cuts asks.
//  4. Carry out what Effects hold, in their order, before the next call. The job is over when there
//     is an Outcome.
//
// When the job has finished or was interrupted, the controller collects the state of the tables
// first (package checkpoint). Whatever goes wrong ends the job with a sentence: the controller never
// waits for something that cannot come, and nowhere without end. The package refuses to know what a
// driver decides, and to keep anything of the tables.
package coord
