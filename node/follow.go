package node

import (
	"slices"
	"time"

	"bellows"
	"bellows/core/coord"
	"bellows/core/shell"
	"bellows/core/validate"
	"bellows/link/wire"
)

// Follow is the state from which a process continues that leads a job in place of one that has died. Lanes have kept
// all records since Saved, so that nothing is decided anew and no other process starts over.
type Follow struct {
	// Term is above that of all that have led this life of the job.
	Term bellows.Term
	// Saved is the controller at the last cut of this attempt, which the archive of Options.Checkpoints must also have
	// found (archive.Latest); zero: at the beginning of the attempt.
	Saved coord.Saved
	// Members are the nodes that may be there, including those that joined after the job's beginning. Numbers below
	// Nodes were given.
	Members []Member
	Nodes   int
	// Told is the last record up to which OnVisits was called, Counted the last record of the last batch that has
	// anything, and Epochs the number of the last reported epoch.
	Told, Counted bellows.CommitNumber
	Epochs        int
	// Since is the work since the last cut of this attempt, as far as the previous process has reported; it has the
	// cut's commit. There and Bytes are the time and the size of that cut. They are shown to status requests.
	Since Since
	There time.Time
	Bytes int64
	// Absent is called for each of Members that takes no part according to the records: its process must end. nil: not
	// called.
	Absent func(bellows.NodeID)
}

// newLead makes the controller, and what is around it: of the job's beginning, or in the place of a process that led and had no part of the job but that.
func (p *process) newLead(opt coord.Options) (*shell.Lead, error) {
	f := p.opt.Follow
	if f == nil {
		return shell.NewLead(p.common, opt)
	}
	if me := p.cluster.SelfMember(); me.Lanes > 0 || me.Slots > 0 {
		return nil, bellows.Errorf(bellows.Lost, "follow", "the process that led", "it held a part of the tables, or ran tasks, which died with it: the job goes back to its last checkpoint")
	}
	saved := f.Saved
	if saved.Commit == 0 && p.opt.Resume != nil {
		saved.State = p.opt.Resume.Controller()
	}
	opt.Term, opt.TellFrom = f.Term, f.Told+1
	return shell.FollowLead(p.common, opt, saved, f.Nodes)
}

// goesOn sets what is known about cuts in a process that follows another.
func (s *saving) goesOn(f *Follow) {
	if f != nil {
		s.so.Units = f.Since.Units
		s.last = Since{Commit: f.Since.Commit, Trained: -f.Since.Trained}
		s.there, s.bytes, s.told = f.There, f.Bytes, f.Told
	}
}

// meet tells the checker of a process that follows about everything that may exist after the route of the last cut. The
// lanes report later who takes part.
func (l *lead) meet(c *validate.Checker) {
	f := l.opt.Follow
	if f == nil {
		return
	}
	c.Learn(l.route)
	c.Follow()
	for _, m := range f.Members {
		var list []wire.Address
		for i := range m.Lanes {
			list = append(list, wire.LaneAt(m.Node, i))
		}
		if m.Slots > 0 {
			list = append(list, wire.ClientAt(m.Node))
		}
		c.Meet(list)
	}
}

// known compares the members with the recovered route. Members that the route lacks are removed.
func (l *lead) known() {
	f := l.opt.Follow
	if f == nil || l.recovered || !l.shell.Begun() {
		return
	}
	l.recovered = true
	here := func(m Member) bool {
		at := func(a wire.Address) bool { return a.Node == m.Node }
		return m.Node == l.cluster.Self || slices.ContainsFunc(l.route.Lanes(), at) || slices.ContainsFunc(l.route.Clients(), at)
	}
	l.members = nil
	for _, m := range f.Members {
		if here(m) {
			l.members = append(l.members, m)
		} else {
			l.mesh.Drop(m.Node)
			if f.Absent != nil {
				f.Absent(m.Node)
			}
		}
	}
}
