package node

import (
	"bellows"
	"bellows/core/rowstore"
	"bellows/train"
)

// resume loads the state of a saved run into the lanes of this process, and into the controller if it is here. Every
// process has all of the saved state and takes the parts that it owns, so that a run may resume in another number of
// processes than it began in (TestInterruptAndResumeAcrossNodes). Lanes begin with the complete clocks and with the units
// of later ones that count; tasks that were out are run again.
func (p *process) resume(saved train.Saved) error {
	if why := p.job.Stays; why != "" {
		return bellows.Errorf(bellows.Refused, "resume", "", "%s, and cannot be saved: such a job cannot resume from a saved run, so start it over", why)
	}
	if im, ok := saved.(*train.Image); ok {
		if err := p.fits(im); err != nil {
			return err
		}
	}
	for ref := range p.common.Route.Each() {
		owner := p.common.Route.Owner(ref).Lane
		if owner.Node != p.cluster.Self {
			continue
		}
		live, kept, err := saved.Partition(ref)
		if err != nil {
			return err
		}
		l := p.lanes[owner.Index]
		if kept != nil {
			l.LoadKept(ref, kept)
		}
		if err := l.Load(ref, live); err != nil {
			return err
		}
	}
	state := saved.Controller()
	for _, l := range p.lanes {
		if err := l.Resume(state.Complete, state.Open); err != nil {
			return err
		}
	}
	if p.lead == nil || p.opt.Follow != nil {
		return nil
	}
	return p.lead.shell.Resume(state)
}

// fits refuses a saved run of other tables or partitions (TestAnImageOfAnotherJobIsRefused). A lane checks the content
// of a partition when it loads it.
func (p *process) fits(im *train.Image) error {
	for _, saved := range [][][]rowstore.Image{im.Tables, im.Kept} {
		if saved == nil {
			continue // nothing was kept
		}
		if len(saved) != len(p.job.Tables) {
			return bellows.Errorf(bellows.BadData, "resume", "", "the saved run has %d tables, this one %d", len(saved), len(p.job.Tables))
		}
		for t := range saved {
			if want := p.common.Route.Cut(bellows.TableID(t)).Len(); len(saved[t]) != want {
				return bellows.Errorf(bellows.BadData, "resume", p.job.Tables[t].Name, "the saved table has %d partitions, this one %d", len(saved[t]), want)
			}
		}
	}
	if im.Tables == nil {
		return bellows.Errorf(bellows.BadData, "resume", "", "the saved run has no tables")
	}
	return nil
}
