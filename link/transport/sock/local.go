package sock

import (
	"context"
	"errors"
	"net"

	"bellows"
)

// ListenLocal listens at a Unix socket, for streams that speak something else than frames: in a folder and with a mode
// that keep other users out, and what comes from another user's process is closed, where the kernel tells. A socket that
// a dead process left there is removed; closing the listener removes its own.
func ListenLocal(path string) (net.Listener, error) {
	l, err := listen("unix", path)
	if err != nil {
		return nil, &bellows.Error{Kind: bellows.Unavailable, Op: "listen at", Subject: path, Err: err}
	}
	return local{l, sameUser}, nil
}

// local is a listener that takes only what check lets pass.
type local struct {
	net.Listener
	check func(net.Conn) error
}

func (l local) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil || l.check(c) == nil {
			return c, err
		}
		c.Close()
	}
}

// DialLocal connects to a socket of ListenLocal that belongs to this user.
func DialLocal(ctx context.Context, path string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, &bellows.Error{Kind: bellows.Unavailable, Op: "connect to", Subject: path, Err: plain(err)}
	}
	if err := sameUser(c); err != nil {
		return nil, &bellows.Error{Kind: bellows.Refused, Op: "connect to", Subject: path, Err: errors.Join(err, c.Close())}
	}
	return c, nil
}
