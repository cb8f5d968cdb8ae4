// Package door is what the listeners of all transports share: it shakes hands with many callers at once, so that those
// who say nothing keep nobody waiting.
//
// Make a Door with New, whose next waits for callers; then Accept is transport.Listener's. Nothing is begun before the
// first Accept: until then callers wait where next finds them. Close it when next has nothing more to give.
//
// The states of a caller: it is a stranger until it has shown the job's token, then known, and after the handshake it
// waits for an Accept. Invariants:
//
//   - At most Most callers are inside, in any state (TestStrangersHaveBounds of this package).
//   - A caller for whom there is no room takes the place of the oldest stranger; who is known keeps his place. So strangers
//     cannot keep a node out, whatever their number, as long as the node shows its token before Most others have come
//     (the suite's "silent strangers"). While all inside are known, others wait outside.
//   - A stranger costs a goroutine, a timer and what next made for it; no buffer.
//
// The lock is guests; it is held while the list of callers is changed. Turned down: shaking hands in the goroutines that
// call Accept (one silent stranger for each keeps nodes out until it is given up), and turning callers away where there is
// no room (64 strangers, and no node comes in).
package door

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"

	"bellows/link/transport"
)

// Most is how many callers may be inside: far above the nodes that join in one moment, and small as memory and
// descriptors of a process go.
const Most = 64

// Greet shakes hands with one caller. It calls known as soon as the caller has shown the job's token. It ends in bounded
// time, and when ctx ends, and has closed the stream if it fails.
type Greet func(ctx context.Context, known func()) (transport.Conn, error)

// Door shakes hands for a listener.
type Door struct {
	address string // of the listener
	next    func() (Greet, error)
	begin   sync.Once
	ctx     context.Context // lives until Close
	end     context.CancelCauseFunc
	conns   chan transport.Conn // to whom accepts; whoever sends is inside
	turned  chan error          // for whom accepts; what does not fit is forgotten
	left    chan struct{}       // holds a token if somebody has left since it was asked

	guests sync.Mutex
	inside []*guest // in the order in which they came
}

// guest is a caller.
type guest struct {
	known bool
	evict context.CancelCauseFunc
}

// New is the door of the listener at an address. next waits for the next caller. It fails with net.ErrClosed when the listener has
// been closed; another error is told to whom accepts, and next is called again.
func New(address string, next func() (Greet, error)) *Door {
	d := &Door{address: address, next: next, conns: make(chan transport.Conn), turned: make(chan error, Most), left: make(chan struct{}, 1)}
	d.ctx, d.end = context.WithCancelCause(context.Background())
	return d
}

// Accept is as transport.Listener says.
func (d *Door) Accept(ctx context.Context) (transport.Conn, error) {
	d.begin.Do(func() { go d.receive() })
	select {
	case <-d.ctx.Done():
		return nil, d.fault(net.ErrClosed)
	default:
	}
	select {
	case c := <-d.conns:
		return c, nil
	case err := <-d.turned:
		return nil, err
	case <-d.ctx.Done():
		return nil, d.fault(net.ErrClosed)
	case <-ctx.Done():
		return nil, d.fault(context.Cause(ctx))
	}
}

func (d *Door) fault(err error) error { return transport.OpenFault("accept at", d.address, err) }

// Close turns away all who are inside, and ends Accept.
func (d *Door) Close() { d.end(net.ErrClosed) }

// receive lets callers in until the listener is closed.
func (d *Door) receive() {
	for {
		greet, err := d.next()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			d.tell(err)
		default:
			ctx, g := d.enter()
			go d.host(ctx, g, greet)
		}
	}
}

// host shakes hands with a caller and hands it to whom accepts.
func (d *Door) host(ctx context.Context, g *guest, greet Greet) {
	defer d.leave(g)
	defer g.evict(nil)
	c, err := greet(ctx, func() { d.know(g) })
	if err != nil {
		d.tell(err)
		return
	}
	select {
	case d.conns <- c:
	case <-d.ctx.Done():
		c.Close()
	}
}

// tell keeps an error for whom accepts, if there is room.
func (d *Door) tell(err error) {
	select {
	case d.turned <- err:
	default:
	}
}

// errEvicted is why a stranger is turned away.
var errEvicted = fmt.Errorf("it had not shown the job's token when its place was needed: %d others came after it", Most)

// enter finds a place for a caller, and is the context of its handshake.
func (d *Door) enter() (context.Context, *guest) {
	for !d.hasPlace() {
		select {
		case <-d.left:
		case <-d.ctx.Done(): // whoever comes in now is turned away at once
			return d.admit()
		}
	}
	return d.admit()
}

// hasPlace makes a place where one can be made.
func (d *Door) hasPlace() bool {
	d.guests.Lock()
	defer d.guests.Unlock()
	if len(d.inside) < Most {
		return true
	}
	i := slices.IndexFunc(d.inside, func(g *guest) bool { return !g.known })
	if i < 0 {
		return false
	}
	d.inside[i].evict(errEvicted)
	d.inside = slices.Delete(d.inside, i, i+1)
	return true
}

func (d *Door) admit() (context.Context, *guest) {
	ctx, evict := context.WithCancelCause(d.ctx)
	g := &guest{evict: evict}
	d.guests.Lock()
	defer d.guests.Unlock()
	d.inside = append(d.inside, g)
	return ctx, g
}

func (d *Door) know(g *guest) {
	d.guests.Lock()
	defer d.guests.Unlock()
	g.known = true
}

// leave gives a place free.
func (d *Door) leave(g *guest) {
	d.guests.Lock()
	defer d.guests.Unlock()
	if i := slices.Index(d.inside, g); i >= 0 {
		d.inside = slices.Delete(d.inside, i, i+1)
	}
	select {
	case d.left <- struct{}{}:
	default:
	}
}
