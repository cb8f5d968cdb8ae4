package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// counts is what event logs tell, and nothing else: what was done to a job and left no trace in its log is in none of these.
type counts struct {
	Kills      map[string]int `json:"kills"`         // by victim: see the constants below
	InClock    int            `json:"in_clock"`      // kills while uncommitted tasks were out
	InPlan     int            `json:"in_migration"`  // of them, between the decision that something moves and its end
	Between    int            `json:"between_moves"` // of these, when a part of it had moved
	Silent     int            `json:"silent"`        // nodes that were stopped or cut off for longer than a lease, and given up
	Migrations int            `json:"migrations"`    // splits that went together, or a partition
	Splits     int            `json:"splits_moved"`
	Partitions int            `json:"partitions_moved"`
	Drains     int            `json:"drains"` // decided: a node is to leave
	Scales     int            `json:"scales"` // decided: other numbers of nodes
	RolledBack int            `json:"rolled_back"`
	TakenOver  int            `json:"taken_over"` // by another leader, while the nodes continued
	Resumed    int            `json:"resumed"`    // by the same command
	Joined     int            `json:"joined_later"`
	Left       int            `json:"left"`
	Full       int            `json:"cuts_without_room"` // checkpoints that were given up, since the disk was full
}

// Victims, as logs name them.
const (
	aWorker = "worker"               // the job continued without it
	aHolder = "node that was needed" // it held tables, was leaving, or was the last to run tasks
	aLeader = "process that leads"   // the same command resumed, or began anew
	anAgent = "agent"                // with the process that the job had at its node

	// Of the processes of a cluster, as its own log tells.
	aManager = "manager"
	aCluster = "all of a cluster" // as the job's log tells, of one each
)

// Sentences that say that a node was killed, or fell silent, that it is lost with its agent, and that a cluster job's
// leader is lost, or all of the cluster.
const (
	byKill    = "signal: killed"
	bySilence = "has been silent for"
	byAgent   = "of the cluster: its agent "
	byEnd     = "the other side has ended"
	byTimeout = "i/o timeout"
	ofLeader  = "the process that leads job "
	ofAll     = "the cluster's manager, with the job's processes"
)

// Whom a reason tells of: killed, as one of these, or silent.
func whom(reason, otherwise string) (killed string, silent bool) {
	switch {
	case strings.HasPrefix(reason, ofAll):
		return aCluster, false
	case strings.Contains(reason, ofLeader) && strings.Contains(reason, byKill):
		return aLeader, false
	case strings.Contains(reason, byAgent):
		if strings.Contains(reason, byKill) || strings.Contains(reason, byEnd) {
			return anAgent, false
		}
		return "", strings.Contains(reason, byTimeout)
	case strings.Contains(reason, byKill):
		return otherwise, false
	}
	return "", strings.Contains(reason, bySilence)
}

func (c *counts) kill(who string, units int, p *plan) {
	if c.Kills == nil {
		c.Kills = map[string]int{}
	}
	c.Kills[who]++
	if units > 0 {
		c.InClock++
	}
	if p.open {
		c.InPlan++
		if p.moved {
			c.Between++
		}
	}
}

// lose counts a loss, by its reason.
func (c *counts) lose(reason, otherwise string, units int, p *plan) {
	switch killed, silent := whom(reason, otherwise); {
	case killed != "":
		c.kill(killed, units, p)
	case silent:
		c.Silent++
	}
}

// countManagerDeaths counts the ends of managers that `up` reports. If all else died with a manager, the job's log has
// the death.
func (c *counts) countManagerDeaths(text []byte) {
	managers := 0
	for line := range bytes.Lines(text) {
		if !bytes.HasPrefix(line, []byte("{")) && bytes.Contains(line, []byte("has ended without `down`")) { // the line of JSON says it again
			managers++
		}
	}
	if n := managers - c.Kills[aCluster]; n > 0 {
		c.Kills[aManager] += n
	}
}

// total returns the number of kills.
func (c *counts) total() (n int) {
	for _, k := range c.Kills {
		n += k
	}
	return n
}

// add adds what another has counted.
func (c *counts) add(o counts) {
	if c.Kills == nil {
		c.Kills = map[string]int{}
	}
	for who, n := range o.Kills {
		c.Kills[who] += n
	}
	for _, x := range [][2]*int{{&c.InClock, &o.InClock}, {&c.InPlan, &o.InPlan}, {&c.Between, &o.Between}, {&c.Silent, &o.Silent}, {&c.Migrations, &o.Migrations}, {&c.Splits, &o.Splits},
		{&c.Partitions, &o.Partitions}, {&c.Drains, &o.Drains}, {&c.Scales, &o.Scales}, {&c.RolledBack, &o.RolledBack}, {&c.Resumed, &o.Resumed}, {&c.Joined, &o.Joined}, {&c.Left, &o.Left}, {&c.TakenOver, &o.TakenOver}, {&c.Full, &o.Full}} {
		*x[0] += *x[1]
	}
}

// plan is what has been decided and is not over.
type plan struct {
	open, moved bool
	why         string
}

// ended are the kinds of events after which an attempt of a run is over in order.
var ended = []string{"finished", "failed", "lost", "interrupted"}

// count reads the log of a run, with all its attempts. behind says that the run was begun anew in another log when this
// one ended.
func count(text []byte, behind bool) (c counts, err error) {
	c.Kills = map[string]int{}
	var p plan
	var before event
	first := true
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return c, fmt.Errorf("line %q of the log: %w", lines.Text(), err)
		}
		switch e.Kind {
		case "plan":
			why, rest, _ := strings.Cut(e.Sentence, ": ")
			switch {
			case strings.HasPrefix(rest, "done in ") || strings.HasPrefix(rest, "ended in "):
				p = plan{}
			case len(e.Steps) == 0 || p.open && p.why == why: // a step that was refused, or the same with other steps
			default:
				p = plan{open: true, why: why}
				if strings.Contains(why, " is to leave") {
					c.Drains++
				} else {
					c.Scales++
				}
			}
		case "moved":
			p.moved = true
			c.Migrations++
			c.Splits += len(e.Splits)
			if len(e.Splits) == 0 {
				c.Partitions++
			}
		case "left":
			c.Left++
		case "joined":
			if len(e.Processes) == 1 && e.Node != leader {
				c.Joined++
			}
		case "gone":
			c.lose(e.Sentence, aWorker, e.Units, &p)
		case "taken-over":
			c.lose(e.Reason, aLeader, 0, &p)
			c.TakenOver++
			p = plan{}
		case "rolled-back", "lost":
			c.lose(e.Reason+e.Sentence, aHolder, e.Out+e.Units, &p)
			if e.Kind == "rolled-back" {
				c.RolledBack++
			}
			p = plan{}
		case "waiting":
			if noSpace(e) {
				c.Full++
			}
		case "started", "resumed":
			if !first && !slices.Contains(ended, before.Kind) {
				c.kill(aLeader, 0, &p)
			}
			if e.Kind == "resumed" {
				c.Resumed++
			}
			p = plan{}
			before = e
		}
		if e.Kind != "started" {
			first = false
		}
		before = e
	}
	if behind && !slices.Contains(ended, before.Kind) {
		c.kill(aLeader, 0, &p)
	}
	return c, lines.Err()
}
