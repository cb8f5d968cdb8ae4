package validation

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"bellows"
	"bellows/api"
	"bellows/bench/internal/pair"
	"bellows/bench/lab/internal/jobs"
	"bellows/bench/lab/internal/netns"
	"bellows/node"
	"bellows/node/archive"
	"bellows/node/elastic"
	"bellows/node/launch"
	"bellows/port/blob/file"
	"bellows/table"
	"bellows/train"
)

// Outcome is what a run took.
type Outcome struct {
	Seconds float64 // from the event to the end of the training
	Event   float64 // seconds from the event until it was complete; 0: none
	Cuts    float64 // seconds of a cut, the mean
	Count   int     // of cuts
	CPU     float64 // seconds of the measurement, of all nodes but 0; only of runs in which no process ends
	MB      float64 // sent by them, without headers
}

// run is a run in real processes.
type run struct {
	*Case
	spaces  *netns.Spaces
	control *launch.Control
	mu      sync.Mutex
	pids    map[bellows.NodeID]int
	gone    chan struct{} // a node is lost, and the job continues
	resumed chan struct{} // the job has begun again after a rollback
	groups  []string      // control groups, to be removed
	seconds float64       // that the event took, if the job reports it
}

// part is what a process of a job is started with.
type part struct {
	Order  jobs.Order
	Folder string  // for cuts; "": none
	Rate   float64 // bytes a second that it stores
}

// Role runs a process of a job. Its argument is a part.
func Role(args []string) {
	var p part
	pair.Check(json.Unmarshal([]byte(args[0]), &p))
	pair.Check(launch.RunChild(context.Background(), os.Stdin, os.Stdout, func(ctx context.Context, saved []byte) (launch.Part, error) {
		m, err := p.Order.Make()
		if err != nil || p.Folder == "" {
			return launch.Part{Job: m.Job}, err
		}
		a, err := p.archive(m.Job.Tables)
		if err != nil || saved == nil {
			return launch.Part{Job: m.Job, Checkpoints: &node.Checkpoints{Archive: a}}, err
		}
		var at archive.At
		if err := json.Unmarshal(saved, &at); err != nil {
			return launch.Part{}, err
		}
		found, err := a.Cut(ctx, at)
		if err != nil {
			return launch.Part{}, err
		}
		return launch.Part{Job: m.Job, Saved: a.Saved(ctx, found), Checkpoints: &node.Checkpoints{Archive: a}}, nil
	}))
}

// archive opens the cuts of the job.
func (p *part) archive(tables []table.Schema) (*archive.Archive, error) {
	return archive.Open(&slowStore{Store: file.InFolder(p.Folder), rate: p.Rate}, archive.ID{1}, tables)
}

// BurnRole runs a process of other work: it uses a processor for a part of each period. Its arguments are both times in
// nanoseconds.
func BurnRole(args []string) {
	busy, period := time.Duration(pair.Must(strconv.Atoi(args[0]))), time.Duration(pair.Must(strconv.Atoi(args[1])))
	for begin := time.Now(); ; begin = begin.Add(period) {
		for time.Since(begin) < busy {
		}
		time.Sleep(time.Until(begin.Add(period)))
	}
}

