// Package validate checks every field of a message from another node against the job's tables, route and limits,
// before an actor sees it. Every table, partition, row, split and address in a message that passes exists in the job,
// and lengths fit them. So an actor may use them as indexes, and no message makes it allocate memory beyond what the
// job needs (P10).
//
// The caller makes one Checker for a job's node. It calls Header before a frame is decoded, and Message before the
// message is delivered. An error names the sender, the kind, the field, its value and its limit. The caller then
// closes the connection, since a peer that sends such a message does not run this job.
//
// The package knows no state. Whether a message comes at a time when it may is for its receiver to judge: a lane, a
// client or the controller answers an impossible one with wire.Complaint. Which lane owns a partition at which
// generation is also for the lane. Messages within one process are not checked.
//
// TestMessages has a message for each check, and TestEveryKindIsChecked a check for each kind. FuzzTalk and the
// invaders of the simulation change frames of whole talks: no actor may panic or work for ever on what passes.
package validate
