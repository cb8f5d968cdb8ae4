package manager

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"bellows"
	"bellows/cluster"
	"bellows/cluster/internal/spool"
	"bellows/cluster/lead"
	"bellows/link/secure"
)

// A job is a job of the cluster. It is queued, runs in a process that leads it, and ends; over is closed then. If its
// leading process dies, or its manager, it is queued again, before later jobs, and continues in another process
// (recover.go).
type job struct {
	number    int
	order     string // names it in its run's record, for good
	request   cluster.Submission
	state     cluster.State
	run       string
	submitted time.Time
	began     time.Time
	ended     time.Time
	exit      int
	process   *os.Process
	session   *cluster.Session  // of the process that leads
	processes map[uint64]uint64 // of its nodes, by the numbers that it has drawn: ours
	highest   int               // number of a node that it may have met
	spool     *spool.Spool
	started   chan struct{} // closed when its process has been; of each process another
	// closed when that process has connected, or when none will; new for each process
	led    chan struct{}
	heard  chan struct{} // closed when it is not any more; nil: it has not called. Likewise
	exited chan struct{} // closed when it has ended; new for each process
	over   chan struct{}
	lonely *time.Timer     // ends its wait for a worker, behind its term; nil: it waits for none
	offers map[*member]int // number of times that it was offered a node where its process had died
	recovering
	heritage
}

// relayed is a process at an agent that a job has.
type relayed struct {
	job    *job
	number uint64 // which the job has drawn
	at     *member
	pid    int
	member int // the node of the job that it is
}

// name returns what the certificate of the process says that leads the job in this term.
func (j *job) name() string { return fmt.Sprintf("job-%d-%d", j.number, j.term) }

func (m *manager) describe(j *job) cluster.Job {
	d := cluster.Job{Job: j.number, State: j.state, App: j.request.App, Command: command(&j.request), Run: j.run, Dir: j.request.Dir, Submitted: j.submitted,
		Term: j.term, Recoveries: slices.Clone(j.recoveries)}
	if c := j.checkpoint; c != nil {
		d.Checkpoint = &cluster.Checkpoint{Era: c.Era, Commit: c.Commit, Bytes: c.Bytes, At: c.At, Age: time.Since(c.At).Seconds()}
	}
	if j.process != nil && j.ended.IsZero() {
		d.PID = j.process.Pid
	}
	if !j.began.IsZero() {
		d.Began = &j.began
	}
	if !j.ended.IsZero() {
		d.Ended, d.ExitCode = &j.ended, &j.exit
	}
	if j.state == cluster.Queued {
		for _, o := range m.jobs {
			if o.number < j.number && o.ended.IsZero() {
				d.Ahead++
			}
		}
	}
	return d
}

func command(s *cluster.Submission) string { return strings.Join(s.Args, " ") }

// jobsMost is how many jobs may wait, and spoolsKept of how many that have ended the output is kept.
const (
	jobsMost   = 256
	spoolsKept = 32
)

// submit takes a job into the queue.
func (m *manager) submit(s cluster.Submission) (d cluster.Job, err error) {
	if err := m.Program.Takes(&s); err != nil {
		return d, err
	}
	s = s.WithoutToken() // of a caller that has not left it out
	if err := s.Check(); err != nil {
		return d, err
	}
	j := &job{order: rand.Text(), request: s, state: cluster.Queued, run: s.Run, submitted: time.Now(), processes: map[uint64]uint64{}, started: make(chan struct{}), led: make(chan struct{}), over: make(chan struct{})}
	if j.spool, err = spool.New(m.Folder.Path); err != nil {
		return d, err
	}
	number, err := m.enqueue(j)
	if err != nil {
		j.spool.Close()
		return d, err
	}
	m.logf("job %d: %s", number, command(&s))
	m.keep(j)
	m.next()
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.describe(j), nil
}

