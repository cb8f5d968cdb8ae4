package detection

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"bellows/bench/internal/follow"
	"bellows/bench/internal/pair"
)

// inCluster starts a cluster, in which the job's command then runs. end stops it.
func (j *job) inCluster() (end func()) {
	j.state = filepath.Join(j.folder, j.name+".state")
	command := func(words ...string) {
		if text, err := exec.Command(j.program, append(words, "--state", j.state)...).CombinedOutput(); err != nil {
			pair.Check(fmt.Errorf("bellows %s: %w; it printed: %s", words[0], err, text))
		}
	}
	command("up", "--workers", strconv.Itoa(toServers), "--servers", "1", "--slots", "1", "--listen", "127.0.0.1:0")
	return func() {
		command("down")
		pair.Check(os.RemoveAll(j.state))
	}
}

// led is what the cluster says of its job.
type led struct {
	PID        int
	Recoveries []struct{ Time time.Time }
}

// leader asks the cluster for the process that leads its job.
func (j *job) leader() led {
	text, err := exec.Command(j.program, "jobs", "--json", "--state", j.state).Output()
	var s struct{ Jobs []led }
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err == nil && (len(s.Jobs) == 0 || s.Jobs[0].PID < 2) {
		err = errors.New("no process leads the job")
	}
	if err != nil {
		pair.Check(fmt.Errorf("ask the cluster for its job: %w", err))
	}
	return s.Jobs[0]
}

// loseLeaders returns a function that kills or stops the process that leads a job of a cluster, again and again, each time after a checkpoint. The loss is reported when the manager has
// noticed it. A death that another process could not follow, so that the job was rolled back, is counted apart.
func loseLeaders(by syscall.Signal) func(j *job) {
	return func(j *job) {
		for j.left > 0 {
			j.cutAndMoment()
			is, at := j.leader(), time.Now()
			pair.Check(syscall.Kill(is.PID, by))
			e := j.await("other process that leads", follow.HasKind("taken-over", "rolled-back"))
			if e.Kind != "taken-over" {
				j.left--
				j.unfollowed = append(j.unfollowed, e.Sentence)
				continue
			}
			counts := j.awaitVisit(e.Time).Time
			is = j.leader()
			j.took(at, is.Recoveries[len(is.Recoveries)-1].Time, counts)
		}
	}
}
