// Package churn changes the shape of real jobs for a while, as a seed decides, and checks that their results do not
// change. Nodes come and leave, splits and partitions move, roles are switched and drains have notices, in processes of
// this machine, while mf, mlr and lda train one after the other.
//
// Each job's model must be that of one process, bit for bit; its audit exact; each item visited once in each epoch; and when it is over no process of it
// may be left, nor a goroutine, nor a descriptor of the process that leads, whose memory must not grow. One JSON object says what was done. It ends with an
// error where something is not so.
package churn

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"syscall"
	"time"

	"bellows/api"
	"bellows/bench/internal/pair"
	"bellows/core/visits"
	"bellows/node"
	"bellows/node/launch"
	"bellows/train"
)

// Program is the measurement.
var Program = pair.Program{Name: "churn", Define: define, Roles: map[string]func([]string){"churn": func(args []string) {
	pair.Check(launch.RunChild(context.Background(), os.Stdin, os.Stdout, func(context.Context, []byte) (part launch.Part, err error) {
		err = pair.Attempt(func() { part.Job, _ = jobOf(args[0]) })
		return part, err
	}))
}}}

func define(flags *flag.FlagSet) func(*pair.Bench) {
	seed := flags.Uint64("seed", 1, "seed of all that is drawn; what the machine's speed decides repeats only roughly")
	seconds := flags.Float64("seconds", 60, "how long jobs are begun; one of each application is, whatever it takes")
	nodes := flags.Int("nodes", 5, "at most so many nodes besides the leader")
	return func(*pair.Bench) {
		c := &churn{rng: rand.New(rand.NewPCG(*seed, 0x636875726e)), nodes: *nodes, out: Report{Seed: *seed, Commands: map[string]int{}, Answers: map[string]int{}}}
		err := c.run(pair.Seconds(*seconds))
		pair.Print(&c.out, err)
	}
}

// Report is what was done, and what was left of it.
type Report struct {
	Seed       uint64         `json:"seed"`
	Seconds    float64        `json:"seconds"`
	Jobs       int            `json:"jobs"`
	Commands   map[string]int `json:"commands"` // by what was asked
	Answers    map[string]int `json:"answers"`  // "done", or the kind of the error
	Joined     int            `json:"joined"`   // nodes
	Moved      int            `json:"moved"`    // splits and partitions
	Changes    int            `json:"changes"`  // of the route: nodes that came, what moved, nodes that left
	Visited    int64          `json:"visited"`  // items, each as often as it was to be
	Orphans    []int          `json:"orphans"`
	Goroutines []int          `json:"goroutines"` // of the leading process, after each job
	Files      []int          `json:"files"`      // its descriptors
	Heap       []uint64       `json:"heap_bytes"` // what it holds
	Last       []string       `json:"last_errors,omitempty"`
}

// churn is a run of the command.
type churn struct {
	rng   *rand.Rand
	nodes int
	short int // epochs are divided by it; 0: by 1
	out   Report
	quiet map[string]*node.Result
}

func (c *churn) run(long time.Duration) error {
	began := time.Now()
	defer func() { c.out.Seconds = time.Since(began).Seconds() }()
	c.quiet = map[string]*node.Result{}
	for i := 0; i < len(applications) || time.Since(began) < long; i++ {
		var err error
		name := applications[i%len(applications)].name
		if failed := pair.Attempt(func() { err = c.job(name) }); failed != nil || err != nil {
			return errors.Join(err, failed)
		}
	}
	return c.flat()
}

// jobWithin bounds a job, whatever is done to it.
const jobWithin = 5 * time.Minute