// enqueue gives a job its number and place in the queue, if there is one: several may be submitted at once.
func (m *manager) enqueue(j *job) (number int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	waiting := 0
	for _, o := range m.jobs {
		if o.ended.IsZero() {
			waiting++
		}
	}
	switch {
	case m.closing:
		return 0, bellows.Errorf(bellows.Unavailable, "submit", j.request.App, "the cluster is shutting down").Hinted("start it again with `up`")
	case waiting >= jobsMost:
		return 0, bellows.Errorf(bellows.Unavailable, "submit", j.request.App, "%d jobs wait already", waiting).Hinted("submit it later")
	}
	j.number = 1
	if n := len(m.jobs); n > 0 {
		j.number = m.jobs[n-1].number + 1
	}
	m.jobs = append(m.jobs, j)
	m.trim()
	return j.number, nil
}

// trim drops the output of old jobs.
func (m *manager) trim() {
	kept := 0
	for _, j := range slices.Backward(m.jobs) {
		if j.ended.IsZero() {
			continue
		}
		if kept++; kept > spoolsKept {
			j.spool.Close()
		}
	}
}

// job returns the one of that number.
func (m *manager) job(number int) (*job, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := slices.IndexFunc(m.jobs, func(j *job) bool { return j.number == number })
	if at < 0 {
		return nil, bellows.Errorf(bellows.Usage, "find", fmt.Sprintf("job %d", number), "no job has that number").Hinted("`jobs` lists them")
	}
	return m.jobs[at], nil
}

// next starts the first job of the queue, if no job runs and no process of an earlier one. A job that was begun waits
// for a worker (awaitWorker), and later jobs wait for it.
func (m *manager) next() {
	m.mu.Lock()
	if !m.opened || m.current != nil || len(m.processes) > 0 || m.closing {
		m.mu.Unlock()
		return
	}
	at := slices.IndexFunc(m.jobs, func(j *job) bool { return j.state == cluster.Queued })
	if at < 0 {
		m.mu.Unlock()
		return
	}
	j := m.jobs[at]
	if j.begun() && !slices.ContainsFunc(m.nodes, func(n *member) bool { return n.state == cluster.Idle && n.place.Slots > 0 }) {
		m.awaitWorker(j)
		m.mu.Unlock()
		return
	}
	j.comes()
	j.state, j.term = cluster.Running, j.term+1
	if j.began.IsZero() {
		j.began = time.Now()
	}
	m.current = j
	j.awaits()
	j.heritage = heritage{}
	assignment := m.assign(j)
	m.mu.Unlock()
	m.waits.Go(func() { m.begin(j, assignment) })
}

// awaits starts to wait for another process to lead the job. The manager's lock is held.
func (j *job) awaits() {
	j.started, j.heard, j.exited = make(chan struct{}), nil, make(chan struct{})
	if closed(j.led) {
		j.led = make(chan struct{})
	}
}

func closed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// begin starts the process that leads a job in its new term, which is written down before, unless the registry is silent.
func (m *manager) begin(j *job, a lead.Assignment) {
	m.keep(j)
	identity, err := m.issues.Member(secure.Name{Role: secure.Controller, ID: j.name()})
	if err == nil {
		a.Identity = identity
		err = m.lead(j, a)
	}
	if err != nil {
		j.spool.Say(err.Error())
		m.logf("%v", err)
		m.ended(j, bellows.KindOf(err).ExitCode())
	}
}

// assign returns the assignment of a job's leader.
func (m *manager) assign(j *job) lead.Assignment {
	host, _, err := net.SplitHostPort(m.address)
	if err != nil {
		m.logf("job %d: %v", j.number, err) // of the address that a listener has
	}
	a := lead.Assignment{Address: m.address, Job: j.number, Host: host, Program: m.Program, Terminal: j.request.Terminal, Call: callWithin,
		Order: j.order, Term: j.term, Checkpoint: j.checkpoint, Died: j.died, InRow: j.inRow}
	if j.begun() {
		a.Run, a.Shown = j.run, j.spool.LastEvent()
	}
	if t := j.request.Terminal; t != nil && t.Out {
		a.Shown = math.MaxUint64
	}
	a.Places = m.places(j)
	return a
}

// places returns the nodes where a job may have processes, in the order of their numbers.
func (m *manager) places(j *job) (list []cluster.Place) {
	workers, servers := m.live()
	for _, n := range append(workers, servers...) {
		if n.state == cluster.Idle || n.state == cluster.Running && n.job == j {
			list = append(list, n.place)
			j.highest = max(j.highest, nodeNumber(n.place.Node))
		}
	}
	slices.SortFunc(list, func(x, y cluster.Place) int { return cmp.Compare(nodeNumber(x.Node), nodeNumber(y.Node)) })
	return list
}

