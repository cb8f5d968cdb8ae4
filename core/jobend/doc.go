// Package jobend ends a job at its controller: it sends End to actors, adds up their final counts, collects the state,
// and makes the outcome.
//
// A job ends in two or three parts. Every actor is sent the last commit that counts (wire.End). Every actor answers
// with its final counts (wire.Closed). If the job has finished or was interrupted, the state of its tables is collected
// then (checkpoint.Collector). A node that is lost meanwhile is not waited for any longer. If it still
// owes a part of the state, the state is lost.
//
// The controller decides when a job is over and makes the Outcome. It calls Begin, and TellAll after the last records.
// It passes messages to TakeClosed, TakeSlab and TakeCollected, lost nodes to Lose, and the time to Await. After each
// of these it calls Proceed, which reports once that the end is over.
package jobend
