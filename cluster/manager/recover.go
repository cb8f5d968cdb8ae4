package manager

import (
	"fmt"
	"time"

	"bellows"
	"bellows/cluster"
	"bellows/cluster/lead"
	"bellows/figures"
	"bellows/run/event"
)

// recovering is what lets a job continue after a death: of the process that leads it, or of the manager. Except report,
// all of it is in the registry.
//
// Such a job has the states of any job: it is queued again, with a term above 0, and so comes before all that were
// submitted later. next starts another process when every process of the previous one has ended, and a worker is there.
// The new term is written before it starts, under the manager's own term. That process finds the job's run by the order
// in the run's record, and resumes from the last checkpoint.
type recovering struct {
	term       int  // counts the processes that have led it
	cut        bool // its command was too long for the registry of the manager before
	cancelled  bool
	checkpoint *cluster.Checkpoint // the last reported one
	inRow      int                 // deaths with no newer one in between
	recoveries []cluster.Recovery  // the last ones
	died       *cluster.Recovery   // for the next process; nil: none has led it before
	report     *cluster.Progress   // the last; nil: this manager has heard of none since the job was led last
}

// begun reports whether a process has led the job.
func (r *recovering) begun() bool { return r.term > 0 }

// hears takes note of how far the job is, and reports whether the registry is to know. The manager's lock is held.
func (r *recovering) hears(p *cluster.Progress) (news bool) {
	if n := len(r.recoveries); p.Cost != nil {
		if news = n > 0 && r.recoveries[n-1].Units < 0; news {
			r.recoveries[n-1].Units, r.recoveries[n-1].Seconds = p.Cost.Units, p.Cost.Seconds
		}
		return news
	}
	r.report = p
	if p.Checkpoint.Newer(r.checkpoint) {
		r.checkpoint, r.inRow, news = p.Checkpoint, 0, true
	}
	if p.Recovery != nil {
		r.inRow, news = p.InRow, true
		r.survives(*p.Recovery)
	}
	return news
}

func (r *recovering) survives(d cluster.Recovery) {
	r.recoveries = append(r.recoveries, d)
	if n := len(r.recoveries) - cluster.RecoveriesKept; n > 0 {
		r.recoveries = r.recoveries[n:]
	}
}

// falls records the death of the process that led the job, and says what takes over; "": nothing, because this happened
// too often without a new checkpoint. live: the job's nodes continue, and nothing is lost.
func (r *recovering) falls(died string, live bool, now time.Time) (tookOver string) {
	if r.inRow >= cluster.InRowMost {
		return ""
	}
	r.inRow++
	tookOver = fmt.Sprintf("another process, the %s that leads the job", ordinal(r.term+1))
	d := cluster.Recovery{Time: now, Died: died, NoticedBy: "the cluster's manager", Units: event.Unknown, Seconds: event.Unknown, TookOver: tookOver, InRow: r.inRow}
	switch p := r.report; {
	case live:
		d.Units, d.Seconds, d.TookOver = 0, 0, tookOver+"; its nodes continue"
	case p != nil:
		d.Units, d.Seconds = p.Units, p.Seconds
	}
	if !live {
		r.report = nil
	}
	r.died = &d
	r.survives(d)
	return tookOver
}

// ordinal returns a number in an order.
func ordinal(n int) string {
	switch end := "th"; {
	case n%100/10 == 1:
		return fmt.Sprint(n) + end
	case n%10 == 1:
		return fmt.Sprintf("%dst", n)
	case n%10 == 2:
		return fmt.Sprintf("%dnd", n)
	case n%10 == 3:
		return fmt.Sprintf("%drd", n)
	default:
		return fmt.Sprint(n) + end
	}
}

// lastReport returns how far the job is, by the last report.
func (r *recovering) lastReport() cluster.Progress {
	if r.report == nil {
		return cluster.Progress{}
	}
	return *r.report
}

// cost says what the death of the process that leads the job undoes.
func (r *recovering) cost() string {
	since := "work since the last checkpoint"
	if r.checkpoint == nil {
		since += ", if there was one,"
	}
	switch p := r.report; {
	case p == nil:
		return since + " is lost, the amount is unknown to this manager"
	case r.checkpoint == nil:
		return fmt.Sprintf("%s is lost: as far as known %s, %s s", since, figures.Plural(int(p.Units), "unit"), figures.Duration(p.Seconds))
	default:
		return fmt.Sprintf("%s is lost: %s, %s s", since, figures.Plural(int(p.Units), "unit"), figures.Duration(p.Seconds))
	}
}

// fell handles a job whose leader was killed. If the job's processes at nodes can continue without it, another process
// follows at once. Otherwise they are asked to end, and another process then begins a new attempt of the job. A
// cancelled job, or one that dies again and again, has ended.
func (m *manager) fell(j *job, died string) {
	m.hearOut(j)
	m.mu.Lock()
	j.process = nil
	live := m.follows(j)
	code, said := 0, ""
	var list []outgoing
	var assignment lead.Assignment
	switch cost := j.cost(); {
	case j.cancelled || m.closing:
		code, said = bellows.Interrupted.ExitCode(), died+"; it was to end"
	default:
		took := j.falls(died, live, time.Now())
		if took == "" {
			code = bellows.Lost.ExitCode()
			said = fmt.Sprintf("%s; %s; the job gives up after %d restarts in a row without a new checkpoint; the same command resumes it", died, cost, j.inRow)
			break
		}
		j.spool.DropLine()
		said = fmt.Sprintf("%s; %s; %s takes over (%d of at most %d times in a row without a new checkpoint)", died, cost, took, j.inRow, cluster.InRowMost)
		if live {
			said = fmt.Sprintf("%s; %s takes its place, with what the job has at %s (%d of at most %d times in a row without a new checkpoint)", died, took, figures.Plural(len(m.placesOf(j)), "node"), j.inRow, cluster.InRowMost)
			j.term++
			j.awaits()
			assignment = m.assign(j)
			assignment.Places, assignment.Following = m.placesOf(j), m.following(j)
			break
		}
		j.state, m.current = cluster.Queued, nil
	}
	if assignment.Following == nil {
		list = m.abandon(j)
	}
	m.mu.Unlock()
	m.logf("%s", said)
	j.spool.Say(said)
	send(list)
	switch {
	case code != 0:
		m.ended(j, code)
	case assignment.Following != nil:
		m.begin(j, assignment)
	default:
		m.note(j)
		m.next()
	}
}

// unheard handles the end of a leading process (pid) that did not reach the manager, and reports whether it was one. The job does not end by that: if an earlier process has led the job, the end
// counts like a kill; else the job is queued again.
func (m *manager) unheard(j *job, pid int) bool {
	m.mu.Lock()
	if j.heard != nil || m.current != j {
		m.mu.Unlock()
		return false
	}
	why := fmt.Sprintf("the process that leads job %d (%d) has not reached the manager", j.number, pid)
	if j.died != nil || j.cancelled || m.closing || j.inRow >= cluster.InRowMost {
		m.mu.Unlock()
		m.fell(j, why)
		return true
	}
	j.process = nil
	j.inRow++
	j.state, m.current = cluster.Queued, nil
	list := m.abandon(j)
	m.mu.Unlock()
	m.logf("%s; another one begins the job", why)
	send(list)
	m.note(j)
	m.next()
	return true
}
