// Package event is what happens to a run: the kinds of events, the JSON names of their fields, and the log that keeps them. The screen, --json,
// /events and events.jsonl show the same ones.
//
// Its caller fills in an Event's Kind, Node and Sentence and the fields that the kind has, and appends it to the Log; what comes back is what is
// shown. The schema of every kind is in `schema train`; a test holds it against this package.
//
// The package refuses to judge: it keeps what it is told, in the order in which it is told.
package event

import "time"

// Kind says what happened.
type Kind string

// The kinds, in the order in which a run may come to them.
const (
	Started     Kind = "started"
	Stated      Kind = "stated"      // what the job says of its clocks
	Visited     Kind = "visited"     // units that count
	Passed      Kind = "passed-by"   // a damaged checkpoint
	Resumed     Kind = "resumed"     // an unfinished run was taken up
	RolledBack  Kind = "rolled-back" // somebody was lost with what they held, and the run goes on from a checkpoint by itself
	TakenOver   Kind = "taken-over"  // the process that led was lost, another one leads, and the nodes have gone on
	Checkpoint  Kind = "checkpoint"  // all that is needed to go on from there is stored
	Joined      Kind = "joined"      // all processes of the job are there, or one came later
	Left        Kind = "left"        // a node takes part no more, and its process ends
	Gone        Kind = "gone"        // a node is lost, and the job goes on
	Moved       Kind = "moved"       // work has gone from one node to another
	Plan        Kind = "plan"        // it was decided how the job's shape changes, or what has become of that
	Epoch       Kind = "epoch"
	Fold        Kind = "fold"    // of a cross-validation: its model is scored
	Waiting     Kind = "waiting" // for somebody who is named
	Lost        Kind = "lost"    // ended by the loss of nodes
	Failed      Kind = "failed"
	Interrupted Kind = "interrupted"
	Finished    Kind = "finished"
)

// Leader names the node of the process that was called.
const Leader = "node-0"

// Event is one thing that happened, in JSON one flat object. Each field after Sentence is of some kinds only, and absent from the others.
type Event struct {
	Seq      uint64    `json:"seq"` // counted from 1 within a run
	Time     time.Time `json:"time"`
	Kind     Kind      `json:"kind"`
	Node     string    `json:"node"` // where it happened; of Moved, where it went
	Sentence string    `json:"sentence"`

	Model         string         `json:"model,omitempty"`     // the run's folder; of all kinds but Joined, Epoch, Fold and Waiting
	Epoch         *int           `json:"epoch,omitempty"`     // the last that is over, 0 for none; of Epoch and Interrupted
	Fold          int            `json:"fold,omitempty"`      // from 1; of Fold, and of Epoch, Stated and Visited in a cross-validation
	Processes     map[string]int `json:"processes,omitempty"` // by node; of Joined
	From          string         `json:"from,omitempty"`      // of Moved, where it was
	Units         int            `json:"units,omitempty"`     // of Gone: tasks that had not counted and run again; of Lost: those under way that count nowhere
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

	// Digest is of the event without it and of the digest of the event before, so that a line that was altered, added or taken out is seen.
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

// Cargo is a partition that has gone from one node to another: of Moved.
type Cargo struct {
	Table  int     `json:"table"` // by its place in the job
	Number int     `json:"partition"`
	Copied int64   `json:"copied_bytes"`
	Within float64 `json:"moved_seconds"` // from the command on
}

// Checkpointed is what a checkpoint came to.
type Checkpointed struct {
	Commit  uint64  `json:"commit"`             // the last of which it has what was changed
	Written int64   `json:"checkpoint_bytes"`   // for it
	Within  float64 `json:"checkpoint_seconds"` // from its beginning until it was verified
	Every   float64 `json:"interval_seconds"`   // until the next
}

// Rollback is how a run goes on by itself that has lost nodes with what they held. Where it was taken over, nothing is lost: its era is the one that it had, and it goes on from the last record of it that
// was told.
type Rollback struct {
	Reason    string  `json:"reason"`       // who is lost, and how
	NoticedBy string  `json:"noticed_by"`   // that
	TookOver  string  `json:"took_over"`    // what goes on in the place of who is lost
	ToEra     uint32  `json:"to_era"`       // of the checkpoint that it goes on from
	ToCommit  uint64  `json:"to_commit"`    // its record; 0: there is none, and the run starts over
	Era       uint32  `json:"era"`          // that begins: it is behind those of all checkpoints, and nothing of an older one counts
	Units     int64   `json:"lost_units"`   // that had counted since the checkpoint, and are done again; Unknown: nobody is left who knows it
	Lost      float64 `json:"lost_seconds"` // of training since then, likewise
	InRow     int     `json:"in_a_row"`     // with no new checkpoint in between, this one included
	Out       int     `json:"out_units"`    // that were under way and had not counted, beside Units
}

// Decision is what was decided about a job's shape: of Plan.
type Decision struct {
	Steps []string `json:"steps,omitempty"`        // what is to be done; at the end, what was not
	Bytes int64    `json:"bytes"`                  // that are to move, or have
	Took  float64  `json:"took_seconds,omitempty"` // at the end
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

// Figures are what an epoch came to, or the fold whose model was trained.
type Figures struct {
	Metrics           map[string]float64 `json:"metrics"`
	Seconds           float64            `json:"seconds"`                       // of training, since the start of the run
	Examples          int64              `json:"examples"`                      // items visited, since the start of the run
	ExamplesPerSecond float64            `json:"examples_per_second,omitempty"` // in this epoch; 0: too short to tell
	Phases            map[string]float64 `json:"phases"`                        // slot time in seconds by phase, of this epoch
}
