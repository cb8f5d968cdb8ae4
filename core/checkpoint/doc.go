// Package checkpoint copies the state of partitions out of lanes: to node 0 at a job's end (Collector, Sender), and
// in cuts (Cutter, Giver). All of them are step functions.
//
// The controller has a Collector. It calls Begin when all actors have sent their final counts, sends the question of
// Ask to the lanes that Open names, passes it every Slab and Collected that comes, and calls Finished, Err and Images.
// Each lane has a Sender: it records every Collect with Ask, and calls Send when it has been asked and no task of its
// node runs any more, which may still work in place on what it leased.
//
// A lane sends only what it was asked for: Window slabs at first, and one more for each that has been taken. So a model
// of any size needs memory for a few slabs on its way, other traffic passes between two of them, and each slab shows
// that its lane still works.
//
// It is also a lane's end of a cut (Giver): the state of its partitions as it was at one record, given away in bounded
// pieces while the job continues to change it. The controller arms its lanes, numbers the record, and receives a report
// of each stored partition (package coord). A lane
//
//  1. has a Mark for each partition, and calls it before anything is written (Write), before an exclusive lease is
//     worked on in place (Giver.InPlace), and before an image that the driver has kept is replaced (Keep);
//  2. calls Begin for each partition at the record, as soon as it has the state of that record;
//  3. lets its shell take the News, ask for Pieces one after the other, and report Stored; or Failed, which gives the
//     cut up and harms nothing else;
//  4. calls Say after each step for the messages to the controller.
//
// A cut takes memory for copies of what changes meanwhile (rowstore.Snapshot), as many bytes as Giver.Most: above it
// the cut is given up, and never the job. A Builder makes images of pieces.
//
// The controller's end of a cut is a Cutter: it says when the record may be made, and collects the reports of what is
// stored. Deltas that are gathered for open clocks go with their partitions.
//
// The package refuses to judge which nodes are lost: its caller does, and asks Owes whether that matters.
package checkpoint
