// Package validate judges what comes from other nodes against the shape of the job: the last step
// before anything acts on a frame. Behind it tables, partitions, rows, splits and addresses are
// ones that the job has, and lengths fit them; so that an actor may index by what it is told, and
// takes no memory because somebody says so (P10).
//
// The caller makes one Checker for a job's node; asks Header before a frame is decoded, and Message
// before what it says is delivered. An error names the sender, the kind, the field, its value and
// its limit: the caller ends the connection, since a peer that sends such things does not run this
// job.
//
// The package knows no state. Whether a message comes when it may is for its receiver: a lane, a
// client or the controller answers what cannot be with wire.Complaint. Who owns a partition at
// which generation is for the lane too. Messages within one process are not asked about.
//
// What holds it: TestMessages has a message for each check, TestEveryKindIsChecked a check for each
// kind; FuzzTalk changes frames of whole talks, behind which no actor may panic or work for ever,
// and so do invaders in the simulation.
package validate
