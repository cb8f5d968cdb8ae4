package main

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
)

// inCluster brings a cluster up, whose jobs the job's command then is one of. end brings it down.
func (j *job) inCluster() (end func() error, err error) {
	j.state = filepath.Join(j.folder, j.name+".state")
	up := exec.Command(j.program, "up", "--workers", strconv.Itoa(toServers), "--servers", "1", "--slots", "1", "--listen", "127.0.0.1:0", "--state", j.state)
	if text, err := up.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("bring a cluster up: %w; it said: %s", err, text)
	}
	return func() error {
		text, err := exec.Command(j.program, "down", "--state", j.state).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("bring the cluster down: %w; it said: %s", err, text)
		}
		return errors.Join(err, os.RemoveAll(j.state))
	}, nil
}

// led is what the cluster says of its job.
type led struct {
	PID        int
	Recoveries []struct{ Time time.Time }
}

// leader asks the cluster who leads its job.
func (j *job) leader() (led, error) {
	text, err := exec.Command(j.program, "jobs", "--json", "--state", j.state).Output()
	var s struct{ Jobs []led }
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err == nil && (len(s.Jobs) == 0 || s.Jobs[0].PID < 2) {
		err = errors.New("nobody leads the job")
	}
	if err != nil {
		return led{}, fmt.Errorf("ask the cluster for its job: %w", err)
	}
	return s.Jobs[0], nil
}

// killLeaders kills the process that leads a job of a cluster, again and again, each time behind a checkpoint. That it is lost is told when the manager has noticed it. A death that another
// process could not follow, so that the job was rolled back, is counted apart.
func (j *job) killLeaders() error { return j.loseLeaders(syscall.SIGKILL) }

// stopLeaders is killLeaders with processes that are stopped, and do not go on.
func (j *job) stopLeaders() error { return j.loseLeaders(syscall.SIGSTOP) }

func (j *job) loseLeaders(by syscall.Signal) error {
	for j.left > 0 {
		if _, err := j.await("a checkpoint", func(e event) bool { return e.Kind == "checkpoint" }); err != nil {
			return err
		}
		if err := j.moment(); err != nil {
			return err
		}
		is, err := j.leader()
		if err != nil {
			return err
		}
		at := time.Now()
		if err := syscall.Kill(is.PID, by); err != nil {
			return err
		}
		e, err := j.await("another process to lead", func(e event) bool { return e.Kind == "taken-over" || e.Kind == "rolled-back" })
		if err != nil {
			return err
		}
		if j.left--; e.Kind != "taken-over" {
			j.unfollowed = append(j.unfollowed, e.Sentence)
			continue
		}
		over := e.Time
		if e, err = j.await("something to count", func(e event) bool { return e.Kind == "visited" && e.Time.After(over) }); err != nil {
			return err
		}
		if is, err = j.leader(); err != nil {
			return err
		}
		noticed := is.Recoveries[len(is.Recoveries)-1].Time
		j.detected, j.recovered = append(j.detected, noticed.Sub(at).Seconds()), append(j.recovered, e.Time.Sub(at).Seconds())
	}
	return nil
}
