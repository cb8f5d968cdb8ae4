package manager

import (
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"time"

	"bellows/cluster"
	"bellows/cluster/lead"
)

// heritage is what a job's leader leaves to a successor, while the processes of the job's nodes continue. The zero
// value: no successor is possible.
//
// States of a job with a successor. It runs, led, until the process is killed by a signal and all its messages are
// received. Then it still runs, in the next term, and the next process is started at once and not by the queue. When
// that process connects, it gets the ends of nodes' processes meanwhile, and the unanswered requests again (meanwhile).
// If it cannot follow after all, it reports that, ends those processes and begins another attempt of the job, like a
// leader that has lost nodes with tables.
type heritage struct {
	succession json.RawMessage   // as the process has told it, with secrets: for a pipe to the next one
	missed     []cluster.Message // of the nodes' processes, since the job has no leader
}

// missedMost is how many messages are kept for a process that has not called yet. Of the ends of processes there are fewer.
const missedMost = 4 * nodesMost

// question is asked of a job, and not answered yet.
type question struct {
	job    *job
	msg    cluster.Message
	answer chan cluster.Reply // has room
}

// notifyLeader returns a message to the process that leads the job: when there is one. The manager's lock is held.
func (j *job) notifyLeader(msg cluster.Message) []outgoing {
	if j.session != nil {
		return []outgoing{{j.session, msg}}
	}
	if msg.Over != nil || len(j.missed) < missedMost {
		j.missed = append(j.missed, msg)
	}
	return nil
}

// meanwhile returns what the process that has called has missed: what became of processes, and questions to the one
// before. The manager's lock is held.
func (m *manager) meanwhile(j *job) (list []outgoing) {
	for _, msg := range j.missed {
		list = append(list, outgoing{j.session, msg})
	}
	j.missed = nil
	var ids []uint64
	for id, q := range m.asked {
		if q.job == j {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		list = append(list, outgoing{j.session, m.asked[id].msg})
	}
	return list
}

// follows reports whether another process can follow the one that led the job: that has told what this needs, and nodes of it run. The manager's lock is held.
func (m *manager) follows(j *job) bool { return j.succession != nil && len(j.processes) > 0 }

// following returns what the next process resumes with. The manager's lock is held.
func (m *manager) following(j *job) *lead.Following {
	f := &lead.Following{Succession: j.succession, Units: j.lastReport().Units, Seconds: j.lastReport().Seconds}
	for number, id := range j.processes {
		if p := m.processes[id]; p != nil {
			f.Processes = append(f.Processes, cluster.Process{Number: number, Node: p.at.place.Node, Member: p.member, PID: p.pid})
		}
	}
	slices.SortFunc(f.Processes, func(a, b cluster.Process) int { return cmp.Compare(a.Number, b.Number) })
	return f
}

// placesOf returns the nodes where the job has processes, in the order of their numbers. The manager's lock is held.
func (m *manager) placesOf(j *job) (list []cluster.Place) {
	for _, n := range m.nodes {
		if n.job == j && n.state != cluster.Gone {
			list = append(list, n.place)
		}
	}
	return list
}

// heardWithin is how long what a process has said is read behind its end: it is there.
const heardWithin = 2 * time.Second

// hearOut waits until all is heard that the process that led has said.
func (m *manager) hearOut(j *job) {
	m.mu.Lock()
	heard := j.heard
	m.mu.Unlock()
	if heard == nil {
		return
	}
	late := time.NewTimer(heardWithin)
	defer late.Stop()
	select {
	case <-heard:
	case <-late.C:
	}
}

// outlives ends a process that leads a job and is not heard any more: at once where it was silent, as one that was stopped is, and else when it has had the time to end. It would be in the way
// of the next.
func (m *manager) outlives(j *job, process *os.Process, exited <-chan struct{}, silent bool) {
	within := endWithin
	if silent {
		within = 0
	}
	late := time.NewTimer(within)
	defer late.Stop()
	select {
	case <-exited:
	case <-late.C:
		m.logf("job %d: the process that leads it (%d) no longer responds, and is killed", j.number, process.Pid)
		if err := process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			m.logf("job %d: %v", j.number, err)
		}
	}
}
