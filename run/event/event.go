// Package event defines the events of a run: their kinds, the JSON names of their fields, and the log that keeps them. The
// screen, --json, /events and events.jsonl show the same events.
//
// Its caller sets an Event's Kind, Node and Sentence, and the fields of the kind, and appends it to the Log; it shows the
// event that Append returns. The schema of every kind is in `schema train`; a test compares it with this package.
//
// The package does not judge events: it keeps them in the order in which they are appended.
package event

import (
	"time"

	"bellows/policy/advise"
)

// Kind is the kind of an event.
type Kind string

// The kinds, in the order in which a run may come to them.
const (
	Started     Kind = "started"
	Stated      Kind = "stated"      // the clocks and items of the job
	Visited     Kind = "visited"     // units that count
	Passed      Kind = "passed-by"   // a damaged checkpoint
	Resumed     Kind = "resumed"     // an unfinished run continues
	RolledBack  Kind = "rolled-back" // nodes were lost with their rows, and the run resumes from a checkpoint
	TakenOver   Kind = "taken-over"  // the leading process was lost; another one leads, and the nodes continue
	Checkpoint  Kind = "checkpoint"  // a checkpoint is complete
	Joined      Kind = "joined"      // all processes of the job have joined, or one joined later
	Left        Kind = "left"        // a node left the job, and its process ends
	Gone        Kind = "gone"        // a node was lost, and the job continues
	Moved       Kind = "moved"       // work moved from one node to another
	Plan        Kind = "plan"        // a change of the job's shape was decided, or ended
	Epoch       Kind = "epoch"
	Fold        Kind = "fold"    // the model of a fold of a cross-validation is scored
	Waiting     Kind = "waiting" // for a node that the sentence names
	Lost        Kind = "lost"    // ended by the loss of nodes
	Failed      Kind = "failed"
	Interrupted Kind = "interrupted"
	Finished    Kind = "finished"
)

// Leader is the name of the node of the process that the user called.
const Leader = "node-0"

// Event is one event of a run, in JSON one flat object. Each field after Sentence belongs to some kinds only.
type Event struct {
	Seq      uint64    `json:"seq"` // counted from 1 within a run
	Time     time.Time `json:"time"`
	Kind     Kind      `json:"kind"`
	Node     string    `json:"node"` // where it happened; of Moved, the destination
	Sentence string    `json:"sentence"`

	Model         string         `json:"model,omitempty"`     // the run's folder; of all kinds but Joined, Epoch, Fold and Waiting
	Epoch         *int           `json:"epoch,omitempty"`     // the last that is over, 0 for none; of Epoch and Interrupted
	Fold          int            `json:"fold,omitempty"`      // from 1; of Fold, and of Epoch, Stated and Visited in a cross-validation
	Processes     map[string]int `json:"processes,omitempty"` // by node; of Joined
	From          string         `json:"from,omitempty"`      // of Moved, the source
	Units         int            `json:"units,omitempty"`     // of Gone: uncommitted tasks that run again; of Lost: running tasks that were discarded
	Splits        []int          `json:"splits,omitempty"`    // of Gone, and of Moved; or
	*Cargo                       // of Moved
	*Decision                    // of Plan
	*Start                       // of Started
	*Figures                     // of Epoch, and of Fold
	*Scored                      // of Fold
	*Statement                   // of Stated
	*Visits                      // of Visited
	*Checkpointed                // of Checkpoint
	*Rollback                    // of RolledBack, and of TakenOver

	// Digest covers the event without it and the digest of the event before, so that a changed, added or removed line
	// is detected.
	Digest string `json:"digest,omitempty"`
}

// Renamed returns the event with the names of nodes in it replaced, in whatever field they are.
func (e Event) Renamed(text func(string) string) Event {
	e.Node, e.From, e.Sentence = text(e.Node), text(e.From), text(e.Sentence)
	if e.Processes != nil {
		processes := make(map[string]int, len(e.Processes))
		for node, pid := range e.Processes {
			processes[text(node)] = pid
		}
		e.Processes = processes
	}
	if d := e.Decision; d != nil {
		renamed := *d
		renamed.Steps = make([]string, len(d.Steps))
		for i, s := range d.Steps {
			renamed.Steps[i] = text(s)
		}
		e.Decision = &renamed
	}
	if b := e.Rollback; b != nil {
		renamed := *b
		renamed.Reason, renamed.NoticedBy, renamed.TookOver = text(b.Reason), text(b.NoticedBy), text(b.TookOver)
		e.Rollback = &renamed
	}
	return e
}