// measure runs a case for real, once.
func (c *Case) measure(s *netns.Spaces) (out Outcome) {
	r := &run{Case: c, spaces: s, pids: map[bellows.NodeID]int{}, gone: make(chan struct{}), resumed: make(chan struct{})}
	defer r.removeGroups()
	pair.Check(s.Limit(c.wires()))
	p := part{Order: c.order(true), Rate: c.change.store}
	if c.change.cuts > 0 {
		p.Folder = pair.Must(os.MkdirTemp("", "bench-lab"))
		defer os.RemoveAll(p.Folder)
	}
	if l := c.change.load; l != nil {
		burner := exec.Command("taskset", append([]string{"-c", "0", pair.Must(os.Executable())},
			pair.RoleArgs(BurnName, strconv.Itoa(int(l.busy)), strconv.Itoa(int(l.period)))...)...)
		pair.Check(burner.Start())
		defer func() {
			_ = burner.Process.Kill() // it never ends by itself
			_ = burner.Wait()
		}()
	}
	ctx, cancel := context.WithTimeout(context.Background(), runMost)
	defer cancel()
	var events sync.WaitGroup
	var failed error
	var from, to mark
	var cuts []time.Duration
	since := 0
	happen := func() {
		events.Go(func() {
			began := time.Now()
			if c.change.slower > 0 {
				failed = r.slow(c.change.slower)
			}
			if c.change.do != nil {
				failed = errors.Join(failed, c.change.do(r, ctx))
				out.Event = cmp.Or(r.seconds, time.Since(began).Seconds())
			}
		})
	}
	opt := node.Options{OnEpoch: func(e train.Epoch, _ node.Spent) {
		to = r.mark()
		if e.Number == c.at && from.wall.IsZero() {
			from = to
		}
		if since = c.since(since, len(cuts), e.Number); since == c.change.after+1 {
			happen()
		}
	}, OnChange: func(ch node.Change) {
		if ch.Kind == node.Gone {
			close(r.gone)
		}
	}}
	opt.OnStart = r.started
	pair.Check(r.play(ctx, p, opt, func(x node.Checkpoint) { cuts = append(cuts, x.Within) }))
	events.Wait()
	pair.Check(failed)
	out.Seconds, out.CPU, out.Count = to.wall.Sub(from.wall).Seconds(), (to.cpu - from.cpu).Seconds(), len(cuts)
	out.MB = payload * float64(to.bytes-from.bytes) / 1e6
	for _, d := range cuts {
		out.Cuts += d.Seconds() / float64(len(cuts))
	}
	return out
}

// since counts the epochs since the event may begin: from epoch at on, or since the second cut. was is the count before.
func (c *Case) since(was, cuts, epoch int) int {
	if was == 0 && (c.change.after > 0 && cuts < 2 || epoch < c.at) {
		return 0
	}
	return was + 1
}

// runMost bounds a run.
const runMost = 2 * time.Minute

// play runs the job to its end, and again from its last cut if it is to be rolled back.
func (r *run) play(ctx context.Context, p part, opt node.Options, onCut func(node.Checkpoint)) error {
	for life := 0; ; life++ {
		m := pair.Must(p.Order.Make())
		r.control = &launch.Control{}
		l := launch.Processes{Members: r.members(), Transport: "tcp", Roam: true, Host: r.spaces.Address(0), Control: r.control,
			Starter: starter{r, string(pair.Must(json.Marshal(p)))}}
		if p.Folder != "" {
			a := pair.Must(p.archive(m.Job.Tables))
			opt.Checkpoints = &node.Checkpoints{Archive: a, Every: r.change.cuts, OnCut: onCut}
			opt.Era = 1
			if life > 0 {
				found, passed, err := a.Latest(ctx)
				if err != nil || found == nil {
					return errors.Join(err, fmt.Errorf("there is no cut to roll back to: %v", passed))
				}
				opt.Era, opt.Resume, l.Saved = found.Era+1, a.Saved(ctx, found), pair.Must(json.Marshal(found.At))
			}
		}
		_, err := l.Run(ctx, m.Job, opt)
		if err == nil || !r.change.rolled || life > 0 {
			return err
		}
	}
}

// members returns the nodes of the job.
func (r *run) members() []node.Member {
	list := []node.Member{{}}
	for i, m := range r.nodes {
		list = append(list, node.Member{Node: bellows.NodeID(i + 1), Slots: m.slots, Lanes: m.lanes})
	}
	return list
}

// starter starts each process in the namespace of its node, on its core.
type starter struct {
	run  *run
	part string
}

