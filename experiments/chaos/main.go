// Command chaos trains mf, mlr and lda in real processes, while it kills, stops and removes their nodes as a seed
// draws. The jobs run one after the other. It sends signal 9 to workers, to nodes that hold tables and to the command
// itself, which is then repeated. It stops them for a moment, and for longer than a lease. Nodes leave, and are killed
// while they do.
//
// Each job must end, with documented exit codes, with an exact audit, a log that `events --verify` accepts and the
// model of an undisturbed run, bit for bit, and none of its processes may be left. A job that hangs is a failure: its
// processes write the stacks of their goroutines, and its remains are kept. What was done is counted from the event
// logs alone.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"bellows/experiments/internal/report"
)

// The goals of the long form.
const (
	wantKills      = 300
	wantMigrations = 300
	wantInClock    = 2 // one of so many kills
	wantInside     = 40
	wantLeading    = 40
	failuresMost   = 3 // jobs that fail before no other is begun
)

// bench is a run of this command.
type bench struct {
	seed    uint64
	program string
	folder  string            // of all jobs, taken away at the end but for those that failed
	quick   bool              // the tests' form
	full    bool              // the long form
	links   bool              // network namespaces can be made
	disks   bool              // and disks in memory
	silent  time.Duration     // how long a job may say nothing
	models  map[string][]byte // of undisturbed runs, by application
}

func main() {
	b := &bench{models: map[string][]byte{}, silent: silentMost}
	var seconds float64
	var only int
	flag.Uint64Var(&b.seed, "seed", 1, "seed of all that is drawn; what the machine's speed decides repeats only roughly")
	flag.Float64Var(&seconds, "seconds", 60, "how long jobs are begun; one in each world is, whatever it takes")
	flag.BoolVar(&b.full, "full", false, "jobs are begun until there were as many kills and migrations as are wanted, or the time is over")
	flag.IntVar(&only, "only", -1, "`number` of the one job that is run, to play it again")
	flag.StringVar(&b.program, "program", "", "a built `bellows` (default: it is built)")
	report.Main("chaos", func(r *report.Run) (*report.Outcome, error) {
		b.quick = r.Quick
		return b.runJobs(r, time.Duration(seconds*float64(time.Second)), only)
	})
}

// figures are what a run of this command came to.
type figures struct {
	Seed    uint64  `json:"seed"`
	Seconds float64 `json:"seconds"`
	Jobs    int     `json:"jobs"`
	Equal   int     `json:"equal"` // models that are those of an undisturbed run, bit for bit, with an exact audit and a log that holds
	counts
	hits
	Unchanged int                       `json:"nodes_unchanged"` // of jobs that were taken over: those with the same processes at all nodes, by the system
	Acts      map[string]map[string]int `json:"acts"`            // what was done, by application
	Load      []string                  `json:"load"`            // of the machine, at the beginning and at the end
	Fails     []string                  `json:"failed"`          // jobs, and why
}

// build builds the command in its own module.
func build(program string) error {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "bellows").Output()
	if err != nil {
		return fmt.Errorf("find the module of bellows: %w", err)
	}
	command := exec.Command("go", "build", "-C", strings.TrimSpace(string(root)), "-o", program, "./cmd/bellows")
	command.Env = append(os.Environ(), "GOWORK=off")
	if text, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build the program: %w; %s", err, text)
	}
	return nil
}

// runJobs runs jobs.
func (b *bench) runJobs(r *report.Run, long time.Duration, only int) (o *report.Outcome, err error) {
	if b.folder, err = os.MkdirTemp("", "bellows-chaos-"); err != nil {
		return nil, err
	}
	if b.program == "" {
		b.program = filepath.Join(b.folder, "bellows")
		if err := build(b.program); err != nil {
			return nil, err
		}
	}
	if err := mayNetwork(); err != nil {
		r.Say("no links are cut or made narrow: %v", err)
	} else {
		b.links = true
	}
	if err := mayMount(b.folder); err != nil {
		r.Say("no disk is filled: %v", err)
	} else {
		b.disks = true
	}
	f := &figures{Seed: b.seed, Acts: map[string]map[string]int{}, Load: []string{load()}}
	began := time.Now()
	p := &picture{}
	for n := max(0, only); len(f.Fails) < failuresMost; n++ {
		if enough := f.enough(); only >= 0 && n > only || only < 0 && n >= b.least() && (time.Since(began) > long || b.full && enough) {
			break
		}
		j := newJob(b, n)
		c, wrong := j.run()
		f.Jobs++
		f.counts.add(c)
		f.hits.add(j.hits)
		f.Unchanged += j.unchanged
		for _, a := range j.done {
			if f.Acts[a] == nil {
				f.Acts[a] = map[string]int{}
			}
			f.Acts[a][j.app.name]++
		}
		if wrong != nil {
			f.Fails = append(f.Fails, wrong.Error())
			r.Say("job %d failed: %v", n, wrong)
		} else {
			f.Equal++
			wrong = os.RemoveAll(j.folder)
		}
		f.Seconds = time.Since(began).Seconds()
		p.point(f)
		r.Say("job %d, %s: %s; in all %d kills, %d migrations", n, j.app.name, strings.Join(j.done, ", "), f.total(), f.Migrations)
		if wrong != nil && len(f.Fails) == 0 {
			return nil, wrong
		}
	}
	f.Load = append(f.Load, load())
	b.say(r, f)
	o = &report.Outcome{Figures: f, Pictures: []report.Picture{{Lines: p.lines()}}}
	if len(f.Fails) > 0 {
		return nil, errors.Join(fmt.Errorf("%d of %d jobs failed, and are kept in %s", len(f.Fails), f.Jobs, b.folder), r.Write("chaos", b.folder, o))
	}
	return o, os.RemoveAll(b.folder)
}

