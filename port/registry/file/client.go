package file

import (
	"bytes"
	"context"
	"io/fs"
	"sync"
	"time"

	"bellows/port/registry"
)

// client is one user of a Store.
type client struct {
	store  *Store
	once   sync.Once
	closed chan struct{}
}

// Client returns a client. It ends with Close, or with the store.
func (s *Store) Client() registry.Registry { return &client{store: s, closed: make(chan struct{})} }

func (c *client) Name() string { return c.store.name }

func (c *client) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

// begin returns the error of a call that cannot begin.
func (c *client) begin(ctx context.Context, op, subject string) error {
	select {
	case <-c.closed:
		return registry.Fault(op, subject, registry.ErrClosed)
	case <-c.store.closed:
		return registry.Fault(op, subject, registry.ErrClosed)
	default:
		return registry.Fault(op, subject, ctx.Err())
	}
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
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	if list, err = c.store.space.List(prefix); err != nil {
		return nil, 0, registry.Fault("list", prefix, err)
	}
	return list, c.store.space.Revision(), nil
}

func (c *client) Put(ctx context.Context, key string, value []byte, lease registry.LeaseID, where ...registry.Is) (registry.Revision, error) {
	if err := registry.CheckPut(key, value, where); err != nil {
		return 0, err
	}
	if err := c.begin(ctx, "put", key); err != nil {
		return 0, err
	}
	return c.request(ctx, "put", key, &request{record: record{kind: put, key: key, value: bytes.Clone(value), lease: lease}, where: where})
}

func (c *client) Delete(ctx context.Context, key string, where ...registry.Is) error {
	if err := registry.CheckPut(key, nil, where); err != nil {
		return err
	}
	if err := c.begin(ctx, "delete", key); err != nil {
		return err
	}
	_, err := c.request(ctx, "delete", key, &request{record: record{kind: remove, key: key}, where: where})
	return err
}

// watch follows the keys of a prefix. It holds no changes: the space does.
type watch struct {
	client *client
	prefix string
	after  registry.Revision
	once   sync.Once
	closed chan struct{}
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
		case <-w.client.store.closed:
		}
	}
}

// look returns the changes that the watch has not seen, or a channel that is closed at the next change.
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
	defer s.mu.Unlock()
	s.drawn++
	l := &granted{client: c, id: s.drawn, ttl: ttl, until: time.Now().Add(ttl)}
	l.timer = time.AfterFunc(ttl, l.due)
	s.leases[l.id] = l
	return l, nil
}

// due asks for the end of a lease at the end of its time.
func (l *granted) due() {
	s := l.client.store
	select {
	case s.requests <- &request{record: record{kind: end, lease: l.id}, expired: true, done: make(chan outcome, 1)}:
	case <-s.closed:
	}
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
	_, err := l.client.request(ctx, "revoke", "a lease", &request{record: record{kind: end, lease: l.id}})
	return err
}