// Start implements launch.Starter.
func (s starter) Start(m node.Member, place, computing int) (launch.Process, error) {
	words := s.run.spaces.Command(int(m.Node))
	if core := s.run.core(int(m.Node) - 1); core > 0 {
		words = append(words, "taskset", "-c", strconv.Itoa(core-1))
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	words = append(append(words, self), pair.RoleArgs(RoleName, s.part)...)
	program, err := exec.LookPath(words[0])
	if err != nil {
		return nil, err
	}
	return launch.Local{Program: program, Args: words, Host: s.run.spaces.Address(int(m.Node)), Output: nil}.Start(m, -1, computing)
}

// mark is where a run stood.
type mark struct {
	wall  time.Time
	cpu   time.Duration
	bytes int64 // on the wire
}

func (r *run) mark() mark {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := mark{wall: time.Now()}
	for _, pid := range r.pids {
		if cpu, err := pair.CPUTimeOf(pid); err == nil { // it may have died
			m.cpu += cpu
		}
		if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/dev", pid)); err == nil {
			m.bytes += sentBytes(string(text), "eth0")
		}
	}
	return m
}

// sentBytes returns how many bytes a device has sent, by the text of /proc/net/dev.
func sentBytes(text, device string) int64 {
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		if fields := strings.Fields(rest); name == device && len(fields) > 8 {
			n, _ := strconv.ParseInt(fields[8], 10, 64) // the system writes numbers
			return n
		}
	}
	return 0
}

// started notes the processes of a job when its nodes have joined.
func (r *run) started(nodes []api.Node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	again := len(r.pids) > 0
	for i, n := range nodes {
		if i > 0 {
			r.pids[bellows.NodeID(i)] = n.PID
		}
	}
	if again {
		close(r.resumed)
	}
}

func (r *run) pid(n bellows.NodeID) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pids[n]
}

// asMove moves a partition as the event of the script does.
func (r *run) asMove(ctx context.Context) error {
	l, err := r.control.Layout(ctx)
	if err != nil {
		return err
	}
	p := l.Partitions[r.change.event.Partition]
	if p.Node == r.change.event.Node {
		return fmt.Errorf("partition %v is at node %d already", p.PartitionRef, p.Node)
	}
	return settled(r.control.MovePartition(ctx, p.PartitionRef, r.change.event.Node))
}

// asSplit moves a split.
func (r *run) asSplit(ctx context.Context) error {
	return settled(r.control.MoveSplit(ctx, r.change.event.Split, r.change.event.Node))
}

// settled waits for the outcome of a move.
func settled(moved <-chan error, err error) error {
	if err != nil {
		return err
	}
	return <-moved
}

// asLeave lets a node leave.
func (r *run) asLeave(ctx context.Context) error {
	return r.reshaped(r.control.Drain(ctx, r.change.event.Node, r.change.event.For))
}

// asSwitch switches the role of a node.
func (r *run) asSwitch(ctx context.Context) error {
	return r.reshaped(r.control.Switch(ctx, r.change.event.Node, elastic.Role(r.change.event.Role)))
}

// reshaped notes how long the job took to change, without the end of a process.
func (r *run) reshaped(res elastic.Result, err error) error {
	r.seconds = res.Seconds
	return err
}

// asDeath kills a node, and waits until the job continues without it.
func (r *run) asDeath(ctx context.Context) error { return r.kill(ctx, r.gone) }

// asRollback kills a node, and waits until the job has begun again.
func (r *run) asRollback(ctx context.Context) error { return r.kill(ctx, r.resumed) }

func (r *run) kill(ctx context.Context, until <-chan struct{}) error {
	if err := syscall.Kill(r.pid(r.change.event.Node), syscall.SIGKILL); err != nil {
		return err
	}
	select {
	case <-until:
		return nil
	case <-ctx.Done():
		return errors.New("the job has not continued after the death of a node")
	}
}
