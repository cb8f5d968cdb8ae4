// Package file is the registry in a folder of this machine, for the clients of one process: the manager of a cluster.
//
// Open the folder, which no other process may have open, make clients with Store.Client, and close the Store last. Each Put or Delete is in a log on disk, synced, before it returns and before any client
// sees it. A process that dies loses nothing that was acknowledged; a record that it wrote in part is removed by the next Open.
//
// Leases and watches end with the process, since their holders do: Open removes what had a lease. Revisions continue, so that no term repeats.
//
// A full disk is an error of one call. The registry stays open, readable and complete, and can be written again when there is room. Config.BytesMost limits what it has at one time, and past changes
// do not count: the log is replaced by a snapshot when it grows.
//
// The package refuses a damaged log, by the byte; an incomplete last record is no damage.
package file

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"bellows"
	"bellows/port/registry"
	"bellows/port/registry/internal/keyspace"
)

// Config says where a registry is, and its limit.
type Config struct {
	// Folder is made if it is not there, with mode 0700.
	Folder string
	// BytesMost limits keys and values. 0: 256 MiB. Above it Put returns registry.ErrFull.
	BytesMost int64

	growth int64 // of the journal; 0: growthBytes
}

const (
	bytesMost = 256 << 20
	// answerWithin limits the wait for a disk if the context does not.
	answerWithin = 5 * time.Second
	// retryEvery is the time between attempts to remove what had a lease that is over, if the disk does not take it.
	retryEvery = time.Second
)

// Store is an open registry. One goroutine, run, makes the changes, one after the other.
//
// Lock: mu, of the fields after it. It is not held while the disk works, so that reads, renewals and watches do not wait for a disk.
type Store struct {
	name     string
	most     int64
	journal  *journal
	requests chan *request
	closed   chan struct{}
	done     chan struct{} // closed when run has returned
	once     sync.Once
	lock     *os.File
	over     []registry.LeaseID // leases that are over and still have keys; used by run

	mu     sync.Mutex
	space  *keyspace.Space
	leases map[registry.LeaseID]*granted
	drawn  registry.LeaseID
}

// request is a change that a client asks for.
type request struct {
	record
	where   []registry.Is
	expired bool // of a lease's end: by its time, unless it was renewed
	done    chan outcome
}

type outcome struct {
	at  registry.Revision
	err error
}

