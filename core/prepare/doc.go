// Package prepare holds pushed flushes at a lane until a record numbers them: it accepts, defers or refuses a push, as
// a vote for the commit. It is a participant's side of two-phase commit, up to its vote.
//
// Flushes holds what clients have pushed and no record has numbered. Its caller, the lane, does the
// following, in this order:
//
//  1. It calls SetRoute with each new route, before anything that relies on it.
//  2. It calls Prepare with each push, and tells the client of a refusal.
//  3. For each record it calls Count, then Take, which gives it the flush, then Admit.
//  4. If a partition goes to another lane it calls Leave, then Admit; if a process is gone, Fence, then
//     Admit.
//  5. At the end of the job it calls Release and DropWaiting, and counts what is Missed.
//
// Messages are appended to an outbox, in the order in which they must leave. The package
// refuses to know rows, rules, leases or clocks: what it needs of a partition it asks Partitions, which
// is passed to the call, and keeps nothing of that.
//
// Files call downwards: push.go, judge.go, leave.go, room.go, missed.go, pairs.go.
package prepare
