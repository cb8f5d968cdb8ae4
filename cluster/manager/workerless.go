package manager

import (
	"fmt"
	"time"

	"bellows"
	"bellows/cluster"
)

// workerWithin is how long a job that has lost its leader and all workers waits for a worker. Lost nodes are rarely
// restarted within a moment, and rarely later than this if that happens automatically.
const workerWithin = time.Minute

// awaitWorker handles a job that should resume and has no worker: it reports once what the job waits for, and ends the
// job if no worker has come, with the exit code of lost nodes, as for a leader that lost them. The manager's lock is
// held.
func (m *manager) awaitWorker(j *job) {
	if j.lonely != nil {
		return
	}
	j.lonely = time.AfterFunc(workerWithin, func() { m.workerless(j) })
	said := fmt.Sprintf("job %d waits for a worker, %v at most: none of the cluster is left; `scale --workers 2` starts some", j.number, workerWithin)
	m.waits.Go(func() {
		m.logf("%s", said)
		j.spool.Say(said)
	})
}

// comes ends the wait of a job for a worker. The manager's lock is held.
func (j *job) comes() {
	if j.lonely != nil {
		j.lonely.Stop()
		j.lonely = nil
	}
}

// workerless ends a job without any worker. Its results are kept: the same command resumes it.
func (m *manager) workerless(j *job) {
	m.mu.Lock()
	if j.lonely == nil || j.state != cluster.Queued || m.closing {
		m.mu.Unlock()
		return
	}
	j.lonely = nil
	j.state = cluster.Interrupted // from here on nothing else ends it
	m.mu.Unlock()
	said := fmt.Sprintf("job %d: no worker joined within %v; resume with the same command: %s %s", j.number, workerWithin, j.request.Word, command(&j.request))
	m.logf("%s", said)
	j.spool.Say(said)
	m.ended(j, bellows.Lost.ExitCode())
}