// lead starts the process that leads a job.
func (m *manager) lead(j *job, a lead.Assignment) error {
	if !slices.ContainsFunc(a.Places, func(p cluster.Place) bool { return p.Slots > 0 }) {
		return bellows.Errorf(bellows.Unavailable, "start", fmt.Sprintf("job %d", j.number), "no worker of the cluster is left").Hinted("`scale --workers 2` starts some")
	}
	info, err := os.Stat(j.request.Dir)
	if err == nil && !info.IsDir() {
		err = errors.New("it is no folder")
	}
	if err != nil {
		return bellows.Errorf(bellows.NoInput, "start", fmt.Sprintf("job %d", j.number), "in %s: %w", j.request.Dir, bellows.Pathless(err)).Hinted("a job runs where it was submitted")
	}
	line, err := json.Marshal(a)
	if err != nil {
		return bellows.Errorf(bellows.Bug, "start", fmt.Sprintf("job %d", j.number), "%w", err)
	}
	cmd := exec.Command(m.path, j.request.Args...)
	cmd.Args[0] = j.request.Word
	cmd.Dir, cmd.Env, cmd.SysProcAttr = j.request.Dir, environment(j.request.Env, lead.Variable+"=1"), ownGroup()
	t := j.request.Terminal
	cmd.Stdout, cmd.Stderr = j.spool.Writer(true, t != nil && t.Out), j.spool.Writer(false, true)
	if t != nil && t.Out && t.Err {
		cmd.Stderr = cmd.Stdout // one stream, in order
	}
	cmd.ExtraFiles = []*os.File{m.members}
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return bellows.Errorf(bellows.Lost, "start", fmt.Sprintf("job %d", j.number), "%w", err)
	}
	m.mu.Lock()
	j.process = cmd.Process
	close(j.started)
	exited := j.exited
	m.mu.Unlock()
	m.waits.Go(func() {
		err := cmd.Wait()
		close(exited)
		in.Close()
		code := cmd.ProcessState.ExitCode()
		if code == bellows.Unavailable.ExitCode() && m.unheard(j, cmd.Process.Pid) {
			return
		}
		if err == nil || code >= 0 {
			m.ended(j, code)
			return
		}
		m.fell(j, fmt.Sprintf("the process that leads job %d (%d) ended: %v", j.number, cmd.Process.Pid, err))
	})
	if _, err := in.Write(append(line, '\n')); err != nil {
		m.logf("job %d: %v", j.number, err)
	}
	return nil
}

// environment returns this process's without flags, with those of a job and one more.
func environment(flags []string, more string) []string {
	list := slices.DeleteFunc(Mark(), func(v string) bool { return strings.HasPrefix(v, "BELLOWS_") })
	return append(append(list, flags...), more)
}

// ended records the end of a job, with its exit code. Its remaining processes are asked to end.
func (m *manager) ended(j *job, code int) {
	m.mu.Lock()
	j.ended, j.exit = time.Now(), code
	switch code {
	case 0:
		j.state = cluster.Ended
	case bellows.Interrupted.ExitCode(), bellows.Lost.ExitCode(): // the same command resumes it
		j.state = cluster.Interrupted
	default:
		j.state = cluster.Failed
	}
	// by this manager, and the next one resumes it
	if m.suspended && !j.cancelled && j.state == cluster.Interrupted {
		j.state, j.ended, j.exit = cluster.Queued, time.Time{}, 0
	}
	list := m.abandon(j)
	if m.current == j {
		m.current = nil
	}
	m.mu.Unlock()
	m.note(j)
	m.logf("job %d has ended with exit code %d", j.number, code)
	j.spool.End(code)
	close(j.over)
	send(list)
	m.next()
}

// abandon tells the processes of a job's nodes to end, and hears no more of the process that led it. The agents say when they have ended; next waits for that.
func (m *manager) abandon(j *job) (list []outgoing) {
	for _, id := range j.processes {
		if p := m.processes[id]; p != nil {
			list = append(list, outgoing{p.at.session, cluster.Message{Process: id, End: true}})
		}
	}
	j.session, j.succession = nil, nil
	for id, q := range m.asked {
		q.answer <- cluster.Reply{} // it wants no node any more
		delete(m.asked, id)
	}
	if !closed(j.led) {
		close(j.led)
	}
	return list
}

