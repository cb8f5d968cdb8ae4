package fabric

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"time"

	"bellows"
	"bellows/core/join"
	"bellows/core/liveness"
	"bellows/link/transport"
)

// Connect joins a node to all others of its cluster, as package join decides. It dials the nodes of lower number, which
// may not be there yet, and accepts calls of the others. addresses are by node. It gives up when ctx ends or when the
// others have not arrived within times.Join, and at once if waiting cannot help: an invalid address, another node at
// that address, a refusal. Its error names the missing nodes. It calls notice every times.Notice while it waits. The
// connections are returned by number and, within each number, by node, nil for the node itself.
func Connect(ctx context.Context, t transport.Transport, l transport.Listener, who join.Cluster, addresses []string,
	times liveness.Times, notice func(string)) ([]transport.Conn, error) {
	j := &joiner{transport: t, listener: l, addresses: addresses, notice: notice, began: time.Now(), join: join.New(who, addresses, times, 0),
		who: who, conns: make([]transport.Conn, who.Nodes*who.Connections), came: make(chan call, 2)}
	err := j.run(ctx)
	if err != nil {
		return nil, errors.Join(err, HangUp(j.conns))
	}
	return j.conns, nil
}

// HangUp closes the connections that there are.
func HangUp(conns []transport.Conn) (err error) {
	for _, conn := range conns {
		if conn != nil {
			err = errors.Join(err, conn.Close())
		}
	}
	return err
}

// joiner carries out a node's joining: join.Joining decides; the joiner dials and accepts, one of each at a time. One
// goroutine owns all of it. The goroutines that dial and accept hand it their results through a buffered channel. run
// waits for them before it returns (TestSecondCallIsRejected, in whose bubble no goroutine may be left) and closes the
// connections that they still deliver.
type joiner struct {
	transport transport.Transport
	listener  transport.Listener
	addresses []string
	notice    func(string)
	began     time.Time
	who       join.Cluster
	join      *join.Joining
	fx        join.Effects
	conns     []transport.Conn // by number and node

	came   chan call // has room for all that is out
	out    int       // calls that are made or awaited
	taking bool      // one of them is awaited
	number int       // of the connection that is dialled
}

// call is a connection that was made, or why it was not.
type call struct {
	dialled bool // by this side
	conn    transport.Conn
	err     error
}

// run joins the others, and ends when no call is out any more.
func (j *joiner) run(ctx context.Context) error {
	calls, cancel := context.WithCancel(ctx)
	defer j.settle()
	defer cancel()
	j.join.Begin(&j.fx)
	for {
		j.obey(calls)
		if over := j.fx.Over; over != nil {
			return over.Err
		}
		j.fx = join.Effects{}
		select {
		case r := <-j.came:
			j.out--
			j.taking = j.taking && r.dialled
			switch {
			case r.err != nil && ctx.Err() != nil:
				j.join.Cancel(context.Cause(ctx), &j.fx)
			case r.dialled:
				j.answer(r)
			default:
				j.take(r)
			}
		case <-time.After(time.Until(j.began.Add(time.Duration(j.join.Next()) * time.Millisecond))):
			j.join.Tick(time.Since(j.began).Milliseconds(), &j.fx)
		case <-ctx.Done():
			j.join.Cancel(context.Cause(ctx), &j.fx)
		}
	}
}

// obey carries out what the joining wants. Each call is made at its time in a goroutine of its own, so that the joining
// itself never waits and continues to accept calls.
func (j *joiner) obey(ctx context.Context) {
	if j.fx.Notice != "" {
		j.notice(j.fx.Notice)
	}
	if d := j.fx.Dial; d != nil {
		j.out++
		j.number = d.Number
		t, address := j.transport.Number(uint8(d.Number), uint8(j.who.Connections)), j.addresses[d.Node]
		go func() {
			select {
			case <-ctx.Done():
				j.came <- call{true, nil, context.Cause(ctx)}
			case <-time.After(time.Duration(d.AfterMillis) * time.Millisecond):
				conn, err := t.Dial(ctx, address)
				j.came <- call{true, conn, err}
			}
		}()
	}
	if j.join.Awaits() && !j.taking {
		j.out++
		j.taking = true
		go func() {
			conn, err := j.listener.Accept(ctx)
			j.came <- call{false, conn, err}
		}()
	}
}

// answer tells what has become of the call that was out.
func (j *joiner) answer(r call) {
	switch {
	case r.err != nil:
		j.join.Failed(r.err, hopeless(r.err), &j.fx)
	case j.join.Answered(r.conn.Peer().Node, &j.fx):
		j.conns[j.number*j.who.Nodes+int(r.conn.Peer().Node)] = r.conn
	default:
		r.conn.Close() // not needed
	}
}

// take tells of a call that has come.
func (j *joiner) take(r call) {
	switch {
	case errors.Is(r.err, net.ErrClosed):
		j.join.Closed(r.err, &j.fx)
	case r.err != nil:
		j.join.TurnedAway(r.err)
	default:
		h := r.conn.Peer()
		if number, of := int(h.Number), max(1, int(h.Of)); j.join.Called(h.Node, number, of, &j.fx) {
			j.conns[j.who.Place(h.Node, number, of)] = r.conn
		} else {
			r.conn.Close() // not needed
		}
	}
}

// settle waits for calls that are still out, and ends what comes of them.
func (j *joiner) settle() {
	for ; j.out > 0; j.out-- {
		if r := <-j.came; r.conn != nil {
			r.conn.Close() // not needed
		}
	}
}

// hopeless reports whether a call would fail again however often it is made.
func hopeless(err error) bool {
	kind := bellows.KindOf(err)
	address := (*net.AddrError)(nil)
	return kind == bellows.Refused || kind == bellows.Config || errors.Is(err, fs.ErrPermission) || errors.As(err, &address)
}