// job runs a job while its shape is changed, and holds it against one that was left alone.
func (c *churn) job(name string) error {
	order, quiet := c.alone(name)
	job, proof := jobOf(order)
	program := pair.Must(os.Executable())
	var wrong []error
	pids := map[int]bool{}
	control := &launch.Control{}
	members := []node.Member{{Lanes: 1}, {Node: 1, Slots: 1, Lanes: 1}}
	ctx, cancel := context.WithTimeout(context.Background(), jobWithin)
	defer cancel()
	over := make(chan struct{})
	commanded := make(chan error, 1)
	opt := node.Options{
		OnStart: func(list []api.Node) {
			for _, n := range list[1:] {
				pids[n.PID] = true
			}
			go func() { commanded <- c.command(ctx, control, over) }()
		},
		OnChange: func(ch node.Change) {
			switch ch.Kind {
			case node.Joined:
				pids[ch.Process] = true
				c.out.Joined++
				c.out.Changes++
			case node.Planned:
			default:
				n := max(1, len(ch.Splits))
				c.out.Moved += n
				c.out.Changes += n
			}
		},
		OnVisits: func(b visits.Batch) {
			if err := proof.Take(b); err != nil {
				wrong = append(wrong, err)
			}
		},
		OnEpoch: func(e train.Epoch, _ node.Spent) {
			if err := proof.EpochsOver(e.Number); err != nil {
				wrong = append(wrong, err)
			}
		},
	}
	r, err := launch.Processes{Program: program, Args: append([]string{os.Args[0]}, pair.RoleArgs("churn", order)...), Members: members, Transport: "unix", Control: control}.Run(ctx, job, opt)
	close(over)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	err = errors.Join(append(wrong, <-commanded)...)
	c.out.Jobs++
	c.out.Visited += proof.Account().Visited
	for i := range quiet.Tables {
		if !slices.Equal(r.Tables[i], quiet.Tables[i]) {
			err = errors.Join(err, fmt.Errorf("table %d is not that of one process", i))
		}
	}
	if list := r.Audit.Disagreements(true); list != nil {
		err = errors.Join(err, fmt.Errorf("the audit does not agree: %v", list))
	}
	delete(pids, 0)
	for pid := range pids {
		if p, e := os.FindProcess(pid); e == nil && p.Signal(syscall.Signal(0)) == nil {
			c.out.Orphans = append(c.out.Orphans, pid)
			err = errors.Join(err, fmt.Errorf("process %d is left", pid))
		}
	}
	c.measure()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// measure records what the process holds when a job is over.
func (c *churn) measure() {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	c.out.Heap = append(c.out.Heap, m.HeapAlloc)
	c.out.Goroutines = append(c.out.Goroutines, runtime.NumGoroutine())
	files := -1
	if list, err := os.ReadDir("/proc/self/fd"); err == nil {
		files = len(list)
	}
	c.out.Files = append(c.out.Files, files)
}

// grown is how much more the process may hold after the last job than after the first of each application: the growth
// of maps and pools.
const grown = 8 << 20

// flat refuses what has grown since each application has run once.
func (c *churn) flat() error {
	if c.out.Changes < 2*c.out.Jobs {
		return fmt.Errorf("%d changes in %d jobs: that shows nothing", c.out.Changes, c.out.Jobs)
	}
	first, last := len(applications)-1, c.out.Jobs-1
	if last <= first {
		return nil
	}
	var err error
	if g := c.out.Goroutines; g[last] > slices.Max(g[:first+1]) {
		err = errors.Join(err, fmt.Errorf("%d goroutines are left, of %d", g[last], g[first]))
	}
	if f := c.out.Files; f[last] > slices.Max(f[:first+1]) {
		err = errors.Join(err, fmt.Errorf("%d descriptors are left, of %d", f[last], f[first]))
	}
	if h := c.out.Heap; h[last] > slices.Max(h[:first+1])+grown {
		err = errors.Join(err, fmt.Errorf("%d bytes are held, of %d", h[last], h[first]))
	}
	return err
}

// alone returns the order of an application's job, and what one process makes of it.
func (c *churn) alone(name string) (order string, r *node.Result) {
	i := slices.IndexFunc(applications, func(a application) bool { return a.name == name })
	order = fmt.Sprintf("%s %d", name, applications[i].epochs/max(1, c.short))
	if c.quiet[name] == nil {
		job, _ := jobOf(order)
		c.quiet[name] = pair.Must(node.Train(context.Background(), job, node.Options{}))
	}
	return order, c.quiet[name]
}
