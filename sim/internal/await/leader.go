package await

import (
	"bellows/core/shell"
	"bellows/sim/internal/failover"
	"bellows/sim/internal/lifecycle"
	"bellows/sim/internal/model"
)

// Leader is node 0, which waits for others at every stage of a job.
type Leader struct {
	Lead     func() *shell.Lead
	Life     *lifecycle.Watch
	Failover *failover.Watch
	Oracle   *model.Oracle
	Followed *int64 // when the last controller followed another: it begins its waits anew
}

// For returns the wait of node 0, and how far that has come.
func (l *Leader) For() (kind Wait, mark int) {
	lead := l.Lead()
	switch {
	case lead.Collecting():
		return State, l.Life.Surrendered
	case l.Life.EndedBy == l.Failover.Term:
		return End, l.Life.LastWords
	case lead.Recovering():
		return Tails, l.Failover.Heard
	case !lead.Begun():
		return Ready, int(*l.Followed)
	case l.Life.Begun:
		return Tasks, l.Oracle.Flushes + int(*l.Followed)
	}
	return Ready, 0
}
