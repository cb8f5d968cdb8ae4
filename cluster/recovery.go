package cluster

import "time"

// Checkpoint is the last cut of a job's run, as the process that leads the job has told of it.
type Checkpoint struct {
	Era    uint32    `json:"era"` // of the run's attempts
	Commit uint64    `json:"commit"`
	Bytes  int64     `json:"bytes"`       // that were written for it
	At     time.Time `json:"at"`          // when it was there
	Age    float64   `json:"age_seconds"` // since then
}

// Newer reports whether a checkpoint is behind another one, which may be nil.
func (c *Checkpoint) Newer(o *Checkpoint) bool {
	return c != nil && (o == nil || c.Era > o.Era || c.Era == o.Era && c.Commit > o.Commit)
}

// Recovery is a death that a job has survived.
type Recovery struct {
	Time      time.Time `json:"time"` // when it was noticed
	Died      string    `json:"died"` // which process or node, and how
	NoticedBy string    `json:"noticed_by"`
	// that had counted since the last checkpoint; -1: unknown to all living processes
	Units    int64   `json:"lost_units"`
	Seconds  float64 `json:"lost_seconds"` // of training since then, or unknown
	TookOver string  `json:"took_over"`
	InRow    int     `json:"in_a_row"` // with no new checkpoint in between, this one included
}

// Cost is what a death has undone, by the log of the job's run: at least so much.
type Cost struct {
	Units   int64   `json:"units"`
	Seconds float64 `json:"seconds"`
}

// InRowMost is how many times a job is restarted without a new checkpoint: a job that dies that often makes no
// progress.
const InRowMost = 5

// RecoveriesKept is how many of a job's last recoveries are kept.
const RecoveriesKept = 8

// Progress is what the process that leads a job says of it, each second and when something has come about.
type Progress struct {
	Checkpoint *Checkpoint `json:"checkpoint,omitempty"` // the last; nil: none
	Units      int64       `json:"units"`                // since then that count
	Seconds    float64     `json:"seconds"`              // of training since then
	InRow      int         `json:"in_a_row"`
	Recovery   *Recovery   `json:"recovery,omitempty"` // a recovery that it has just made automatically
	Cost       *Cost       `json:"cost,omitempty"`     // of the death before this process, which was otherwise unknown
}
