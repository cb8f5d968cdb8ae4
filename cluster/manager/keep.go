package manager

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"bellows"
	"bellows/cluster"
	"bellows/cluster/internal/jobstore"
	"bellows/cluster/internal/spool"
	"bellows/port/registry"
	"bellows/run/event"
)

// Keys in the registry, and times. The lease is long enough for an etcd member to be lost.
const (
	officeKey   = "manager"
	leaseTime   = 15 * time.Second
	renewEvery  = time.Second
	silentAfter = 2 * time.Second // then the registry is named
	recordsMost = 512             // of jobs; of those that are over the oldest go
	leadWithin  = 30 * time.Second
)

// keeper has in the registry what a manager that follows must know. One goroutine, run, writes; all its writes are under the manager's term.
//
// Lock: the manager's, of wanted, saved and silent.
type keeper struct {
	m      *manager
	reg    registry.Registry
	lease  registry.Lease
	office registry.Leadership
	have   map[int]registry.Revision // of records
	stored map[int]bool              // commands that are there as they are to be
	wake   chan struct{}
	done   chan struct{}

	wanted map[int]chan struct{} // jobs that are to be written; closed when one is
	silent string                // why the registry does not answer; "": it does
}

// take wins the election, and reads what the manager before has left.
func (m *manager) take(ctx context.Context, reg registry.Registry) error {
	k := &keeper{m: m, reg: reg, have: map[int]registry.Revision{}, stored: map[int]bool{}, wake: make(chan struct{}, 1), done: make(chan struct{}), wanted: map[int]chan struct{}{}}
	ctx, cancel := context.WithTimeoutCause(ctx, leadWithin, fmt.Errorf("it has not gone within %v", leadWithin))
	defer cancel()
	if m.Own { // the folder's lock shows that the previous leader is gone
		if err := k.reg.Delete(ctx, officeKey); err != nil {
			return err
		}
	}
	if err := k.campaign(ctx); err != nil {
		return err
	}
	list, err := k.read(ctx)
	if err != nil {
		return err
	}
	for _, r := range list {
		m.jobs = append(m.jobs, m.recovered(r))
	}
	slices.SortFunc(m.jobs, func(a, b *job) int { return a.number - b.number })
	m.keeper = k
	for _, j := range m.jobs {
		k.want(j.number)
	}
	return nil
}

// read returns the jobs in the registry, each with its command. A command without a job is deleted: a manager has ended between the two deletions.
func (k *keeper) read(ctx context.Context) (jobs []*jobstore.Job, err error) {
	list, _, err := k.reg.List(ctx, jobstore.JobsPrefix)
	if err != nil {
		return nil, err
	}
	commands, _, err := k.reg.List(ctx, jobstore.CommandsPrefix)
	if err != nil {
		return nil, err
	}
	wrong := func(e *registry.Entry, err error) error {
		return bellows.Errorf(bellows.BadData, "read", e.Key+" of "+k.reg.Name(), "it is no job: %w", err).Hinted("`down` forgets all jobs")
	}
	for i := range list {
		r, err := jobstore.Decode(list[i].Key, list[i].Value)
		if err != nil {
			return nil, wrong(&list[i], err)
		}
		k.have[r.Number] = list[i].Revision
		jobs = append(jobs, r)
	}
	for i := range commands {
		e := &commands[i]
		at := slices.IndexFunc(jobs, func(r *jobstore.Job) bool { return jobstore.CommandKey(r.Number) == e.Key })
		if at < 0 {
			if err := k.reg.Delete(ctx, e.Key, k.office.Holds()); err != nil {
				return nil, err
			}
			continue
		}
		if err := jobs[at].TakeCommand(e.Value); err != nil {
			return nil, wrong(e, err)
		}
		k.stored[jobs[at].Number] = true
	}
	for _, r := range jobs {
		clean := r.Request.WithoutToken() // which an older manager has kept
		if len(clean.Args) < len(r.Request.Args) || len(clean.Env) < len(r.Request.Env) {
			delete(k.stored, r.Number)
		}
		r.Request = clean
		if r.Term > 0 && !r.Cut && len(r.Request.Args) == 0 {
			return nil, wrong(&registry.Entry{Key: jobstore.JobKey(r.Number)}, errors.New("it has no command"))
		}
	}
	return jobs, nil
}

