// Package mem is the registry in memory, for tests and for clusters of one process: it is gone with the process.
//
// Make a Store by New and give each user a client of its own with Open. HistoryMost bounds how far watches may lag.
// Fail and Lose let a caller's test see errors before a step, and answers that are lost after it.
package mem

import (
	"bytes"
	"context"
	"io/fs"
	"math"
	"sync"
	"time"

	"bellows/port/registry"
	"bellows/port/registry/internal/keyspace"
)

// HistoryDefault is the default number of changes that a store remembers.
const HistoryDefault = 4096

// Store is a registry. The fields are set before it is used.
type Store struct {
	// HistoryMost is how many changes it remembers.
	HistoryMost int
	// Fail is asked before each step, which fails with what it returns: "get", "list", "put", "delete", "watch", "grant", "renew" or "revoke".
	Fail func(op, key string) error
	// Lose is called after each step that has changed something. If it returns an error, the step's answer is lost with
	// that error.
	Lose func(op, key string) error

	name   string
	mu     sync.Mutex
	space  *keyspace.Space
	leases map[registry.LeaseID]*granted
	drawn  registry.LeaseID
}

// New makes an empty store of that name.
func New(name string) *Store {
	return &Store{HistoryMost: HistoryDefault, name: "memory (" + name + ")", space: keyspace.New(0, HistoryDefault, math.MaxInt), leases: map[registry.LeaseID]*granted{}}
}

// Open makes a client.
func (s *Store) Open() registry.Registry { return &client{store: s, closed: make(chan struct{})} }

// Compact forgets all changes up to now.
func (s *Store) Compact() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.space.Forget()
}

type client struct {
	store  *Store
	once   sync.Once
	closed chan struct{}
}

func (c *client) Name() string { return c.store.name }

func (c *client) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

// begin begins a step, and returns the error with which it fails.
func (c *client) begin(ctx context.Context, op, key string) error {
	select {
	case <-c.closed:
		return registry.Fault(op, key, registry.ErrClosed)
	default:
	}
	err := ctx.Err()
	if err == nil && c.store.Fail != nil {
		err = c.store.Fail(op, key)
	}
	return registry.Fault(op, key, err)
}

// lost returns the error of a finished step whose answer was lost.
func (c *client) lost(op, key string) error {
	if c.store.Lose == nil {
		return nil
	}
	return registry.Fault(op, key, c.store.Lose(op, key))
}

func (c *client) Get(ctx context.Context, key string) (e registry.Entry, err error) {
	if err := registry.CheckKey(key); err != nil {
		return e, err
	}
	if err := c.begin(ctx, "get", key); err != nil {
		return e, err
	}
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	e, ok := c.store.space.Get(key)
	if !ok {
		return e, registry.Fault("get", key, fs.ErrNotExist)
	}
	return e, nil
}

func (c *client) List(ctx context.Context, prefix string) (list []registry.Entry, at registry.Revision, err error) {
	if err := registry.CheckPrefix(prefix); err != nil {
		return nil, 0, err
	}
	if err := c.begin(ctx, "list", prefix); err != nil {
		return nil, 0, err
	}
	s := c.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if list, err = s.space.List(prefix); err != nil {
		return nil, 0, registry.Fault("list", prefix, err)
	}
	return list, s.space.Revision(), nil
}

func (c *client) Put(ctx context.Context, key string, value []byte, id registry.LeaseID, where ...registry.Is) (registry.Revision, error) {
	if err := registry.CheckPut(key, value, where); err != nil {
		return 0, err
	}
	if err := c.begin(ctx, "put", key); err != nil {
		return 0, err
	}
	at, err := c.store.put(registry.Entry{Key: key, Value: bytes.Clone(value), Lease: id}, where)
	if err != nil {
		return 0, registry.Fault("put", key, err)
	}
	return at, c.lost("put", key)
}

func (s *Store) put(e registry.Entry, where []registry.Is) (registry.Revision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.space.Holds(where) {
		return 0, registry.ErrChanged
	}
	if e.Lease != 0 && s.leases[e.Lease] == nil {
		return 0, registry.ErrExpired
	}
	s.space.HistoryMost = s.HistoryMost
	return s.space.Put(e.Key, e.Value, e.Lease), nil
}

