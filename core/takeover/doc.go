// Package takeover asks lanes, after a controller was replaced, which records and held flushes they have, and chooses
// what to replay. The new controller continues there.
//
// The caller's duties, in order:
//
//  1. New, after the journal and the membership were restored from the last saved state.
//  2. Ask when all nodes are ready, and at each tick before that. EnrolAdded, Hear and Excuse with each answer of a
//     lane (TakeHolding), then ChooseTail. Keep messages of flushes that arrive meanwhile.
//  3. AskTail when the records to read are chosen, and when TakeTail reports that a lane's tail has been read. It
//     reports when all have come.
//  4. Replay the records (At), with nothing sent, and hold what the driver asks for against them (Repeats).
//  5. CatchUp each lane, and commit what the lanes hold whole (Whole) and what was kept (Kept).
//
// The package decides which records count, not what follows from them: the driver is the caller's.
package takeover