// enough reports whether all that is wanted of the long form was reached.
func (f *figures) enough() bool {
	return f.total() >= wantKills && f.Migrations >= wantMigrations && f.InClock*wantInClock >= f.total() && f.InPlan >= wantInside && f.Kills[aLeader] >= wantLeading
}

// least returns how many jobs there are, whatever they take: one of each application, and but for the tests one in each
// world.
func (b *bench) least() int {
	if b.quick {
		return len(applications)
	}
	return len(rowOfShort)
}

// say prints what was done, next to the goals.
func (b *bench) say(r *report.Run, f *figures) {
	r.Say("%d jobs in %.0f s, load %s: %d with the model of an undisturbed run, bit for bit, an exact audit and a log that holds", f.Jobs, f.Seconds, strings.Join(f.Load, " and "), f.Equal)
	of := func(n int) string {
		if b.full {
			return fmt.Sprintf(" (wanted %d)", n)
		}
		return ""
	}
	r.Say("counted from the logs: %d kills%s", f.total(), of(wantKills))
	for _, who := range []string{aWorker, aHolder, aLeader, anAgent, aManager, aCluster} {
		want := ""
		if who == aLeader {
			want = of(wantLeading)
		}
		r.Say("  %6d %s%s", f.Kills[who], who, want)
	}
	r.Say("  %d in a clock with updates that had not counted%s, %d inside a migration%s, %d of these with a part of it moved", f.InClock, of(f.total()/wantInClock), f.InPlan, of(wantInside), f.Between)
	r.Say("  %d migrations%s: %d splits, %d partitions; %d drains, %d scales; %d nodes left, %d came", f.Migrations, of(wantMigrations), f.Splits, f.Partitions, f.Drains, f.Scales, f.Left, f.Joined)
	r.Say("  %d nodes given up for their silence, %d rollbacks, %d runs resumed by the same command", f.Silent, f.RolledBack, f.Resumed)
	r.Say("  %d times another process led while the nodes continued; %d times these were the same processes, by the system", f.TakenOver, f.Unchanged)
	r.Say("  %d checkpoints given up on a full disk", f.Full)
	r.Say("counted by the kernel: %d packets dropped, %d that waited for a narrow link, %d connections reset", f.Dropped, f.Waited, f.Reset)
	r.Say("what was done, by application")
	line := "%8s %8s %8s  %s"
	var heads []any
	for _, a := range applications {
		heads = append(heads, a.name)
	}
	r.Say(line, append(heads, "")...)
	for _, name := range b.names() {
		var cells []any
		for _, a := range applications {
			cells = append(cells, strconv.Itoa(f.Acts[name][a.name]))
		}
		r.Say(line, append(cells, name)...)
	}
}

// names returns those of all acts that can come here, whether they did or not.
func (b *bench) names() (list []string) {
	for _, w := range []*world{ofCommand, ofCluster, ofLinks, ofDisk} {
		for _, a := range w.acts {
			if !slices.Contains(list, a.name) {
				list = append(list, a.name)
			}
		}
	}
	return list
}

// load returns that of the machine.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	one, _, _ := strings.Cut(string(text), " ")
	return one
}

// quiet returns the model of an undisturbed run, in one process.
func (b *bench) quiet(a application) ([]byte, error) {
	name := fmt.Sprint(a.name, "-", a.epochs)
	if m := b.models[name]; m != nil {
		return m, nil
	}
	folder := filepath.Join(b.folder, "quiet-"+name)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, err
	}
	cmd := exec.Command(b.program, append([]string{"demo", a.name, "--out", "run", "--checkpoint", "none"}, a.args()...)...)
	cmd.Dir = folder
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("an undisturbed run: %w; %s", err, text)
	}
	m, err := os.ReadFile(filepath.Join(folder, "run", "model.safetensors"))
	b.models[name] = m
	return m, err
}

// answer is the last line of `train --json`.
type answer struct {
	Audit *struct {
		Sent, Applied, Dropped *int64
		Disagreements          []string
	}
}

// audited refuses an answer without an exact audit.
func audited(line string) error {
	var a answer
	if err := json.Unmarshal([]byte(line), &a); err != nil {
		return fmt.Errorf("its answer %q: %w", line, err)
	}
	switch u := a.Audit; {
	case u == nil || u.Sent == nil || u.Applied == nil || u.Dropped == nil:
		return fmt.Errorf("its answer has no audit: %s", line)
	case *u.Sent != *u.Applied+*u.Dropped || len(u.Disagreements) > 0:
		return fmt.Errorf("its audit is not exact: %s", line)
	}
	return nil
}
