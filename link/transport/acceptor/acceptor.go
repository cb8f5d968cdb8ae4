// Package acceptor shakes hands with many callers of a listener at once, so that silent callers delay no other; all
// transports share it.
//
// Make an Acceptor with a function next that waits for callers (New); its Accept is then transport.Listener's. No
// handshake begins before the first Accept: until then callers wait where next finds them. Close it when next returns
// no more callers.
//
// The states of a caller: it is unknown until it has shown the job's token, then known; after the handshake it waits
// for an Accept. Invariants:
//
//   - At most MaxCallers callers are inside, in any state (TestUnknownCallersAreBounded of this package).
//   - A caller without a free place takes the place of the oldest unknown one; a known caller keeps its place. So unknown
//     callers, whatever their number, cannot keep a node out, as long as the node shows its token before MaxCallers others
//     have arrived (the suite's "silent callers"). While all inside are known, others wait outside.
//   - An unknown caller costs a goroutine, a timer and what next made for it; no buffer.
//
// The lock is mu; it is held while the list of callers is changed. Rejected: to shake hands in the goroutines that call
// Accept, because each silent caller keeps nodes out until it is given up. And to refuse callers if all places are
// taken, because 64 unknown callers would keep every node out.
package acceptor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"

	"bellows/link/transport"
)

// MaxCallers bounds the callers inside: far more than the nodes that join in one moment, and small for the memory and
// descriptors of a process.
const MaxCallers = 64

// Greet shakes hands with one caller. It calls known as soon as the caller has shown the job's token. It ends in
// bounded time, and when ctx ends, and has closed the stream if it fails.
type Greet func(ctx context.Context, known func()) (transport.Conn, error)

// Acceptor shakes hands for a listener.
type Acceptor struct {
	address string // of the listener
	next    func() (Greet, error)
	begin   sync.Once
	ctx     context.Context // ends with Close
	end     context.CancelCauseFunc
	conns   chan transport.Conn // to Accept; the sender is inside
	turned  chan error          // to Accept; excess errors are dropped
	left    chan struct{}       // holds a token if a caller has left since the last receive

	mu     sync.Mutex
	inside []*caller // in order of arrival
}

// caller is the other end of a connection before Accept returns it.
type caller struct {
	known bool
	evict context.CancelCauseFunc
}

// New returns the acceptor of the listener at an address. next waits for the next caller. It fails with net.ErrClosed
// when the listener has been closed; Accept returns any other error, and next is called again.
func New(address string, next func() (Greet, error)) *Acceptor {
	a := &Acceptor{address: address, next: next, conns: make(chan transport.Conn), turned: make(chan error, MaxCallers), left: make(chan struct{}, 1)}
	a.ctx, a.end = context.WithCancelCause(context.Background())
	return a
}

// Accept implements transport.Listener.
func (a *Acceptor) Accept(ctx context.Context) (transport.Conn, error) {
	a.begin.Do(func() { go a.receive() })
	select {
	case <-a.ctx.Done():
		return nil, a.fault(net.ErrClosed)
	default:
	}
	select {
	case c := <-a.conns:
		return c, nil
	case err := <-a.turned:
		return nil, err
	case <-a.ctx.Done():
		return nil, a.fault(net.ErrClosed)
	case <-ctx.Done():
		return nil, a.fault(context.Cause(ctx))
	}
}

func (a *Acceptor) fault(err error) error { return transport.OpenFault("accept at", a.address, err) }

// Close rejects all callers inside, and ends Accept.
func (a *Acceptor) Close() { a.end(net.ErrClosed) }

// receive lets callers in until the listener is closed.
func (a *Acceptor) receive() {
	for {
		greet, err := a.next()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			a.keepError(err)
		default:
			ctx, one := a.enter()
			go a.host(ctx, one, greet)
		}
	}
}

// host shakes hands with a caller and hands its connection to Accept.
func (a *Acceptor) host(ctx context.Context, one *caller, greet Greet) {
	defer a.leave(one)
	defer one.evict(nil)
	c, err := greet(ctx, func() { a.know(one) })
	if err != nil {
		a.keepError(err)
		return
	}
	select {
	case a.conns <- c:
	case <-a.ctx.Done():
		c.Close()
	}
}

// keepError keeps an error for Accept, if there is room.
func (a *Acceptor) keepError(err error) {
	select {
	case a.turned <- err:
	default:
	}
}

// errEvicted is the reason for rejecting an unknown caller.
var errEvicted = fmt.Errorf("it had not shown the job's token when its place was needed: %d others came after it", MaxCallers)

// enter waits for a place for a caller, and returns the context of its handshake.
func (a *Acceptor) enter() (context.Context, *caller) {
	for !a.hasPlace() {
		select {
		case <-a.left:
		case <-a.ctx.Done(): // the caller is rejected at once
			return a.admit()
		}
	}
	return a.admit()
}

// hasPlace reports whether there is a place, and evicts the oldest unknown caller for one if needed.
func (a *Acceptor) hasPlace() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.inside) < MaxCallers {
		return true
	}
	i := slices.IndexFunc(a.inside, func(c *caller) bool { return !c.known })
	if i < 0 {
		return false
	}
	a.inside[i].evict(errEvicted)
	a.inside = slices.Delete(a.inside, i, i+1)
	return true
}

func (a *Acceptor) admit() (context.Context, *caller) {
	ctx, evict := context.WithCancelCause(a.ctx)
	one := &caller{evict: evict}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.inside = append(a.inside, one)
	return ctx, one
}

func (a *Acceptor) know(one *caller) {
	a.mu.Lock()
	defer a.mu.Unlock()
	one.known = true
}

// leave frees a place.
func (a *Acceptor) leave(one *caller) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if i := slices.Index(a.inside, one); i >= 0 {
		a.inside = slices.Delete(a.inside, i, i+1)
	}
	select {
	case a.left <- struct{}{}:
	default:
	}
}
