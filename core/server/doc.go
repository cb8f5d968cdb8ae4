// Package server is the actor that serves partitions: a lane, which takes pushes and records, answers reads and leases,
// and shows its state to a shell. It keeps the parts of flushes unseen until the controller records them, and answers
// reads that the gate admits.
//
// A Lane is a state machine: a shard of the model, and all that may touch it. It starts no
// goroutine, reads no clock, and never decides what counts: only a record does.
//
// What makes a flush count is two-phase commit with a logged decision. The lane is a participant;
// the controller (package coord) coordinates, and the client (package client) counts the votes:
//
//	prepare    wire.Push             parts of a flush come, and are held, unseen (package prepare)
//	vote       wire.Held             to the client; or the lane that has all of a flush passes its wire.Done on
//	           wire.Full, wire.Room  not yet, and come again: backpressure, by the bytes that are held
//	           wire.Stale            not here any more; wire.Refused: never
//	decision   wire.Records          the flush has a number, in one order for all lanes (record.go)
//	ack        wire.Committed        the client's memory is free, and it knows the number before any row shows it
//
// No flush is aborted. A flush without a number is dropped when its process is declared gone (package fence), or the
// job is over (package laneend). Every lane keeps the log of decisions (tail.go), so that another controller can
// continue.
//
// The caller's duties, in order:
//
//  1. NewLane, and then, for a saved run that resumes, Load, LoadKept and Resume.
//  2. Step with whatever has arrived, and carry out what the outbox then holds. Links from one
//     sender are in order and lose nothing while both ends live.
//  3. A Tick every few hundred milliseconds, if the lane is in another process than the controller. CutNews after each
//     step, and CutPiece as it says (package checkpoint).
//  4. TasksEnded, when no task of the node runs any more: then, and not before, the lane sends its state to the node
//     that asks for it (package checkpoint).
//
// Messages from other nodes have passed package validate. A message that is invalid in the lane's state ends the job by
// a wire.Complaint that names the sender. The package refuses to judge which nodes are alive, and how the state of a
// partition travels to another lane.
package server
