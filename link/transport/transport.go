// Package transport is the interface to connections that carry frames: Dial, Listen, the handshake, and errors that
// name the peer. Package mem is its fake, package sock its real form over TCP and Unix sockets, and transporttest the
// one suite that all of them pass.
//
// The caller's duties, in order:
//
//  1. Fill in a Config. Its token is random, of one job, and known to that job's nodes alone.
//  2. Listen, and call Accept until it fails with net.ErrClosed. Any other error is one rejected connection: log it and
//     continue. From the first Accept until Close, the listener shakes hands with many callers at once, so that silent ones
//     delay no other; see package acceptor for the bounds.
//  3. Dial from the other side. A pair of nodes may hold several connections, which their Hello numbers.
//  4. For each Conn run one goroutine that reads frames and one that writes them. Only Config.ReadSilence limits how long a
//     read may take, so send something within it: the node layer sends heartbeats.
//  5. Hand each header and payload to the connection's wire.Joiner, which owns them from then on.
//  6. After any error Close the Conn: its stream may be cut in the middle of a frame, and every later call fails alike.
//     To end in peace, agree on it in a message first: Close drops what the peer has not read yet.
//
// The package does not reconnect, queue, number or repeat frames, or look into payloads. The token keeps out unknown
// callers and nodes of other jobs, but not an eavesdropper: an implementation that reaches other hosts may encrypt
// (package sock).
package transport

import (
	"context"
	"fmt"
	"time"

	"bellows/link/wire"
)

// Transport opens connections in the name of one node.
type Transport interface {
	// Dial connects to a listener's address and shakes hands. It fails with a *Refusal when either side turns the
	// other away, and gives up when ctx ends or Config.GreetTimeout has passed.
	Dial(ctx context.Context, address string) (Conn, error)

	// Number is the same transport for one of several connections of each pair of nodes: what it dials says that it is
	// connection n, counted from 0, of so many.
	Number(n, of uint8) Transport

	// Listen waits for connections at an address, whose form the implementation documents.
	Listen(address string) (Listener, error)
}

// Listener takes connections.
type Listener interface {
	// Accept returns the next connection whose handshake has succeeded. net.ErrClosed is the end of the listener, and
	// ctx's error means that ctx ended. Any other error concerns one rejected connection (a *Refusal says why), and the
	// caller continues. ctx ends the wait for a connection. A handshake that has begun continues, at most for
	// Config.GreetTimeout, and its connection goes to the next Accept, since the other side may already rely on it. Any
	// number of goroutines may call it.
	Accept(ctx context.Context) (Conn, error)

	// Close ends the listener, unblocks Accept and gives the address free. Connections that were accepted live on.
	Close() error

	// Address is what to Dial, with whatever the system chose filled in.
	Address() string
}

// Conn is an open connection to a node that has shown the job's token. Its errors name the peer. A peer that died, or
// closed its end, is io.EOF between two frames and io.ErrUnexpectedEOF elsewhere; our own Close is net.ErrClosed.
type Conn interface {
	// WriteFrames sends whole frames, cut into buffers anywhere, in their order. It has done with the buffers when it
	// returns. One goroutine at a time may write. When the peer takes no byte for Config.WriteStall the write fails
	// with os.ErrDeadlineExceeded, at most twice that time after the last byte.
	WriteFrames(buffers [][]byte) error

	// ReadFrame returns the next frame's header and payload. The header has been checked before memory was taken for
	// the payload; the payload has not, and is wire.Joiner's to check. It is the caller's from then on. One goroutine at
	// a time may read.
	ReadFrame() (wire.Header, []byte, error)

	// Close ends the connection, from any goroutine; reads and writes under way fail with net.ErrClosed.
	// A second Close does nothing.
	Close() error

	// Remote names the peer for people: its node, and where it is.
	Remote() string

	// Peer returns the other side's Hello, without the token.
	Peer() Hello
}

// NonBlockingConn is a Conn over which a goroutine that reads can answer at once, without waking another to write.
type NonBlockingConn interface {
	Conn

	// BeforeWait sets what ReadFrame calls each time before it waits for bytes that have not come; set it before the
	// first ReadFrame. f may call TryFrames, and must not Close.
	BeforeWait(f func())

	// TryFrames is WriteFrames without waiting: it returns what the system did not take at once, cut anywhere, which
	// the next WriteFrames must begin with. It consumes the list. An error shows in that WriteFrames.
	TryFrames(buffers [][]byte) (rest [][]byte)
}

// Meter is a Conn that counts bytes as they arrive: a long frame on a slow link shows that its peer lives before the
// frame is complete.
type Meter interface {
	Conn

	// Arrived is how many bytes have come so far, from any goroutine.
	Arrived() uint64
}

// SendMeter is a Conn that knows when its bytes have arrived at the other machine.
type SendMeter interface {
	Conn

	// Acknowledged returns how many bytes the other machine has acknowledged, and the time in which some waited or were
	// under way. Any goroutine may call it, and after Close it returns the last figures. told is false where the system
	// does not tell.
	Acknowledged() (bytes int64, busy time.Duration, told bool)
}

// Name returns how every implementation calls a peer in Remote and in errors.
func Name(peer Hello, place string) string {
	return fmt.Sprintf("node %d at %s, connection %d", peer.Node, place, peer.Number)
}