// campaign waits until this manager leads. Its lease may have ended by then, because the previous lease may belong to a
// manager which lived on for a while: then it gets another one (TestAManagerWaitsLongerThanItsLease).
func (k *keeper) campaign(ctx context.Context) error {
	host, err := os.Hostname()
	if err != nil {
		host = "a host without a name"
	}
	who := fmt.Sprintf("the manager of %s on %s (process %d)", k.m.Folder.Path, host, os.Getpid())
	for {
		if k.lease, err = k.reg.Grant(ctx, leaseTime); err != nil {
			return err
		}
		k.office, err = registry.Campaign(ctx, k.reg, officeKey, []byte(who), k.lease)
		if !errors.Is(err, registry.ErrExpired) || ctx.Err() != nil {
			return err
		}
	}
}

// recovered returns a job of a lost manager. A queued job is queued; one that ran resumes from its last checkpoint,
// before later ones; a cancelled or finished one stays so.
func (m *manager) recovered(r *jobstore.Job) *job {
	j := &job{number: r.Number, order: r.Order, request: r.Request, state: r.State, run: r.Run, submitted: r.Submitted, began: r.Began, ended: r.Ended, exit: r.Exit,
		processes: map[uint64]uint64{}, started: make(chan struct{}), led: make(chan struct{}), over: make(chan struct{}),
		recovering: recovering{term: r.Term, cut: r.Cut, cancelled: r.Cancelled, checkpoint: r.Checkpoint, inRow: r.InRow, recoveries: r.Recoveries}}
	if r.State == cluster.Running {
		j.term = max(1, j.term)
	}
	if j.order == "" {
		j.order = rand.Text()
	}
	j.spool = spool.Dropped()
	if !j.ended.IsZero() || r.State != cluster.Queued && r.State != cluster.Running {
		close(j.over)
		return j
	}
	why := m.resume(j, r)
	if why == "" {
		return j
	}
	if j.run != "" {
		why += fmt.Sprintf(", in %s; the same command resumes it", j.run)
	}
	m.recoveries = append(m.recoveries, fmt.Sprintf("job %d %s", j.number, why))
	j.state, j.ended, j.exit = cluster.Interrupted, time.Now(), bellows.Interrupted.ExitCode()
	close(j.over)
	return j
}

// resume queues a job of a manager that has gone, and says why not, if it cannot.
func (m *manager) resume(j *job, r *jobstore.Job) (why string) {
	how := "was interrupted when its manager ended, and cannot resume automatically"
	if !j.begun() {
		how = "had not begun when its manager ended, and cannot begin now"
	}
	var other error
	if !r.Cut {
		other = m.Program.Takes(&r.Request)
	}
	switch {
	case r.Cancelled:
		return "was interrupted, as it was asked to be, when its manager ended"
	case r.Cut:
		return how + ": its command is too long for the registry"
	case other != nil:
		return how + ": " + other.Error()
	}
	s, err := spool.New(m.Folder.Path)
	if err != nil {
		return how + ": " + err.Error()
	}
	j.spool, j.state = s, cluster.Queued
	if !j.begun() {
		m.recoveries = append(m.recoveries, fmt.Sprintf("job %d waits as before", j.number))
		return ""
	}
	from := "its beginning, since it has no checkpoint"
	if c := j.checkpoint; c != nil {
		from = fmt.Sprintf("its last checkpoint, at record %d", c.Commit)
	}
	said := fmt.Sprintf("job %d was running when its manager ended, and resumes from %s", j.number, from)
	if j.run != "" {
		said += ", in " + j.run
	}
	m.recoveries = append(m.recoveries, said)
	d := cluster.Recovery{Time: time.Now(), Died: "the cluster's manager, with the job's processes", NoticedBy: "the manager that follows it", TookOver: fmt.Sprintf("another process, the %s that leads the job", ordinal(j.term+1)), InRow: j.inRow, Units: event.Unknown, Seconds: event.Unknown}
	j.died = &d
	j.survives(d)
	return ""
}

