package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// application is one that is trained, on the set that it makes of a seed, for as long as a job needs to be disturbed.
type application struct {
	name   string
	epochs int
	short  int // epochs in the shorter forms, where fewer acts are done to a job
	words  []string
}

var applications = []application{
	{"mf", 900, 450, []string{"--set", "splits=12", "--set", "early_stop=false", "--seed", "3"}},
	{"mlr", 700, 700, []string{"--set", "splits=12", "--set", "early_stop=false"}},
	{"lda", 600, 600, []string{"--set", "splits=8", "--set", "early_stop=false", "--set", "topics=5"}},
}

// overLinks is the part of its epochs that an application trains for where links are narrow.
const overLinks = 3

// args returns the flags that decide its model.
func (a application) args() []string {
	return append([]string{"--epochs", strconv.Itoa(a.epochs)}, a.words...)
}

// The bounds of a job.
const (
	jobMost    = 8 * time.Minute  // in all
	noticeMost = 45 * time.Second // until the log tells that a node is gone
	livesMost  = 40               // calls of its command
	actsMost   = 14               // that are done to it
	shortMost  = 5                // in the form of a minute
	quickMost  = 3                // in that of the tests
	endMost    = 15 * time.Second // until each of its processes has ended after it
	anewMost   = 3                // consecutive impossible draws
)

// job is one job, with all that is done to it.
type job struct {
	*bench
	number    int
	rng       *rand.Rand
	app       application
	processes int
	servers   int // of these; 0: the process that leads has the tables, or all have
	words     []string
	folder    string // of the job: the run's is in it
	acts      int    // what was done so far
	most      int
	done      []string // what that was, for people
	world     *world
	turn      int      // the world's next act
	turns     int      // acts that come in turn, yet
	cluster   *cluster // nil: its processes are the command's
	disk      string   // a small one for its checkpoints; empty: they are in its folder
	hits      hits     // what the kernel tells of its links
	told      []byte   // by its cluster: what `up` has said, and the logs of managers
	unchanged int      // times that another process led it, and all others were the same
	orphan    bool     // its leader was killed after storing all, and before reporting it: the audit is lost, and the folder is not cleaned
	frozen    []process
	woke      bool // the manager was stopped in the life before: `scale` may be answered before it notices that its agents have ended
	seen      []process
	lives     [][]byte // logs that were begun anew
}

// newJob draws a job.
func newJob(b *bench, number int) *job {
	rng := rand.New(rand.NewPCG(b.seed, uint64(number)))
	j := &job{bench: b, number: number, rng: rng, app: applications[number%len(applications)], folder: filepath.Join(b.folder, fmt.Sprint("job-", number))}
	j.processes = 3 + rng.IntN(3)
	j.servers = rng.IntN(3)
	j.most = 10 + rng.IntN(actsMost-9)
	every := []string{"10ms", "50ms", "250ms"}[rng.IntN(3)]
	tcp := rng.IntN(3) == 0
	j.place()
	j.words = []string{"demo", j.app.name, "--out", "run", "--json"}
	switch j.world {
	case ofCluster, ofLinks:
		j.inCluster()
	default:
		j.words = append(j.words, "--checkpoint-every", every, "--processes", strconv.Itoa(j.processes))
		if j.world == ofDisk {
			j.servers = max(j.servers, 1)
			j.disk = filepath.Join(j.folder, "disk")
			j.words = append(j.words, "--checkpoint", filepath.Join("disk", "checkpoints"))
		}
		if j.servers > 0 {
			j.words = append(j.words, "--servers", strconv.Itoa(j.servers))
		}
		if tcp {
			j.words = append(j.words, "--transport", "tcp")
		}
	}
	j.words = append(j.words, j.app.args()...)
	return j
}

// place gives the job its world, and the next acts there.
func (j *job) place() {
	row := rowOfFull
	if !j.full {
		row = rowOfShort
	}
	before := 0 // jobs of this world
	for i := range j.number {
		if row[i%len(row)] == row[j.number%len(row)] {
			before++
		}
	}
	j.world = row[j.number%len(row)]
	switch { // where this user may not make what it needs, it is another one, in the same turn
	case j.world == ofLinks && !j.links:
		j.world = ofCluster
	case j.world == ofDisk && !j.disks:
		j.world = ofCommand
	}
	j.turns = j.world.turns
	if !j.full {
		j.app.epochs = j.app.short
		j.most = shortMost
		if j.quick {
			j.most = quickMost
		}
		j.turns = j.most
	}
	j.turn = before * j.turns
	times := 1
	for i := range j.turns {
		times = max(times, j.world.acts[(j.turn+i)%len(j.world.acts)].long)
	}
	j.app.epochs *= times
	if j.world == ofLinks {
		j.app.epochs /= overLinks
	}
}

