package recovery

import (
	"io"
	"time"

	"bellows"
	"bellows/cluster"
	"bellows/node"
	"bellows/node/launch"
	"bellows/run"
	"bellows/run/event"
)

// goingOn is an attempt of the run whose nodes continued when its leader was lost.
type goingOn struct {
	told event.Told
	cut  bellows.CommitNumber // the last of this life; 0: none is there
	is   bool                 // its tasks have also been sent from here
}

// RefuseOtherRun ends the processes of continuing nodes if the run in the folder is not the one that they can continue
// with, and reports whether it is so: then another attempt begins.
func (v *Recovery) RefuseOtherRun(f *run.Folder) bool {
	l := v.Lead
	if l == nil || l.Follows() == nil || f.Live {
		return false
	}
	if f.Apart == nil {
		f.Apart = bellows.Errorf(bellows.Lost, "resume", f.Dir, "it is no longer the run of these nodes")
	}
	l.Dismiss()
	return true
}

// leaderLost describes the lost leader of a job whose nodes cannot continue.
func (v *Recovery) leaderLost(why string) string {
	return v.Lead.Died.Died + "; its nodes cannot continue: " + why
}

// Cause returns the reason for a rollback: lost nodes, after the loss of the leader if they cannot continue without it.
func (v *Recovery) Cause(reason string) string {
	if g := v.goesOn; g != nil && !g.is {
		reason = v.leaderLost(reason)
	}
	v.goesOn = nil
	return reason
}

// ReadEarlierLog reads the events that the process before recorded, and adds to the folder how long that has trained. told has the events that no
// follower of the job has seen.
func (v *Recovery) ReadEarlierLog(f *run.Folder) (told event.Told, err error) {
	if !f.Live {
		return told, nil
	}
	if told, err = f.Log.Replay(v.Lead.Shown); err != nil {
		return told, err
	}
	f.Before.Seconds += v.Lead.Following.Seconds
	v.goesOn = &goingOn{told: told}
	if m := f.Saved; m != nil && m.At.Era == f.Life {
		v.goesOn.cut = m.At.Commit
	}
	return told, nil
}

// firstCut returns the cut of this life that was there before this process led.
func (v *Recovery) firstCut() bellows.CommitNumber {
	if v.goesOn == nil {
		return 0
	}
	return v.goesOn.cut
}

// followed returns the event of a job that this process leads from now on, while its nodes continued.
func (v *Recovery) followed(b *event.Rollback, f *run.Folder) event.Event {
	b.Era, b.ToEra, b.ToCommit = uint32(f.Life), uint32(f.Life), v.goesOn.told.Record
	v.Recoveries = append(v.Recoveries, Restart{Kind: string(event.TakenOver), Rollback: b})
	return event.OfTakeover(b, f.Dir, len(v.Lead.Following.Processes), cluster.InRowMost)
}

// Undone returns the cost of a death from before this process led the job, as far as its predecessor reported it.
func (v *Recovery) Undone() node.Since {
	if l := v.Lead; l != nil && l.Follows() != nil {
		return node.Since{Units: l.Following.Units, Trained: trained(l.Following.Seconds)}
	}
	return node.Since{}
}

func trained(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

// Follow returns what the job resumes with in this process; nil: it, or another attempt of it, begins.
func (v *Recovery) Follow(f *run.Folder, output func(bellows.NodeID) io.Writer) *launch.Following {
	l := v.Lead
	if l == nil || l.Follows() == nil {
		return nil
	}
	to := node.Follow{Term: bellows.Term(l.Term), Told: bellows.CommitNumber(v.goesOn.told.Record), Counted: bellows.CommitNumber(v.goesOn.told.Counted), Since: v.Undone()}
	if e := v.goesOn.told.Epoch; e != nil && e.Epoch != nil {
		to.Epochs = *e.Epoch
	}
	if v.goesOn.cut > 0 {
		to.Saved, to.Since.Commit, to.There, to.Bytes = f.Saved.Saved(), v.goesOn.cut, f.Saved.Time, f.Saved.Bytes()
	}
	return &launch.Following{Succession: *l.Follows(), Processes: l.Adopt(output), Follow: to}
}
