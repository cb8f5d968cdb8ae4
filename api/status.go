package api

import (
	"encoding/json"
	"time"

	"bellows/core/tally"
)

// Status is a job at one moment.
type Status struct {
	Job     string             `json:"job"` // the last element of its run folder
	App     string             `json:"app"`
	State   State              `json:"state"`
	PID     int                `json:"pid"`   // of node 0, the process that was called
	Model   string             `json:"model"` // the run folder
	Started time.Time          `json:"started"`
	Elapsed float64            `json:"elapsed_seconds"` // since then
	Epoch   int                `json:"epoch"`           // the last that was finished; 0: none
	Metrics map[string]float64 `json:"metrics"`
	Progress
	Events []json.RawMessage `json:"events"` // the last ones, in order
}

// State is how far a job or a node is.
type State string

// The states. A job is Starting while its nodes are Joining.
const (
	Starting    State = "starting"
	Joining     State = "joining"
	Running     State = "running"
	Ended       State = "ended"
	Gone        State = "gone" // of a node: lost before the end
	Interrupted State = "interrupted"
	Failed      State = "failed"
)

// Progress is what the nodes of a job have done.
type Progress struct {
	Clock    int    `json:"clock"`    // the last that every split has completed; -1: none
	Furthest int    `json:"furthest"` // the last that has been dispatched to any split; -1: none
	Commit   uint64 `json:"commit"`   // the number of the last commit, counted anew in each era
	// this attempt of the run: each rollback, and each command that resumes it, begins another
	Era     uint32  `json:"era"`
	Splits  int     `json:"splits"`
	Seconds float64 `json:"seconds"` // of training alone, as in train --json
	Counters
	Nodes []Node `json:"nodes"`
	// Moves are the partitions and the splits on their way to another node: partitions first, each in the order in which they were asked for.
	Moves []Move `json:"moves"`
	// Plan is the way to another shape of the job that is under way; nil: none is.
	Plan *Plan `json:"plan,omitempty"`
	// Checkpoint is the last one from which the job would resume, and what a death would cost now; nil: unknown yet.
	Checkpoint *Checkpoint `json:"checkpoint,omitempty"`
}

// Checkpoint is the last cut of a job that is there, and what was done since.
type Checkpoint struct {
	Era     uint32  `json:"era"`    // of the run's attempts
	Commit  uint64  `json:"commit"` // its record; 0: none yet
	Bytes   int64   `json:"bytes"`  // that were written for it
	Age     float64 `json:"age_seconds"`
	Units   int64   `json:"units_since"`   // that count: of a split in a clock, or a part of it
	Seconds float64 `json:"seconds_since"` // of training
}

// Plan is how far a change of a job's shape is.
type Plan struct {
	Reason  string  `json:"reason"`
	Steps   int     `json:"steps"` // that are done
	Of      int     `json:"of"`    // of so many
	Bytes   int64   `json:"bytes"` // that have moved
	All     int64   `json:"all_bytes"`
	Seconds float64 `json:"seconds"`          // since it was asked for
	Rate    float64 `json:"bytes_per_second"` // of moves that have ended; 0: none has
}

// A Move is a split or a partition on its way to another node. The state of its copy is the last report of the node
// that has it, at most ten times a second. It may be late, and belongs to this move only.
type Move struct {
	What string `json:"what"` // "split 3", "partition 0 of weights"
	From string `json:"from"` // "node-1"
	To   string `json:"to"`
	// bytes to send, including those that have to be copied again; 0: none, or unknown
	Bytes   int64   `json:"bytes"`
	Copied  int64   `json:"copied_bytes"`     // that are there: it only grows, up to Bytes
	Seconds float64 `json:"seconds"`          // since it was asked for
	Rate    float64 `json:"bytes_per_second"` // that came there over the last RateSeconds
}

// RateSeconds is over how long the rate of a move is taken.
const RateSeconds = 3

// Counters are the figures of a node, or of all together.
type Counters struct {
	// Phases is the time of compute slots in seconds, by the names of tally.Phase.
	Phases map[string]float64 `json:"phases"`
	// Bytes is the traffic between nodes by the names of tally.Class, counted at the receiver.
	Bytes map[string]Flow `json:"bytes"`
	// Staleness counts reads by the clocks that they missed; the last entry is for that many and more.
	Staleness []int64 `json:"staleness"`
	Work
}

// Work is what nodes have done, and the processor time that it took.
type Work struct {
	Items     int64   `json:"items"`             // visited by tasks, whether or not they count
	Rows      int64   `json:"rows_written"`      // row deltas, and rows of copies at the end of leases, by servers
	Serving   float64 `json:"serving_seconds"`   // wall time in which servers handled messages
	Processor float64 `json:"processor_seconds"` // of the processes, by the operating system
}

// Flow is frames and their bytes.
type Flow struct {
	Frames int64 `json:"frames"`
	Bytes  int64 `json:"bytes"`
}

// Node is one node of a job.
type Node struct {
	ID         string   `json:"id"`    // "node-0"
	PID        int      `json:"pid"`   // 0: not known yet
	Roles      []string `json:"roles"` // of "controller", "worker", "server"
	Tier       string   `json:"tier"`  // Reliable
	State      State    `json:"state"`
	Slots      int      `json:"slots"`      // compute slots
	Splits     int      `json:"splits"`     // that are active there
	Partitions int      `json:"partitions"` // that it owns
	// Heard is the time in seconds since its counters were made; negative: none yet.
	Heard float64 `json:"heard_seconds"`
	Counters
	Sent map[string]Flow `json:"sent"` // traffic by class, counted where it left
}

// Reliable is the tier of a node that is not announced to go away. There is no other yet.
const Reliable = "reliable"

// Count converts a tally to counters.
func Count(t *tally.Tally) Counters {
	c := Counters{Phases: Phases(&t.Spent), Bytes: Traffic(&t.Received), Staleness: make([]int64, len(t.Staleness))}
	copy(c.Staleness, t.Staleness[:])
	c.Work = Work{t.Work.Items, t.Work.Rows, t.Work.Serving.Seconds(), t.Work.Processor.Seconds()}
	return c
}

// Phases returns slot time in seconds by the name of the phase.
func Phases(s *tally.Spent) map[string]float64 {
	m := make(map[string]float64, len(s))
	for p, d := range s {
		m[tally.Phase(p).String()] = d.Seconds()
	}
	return m
}

// Traffic returns flows by the name of the class.
func Traffic(t *tally.Traffic) map[string]Flow {
	m := make(map[string]Flow, len(t))
	for c, f := range t {
		m[tally.Class(c).String()] = Flow(f)
	}
	return m
}