// run runs the job to its end, and holds what it leaves against an undisturbed run.
func (j *job) run() (counts, error) {
	began := time.Now()
	if err := os.MkdirAll(j.folder, 0o777); err != nil {
		return counts{}, err
	}
	var err error
	if j.disk != "" {
		if err = mount(j.disk); err != nil {
			return counts{}, err
		}
	}
	if j.world == ofLinks {
		if j.cluster.network, err = newNetwork(fmt.Sprintf("chaos-%d-%d", os.Getpid(), j.number)); err != nil {
			return counts{}, err
		}
	}
	for range livesMost {
		var more bool
		if more, err = j.live(time.Until(began.Add(jobMost))); err != nil || !more {
			break
		}
		err = fmt.Errorf("its command was called %d times, and it is not over", livesMost)
	}
	if j.cluster != nil {
		err = errors.Join(err, j.cluster.takeDown())
	}
	if err == nil {
		err = j.hold()
	}
	if j.disk != "" {
		err = errors.Join(err, unmount(j.disk))
	}
	c, wrong := j.count()
	if err = errors.Join(err, wrong); err != nil {
		err = fmt.Errorf("job %d (%s), %s, behind %s: %w", j.number, strings.Join(j.words, " "), j.folder, strings.Join(j.done, ", "), err)
	}
	return c, err
}

// live calls the command, disturbs it, and reports whether it is to be called again.
func (j *job) live(within time.Duration) (again bool, err error) {
	before, err := os.ReadFile(j.log())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	env := os.Environ()
	if j.cluster != nil {
		if env, err = j.cluster.env, j.cluster.ready(); err != nil {
			return false, err
		}
	}
	words := append([]string{j.program}, j.words...)
	if j.cluster != nil {
		words = j.cluster.words(0, j.words)
	}
	l, err := start(j.folder, j.silent, env, words...)
	if err != nil {
		return false, err
	}
	defer func() {
		for _, p := range j.frozen {
			p.signal(syscall.SIGCONT)
		}
		j.frozen = nil
		j.seen = append(j.seen, l.seen...)
	}()
	end := time.Now().Add(within)
	came, err := j.disturb(l)
	if err == nil && came != over {
		came, _, err = l.await(time.Until(end), nil)
		if err == nil && came != over {
			err = fmt.Errorf("%w: it has not ended within %v", errHangs, jobMost)
		}
	}
	if err != nil {
		l.dump()
		return false, err
	}
	after, err := os.ReadFile(j.log())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	if !bytes.HasPrefix(after, before) {
		j.lives = append(j.lives, before)
	}
	woke := j.woke
	j.woke = l.mute
	switch code := l.code(); {
	case code == 0 && l.last == "" && strings.Contains(tail(filepath.Join(j.folder, "said")), "had finished before who led it was lost"):
		j.orphan = true
		return false, nil
	case code == 0:
		return false, audited(l.last)
	case code == -1 && l.mine:
		return true, nil
	case code == lostNodes && (l.hurt || l.mine || woke), code == interrupted && l.mine, code == unavailable && (l.mute || woke):
		return true, nil
	default:
		return false, fmt.Errorf("the command ends with exit code %d, though no more was done to it; the end of what it said: %s", code, tail(filepath.Join(j.folder, "said")))
	}
}

// lostNodes is the exit code of a job that ended by the loss of nodes: the same command resumes it.
const lostNodes = 75

// interrupted is the exit code of a job whose cluster has gone, unavailable that of a command whose manager does not
// answer.
const (
	interrupted = 130
	unavailable = 69
)

func (j *job) log() string { return filepath.Join(j.folder, "run", "events.jsonl") }

// tail returns the end of a file.
func tail(name string) string {
	text, err := os.ReadFile(name)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-2000):])
}

// count counts what the job's logs tell.
func (j *job) count() (c counts, err error) {
	c.Kills = map[string]int{}
	text, err := os.ReadFile(j.log())
	for i, t := range append(j.lives, text) {
		one, wrong := count(t, i < len(j.lives))
		err = errors.Join(err, wrong)
		c.add(one)
	}
	c.countManagerDeaths(j.told)
	return c, err
}

// hold refuses what the job has left that is not as an undisturbed run leaves it.
func (j *job) hold() error {
	want, err := j.quiet(j.app)
	if err != nil {
		return err
	}
	got, err := os.ReadFile(filepath.Join(j.folder, "run", "model.safetensors"))
	if err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return errors.New("the model is not that of an undisturbed run")
	}
	if text, err := exec.Command(j.program, "events", filepath.Join(j.folder, "run"), "--verify").CombinedOutput(); err != nil {
		return fmt.Errorf("its log does not hold: %w; %s", err, text)
	}
	if _, err := os.Stat(filepath.Join(j.folder, "run", "checkpoint")); !errors.Is(err, os.ErrNotExist) && !j.orphan {
		return fmt.Errorf("the job is over, and has left a folder of checkpoints (%v)", err)
	}
	if left := awaitEnd(j.seen, endMost); left != nil {
		return fmt.Errorf("the job is over, and process %d, %s of it, has not ended after %v", left[0].pid, left[0].node, endMost)
	}
	return nil
}
