//go:build soak

package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bellows/experiments/internal/report"
)

// TestJobsSurvive disturbs a job of each application. A seed draws the acts; their moments depend on this machine's
// speed; the goals depend on neither.
func TestJobsSurvive(t *testing.T) {
	b := &bench{seed: 5, models: map[string][]byte{}, quick: true, silent: silentMost}
	o, err := b.runJobs(&report.Run{Out: io.Discard, Quick: true}, 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	if f := o.Figures.(*figures); f.Jobs != len(applications) || f.Equal != f.Jobs || f.total() == 0 || len(o.Pictures) != 1 {
		t.Errorf("%+v", f)
	}
}

// TestLogsAreCounted counts a log that has each of what is counted, and lines that are nothing of it.
func TestLogsAreCounted(t *testing.T) {
	t.Parallel()
	lines := []string{
		`{"seq":1,"kind":"started","node":"node-0","sentence":"mlr begins"}`,
		`{"seq":2,"kind":"joined","node":"node-0","processes":{"node-0":1,"node-1":2,"node-2":3}}`,
		`{"seq":3,"kind":"gone","node":"node-2","sentence":"the job continues without node 2 (node 2 (process 3) ended with signal: killed)","units":2}`,
		`{"seq":4,"kind":"plan","node":"node-0","sentence":"node-1 is to leave within 30.0 s: 2 steps","steps":["move split 1"]}`,
		`{"seq":5,"kind":"plan","node":"node-0","sentence":"node-1 is to leave within 30.0 s: 1 step","steps":["move split 2"]}`,
		`{"seq":6,"kind":"moved","node":"node-3","from":"node-1","sentence":"2 splits","splits":[1,2]}`,
		`{"seq":7,"kind":"rolled-back","node":"node-0","sentence":"goes on","reason":"train: node 1 (process 2) ended with signal: killed","out_units":1}`,
		`{"seq":8,"kind":"joined","node":"node-3","processes":{"node-3":9}}`,
		`{"seq":9,"kind":"plan","node":"node-0","sentence":"3 workers and 0 servers are wanted, there are 2 and 0: 1 step","steps":["move"]}`,
		`{"seq":10,"kind":"moved","node":"node-3","from":"node-1","sentence":"a partition","table":0,"partition":1}`,
		`{"seq":11,"kind":"plan","node":"node-0","sentence":"3 workers and 0 servers are wanted, there are 2 and 0: done in 1.0 s, 1 moved","took_seconds":1}`,
		`{"seq":12,"kind":"gone","node":"node-3","sentence":"the job continues without node 3 (node 3 has been silent for 2.9 s)","units":2}`,
		`{"seq":13,"kind":"left","node":"node-1","sentence":"node 1 has left"}`,
		`{"seq":14,"kind":"resumed","node":"node-0","sentence":"goes on"}`,
		`{"seq":15,"kind":"lost","node":"node-0","sentence":"train: node 2 (process 3) ended with signal: killed","units":4}`,
		`{"seq":16,"kind":"resumed","node":"node-0","sentence":"goes on"}`,
		`{"seq":17,"kind":"joined","node":"node-0","processes":{"node-0":1,"node-1":2}}`,
		`{"seq":18,"kind":"gone","node":"node-1","sentence":"the job continues without node 1: split 4 went to node 2 (node 1 (process 2) is lost with node-2 of the cluster: its agent does not answer: read from 127.0.0.1:4: the other side has ended)","splits":[4]}`,
		`{"seq":19,"kind":"rolled-back","node":"node-0","sentence":"goes on","reason":"train: node 3 (process 9) is lost with node-4 of the cluster: its agent (process 7) ended: signal: killed","out_units":4}`,
		`{"seq":20,"kind":"gone","node":"node-1","sentence":"the job continues without node 1 (node 1 (process 2) is lost with node-2 of the cluster: its agent does not answer: read from 127.0.0.1:4: i/o timeout)"}`,
		`{"seq":21,"kind":"rolled-back","node":"node-0","sentence":"goes on","reason":"the process that leads job 1 (11514) ended: signal: killed","out_units":0}`,
		`{"seq":22,"kind":"rolled-back","node":"node-0","sentence":"goes on","reason":"the cluster's manager, with the job's processes","out_units":0}`,
		`{"seq":23,"kind":"waiting","node":"node-0","sentence":"the cut at record 5 was given up, and the next is tried at its time: lane 1 of node 4: write file:///a: no space is left: no space left on device; free some space"}`,
		`{"seq":24,"kind":"waiting","node":"node-0","sentence":"node 0 has waited 2.1 s for node 3 to join"}`,
		`{"seq":25,"kind":"taken-over","node":"node-0","sentence":"goes on","reason":"the process that leads job 1 (11515) ended: signal: killed","out_units":0}`,
		`{"seq":26,"kind":"finished","node":"node-0","sentence":"is over"}`,
	}
	got, err := count([]byte(strings.Join(lines, "\n")+"\n"), false)
	if err != nil {
		t.Fatal(err)
	}
	got.countManagerDeaths([]byte("a cluster that was up here has ended without `down` (its manager was process 1); what it left is taken away\n" +
		"a cluster that was up here has ended without `down`; what it left is taken away\n" +
		`{"cluster":"127.0.0.1:7070","sentences":["a cluster that was up here has ended without ` + "`down`" + `; what it left is taken away"]}` + "\n"))
	if got.Kills[aWorker] != 1 || got.Kills[aHolder] != 2 || got.Kills[aLeader] != 3 || got.TakenOver != 1 || got.Kills[anAgent] != 2 || got.Kills[aCluster] != 1 || got.Kills[aManager] != 1 ||
		got.total() != 10 || got.InClock != 4 || got.InPlan != 1 || got.Between != 1 || got.Silent != 2 || got.Full != 1 ||
		got.Migrations != 2 || got.Splits != 2 || got.Partitions != 1 || got.Drains != 1 || got.Scales != 1 || got.RolledBack != 4 || got.Resumed != 2 || got.Joined != 1 || got.Left != 1 {
		t.Errorf("%+v", got)
	}
	if got, err = count([]byte(lines[0]+"\n"), true); err != nil || got.Kills[aLeader] != 1 {
		t.Errorf("a run that was begun anew: %+v, %v", got, err)
	}
	if _, err := count([]byte("half a li"), false); err == nil {
		t.Error("what is no log is counted")
	}
	var sum counts
	sum.add(got)
	sum.add(got)
	if sum.Kills[aLeader] != 2 || sum.InPlan != 2*got.InPlan {
		t.Errorf("%+v", sum)
	}
}

// TestEachActHasItsTurn goes through jobs of the short form, and of the long one: each act comes, in the first jobs of the short form those of all worlds.
func TestEachActHasItsTurn(t *testing.T) {
	t.Parallel()
	for _, b := range []*bench{{links: true, disks: true}, {links: true, disks: true, full: true}} {
		came, first := map[string]bool{}, map[*world]bool{}
		for n := range 64 {
			j := newJob(b, n)
			if n < b.least() {
				first[j.world] = true
			}
			for range j.turns {
				came[j.draw().name] = true
			}
		}
		for _, name := range b.names() {
			if !came[name] {
				t.Errorf("%q never has its turn, full %t", name, b.full)
			}
		}
		if len(first) != 4 {
			t.Errorf("the first jobs are in %d worlds, full %t", len(first), b.full)
		}
	}
}

// TestLastActIsAlwaysPossible names the acts that replace impossible ones.
func TestLastActIsAlwaysPossible(t *testing.T) {
	t.Parallel()
	for w, name := range map[*world]string{ofCommand: "kill the command", ofCluster: "scale", ofLinks: "kill who leads a cluster's job", ofDisk: "fill the disk, and kill the command"} {
		if got := w.acts[w.last].name; got != name {
			t.Errorf("%q instead of %q", got, name)
		}
	}
}

// TestInexactAuditIsRefused gives answers; only one is right.
func TestInexactAuditIsRefused(t *testing.T) {
	t.Parallel()
	for answer, right := range map[string]bool{
		`{"audit":{"sent":3,"applied":3,"dropped":0,"disagreements":[]}}`:      true,
		`{"audit":{"sent":3,"applied":2,"dropped":0,"disagreements":[]}}`:      false,
		`{"audit":{"sent":3,"applied":3,"dropped":0,"disagreements":["one"]}}`: false,
		`{"audit":{"sent":3,"applied":3,"disagreements":[]}}`:                  false,
		`{}`: false,
		`x`:  false,
	} {
		if err := audited(answer); (err == nil) != right {
			t.Errorf("%s: %v", answer, err)
		}
	}
}

// TestAnotherModelIsRefused changes one bit of a job's model.
func TestAnotherModelIsRefused(t *testing.T) {
	t.Parallel()
	b := &bench{folder: t.TempDir(), models: map[string][]byte{"mf-450": {1, 2, 7}}}
	j := newJob(b, 0)
	if err := os.MkdirAll(filepath.Join(j.folder, "run"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(j.folder, "run", "model.safetensors"), []byte{1, 2, 3}, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := j.hold(); err == nil || !strings.Contains(err.Error(), "not that of an undisturbed run") {
		t.Errorf("it is taken: %v", err)
	}
}

// TestAJobThatHangsIsAFailure runs a program that joins and is silent from then on: it is asked to write its stacks,
// and the failure names it.
func TestAJobThatHangsIsAFailure(t *testing.T) {
	t.Parallel()
	b := &bench{folder: t.TempDir(), silent: time.Millisecond}
	b.program = filepath.Join(b.folder, "hangs")
	text := "#!/bin/sh\ntrap 'echo dumped >&2; exit 2' QUIT\necho '{\"kind\":\"joined\",\"node\":\"node-0\",\"processes\":{}}'\nwhile :; do sleep 0.01; done\n"
	if err := os.WriteFile(b.program, []byte(text), 0o777); err != nil {
		t.Fatal(err)
	}
	j := newJob(b, 0)
	_, err := j.run()
	if !errors.Is(err, errHangs) {
		t.Fatalf("it is taken: %v", err)
	}
	if said, err := os.ReadFile(filepath.Join(j.folder, "said")); err != nil || !strings.Contains(string(said), "dumped") {
		t.Errorf("it was not told to write down what it does: %s, %v", said, err)
	}
}

// TestASeedDrawsTheSame draws the same jobs of the same seed, and others of another.
func TestASeedDrawsTheSame(t *testing.T) {
	t.Parallel()
	drawn := func(seed uint64) (all string) {
		for n := range 8 {
			j := newJob(&bench{seed: seed, full: true, links: true, disks: true}, n)
			all += strings.Join(j.words, " ") + " " + j.draw().name + " " + j.draw().name + " " + j.draw().name + " " + j.draw().name + "\n"
		}
		return all
	}
	first, again, other := drawn(1), drawn(1), drawn(2)
	if first != again || first == other {
		t.Errorf("drawn were\n%sand again\n%sand of another seed\n%s", first, again, other)
	}
}