// cancel ends a job that is queued, or that runs: at a safe point first, at once when asked again.
func (m *manager) cancel(j *job) error {
	m.mu.Lock()
	if j.state == cluster.Queued {
		j.state, j.ended, j.exit = cluster.Interrupted, time.Now(), bellows.Interrupted.ExitCode()
		m.mu.Unlock()
		m.note(j)
		j.spool.Say(j.dropped())
		j.spool.End(j.exit)
		close(j.over)
		m.next() // the jobs that wait for it
		return nil
	}
	state := j.state
	j.cancelled = j.cancelled || state == cluster.Running
	m.mu.Unlock()
	if state != cluster.Running {
		return bellows.Errorf(bellows.Refused, "cancel", fmt.Sprintf("job %d", j.number), "it is over already: %s", state)
	}
	m.keep(j) // from now on no process resumes it, whatever dies
	return m.signal(j, os.Interrupt)
}

// dropped says that a job was taken out of the queue.
func (j *job) dropped() string {
	if j.begun() {
		return fmt.Sprintf("job %d was waiting to resume, and is interrupted; the same command resumes it", j.number)
	}
	return fmt.Sprintf("job %d had not begun, and is dropped", j.number)
}

// signal sends one to the process that leads, once it has been started, unless the job is over or waits for another.
func (m *manager) signal(j *job, s os.Signal) error {
	m.mu.Lock()
	started := j.started
	m.mu.Unlock()
	select {
	case <-j.over:
		return nil
	case <-started: // at once: what runs is being started
	}
	m.mu.Lock()
	process := j.process
	m.mu.Unlock()
	if process == nil {
		return nil
	}
	if err := process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) && !errors.Is(err, syscall.ESRCH) {
		return bellows.Errorf(bellows.Unavailable, "interrupt", fmt.Sprintf("job %d", j.number), "%w", err)
	}
	return nil
}

// leads refuses a caller that does not lead a job in its present term. The manager's lock is held.
func (j *job) leads(by secure.Name) error {
	if by.ID != j.name() {
		return bellows.Errorf(bellows.Refused, "lead", fmt.Sprintf("job %d", j.number), "%s leads another one, or led it once", by)
	}
	return nil
}

// conduct hears the process that leads a job until it goes.
func (m *manager) conduct(s *cluster.Session, by secure.Name, j *job) error {
	m.mu.Lock()
	if err := j.leads(by); err != nil {
		m.mu.Unlock()
		return err
	}
	if m.current != j || j.heard != nil {
		m.mu.Unlock()
		return bellows.Errorf(bellows.Refused, "lead", fmt.Sprintf("job %d", j.number), "it is led already, or does not run")
	}
	heard, exited, process := make(chan struct{}), j.exited, j.process
	j.heard = heard
	m.mu.Unlock()
	defer close(heard)
	if err := s.Send(cluster.Message{Welcome: &cluster.Welcome{Node: "node-0"}}); err != nil {
		return nil
	}
	m.mu.Lock()
	var list []outgoing
	if j.leads(by) == nil && m.current == j {
		j.session = s
		list = m.meanwhile(j)
		if !closed(j.led) {
			close(j.led)
		}
	}
	m.mu.Unlock()
	send(list)
	s.ExpectsPrompt()
	var silent bool
	for {
		msg, err := s.Receive()
		if err != nil {
			silent = errors.Is(err, os.ErrDeadlineExceeded)
			break
		}
		m.fromLeader(j, s, msg)
	}
	m.mu.Lock()
	if j.session == s { // else another leads it, or it is over
		j.session, j.led = nil, make(chan struct{})
	}
	m.mu.Unlock()
	m.waits.Go(func() { m.outlives(j, process, exited, silent) })
	return nil
}

