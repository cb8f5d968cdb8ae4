// Package partition is one partition of a table at the lane that owns it: its rows, log of changes, leases,
// subscribers, and updates not yet applied.
//
// A Partition is a state machine without a lane: a call gets what the lane knows as values (Frontier,
// the number of the record) and appends to Effects what is to be done: messages with their receivers,
// and flushes that have a chunk which is part of the state now. An error is a violation of the protocol
// by a peer. The package starts no goroutine, sends nothing and keeps no list of partitions.
//
// The caller's duties, in order:
//
//  1. New, and, if a saved job resumes, Load, LoadKept and Resume. Readers of the log are attached
//     before the first write.
//  2. Accept, EndExclusive, Reach, Keep, SetBarrier and Cut, in the order of the records. After each
//     call, or after those of one record, carry out the Effects.
//  3. Grants when leases are requested or may be granted, and Fill for subscribers that are owed rows.
//  4. For a move: Offer, BeginCopy, then StreamCopy with each step, and HandOver and Leave at the
//     record; or VoidCopy. At the receiver: Receive, TakePiece, Gain at the record, Serve, Settle.
//
// # States
//
// A partition is served, or awaited (it is the lane's, and its state is on its way), or a shadow (a
// copy that no record has given to the lane), or gone (another lane's). Beside that, leases may be
// out, which see one version: what is recorded meanwhile is deferred. A table with a barrier (BSP) has
// open clocks: their recorded chunks wait until the clock is complete.
//
// # The log
//
// Every write to the rows appends one Change to the Log, with its kind, rows, deltas, clock and
// record, and the writer knows no reader. Readers are attached:
//
//   - the audit's Ledger sums bits, to be compared with what the store has written;
//   - a cut copies rows before they are written, which it has not given away yet;
//   - a move sends each chunk to the partition's next owner, in the order in which it is applied here; a
//     Copy that lasts sends it to another destination, and has no end;
//   - Subscribers have, for each row, the number of its last change, and each a position.
//
// All of these read a change when it is made: the ledger and the cut need it before the write; a move
// copies a chunk once, from its client's memory into its pieces; and subscribers keep a number for each
// row and no change. A reader that has its own time takes a Cursor (Log.Follow): the log keeps changes
// for it, with the deltas, the new values or the previous values where it wants them.
//
// # Memory
//
// A log without cursors keeps nothing. With cursors it keeps what the slowest has not read, up to a
// limit (Config.LogMax). Above that the slowest is lost and must start over with a copy of the state.
//
// The readers have separate limits. A move, or another copy, is given up when more has changed than may be on its
// way (handoff.Limits.Behind). A cut is given up when its copies take too much (checkpoint.Giver.Most).
// Subscriptions take a number a row, however slow a client is: after a change of everything it is sent
// all its rows.
//
// # Invariants
//
//   - What is recorded is applied once, in the order of its records or of its clocks
//     (TestClocksDelayedByLeaseCountAtEnd, TestLeases).
//   - While a lease is out nothing but its holder writes (TestLeases).
//   - Requests for leases are granted in their order (TestAnExclusiveRequestIsNotPassed).
//   - A store that makes the changes of the log in their order has the same bits
//     (TestAMirrorHasTheSameBits; for every partition of a schedule, TestMirrors of the simulation).
//   - The ledger grows where bits are taken, given and written, and nowhere else
//     (TestTheAuditSeesLossesInside).
//
// # Turned down
//
// Applying under shared leases and showing the holder a copy: a copy of the partition for each lease,
// to save a wait of one task. A log that always keeps changes: each delta would be copied once more,
// for readers that are rarely there (docs/decisions/0113).
package partition
