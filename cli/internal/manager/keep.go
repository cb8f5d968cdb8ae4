package manager

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"bellows"
	"bellows/cli/internal/cluster"
	"bellows/cli/internal/event"
	"bellows/port/registry"
)

// What the manager has in the registry, and its times. The lease is long enough for a member to be lost, and for a registry of the manager's own to be started again.
const (
	officeKey   = "manager"
	jobsPrefix  = "jobs/"
	leaseTime   = 15 * time.Second
	renewEvery  = time.Second
	silentAfter = 2 * time.Second // then the registry is named
	recordsMost = 512             // of jobs; of those that are over the oldest go
	leadWithin  = 30 * time.Second
)

// entry is a job as the registry has it.
type entry struct {
	Number    int                `json:"number"`
	Request   cluster.Submission `json:"request"`
	Cut       bool               `json:"cut,omitempty"` // the request was too long, and its words are missing
	State     cluster.State      `json:"state"`
	Run       string             `json:"run"`
	Submitted time.Time          `json:"submitted"`
	Began     time.Time          `json:"began"`
	Ended     time.Time          `json:"ended"`
	Exit      int                `json:"exit"`

	Order      string              `json:"order,omitempty"` // names it in its run's record
	Term       int                 `json:"term,omitempty"`  // counts the processes that have led it
	Cancelled  bool                `json:"cancelled,omitempty"`
	Checkpoint *cluster.Checkpoint `json:"checkpoint,omitempty"` // the last that was told of
	InRow      int                 `json:"in_a_row,omitempty"`
	Recoveries []cluster.Recovery  `json:"recoveries,omitempty"`
}

// keeper has in the registry what a manager that follows must know. One goroutine, run, writes; all its writes are under the manager's term.
//
// Lock: the manager's, of wanted, saved and silent.
type keeper struct {
	m      *manager
	reg    registry.Registry
	lease  registry.Lease
	office registry.Leadership
	have   map[int]registry.Revision // of records
	wake   chan struct{}
	done   chan struct{}

	wanted map[int]chan struct{} // jobs that are to be written; closed when one is
	silent string                // why the registry does not answer; "": it does
}

// take wins the election, and reads what the manager before has left.
func (m *manager) take(ctx context.Context) error {
	k := &keeper{m: m, reg: m.Registry, have: map[int]registry.Revision{}, wake: make(chan struct{}, 1), done: make(chan struct{}), wanted: map[int]chan struct{}{}}
	ctx, cancel := context.WithTimeoutCause(ctx, leadWithin, fmt.Errorf("it has not gone within %v", leadWithin))
	defer cancel()
	if m.Own { // the folder's lock says that whoever led is gone
		if err := k.reg.Delete(ctx, officeKey); err != nil {
			return err
		}
	}
	if err := k.campaign(ctx); err != nil {
		return err
	}
	list, _, err := k.reg.List(ctx, jobsPrefix)
	if err != nil {
		return err
	}
	for _, e := range list {
		r, err := decodeEntry(e.Key, e.Value)
		if err != nil {
			return bellows.Errorf(bellows.BadData, "read", e.Key+" of "+k.reg.Name(), "it is no job: %w", err).Hinted("`down` forgets all jobs")
		}
		k.have[r.Number] = e.Revision
		m.jobs = append(m.jobs, m.recovered(r))
	}
	slices.SortFunc(m.jobs, func(a, b *job) int { return a.number - b.number })
	m.keeper = k
	for _, j := range m.jobs {
		k.want(j.number)
	}
	return nil
}

// campaign waits until this manager leads. Its lease may be over by then, since the one before may have been that of a manager which lived on for a while: then it has another
// (TestAManagerWaitsLongerThanItsLease).
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

func jobKey(number int) string { return fmt.Sprintf("%s%08d", jobsPrefix, number) }