// fromLeader passes on what a job says to an agent.
func (m *manager) fromLeader(j *job, by *cluster.Session, msg cluster.Message) {
	m.mu.Lock()
	if j.session != by { // it has died, and this is what was under way
		m.mu.Unlock()
		return
	}
	var list []outgoing
	id, known := j.processes[msg.Process]
	switch {
	case msg.Run != "":
		j.run = msg.Run
		m.keeper.want(j.number)
	case msg.Progress != nil:
		if j.hears(msg.Progress) {
			m.keeper.want(j.number)
		}
	case msg.Succession != nil:
		j.succession = msg.Succession
	case msg.Nodes != nil:
		j.succession = nil // of the life that has ended
		list = append(list, outgoing{j.session, cluster.Message{Nodes: &cluster.Nodes{Places: m.places(j)}}})
	case msg.Missing != "":
		m.misses(j, msg.Missing)
	case msg.Answer != nil:
		if q := m.asked[msg.Question]; q != nil {
			q.answer <- *msg.Answer // it has room for one
			delete(m.asked, msg.Question)
		}
	case msg.Start != nil && !known:
		at := slices.IndexFunc(m.nodes, func(n *member) bool { return n.place.Node == msg.Start.Node && n.state != cluster.Gone })
		if at < 0 {
			how := fmt.Sprintf("was not started: %s is gone", msg.Start.Node)
			list = append(list, outgoing{j.session, cluster.Message{Lost: []string{msg.Start.Node}}},
				outgoing{j.session, cluster.Message{Process: msg.Process, Over: &cluster.Over{How: how}}})
			break
		}
		n := m.nodes[at]
		m.drawn++
		j.processes[msg.Process] = m.drawn
		m.processes[m.drawn] = &relayed{j, msg.Process, n, 0, msg.Start.Member}
		n.running++
		n.job = j
		if n.state == cluster.Idle {
			n.state = cluster.Running
		}
		start := *msg.Start
		start.Env, start.Dir = j.request.Env, j.request.Dir
		list = append(list, outgoing{n.session, cluster.Message{Process: m.drawn, Start: &start}})
	case known && m.processes[id] != nil:
		msg.Process = id
		list = append(list, outgoing{m.processes[id].at.session, msg})
	}
	m.mu.Unlock()
	send(list)
}

// fromAgent passes on what an agent says of a process to the job that has it.
func (m *manager) fromAgent(n *member, msg cluster.Message) {
	m.mu.Lock()
	p := m.processes[msg.Process]
	if p == nil || p.at != n {
		m.mu.Unlock()
		return
	}
	if msg.PID != 0 {
		p.pid, n.nodePID = msg.PID, msg.PID
	}
	if msg.Over != nil {
		delete(m.processes, msg.Process)
		delete(p.job.processes, p.number)
		if n.running--; n.running == 0 {
			n.job, n.nodePID = nil, 0
			if n.state == cluster.Running {
				n.state = cluster.Idle
			}
		}
	}
	msg.Process = p.number
	list := p.job.notifyLeader(msg)
	m.mu.Unlock()
	send(list)
	if msg.Over != nil {
		m.next()
	}
}

// ask asks the process that leads a job, and waits for its answer. A job that has ended, or ends meanwhile, has nothing to say: it neither wants
// nodes nor has any.
func (m *manager) ask(ctx context.Context, j *job, msg cluster.Message) (cluster.Reply, error) {
	late := func() error {
		return bellows.Errorf(bellows.Unavailable, "ask", fmt.Sprintf("job %d", j.number), "it has not answered: %w", context.Cause(ctx))
	}
	m.mu.Lock()
	led := j.led
	m.mu.Unlock()
	select {
	case <-led:
	case <-j.over:
	case <-ctx.Done():
		return cluster.Reply{}, late()
	}
	answer := make(chan cluster.Reply, 1)
	m.mu.Lock()
	session := j.session
	if session == nil {
		m.mu.Unlock()
		return cluster.Reply{}, nil
	}
	m.drawn++
	msg.Question = m.drawn
	m.asked[msg.Question] = &question{j, msg, answer}
	m.mu.Unlock()
	send([]outgoing{{session, msg}})
	select {
	case r := <-answer:
		return r, r.Err()
	case <-ctx.Done():
		m.mu.Lock()
		delete(m.asked, msg.Question)
		m.mu.Unlock()
		return cluster.Reply{}, late()
	}
}
