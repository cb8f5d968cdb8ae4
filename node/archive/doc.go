// Package archive stores checkpoints of a job in a folder or bucket (package blob), and loads what a resumed job needs.
// A job resumes after its processes have died or were interrupted.
//
// A cut is the state after exactly the commits up to a number: a shard for every partition, and a manifest, which is
// written last and lists them. A cut is invalid without a whole manifest, or if a shard differs from the manifest.
//
// The caller's duties, in order:
//
//  1. Open an Archive with the job's identity and tables. Latest finds the newest valid cut, verifies all of it, and says of
//     each newer one why it is skipped; its Partition reads the shards. Or Clear removes all cuts, to start over.
//  2. Begin a Cut. For every partition, Same asks whether an earlier shard can be used; otherwise the shard is written, by Put
//     or, piece by piece, by Create.
//  3. Publish writes the manifest, reads back what was written, and only then removes what no kept cut needs.
//  4. Cuts are of one job and one writer: the process with the lock on the run's folder.
//
// Two cuts are kept, and no shard belongs to both, so that no damage to one blob takes both: a partition that does not
// change is written once more, and from then on each cut refers to the shard of the cut before the last
// (docs/decisions/0066).
//
// The package waits for the store and nothing else: every wait ends with the caller's context. It refuses to write a
// cut that lacks a partition, and to read a cut of another job.
package archive