// Open opens the registry of a folder. Errors are of kind Refused if another process has it open, BadData if the log is damaged, and CannotWrite.
func Open(c Config) (*Store, error) {
	fail := func(kind bellows.Kind, err error) error {
		return bellows.Errorf(kind, "open registry", c.Folder, "%w", translated(err))
	}
	_, missing := os.Lstat(c.Folder)
	if err := os.MkdirAll(c.Folder, 0o700); err != nil {
		return nil, fail(bellows.CannotWrite, err)
	}
	if missing != nil {
		if err := syncFolder(filepath.Dir(c.Folder)); err != nil {
			return nil, fail(bellows.CannotWrite, err)
		}
	}
	lock, err := os.OpenFile(filepath.Join(c.Folder, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fail(bellows.CannotWrite, err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		lock.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fail(bellows.Refused, errors.New("another process has it open"))
		}
		return nil, fail(bellows.CannotWrite, err)
	}
	s, err := open(c, folder(c.Folder))
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	s.lock = lock
	return s, nil
}

// open opens the registry of a disk that no other process uses.
func open(c Config, d disk) (*Store, error) {
	j, space, err := openJournal(d, cmp.Or(c.growth, growthBytes))
	var wrong *damaged
	switch {
	case errors.As(err, &wrong):
		path := filepath.Join(c.Folder, logName)
		return nil, bellows.Errorf(bellows.BadData, "open registry", path, "%w", err).
			Hinted(fmt.Sprintf("restore it from a copy, or forget all that the registry has: rm %s", path))
	case err != nil:
		return nil, bellows.Errorf(bellows.CannotWrite, "open registry", c.Folder, "%w", translated(err))
	}
	s := &Store{name: "the registry in " + c.Folder, most: cmp.Or(c.BytesMost, bytesMost), journal: j, space: space, leases: map[registry.LeaseID]*granted{},
		requests: make(chan *request), closed: make(chan struct{}), done: make(chan struct{})}
	if len(space.Attached(func(registry.LeaseID) bool { return true })) > 0 {
		if err := s.write(&record{kind: restart}); err != nil {
			return nil, errors.Join(bellows.Errorf(bellows.CannotWrite, "open registry", c.Folder, "%w", translated(err)), j.close())
		}
	}
	space.Forget()
	go s.run()
	return s, nil
}

// Close ends the clients and closes the folder. It returns an error if the disk does not answer.
func (s *Store) Close() (err error) {
	s.once.Do(func() {
		close(s.closed)
		s.mu.Lock()
		for _, l := range s.leases {
			l.timer.Stop()
		}
		s.mu.Unlock()
		late := time.NewTimer(answerWithin)
		defer late.Stop()
		select {
		case <-s.done:
			err = s.journal.close()
		case <-late.C: // the lock stays, since a write may still reach the file
			err = fmt.Errorf("the disk has not answered within %v", answerWithin)
			return
		}
		if s.lock != nil {
			err = errors.Join(err, s.lock.Close())
		}
	})
	if err != nil {
		return bellows.Errorf(bellows.IO, "close", s.name, "%w", err)
	}
	return nil
}

// run makes the changes that clients ask for.
func (s *Store) run() {
	defer close(s.done)
	for {
		var again <-chan time.Time
		if len(s.over) > 0 {
			again = time.After(retryEvery)
		}
		select {
		case r := <-s.requests:
			at, err := s.change(r)
			r.done <- outcome{at, err}
		case <-again:
		case <-s.closed:
			_ = s.journal.rewrite(s.entries()) // removes deleted values from the disk; the log is complete without it
			return
		}
		_ = s.endLeases() // what fails is tried again
	}
}

// change makes one change: it checks the conditions, writes the record, and shows it to the clients. Nothing else changes keys meanwhile.
func (s *Store) change(r *request) (registry.Revision, error) {
	if r.kind == end {
		return 0, s.endLease(r)
	}
	s.mu.Lock()
	held, there, at := s.space.Holds(r.where), s.space.Contains(r.key), s.space.Revision()
	leased := r.lease == 0 || s.leases[r.lease] != nil
	after := s.space.SizeAfter(r.key, r.value)
	full := after > s.most && after > s.space.Bytes()
	s.mu.Unlock()
	switch {
	case !held:
		return 0, registry.ErrChanged
	case r.kind == remove && !there:
		return at, nil
	case !leased:
		return 0, registry.ErrExpired
	case r.kind == put && full:
		return 0, fmt.Errorf("%w: it has %d bytes, and may have %d", registry.ErrFull, after, s.most)
	}
	return at + 1, s.write(&r.record)
}

// endLease ends a lease, unless it was renewed in the last moment.
func (s *Store) endLease(r *request) error {
	s.mu.Lock()
	l := s.leases[r.lease]
	if l != nil && r.expired {
		if left := time.Until(l.until); left > 0 {
			l.timer.Reset(left)
			l = nil
		}
	}
	if l != nil {
		l.timer.Stop()
		delete(s.leases, r.lease)
		s.over = append(s.over, r.lease)
	}
	s.mu.Unlock()
	return s.endLeases()
}

// endLeases removes the keys of the leases that are over.
func (s *Store) endLeases() error {
	for len(s.over) > 0 {
		id := s.over[0]
		s.mu.Lock()
		keys := s.space.Attached(func(of registry.LeaseID) bool { return of == id })
		s.mu.Unlock()
		if len(keys) > 0 {
			if err := s.write(&record{kind: end, lease: id}); err != nil {
				return err
			}
		}
		s.over = s.over[1:]
	}
	return nil
}

// entries returns what a snapshot has.
func (s *Store) entries() ([]registry.Entry, registry.Revision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.space.Entries(), s.space.Revision()
}

// write makes a record permanent, and then visible.
func (s *Store) write(r *record) error {
	s.mu.Lock()
	r.revision = s.space.Revision() + 1
	s.mu.Unlock()
	if err := s.journal.append(r, s.entries); err != nil {
		return translated(err)
	}
	s.mu.Lock()
	apply(s.space, r)
	s.mu.Unlock()
	return nil
}

// request asks run for a change and waits for its outcome, until the context ends, the disk has been silent for too long, or the client or the store is closed.
func (c *client) request(ctx context.Context, op, subject string, r *request) (registry.Revision, error) {
	s := c.store
	r.done = make(chan outcome, 1)
	late := time.NewTimer(answerWithin)
	defer late.Stop()
	for send := s.requests; ; send = nil {
		silent := error(nil)
		select {
		case send <- r:
			continue
		case o := <-r.done:
			return o.at, registry.Fault(op, subject, o.err)
		case <-ctx.Done():
			silent = ctx.Err()
		case <-late.C:
			silent = context.DeadlineExceeded
		case <-c.closed:
			return 0, registry.Fault(op, subject, registry.ErrClosed)
		case <-s.closed:
			return 0, registry.Fault(op, subject, registry.ErrClosed)
		}
		if errors.Is(silent, context.DeadlineExceeded) {
			return 0, bellows.Errorf(bellows.Unavailable, op, subject, "the disk of %s has not answered: %w", s.name, silent).Hinted("see what keeps that disk busy")
		}
		return 0, registry.Fault(op, subject, silent)
	}
}
