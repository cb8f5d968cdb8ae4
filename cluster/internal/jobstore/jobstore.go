// Package jobstore encodes a cluster's jobs for the registry, so that the next manager can continue with them.
//
// A job has two entries: its Command, which is written once, and a Job, which is written again when it changes. The
// caller writes the command first, and deletes it last, so that no job is without one. Decode and TakeCommand read
// them.
//
// The package does no input or output, and refuses entries that no manager writes.
package jobstore

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"bellows/cluster"
	"bellows/port/registry"
)

// Prefixes of the keys in the registry.
const (
	JobsPrefix     = "jobs/"
	CommandsPrefix = "commands/"
)

// A Job is the changing part of a job in the registry, which is written at each checkpoint. The command is another
// entry, written once.
type Job struct {
	Number    int                `json:"number"`
	Request   cluster.Submission `json:"request,omitzero"` // of a record of an older release, which had all in one
	Cut       bool               `json:"cut,omitempty"`    // of such a record
	State     cluster.State      `json:"state"`
	Run       string             `json:"run"`
	Submitted time.Time          `json:"submitted"`
	Began     time.Time          `json:"began"`
	Ended     time.Time          `json:"ended"`
	Exit      int                `json:"exit"`

	Order      string              `json:"order,omitempty"` // names it in its run's record
	Term       int                 `json:"term,omitempty"`  // counts the processes that have led it
	Cancelled  bool                `json:"cancelled,omitempty"`
	Checkpoint *cluster.Checkpoint `json:"checkpoint,omitempty"` // the last reported one
	InRow      int                 `json:"in_a_row,omitempty"`
	Recoveries []cluster.Recovery  `json:"recoveries,omitempty"`
}

// A Command is the command of a job as the registry has it.
type Command struct {
	Request cluster.Submission `json:"request"`
	Cut     bool               `json:"cut,omitempty"` // the request was too long, and is kept without its command
}

// Encode returns the value of the job's entry, without its restarts if it would be too long.
func (r Job) Encode() ([]byte, error) {
	text, err := json.Marshal(r)
	if err == nil && len(text) > registry.ValueBytesMost {
		r.Recoveries = nil
		text, err = json.Marshal(r)
	}
	return text, err
}

// Encode returns the value of the command's entry, omitting the command's words if it would be too long.
func (o Command) Encode() ([]byte, error) {
	o.Request.Terminal = nil
	text, err := json.Marshal(o)
	if err == nil && len(text) > registry.ValueBytesMost {
		o.Cut, o.Request.Env, o.Request.Args = true, nil, []string{"(a command too long to keep)"}
		text, err = json.Marshal(o)
	}
	return text, err
}

// JobKey returns the key of a job.
func JobKey(number int) string { return fmt.Sprintf("%s%08d", JobsPrefix, number) }

// CommandKey returns the key of the command of a job.
func CommandKey(number int) string { return fmt.Sprintf("%s%08d", CommandsPrefix, number) }

// TakeCommand decodes the command of the job.
func (r *Job) TakeCommand(value []byte) error {
	var o Command
	if err := json.Unmarshal(value, &o); err != nil {
		return err
	}
	r.Request, r.Cut = o.Request, o.Cut
	return nil
}

// Decode reads a job as the registry has it under a key. It refuses what no manager writes: an entry of the registry
// starts processes as this user.
func Decode(key string, value []byte) (*Job, error) {
	r := &Job{}
	if err := json.Unmarshal(value, r); err != nil {
		return nil, err
	}
	states := []cluster.State{cluster.Queued, cluster.Running, cluster.Ended, cluster.Failed, cluster.Interrupted}
	switch {
	case r.Number < 1 || key != JobKey(r.Number):
		return nil, fmt.Errorf("it is of job %d", r.Number)
	case !slices.Contains(states, r.State):
		return nil, fmt.Errorf("its state is %.20q", string(r.State))
	case r.Term < 0 || r.InRow < 0 || r.InRow > cluster.InRowMost || len(r.Recoveries) > cluster.RecoveriesKept:
		return nil, fmt.Errorf("it was led %d times, and lost %d times in a row", r.Term, r.InRow)
	case len(r.Order) > orderMost || strings.Trim(r.Order, orderLetters) != "":
		return nil, fmt.Errorf("its order is %.40q", r.Order)
	}
	return r, nil
}

// An order is drawn: letters and digits of base 32.
const (
	orderMost    = 64
	orderLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
)