// want schedules the writing of a job, and returns a channel that is closed when it is written. The manager's lock is
// held, or the manager is not shared yet.
func (k *keeper) want(number int) <-chan struct{} {
	c := k.wanted[number]
	if c == nil {
		c = make(chan struct{})
		k.wanted[number] = c
	}
	select {
	case k.wake <- struct{}{}:
	default:
	}
	return c
}

// note schedules the writing of a job, without waiting.
func (m *manager) note(j *job) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.keeper != nil {
		m.keeper.want(j.number)
	}
}

// keep writes a job and waits for it, but not for a silent registry.
func (m *manager) keep(j *job) {
	if m.keeper == nil {
		return
	}
	m.mu.Lock()
	written := m.keeper.want(j.number)
	m.mu.Unlock()
	late := time.NewTimer(silentAfter)
	defer late.Stop()
	select {
	case <-written:
	case <-late.C:
		m.logf("job %d is not in the registry yet, and is forgotten if the manager ends before", j.number)
	}
}

// run writes what is wanted and renews the lease, until ctx ends.
func (k *keeper) run(ctx context.Context) {
	defer close(k.done)
	tick := time.NewTicker(renewEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.wake:
			k.hear(ctx, k.write(ctx))
		case <-tick.C:
			err := k.renew(ctx)
			if err == nil {
				err = k.write(ctx) // what could not be written before
			}
			k.hear(ctx, err)
		}
	}
}

// renew renews the manager's lease. A manager whose lease has ended leads again, unless another one does.
func (k *keeper) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, silentAfter)
	defer cancel()
	renewed := k.lease.Renew(ctx)
	if renewed != nil && !errors.Is(renewed, registry.ErrExpired) {
		return renewed
	}
	leader, err := k.reg.Get(ctx, officeKey)
	switch {
	case err == nil && renewed == nil && leader.Revision == k.office.Term:
		return nil
	case err == nil && leader.Lease != k.lease.ID():
		err := bellows.Errorf(bellows.Lost, "lead", "the cluster", "%s leads", bellows.Printable(string(leader.Value), 200))
		if k.m.deposed.CompareAndSwap(false, true) {
			k.m.logf("%v: this cluster shuts down", err)
			go k.m.shutDown(orderlyWithin)
		}
		return err
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := k.campaign(ctx); err != nil {
		return err
	}
	k.m.logf("the registry lease had expired; this manager leads again, and no other led meanwhile")
	return nil
}

// hear notes whether the registry answers. Jobs continue without it.
func (k *keeper) hear(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	why := ""
	if err != nil {
		why = err.Error()
	}
	k.m.mu.Lock()
	before := k.silent
	k.silent = why
	k.m.mu.Unlock()
	switch {
	case why != "" && before == "":
		k.m.logf("%s; jobs continue without the registry", why)
	case why == "" && before != "":
		k.m.logf("the registry answers again")
	}
}

// write writes the jobs that are wanted, and deletes the oldest of those that are over.
func (k *keeper) write(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, silentAfter)
	defer cancel()
	for {
		number, command, text, err := k.next()
		if number == 0 || err != nil {
			break
		}
		if err := k.put(ctx, number, command, text); err != nil {
			k.m.mu.Lock()
			k.want(number)
			k.m.mu.Unlock()
			return err
		}
		k.wrote(number, text)
	}
	return k.trim(ctx)
}

