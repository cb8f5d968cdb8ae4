// Package mirrors repeats the changes of every partition in a second store, from the partition's log, and compares the
// two.
package mirrors

import (
	"bellows/core/partition"
	"bellows/core/partition/partitiontest"
	"bellows/sim/internal/model"
)

// Mirrors are an observer of the simulation, in schedules that want it: they compare the bits. They read late, and some logs keep
// little for them: then a mirror is cut off and starts over with a copy of the state. No actor sends to them.
type Mirrors struct {
	Job   *model.Job
	Every int // changes after which one reads; 0: no mirrors
	Must  func(error)
	List  []*partitiontest.Mirror
}

// Follow attaches a mirror to a new partition.
func (o *Mirrors) Follow(p *partition.Partition) {
	if o.Every == 0 {
		return
	}
	s := &o.Job.Schemas[p.Ref.Table]
	m, err := partitiontest.New(p, s, s.Cut())
	if err != nil {
		o.Must(err)
		return
	}
	m.Every = 1 + (o.Every+len(o.List))%16
	o.List = append(o.List, m)
}

// Final compares each mirror with its partition for the last time.
func (o *Mirrors) Final() {
	for _, m := range o.List {
		o.Must(m.Check())
	}
}
