// Package archive keeps the cuts of a job in a store of blobs: what it needs to go on after its processes have died, or
// were interrupted.
//
// A cut is the state after exactly the commits up to a number: of every partition a shard, and a manifest, which is
// written last and lists them. A cut without a whole manifest, or with a shard that is not as the manifest says, is
// none.
//
// The caller's duties, in order:
//
//  1. Open an Archive with the job's identity and tables. Latest finds the newest cut that is whole, verifies all of it, and says of each
//     newer one why it is passed by; its Partition reads the shards. Or Clear removes all cuts, to start over.
//  2. Begin a Cut. For every partition, Same asks whether an earlier shard will do; otherwise the shard is written, by Put or, piece by piece, by Create.
//  3. Publish writes the manifest, reads back what was written, and only then removes what no cut that is kept needs.
//  4. Cuts are of one job and one writer: who has the run's folder locked.
//
// Two cuts are kept, and no shard belongs to both, so that no damage to one blob takes both: a partition that does not change is
// written once more, and from then on each cut refers to the shard of the cut before the last (docs/decisions/0066).
//
// The package waits for the store and nothing else: every wait ends with the caller's context. It refuses to write a
// cut that lacks a partition, and to read what is not of its job.
package archive