// put writes a job, and once its command, before the job, since a job must not be without a command.
func (k *keeper) put(ctx context.Context, number int, command, text []byte) error {
	if !k.stored[number] {
		if _, err := k.reg.Put(ctx, jobstore.CommandKey(number), command, 0, k.office.Holds()); err != nil {
			return err
		}
		k.stored[number] = true
	}
	at, err := registry.Settle(ctx, k.reg, jobstore.JobKey(number), text, 0, k.have[number], k.office.Holds())
	if err == nil {
		k.have[number] = at
		return nil
	}
	if e, got := k.reg.Get(ctx, jobstore.JobKey(number)); got == nil {
		k.have[number] = e.Revision
	}
	return err
}

// next returns a job that is to be written, 0 if none is.
func (k *keeper) next() (number int, command, text []byte, err error) {
	k.m.mu.Lock()
	defer k.m.mu.Unlock()
	for n := range k.wanted {
		if number == 0 || n < number {
			number = n
		}
	}
	at := slices.IndexFunc(k.m.jobs, func(j *job) bool { return j.number == number })
	if at < 0 {
		return 0, nil, nil, nil
	}
	if !k.stored[number] {
		command, err = k.m.jobs[at].command()
	}
	if err == nil {
		text, err = k.m.jobs[at].entry()
	}
	return number, command, text, err
}

// wrote notifies the callers that wait for the write, unless the job has changed since.
func (k *keeper) wrote(number int, text []byte) {
	k.m.mu.Lock()
	defer k.m.mu.Unlock()
	at := slices.IndexFunc(k.m.jobs, func(j *job) bool { return j.number == number })
	if now, err := k.m.jobs[at].entry(); err == nil && string(now) == string(text) {
		close(k.wanted[number])
		delete(k.wanted, number)
	}
}

// entry encodes the changing part of the job for the registry. The manager's lock is held.
func (j *job) entry() ([]byte, error) {
	r := jobstore.Job{Number: j.number, State: j.state, Run: j.run, Submitted: j.submitted, Began: j.began, Ended: j.ended, Exit: j.exit,
		Order: j.order, Term: j.term, Cancelled: j.cancelled, Checkpoint: j.checkpoint, InRow: j.inRow, Recoveries: j.recoveries}
	return r.Encode()
}

// command encodes the job's command for the registry: without a token, and without its words if they are too long. The manager's lock is held.
func (j *job) command() ([]byte, error) {
	c := jobstore.Command{Request: j.request.WithoutToken(), Cut: j.cut}
	return c.Encode()
}

// trim deletes the oldest records of jobs that are over.
func (k *keeper) trim(ctx context.Context) error {
	for len(k.have) > recordsMost {
		number := 0
		k.m.mu.Lock()
		for _, j := range k.m.jobs {
			if _, has := k.have[j.number]; has && !j.ended.IsZero() {
				number = j.number
				break
			}
		}
		k.m.mu.Unlock()
		if number == 0 {
			return nil
		}
		if err := k.remove(ctx, number); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes a job, then its command, since a job must not be without a command.
func (k *keeper) remove(ctx context.Context, number int) error {
	if err := k.reg.Delete(ctx, jobstore.JobKey(number), k.office.Holds()); err != nil {
		return err
	}
	delete(k.have, number)
	err := k.reg.Delete(ctx, jobstore.CommandKey(number), k.office.Holds())
	if err == nil {
		delete(k.stored, number)
	}
	return err
}

// end writes what is left to write and resigns. After `down` it removes everything that the registry has of the
// cluster.
func (k *keeper) end(forget bool) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), endWithin, errors.New("the registry is silent"))
	defer cancel()
	if forget {
		for number := range k.have {
			if err := k.remove(ctx, number); err != nil {
				k.m.logf("job %d stays in the registry: %v", number, err)
				break
			}
		}
	} else if err := k.write(ctx); err != nil {
		k.m.logf("the registry does not have the end of all jobs: %v", err)
	}
	if err := k.lease.Revoke(ctx); err != nil { // and the office with it
		k.m.logf("the registry knows this manager still: %v", err)
	}
}
