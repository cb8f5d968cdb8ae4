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

// Follow is what a process goes on from that leads a job in the place of one that has died. Lanes have kept all records of what that one decided since Saved,
// so that nothing is decided anew, and nobody else begins again.
type Follow struct {
	// Term is above that of all that have led this life of the job.
	Term bellows.Term
	// Saved is the controller as it was at the last cut of this life, which the archive of Options.Checkpoints must have found, too (archive.Latest); zero: as the life began.
	Saved coord.Saved
	// Members are the nodes that may be there, those that joined since the job's beginning, too. Numbers below Nodes were given.
	Members []Member
	Nodes   int
	// Told is the last record up to which it was told what counts (Options.OnVisits), Counted that of the last batch that has anything, and Epochs the number of the last epoch that was told.
	Told, Counted bellows.CommitNumber
	Epochs        int
	// Since is what was done since the last cut of this life, of which it has the commit, as far as the one before has said; and There and Bytes are when that was there, and its size. They are told to who looks.
	Since Since
	There time.Time
	Bytes int64
	// Absent is told of each of Members that takes no part as far as was recorded: its process is to end. nil: nobody is.
	Absent func(bellows.NodeID)
}

// newLead makes the controller, and what is around it: of the job's beginning, or in the place of a process that led and had no part of the job but that.
func (p *process) newLead(opt coord.Options) (*shell.Lead, error) {
	f := p.opt.Follow
	if f == nil {
		return shell.NewLead(p.common, opt)
	}
	if me := p.cluster.Me(); me.Lanes > 0 || me.Slots > 0 {
		return nil, bellows.Errorf(bellows.Lost, "follow", "the process that led", "it held a part of the tables, or ran tasks, which died with it: the job goes back to its last checkpoint")
	}
	saved := f.Saved
	if saved.Commit == 0 && p.opt.Resume != nil {
		saved.State = p.opt.Resume.Controller()
	}
	opt.Term, opt.TellFrom = f.Term, f.Told+1
	return shell.FollowLead(p.common, opt, saved, f.Nodes)
}

// goesOn is what is known of cuts where the process follows another.
func (s *saving) goesOn(f *Follow) {
	if f != nil {
		s.so.Units = f.Since.Units
		s.last = Since{Commit: f.Since.Commit, Trained: -f.Since.Trained}
		s.there, s.bytes, s.told = f.There, f.Bytes, f.Told
	}
}

// meet has the checker of a process that follows hear all that may be there, behind the route of the last cut: what lanes say of who takes part comes later.
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

// known are the members by the route that was recovered, and whom it does not have: they are to go.
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
