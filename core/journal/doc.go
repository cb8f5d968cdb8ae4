// Package journal is the controller's log: it numbers records, sends them to lanes, tracks which lanes have them, and
// saves the controller. It keeps records that have not been sent, and holds back reports until a lane has their
// records.
//
// The caller's duties, in order:
//
//  1. New; then Restore and Replay each record that the lanes have, if the controller follows another one.
//  2. AppendFlush for a flush that counts from now on, AppendControl for each other decision.
//  3. Send before anything that relies on a record; at the end of a step only if Pressing.
//  4. AddVisits and AddEpoch after the record that they belong to, and Release at the end of each step. If ReportDue,
//     AskLane. Confirm with each number that a lane says it has.
//  5. To save: Save, AskAll, TakeAnswer for each lane's answer, and Forget once a state that Covered covers is stored.
//
// An Arrival is the message that a flush is done, which may have to wait. Saved is the state of a controller after one
// record.
//
// The package does not decide what is recorded, and knows no node: it is given the lanes in each call. Messages are
// added to the outbox of the call.
package journal
