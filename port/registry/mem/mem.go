// Package mem is the registry port's fake, and the registry of one process: in memory, gone with it.
//
// Make a Store by New and give each user a client of its own with Open. HistoryMost bounds what watches may be behind; Fail and Lose let a caller's test see errors before a step, and answers that are lost after it.
package mem

import (
	"bytes"
	"context"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"bellows/port/registry"
)

// HistoryDefault is how many changes a store remembers where nobody says otherwise.
const HistoryDefault = 4096

// Store is a registry. The fields are set before it is used.
type Store struct {
	// HistoryMost is how many changes it remembers.
	HistoryMost int
	// Fail is asked before each step, which fails with what it returns: "get", "list", "put", "delete", "watch", "grant", "renew" or "revoke".
	Fail func(op, key string) error
	// Lose is asked after each step that has changed something, whose answer is lost with what it returns.
	Lose func(op, key string) error

	name    string
	mu      sync.Mutex
	at      registry.Revision
	floor   registry.Revision // changes up to it are forgotten
	entries map[string]registry.Entry
	history []registry.Change
	leases  map[registry.LeaseID]*granted
	drawn   registry.LeaseID
	changed chan struct{} // closed at the next change
}

// New makes an empty store of that name.
func New(name string) *Store {
	return &Store{HistoryMost: HistoryDefault, name: "memory (" + name + ")", entries: map[string]registry.Entry{}, leases: map[registry.LeaseID]*granted{}, changed: make(chan struct{})}
}

// Open makes a client.
func (s *Store) Open() registry.Registry { return &client{store: s, closed: make(chan struct{})} }

// Compact forgets all changes up to now.
func (s *Store) Compact() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.history, s.floor = nil, s.at
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

// lost is the error of a step that was done, and whose answer is lost.
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
	e, ok := c.store.entries[key]
	if !ok {
		return e, registry.Fault("get", key, fs.ErrNotExist)
	}
	return cloned(e), nil
}

func cloned(e registry.Entry) registry.Entry {
	e.Value = bytes.Clone(e.Value)
	return e
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
	for _, key := range slices.Sorted(maps.Keys(s.entries)) {
		if strings.HasPrefix(key, prefix) {
			list = append(list, cloned(s.entries[key]))
		}
	}
	if len(list) > registry.EntriesMost {
		return nil, 0, registry.Fault("list", prefix, registry.ErrTooMany)
	}
	return list, s.at, nil
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
	if !s.hold(where) {
		return 0, registry.ErrChanged
	}
	if e.Lease != 0 && s.leases[e.Lease] == nil {
		return 0, registry.ErrExpired
	}
	s.at++
	e.Revision = s.at
	s.entries[e.Key] = e
	s.tell(registry.Change{Entry: e})
	return s.at, nil
}

func (s *Store) hold(where []registry.Is) bool {
	return !slices.ContainsFunc(where, func(is registry.Is) bool { return s.entries[is.Key].Revision != is.Revision })
}

// tell notes changes of one revision, and wakes who waits.
func (s *Store) tell(changes ...registry.Change) {
	if len(changes) == 0 {
		return
	}
	s.history = append(s.history, changes...)
	if over := len(s.history) - s.HistoryMost; over > 0 {
		s.floor = s.history[over-1].Revision
		kept := slices.IndexFunc(s.history, func(c registry.Change) bool { return c.Revision > s.floor })
		if kept < 0 {
			kept = len(s.history)
		}
		s.history = slices.Clone(s.history[kept:])
	}
	close(s.changed)
	s.changed = make(chan struct{})
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
	held := s.hold(where)
	if _, there := s.entries[key]; held && there {
		s.at++
		s.tell(s.remove(key))
	}
	s.mu.Unlock()
	if !held {
		return registry.Fault("delete", key, registry.ErrChanged)
	}
	return c.lost("delete", key)
}

// remove takes a key away at the revision that is.
func (s *Store) remove(key string) registry.Change {
	delete(s.entries, key)
	return registry.Change{Entry: registry.Entry{Key: key, Revision: s.at}, Gone: true}
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
	if w.after < s.floor {
		w.Close()
		return nil, nil, registry.Fault("watch", w.prefix, registry.ErrBehind)
	}
	for _, c := range s.history {
		if c.Revision > w.after && strings.HasPrefix(c.Key, w.prefix) {
			c.Entry = cloned(c.Entry)
			list = append(list, c)
		}
	}
	w.after = max(w.after, s.at)
	return list, s.changed, nil
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
	var keys []string
	for key, e := range s.entries {
		if e.Lease == l.id {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return
	}
	slices.Sort(keys)
	s.at++
	var changes []registry.Change
	for _, key := range keys {
		changes = append(changes, s.remove(key))
	}
	s.tell(changes...)
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