// decodeEntry reads a job as the registry has it under a key. What no manager has written is refused: who writes there may start processes as this user.
func decodeEntry(key string, value []byte) (*entry, error) {
	r := &entry{}
	if err := json.Unmarshal(value, r); err != nil {
		return nil, err
	}
	states := []cluster.State{cluster.Queued, cluster.Running, cluster.Ended, cluster.Failed, cluster.Interrupted}
	switch {
	case r.Number < 1 || key != jobKey(r.Number):
		return nil, fmt.Errorf("it is of job %d", r.Number)
	case !slices.Contains(states, r.State):
		return nil, fmt.Errorf("its state is %.20q", string(r.State))
	case r.Term < 0 || r.InRow < 0 || r.InRow > cluster.InRowMost || len(r.Recoveries) > cluster.RecoveriesKept:
		return nil, fmt.Errorf("it was led %d times, and lost %d times in a row", r.Term, r.InRow)
	case r.Term > 0 && !r.Cut && len(r.Request.Args) == 0:
		return nil, errors.New("it has no command")
	case len(r.Order) > orderMost || strings.Trim(r.Order, orderLetters) != "":
		return nil, fmt.Errorf("its order is %.40q", r.Order)
	}
	return r, nil
}

// An order is drawn: letters and digits of base 32.
const (
	orderMost    = 64
	orderLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
)

// recovered is a job of a manager that has gone. One that waited waits; one that ran goes on from its last checkpoint, before those that came later; one that was cancelled or is over stays so.
func (m *manager) recovered(r *entry) *job {
	j := &job{number: r.Number, order: r.Order, request: r.Request, state: r.State, run: r.Run, submitted: r.Submitted, began: r.Began, ended: r.Ended, exit: r.Exit,
		processes: map[uint64]uint64{}, started: make(chan struct{}), led: make(chan struct{}), over: make(chan struct{}),
		recovering: recovering{term: r.Term, cancelled: r.Cancelled, checkpoint: r.Checkpoint, inRow: r.InRow, recoveries: r.Recoveries}}
	if r.State == cluster.Running {
		j.term = max(1, j.term)
	}
	if j.order == "" {
		j.order = rand.Text()
	}
	j.spool = &spool{closed: true, ended: true, more: make(chan struct{})}
	if !j.ended.IsZero() || r.State != cluster.Queued && r.State != cluster.Running {
		close(j.over)
		return j
	}
	why := m.resume(j, r)
	if why == "" {
		return j
	}
	if j.run != "" {
		why += fmt.Sprintf(", in %s; the same command goes on with it", j.run)
	}
	m.recoveries = append(m.recoveries, fmt.Sprintf("job %d %s", j.number, why))
	j.state, j.ended, j.exit = cluster.Interrupted, time.Now(), bellows.Interrupted.ExitCode()
	close(j.over)
	return j
}

// resume queues a job of a manager that has gone, and says why not, if it cannot.
func (m *manager) resume(j *job, r *entry) (why string) {
	how := "was interrupted when its manager ended, and cannot go on by itself"
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
	s, err := newSpool(m.Folder.Path)
	if err != nil {
		return how + ": " + err.Error()
	}
	j.spool, j.state = s, cluster.Queued
	if !j.begun() {
		m.recoveries = append(m.recoveries, fmt.Sprintf("job %d waits as before", j.number))
		return ""
	}
	from := "its beginning, since there is no checkpoint of it"
	if c := j.checkpoint; c != nil {
		from = fmt.Sprintf("its last checkpoint, at record %d", c.Commit)
	}
	said := fmt.Sprintf("job %d ran when its manager ended, and goes on from %s", j.number, from)
	if j.run != "" {
		said += ", in " + j.run
	}
	m.recoveries = append(m.recoveries, said)
	d := cluster.Recovery{Time: time.Now(), Died: "the cluster's manager, with the job's processes", NoticedBy: "the manager that follows it", TookOver: fmt.Sprintf("another process, the %s that leads the job", ordinal(j.term+1)), InRow: j.inRow, Units: event.Unknown, Seconds: event.Unknown}
	j.died = &d
	j.survives(d)
	return ""
}

