// Package mem stores blobs in memory, for tests: they are gone with the process.
//
// Make a Store by New, or by a URI with Open, which gives each URI a store of its own. Most bounds its content, so that
// a caller's test may see a full store; Fail lets it see any other error.
package mem

import (
	"context"
	"io"
	"io/fs"
	"iter"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"
	"sync"

	"bellows/port/blob"
)

// Store is blobs in memory. The fields are set before it is used.
type Store struct {
	// Most is how many bytes its blobs may have together.
	Most int64
	// Fail is asked before each step, which fails with what it returns: "create", "write", "publish", "open", "read", "stat", "list" or "delete".
	Fail func(op, name string) error

	at    string
	mu    sync.Mutex
	blobs map[string][]byte // a blob's bytes are never changed
}

// New makes an empty store of that name, such as "a".
func New(name string) *Store {
	return &Store{Most: math.MaxInt64, at: "mem://" + name, blobs: map[string][]byte{}}
}

// Open makes a store for a URI such as mem://a.
func Open(_ context.Context, at *url.URL) (blob.Store, error) { return New(at.Host + at.Path), nil }

// URI implements blob.Store.
func (s *Store) URI(name string) string {
	if name == "" {
		return s.at
	}
	return s.at + "/" + name
}

// begin begins a step, and returns the error with which it fails.
func (s *Store) begin(ctx context.Context, op, name string) error {
	err := ctx.Err()
	if err == nil && s.Fail != nil {
		err = s.Fail(op, name)
	}
	return blob.Fault(op, s.URI(name), err)
}

func (s *Store) get(op, name string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b, ok := s.blobs[name]; ok {
		return b, nil
	}
	return nil, blob.Fault(op, s.URI(name), fs.ErrNotExist)
}

// Create implements blob.Store.
func (s *Store) Create(ctx context.Context, name string) (blob.Writer, error) {
	if err := blob.CheckName(name); err != nil {
		return nil, err
	}
	if err := s.begin(ctx, "create", name); err != nil {
		return nil, err
	}
	return &writer{ctx: ctx, store: s, name: name}, nil
}

// Open implements blob.Store.
func (s *Store) Open(ctx context.Context, name string) (blob.Reader, error) {
	if err := blob.CheckName(name); err != nil {
		return nil, err
	}
	if err := s.begin(ctx, "open", name); err != nil {
		return nil, err
	}
	b, err := s.get("open", name)
	if err != nil {
		return nil, err
	}
	return &reader{ctx: ctx, store: s, name: name, bytes: b}, nil
}

// Stat implements blob.Store.
func (s *Store) Stat(ctx context.Context, name string) (blob.Info, error) {
	if err := blob.CheckName(name); err != nil {
		return blob.Info{}, err
	}
	if err := s.begin(ctx, "stat", name); err != nil {
		return blob.Info{}, err
	}
	b, err := s.get("stat", name)
	return blob.Info{Name: name, Bytes: int64(len(b))}, err
}

// List implements blob.Store.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[blob.Info, error] {
	return func(yield func(blob.Info, error) bool) {
		s.mu.Lock()
		names := slices.Sorted(maps.Keys(s.blobs))
		s.mu.Unlock()
		for _, name := range names {
			if !strings.HasPrefix(name, prefix) {
				continue
			}
			if err := s.begin(ctx, "list", prefix); err != nil {
				yield(blob.Info{}, err)
				return
			}
			if b, err := s.get("list", name); err == nil && !yield(blob.Info{Name: name, Bytes: int64(len(b))}, nil) {
				return
			}
		}
	}
}

// Delete implements blob.Store.
func (s *Store) Delete(ctx context.Context, name string) error {
	if err := blob.CheckName(name); err != nil {
		return err
	}
	err := s.begin(ctx, "delete", name)
	if err == nil {
		s.mu.Lock()
		delete(s.blobs, name)
		s.mu.Unlock()
	}
	return err
}

type reader struct {
	ctx    context.Context
	store  *Store
	name   string
	bytes  []byte
	closed bool
}

func (r *reader) Bytes() int64 { return int64(len(r.bytes)) }

func (r *reader) ReadAt(p []byte, at int64) (n int, err error) {
	if r.closed {
		return 0, blob.Fault("read", r.store.URI(r.name), blob.ErrClosed)
	}
	if err := r.store.begin(r.ctx, "read", r.name); err != nil {
		return 0, err
	}
	if at < 0 {
		return 0, blob.Fault("read", r.store.URI(r.name), fs.ErrInvalid)
	}
	if at < int64(len(r.bytes)) {
		n = copy(p, r.bytes[at:])
	}
	if n < len(p) {
		err = io.EOF
	}
	return n, err
}

func (r *reader) Close() error {
	r.closed = true
	return nil
}

type writer struct {
	ctx    context.Context
	store  *Store
	name   string
	bytes  []byte
	closed bool
}

func (w *writer) Write(p []byte) (int, error) {
	if w.closed {
		return 0, blob.Fault("write", w.store.URI(w.name), blob.ErrClosed)
	}
	if err := w.store.begin(w.ctx, "write", w.name); err != nil {
		return 0, err
	}
	w.bytes = append(w.bytes, p...)
	return len(p), nil
}

func (w *writer) Publish() error    { return w.publish(false) }
func (w *writer) PublishNew() error { return w.publish(true) }

func (w *writer) publish(isNew bool) error {
	s := w.store
	if w.closed {
		return blob.Fault("write", s.URI(w.name), blob.ErrClosed)
	}
	w.closed = true
	if err := s.begin(w.ctx, "publish", w.name); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	held := int64(len(w.bytes))
	for name, b := range s.blobs {
		if name != w.name {
			held += int64(len(b))
		}
	}
	_, there := s.blobs[w.name]
	switch {
	case isNew && there:
		return blob.Fault("write", s.URI(w.name), fs.ErrExist)
	case held > s.Most:
		return blob.Fault("write", s.URI(w.name), blob.ErrFull)
	}
	s.blobs[w.name] = w.bytes
	return nil
}

func (w *writer) Close() error {
	w.closed = true
	return nil
}
