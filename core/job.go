package core

import (
	"bellows"
	"bellows/core/gate"
	"bellows/core/liveness"
	"bellows/core/route"
	"bellows/link/wire"
	"bellows/table"
	"bellows/vec"
)

// A Job holds what all actors of a job have in common, and every checker before them. Each process makes it from the
// same settings, and a fingerprint proves that to node 0 (wire.Ready). Settings of one actor are in its Options. A Job
// and what it points to never change; an actor that needs to change a part keeps a copy of it.
type Job struct {
	Controller wire.Address
	Nodes      int // with which the job begins, by number from 0
	// NodesMost is above the numbers of all nodes that the job may ever have; 0: no others join it.
	NodesMost int
	Lanes     []wire.Address // which hold partitions
	Clients   []wire.Address // which run tasks, push, and pass on the job's end
	// Incarnations are which process of each of the clients takes part when the job begins, counted from 1. nil: the first of all.
	Incarnations []uint32
	// Era is the history of the job that begins: what comes of another, actors take no notice of.
	Era    bellows.Era
	Tables []table.Schema
	Route  *route.Route
	Items  gate.Items // those of a split in a clock, from clock 0
	// Units is into how many units a split's clock is divided; nil: it is one. UnitsOf is what it comes to.
	Units func(split bellows.SplitID, clock bellows.Clock) int
	Wire  []vec.Format // in which deltas of each table travel to lanes of other nodes; nil: as they are
	// Times limit the waits of each role. Without a lease no node can be silent: all actors are in one process, and no
	// node is awaited or found silent.
	Times liveness.Times
}

// UnitsOf returns into how many units the clock of a split is divided: as many as Units says, but each has an item if
// the clock has some. A job fixes it, like the items, so that a controller that follows another divides in the same
// way.
func (j *Job) UnitsOf(split bellows.SplitID, clock bellows.Clock) int {
	if j.Units == nil {
		return 1
	}
	return max(1, min(j.Units(split, clock), j.Items(split, clock).Len()))
}

// Barrier reports whether the clocks of a table become visible as a whole.
func (j *Job) Barrier(t bellows.TableID) bool { return j.Tables[t].Consistency == table.BSP }

// SetStaleness changes how many clocks reads of a table may lag, as table.Consistency has it. The list of tables is the caller's own.
func (j *Job) SetStaleness(t bellows.TableID, clocks int32) {
	j.Tables[t].Consistency = table.Consistency(clocks)
}

// Numbers returns a number above those of all nodes that the job may ever have.
func (j *Job) Numbers() int { return max(j.Nodes, j.NodesMost) }

// Incarnation returns which process of a client takes part when the job begins, counted from 1.
func (j *Job) Incarnation(client wire.Address) uint32 {
	for i, a := range j.Clients {
		if a == client && i < len(j.Incarnations) {
			return max(1, j.Incarnations[i])
		}
	}
	return 1
}
