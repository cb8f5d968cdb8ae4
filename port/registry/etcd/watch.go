package etcd

import (
	"context"
	"errors"
	"sync"

	"bellows/port/registry"
)

// queueMost bounds the bytes of changes that wait for Next. Above it, pump stops asking etcd until the queue is empty.
const queueMost = 4 << 20

// entryBytes is the memory of a change in addition to key and value.
const entryBytes = 128

// watch follows keys with one goroutine, pump, which waits for etcd and puts changes into the queue. It ends with the
// watch or the client.
//
// Invariant: after is the revision of the last change in the queue or returned by Next, and pump asks etcd for the
// changes that follow it, so that each comes exactly once.
//
// Lock: mu. wake signals that the queue has changes or an end, room that it is empty.
type watch struct {
	client *client
	prefix string
	most   int             // bytes of the queue
	ctx    context.Context // of pump, and of what it asks etcd
	end    context.CancelFunc
	wake   chan struct{}
	room   chan struct{}

	mu    sync.Mutex
	queue []registry.Change
	bytes int
	after registry.Revision
	err   error // the end
}

func (c *client) Watch(prefix string, after registry.Revision) (registry.Watch, error) {
	return c.watch(prefix, after, queueMost)
}

func (c *client) watch(prefix string, after registry.Revision, most int) (registry.Watch, error) {
	if err := registry.CheckPrefix(prefix); err != nil {
		return nil, err
	}
	if c.ctx.Err() != nil {
		return nil, registry.Fault("watch", prefix, registry.ErrClosed)
	}
	ctx, end := context.WithCancel(c.ctx)
	w := &watch{client: c, prefix: prefix, most: most, after: after, ctx: ctx, end: end, wake: make(chan struct{}, 1), room: make(chan struct{}, 1)}
	go w.pump(ctx)
	return w, nil
}

func (w *watch) Close() { w.end() }

func (w *watch) Next(ctx context.Context) ([]registry.Change, error) {
	for {
		switch {
		case w.ctx.Err() != nil:
			return nil, registry.Fault("watch", w.prefix, registry.ErrClosed)
		case ctx.Err() != nil:
			return nil, registry.Fault("watch", w.prefix, ctx.Err())
		}
		if list, err := w.take(); err != nil || len(list) > 0 {
			return list, err
		}
		select {
		case <-w.wake:
		case <-ctx.Done():
		case <-w.ctx.Done():
		}
	}
}

// take empties the queue.
func (w *watch) take() ([]registry.Change, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.queue
	w.queue, w.bytes = nil, 0
	signal(w.room)
	if len(list) == 0 && w.err != nil {
		return nil, registry.Fault("watch", w.prefix, w.err)
	}
	return list, nil
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// pump asks etcd for changes until ctx ends, or etcd does not know them any more.
func (w *watch) pump(ctx context.Context) {
	for ctx.Err() == nil {
		err := w.follow(ctx)
		switch {
		case errors.Is(err, registry.ErrBehind):
			w.mu.Lock()
			w.err = err
			w.mu.Unlock()
			signal(w.wake)
			return
		case err != nil:
			pause(ctx, again) // another member is asked
		default:
			w.awaitRoom(ctx)
		}
	}
}

// awaitRoom waits until the queue is empty.
func (w *watch) awaitRoom(ctx context.Context) {
	for {
		w.mu.Lock()
		empty := len(w.queue) == 0
		w.mu.Unlock()
		if empty {
			return
		}
		select {
		case <-w.room:
		case <-ctx.Done():
			return
		}
	}
}

// errInterrupted says that etcd has ended a watch, which is to be begun again.
var errInterrupted = errors.New("the watch was interrupted")

// follow puts changes into the queue until it is full (nil), or returns why no more will come.
func (w *watch) follow(ctx context.Context) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	w.mu.Lock()
	from := int64(w.after) + 1
	w.mu.Unlock()
	key := w.client.prefix + w.prefix
	stream, err := w.client.etcd.follow(ctx, "Watch/Watch", watchRequest(key, prefixEnd(key), from))
	if err != nil {
		return cause(err)
	}
	defer stream.close()
	for {
		message, err := stream.receive()
		if err != nil {
			return cause(err)
		}
		r, err := readWatch(message)
		switch {
		case err != nil:
			return err
		case r.compacted != 0:
			return registry.ErrBehind
		case r.cancelled:
			return errInterrupted
		}
		if full := w.add(r.events); full {
			return nil
		}
	}
}

// add puts the changes of whole revisions into the queue, and reports whether it is full.
func (w *watch) add(events []event) (full bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range events {
		c := registry.Change{Entry: w.client.entry(e.keyValue), Gone: e.gone}
		w.queue = append(w.queue, c)
		w.bytes += entryBytes + len(c.Key) + len(c.Value)
		w.after = c.Revision
	}
	signal(w.wake)
	return w.bytes > w.most
}
