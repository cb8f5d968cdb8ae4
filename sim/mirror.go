package sim

import (
	"bellows/core/partition"
	"bellows/core/partition/partitiontest"
	"bellows/sim/internal/model"
)

// mirrors repeat the changes of every partition in stores of their own and compare the bits, in schedules that want it. They read
// late, and some logs keep little for them: then a mirror is cut off and starts over with a copy of the state. No actor hears of them.
type mirrors struct {
	job   *model.Job
	every int // changes after which one reads; 0: there are none
	list  []*partitiontest.Mirror
	must  func(error)
}

// follow attaches a mirror to a new partition.
func (o *mirrors) follow(p *partition.Partition) {
	if o.every == 0 {
		return
	}
	s := &o.job.Schemas[p.Ref.Table]
	m, err := partitiontest.New(p, s, s.Cut())
	if err != nil {
		o.must(err)
		return
	}
	m.Every = 1 + (o.every+len(o.list))%16
	o.list = append(o.list, m)
}

// Final compares each mirror with its partition for the last time.
func (o *mirrors) Final() {
	for _, m := range o.list {
		o.must(m.Check())
	}
}
