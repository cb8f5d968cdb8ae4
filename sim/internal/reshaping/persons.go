package reshaping

import (
	"bellows/policy/reshape"
	"bellows/sim/internal/lifecycle"
	"bellows/sim/internal/schedule"
	"bellows/sim/internal/trace"
)

// Persons ask for other shapes. A controller that does not know the job yet is asked again.
type Persons struct {
	*trace.Trace
	Life   *lifecycle.Watch
	Shaper *Shaper                                       // of the controller that leads
	Later  func(do func())                               // does something in a while
	Scaled func(s *reshape.Scale, before *reshape.Facts) // is called when a job was scaled; nil: not
}

// Want asks for what a schedule has, when the controller knows the job.
func (p *Persons) Want(e schedule.Reshape) {
	if p.Life.IsOver() {
		return
	}
	f, known := p.Shaper.job.Facts()
	if !known {
		p.Later(func() { p.Want(e) })
		return
	}
	if a, some := Want(e, f); some {
		p.Note("reshape: %s is asked for", e.What)
		p.Ask(a)
	}
}

// Ask asks for a shape.
func (p *Persons) Ask(a reshape.Ask) {
	if p.Life.IsOver() {
		return
	}
	before, _ := p.Shaper.job.Facts()
	_, taken := p.Shaper.AskThen(a, func(o *reshape.Outcome) {
		if a.Scale != nil && p.Scaled != nil && !o.Bad && !o.Superseded {
			p.Scaled(a.Scale, &before)
		}
	})
	if !taken {
		p.Later(func() { p.Ask(a) })
	}
}