// want has a job written, and returns what is closed when it is. The manager's lock is held, or nobody else has the manager yet.
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

// note has a job written, without waiting.
func (m *manager) note(j *job) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.keeper != nil {
		m.keeper.want(j.number)
	}
}

// keep has a job written and waits for it, but not for a registry that is silent.
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

// renew says that the manager is there. One whose lease was over leads again, unless another does.
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
			k.m.logf("%v: this cluster goes down", err)
			go k.m.down(orderlyWithin)
		}
		return err
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := k.campaign(ctx); err != nil {
		return err
	}
	k.m.logf("the lease of the registry was over; nobody else has led since")
	return nil
}

// hear takes note of whether the registry answers. Jobs go on without it.
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
		k.m.logf("%s; jobs go on without the registry", why)
	case why == "" && before != "":
		k.m.logf("the registry answers again")
	}
}

// write writes the jobs that are wanted, and deletes the oldest of those that are over.
func (k *keeper) write(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, silentAfter)
	defer cancel()
	for {
		number, text, err := k.next()
		if number == 0 || err != nil {
			break
		}
		at, err := registry.Settle(ctx, k.reg, jobKey(number), text, 0, k.have[number], k.office.Holds())
		if err != nil {
			k.m.mu.Lock()
			k.want(number)
			k.m.mu.Unlock()
			if e, got := k.reg.Get(ctx, jobKey(number)); got == nil {
				k.have[number] = e.Revision
			}
			return err
		}
		k.have[number] = at
		k.wrote(number, text)
	}
	return k.trim(ctx)
}

// next is a job that is to be written, 0 if none is.
func (k *keeper) next() (number int, text []byte, err error) {
	k.m.mu.Lock()
	defer k.m.mu.Unlock()
	for n := range k.wanted {
		if number == 0 || n < number {
			number = n
		}
	}
	at := slices.IndexFunc(k.m.jobs, func(j *job) bool { return j.number == number })
	if at < 0 {
		return 0, nil, nil
	}
	text, err = k.m.jobs[at].entry()
	return number, text, err
}

// wrote tells who waits for it, unless the job has changed since.
func (k *keeper) wrote(number int, text []byte) {
	k.m.mu.Lock()
	defer k.m.mu.Unlock()
	at := slices.IndexFunc(k.m.jobs, func(j *job) bool { return j.number == number })
	if now, err := k.m.jobs[at].entry(); err == nil && string(now) == string(text) {
		close(k.wanted[number])
		delete(k.wanted, number)
	}
}

// entry is the job for the registry: without tokens, and without its words where they are too long for that. The manager's lock is held.
func (j *job) entry() ([]byte, error) {
	r := entry{Number: j.number, Request: j.request, State: j.state, Run: j.run, Submitted: j.submitted, Began: j.began, Ended: j.ended, Exit: j.exit,
		Order: j.order, Term: j.term, Cancelled: j.cancelled, Checkpoint: j.checkpoint, InRow: j.inRow, Recoveries: j.recoveries}
	r.Request.Terminal = nil
	r.Request.Env = slices.DeleteFunc(slices.Clone(r.Request.Env), func(v string) bool { return strings.HasPrefix(v, "BELLOWS_TOKEN=") })
	text, err := json.Marshal(r)
	if err == nil && len(text) > registry.ValueBytesMost {
		r.Cut, r.Request.Env, r.Request.Args, r.Recoveries = true, nil, []string{"(a command too long to keep)"}, nil
		text, err = json.Marshal(r)
	}
	return text, err
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
		if err := k.reg.Delete(ctx, jobKey(number), k.office.Holds()); err != nil {
			return err
		}
		delete(k.have, number)
	}
	return nil
}

// end writes what is left to write and resigns. What was said by `down` removes all that the registry has of the cluster.
func (k *keeper) end(forget bool) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), endWithin, errors.New("the registry is silent"))
	defer cancel()
	if forget {
		for number := range k.have {
			if err := k.reg.Delete(ctx, jobKey(number), k.office.Holds()); err != nil {
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