func (c *client) Delete(ctx context.Context, key string, where ...registry.Is) error {
	if err := registry.CheckPut(key, nil, where); err != nil {
		return err
	}
	if err := c.begin(ctx, "delete", key); err != nil {
		return err
	}
	s := c.store
	s.mu.Lock()
	held := s.space.Holds(where)
	if held && s.space.Contains(key) {
		s.space.Remove(key)
	}
	s.mu.Unlock()
	if !held {
		return registry.Fault("delete", key, registry.ErrChanged)
	}
	return c.lost("delete", key)
}

func (c *client) Watch(prefix string, after registry.Revision) (registry.Watch, error) {
	if err := registry.CheckPrefix(prefix); err != nil {
		return nil, err
	}
	if err := c.begin(context.Background(), "watch", prefix); err != nil {
		return nil, err
	}
	return &watch{client: c, prefix: prefix, after: after, closed: make(chan struct{})}, nil
}

type watch struct {
	client *client
	prefix string
	after  registry.Revision
	once   sync.Once
	closed chan struct{}
}

func (w *watch) Close() { w.once.Do(func() { close(w.closed) }) }

func (w *watch) Next(ctx context.Context) ([]registry.Change, error) {
	for {
		select {
		case <-w.closed:
			return nil, registry.Fault("watch", w.prefix, registry.ErrClosed)
		default:
		}
		if err := w.client.begin(ctx, "watch", w.prefix); err != nil {
			return nil, err
		}
		list, changed, err := w.look()
		if err != nil || len(list) > 0 {
			return list, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
		case <-w.closed:
		case <-w.client.closed:
		}
	}
}

// look returns what has changed, or what is closed when something does.
func (w *watch) look() (list []registry.Change, changed <-chan struct{}, err error) {
	s := w.client.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if list, err = s.space.Since(w.prefix, w.after); err != nil {
		w.Close()
		return nil, nil, registry.Fault("watch", w.prefix, err)
	}
	w.after = max(w.after, s.space.Revision())
	return list, s.space.Changed(), nil
}

// granted is a lease of a store. Lock: the store's.
type granted struct {
	client *client
	id     registry.LeaseID
	ttl    time.Duration
	until  time.Time
	timer  *time.Timer
}

func (c *client) Grant(ctx context.Context, ttl time.Duration) (registry.Lease, error) {
	if err := registry.CheckTTL(ttl); err != nil {
		return nil, err
	}
	if err := c.begin(ctx, "grant", "a lease"); err != nil {
		return nil, err
	}
	s := c.store
	s.mu.Lock()
	s.drawn++
	l := &granted{client: c, id: s.drawn, ttl: ttl, until: time.Now().Add(ttl)}
	s.leases[l.id] = l
	l.timer = time.AfterFunc(ttl, l.due)
	s.mu.Unlock()
	if err := c.lost("grant", "a lease"); err != nil {
		return nil, err
	}
	return l, nil
}

// due ends the lease if its time is over: it may have been renewed just before.
func (l *granted) due() {
	s := l.client.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if left := time.Until(l.until); left > 0 {
		l.timer.Reset(left)
		return
	}
	l.end()
}

// end takes the lease away, with its keys, at one revision.
func (l *granted) end() {
	s := l.client.store
	if s.leases[l.id] == nil {
		return
	}
	delete(s.leases, l.id)
	l.timer.Stop()
	s.space.Remove(s.space.Attached(func(id registry.LeaseID) bool { return id == l.id })...)
}

func (l *granted) ID() registry.LeaseID { return l.id }
func (l *granted) TTL() time.Duration   { return l.ttl }

func (l *granted) Renew(ctx context.Context) error {
	if err := l.client.begin(ctx, "renew", "a lease"); err != nil {
		return err
	}
	s := l.client.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leases[l.id] == nil {
		return registry.Fault("renew", "a lease", registry.ErrExpired)
	}
	l.until = time.Now().Add(l.ttl)
	l.timer.Reset(l.ttl)
	return nil
}

func (l *granted) Revoke(ctx context.Context) error {
	if err := l.client.begin(ctx, "revoke", "a lease"); err != nil {
		return err
	}
	l.client.store.mu.Lock()
	l.end()
	l.client.store.mu.Unlock()
	return l.client.lost("revoke", "a lease")
}