// Cargo is a partition that moved from one node to another: of Moved.
type Cargo struct {
	Table  int     `json:"table"` // index in the job
	Number int     `json:"partition"`
	Copied int64   `json:"copied_bytes"`
	Within float64 `json:"moved_seconds"` // since the command
}

// Checkpointed describes a complete checkpoint.
type Checkpointed struct {
	Commit  uint64  `json:"commit"`             // the last commit that it contains
	Written int64   `json:"checkpoint_bytes"`   // written for it
	Within  float64 `json:"checkpoint_seconds"` // from its beginning until it was verified
	Every   float64 `json:"interval_seconds"`   // until the next
}

// Rollback describes how a run continues by itself after it lost nodes with their rows. If another process took over,
// no work is lost: the era stays, and the run continues after the last record that is known.
type Rollback struct {
	Reason    string  `json:"reason"`       // which node was lost, and how
	NoticedBy string  `json:"noticed_by"`   // the loss
	TookOver  string  `json:"took_over"`    // the successor of the lost process
	ToEra     uint32  `json:"to_era"`       // of the checkpoint that it resumes from
	ToCommit  uint64  `json:"to_commit"`    // its record; 0: no checkpoint, the run starts over
	Era       uint32  `json:"era"`          // the new era: later than those of all checkpoints; work of older eras is discarded
	Units     int64   `json:"lost_units"`   // committed since the checkpoint, and run again; Unknown: no survivor knows
	Lost      float64 `json:"lost_seconds"` // of training since then, or Unknown
	InRow     int     `json:"in_a_row"`     // rollbacks without a new checkpoint in between, this one included
	Out       int     `json:"out_units"`    // running and uncommitted, in addition to Units
}

// Decision is a change of a job's shape: of Plan.
type Decision struct {
	Steps []string `json:"steps,omitempty"`        // the steps to do; at the end, those not done
	Bytes int64    `json:"bytes"`                  // to move, or moved
	Took  float64  `json:"took_seconds,omitempty"` // at the end
	// Advice is what a job that chooses its shape remembers, for a process that follows or resumes.
	Advice *advise.State `json:"advice,omitempty"`
}

// Start is what a run begins with.
type Start struct {
	App         string            `json:"app"`
	Data        []string          `json:"data"` // as the command names it; nil for a demo
	Rows        int               `json:"rows"`
	Items       int64             `json:"items"`    // of training in an epoch
	Settings    map[string]string `json:"settings"` // all, with their resolved values
	LoadSeconds float64           `json:"load_seconds"`
	Workers     int               `json:"workers"`
	WorkersMost int               `json:"workers_most"` // compute slots that its splits are enough for
	Baseline    *Baseline         `json:"baseline,omitempty"`
	Columns     []string          `json:"columns,omitempty"` // metrics: the columns of the run's table, in their order
}

// Baseline is what a metric of the run is compared with: that of a predictor that has learned next to nothing.
type Baseline struct {
	Metric string  `json:"metric"`
	Name   string  `json:"name"` // of the predictor, in words
	Value  float64 `json:"value"`
}

// Scored is a fold of a cross-validation: its model was trained on all other rows.
type Scored struct {
	Folds     int `json:"folds"` // in all
	TrainRows int `json:"train_rows"`
	TestRows  int `json:"test_rows"`
	Epochs    int `json:"epochs"`
}

// Figures are the results of an epoch, or of the fold whose model was trained.
type Figures struct {
	Metrics           map[string]float64 `json:"metrics"`
	Seconds           float64            `json:"seconds"`                       // of training, since the start of the run
	Examples          int64              `json:"examples"`                      // items visited, since the start of the run
	ExamplesPerSecond float64            `json:"examples_per_second,omitempty"` // in this epoch; 0: too short to tell
	Phases            map[string]float64 `json:"phases"`                        // slot time in seconds by phase, of this epoch
}
