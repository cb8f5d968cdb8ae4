package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"

	"bellows"
	"bellows/api"
	"bellows/link/transport/sock"
)

// unixPrefix begins an address that is a socket of this machine.
const unixPrefix = "unix:"

// Listen makes a listener at an address: HOST:PORT, or unix:PATH. near says that only this machine reaches it. Errors are of kind Usage or Unavailable.
func Listen(address string) (l net.Listener, near bool, err error) {
	if path, ok := strings.CutPrefix(address, unixPrefix); ok {
		if path == "" {
			return nil, false, bellows.Errorf(bellows.Usage, "set", "--listen="+address, "the socket has no path; write unix:PATH")
		}
		l, err = sock.ListenLocal(path)
		if err != nil {
			return nil, false, &bellows.Error{Kind: bellows.Unavailable, Op: "listen at", Subject: address, Err: bellows.Pathless(err), Hint: "give --listen a path that can be written and that no process listens at"}
		}
		return l, true, nil
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil || port == "" {
		return nil, false, bellows.Errorf(bellows.Usage, "set", "--listen="+address, "it must be HOST:PORT, such as 127.0.0.1:8080, where port 0 is any free one; or unix:PATH")
	}
	if l, err = net.Listen("tcp", address); err != nil {
		return nil, false, &bellows.Error{Kind: bellows.Unavailable, Op: "listen at", Subject: address, Err: rootOf(err), Hint: "give --listen another port, or 0 for any free one"}
	}
	return l, host != "" && api.Loopback(host), nil
}

// rootOf returns what the system said, without the address, which the error names.
func rootOf(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}

// Address returns how questions name a listener.
func Address(l net.Listener) string {
	if l.Addr().Network() == "unix" {
		return unixPrefix + l.Addr().String()
	}
	return "http://" + l.Addr().String()
}

// bounded returns a listener with at most so many open connections: others wait in the system's queue.
func bounded(l net.Listener, most int) net.Listener {
	return &boundedListener{Listener: l, places: make(chan struct{}, most), closed: make(chan struct{})}
}

type boundedListener struct {
	net.Listener
	places chan struct{}
	once   sync.Once
	closed chan struct{}
}

// Accept implements net.Listener.
func (b *boundedListener) Accept() (net.Conn, error) {
	select {
	case b.places <- struct{}{}:
	case <-b.closed:
		return nil, net.ErrClosed
	}
	c, err := b.Listener.Accept()
	if err != nil {
		<-b.places
		return nil, err
	}
	return &boundedConn{Conn: c, leave: sync.OnceFunc(func() { <-b.places })}, nil
}

// Close implements net.Listener.
func (b *boundedListener) Close() error {
	b.once.Do(func() { close(b.closed) })
	return b.Listener.Close()
}

type boundedConn struct {
	net.Conn
	leave func()
}

// Write implements net.Conn. Requests that package http cannot read come to no handler: it writes a refusal as text, in one piece, which goes out as JSON instead.
func (c *boundedConn) Write(b []byte) (int, error) {
	out := asProblem(b)
	if out == nil {
		return c.Conn.Write(b)
	}
	if _, err := c.Conn.Write(out); err != nil {
		return 0, err
	}
	return len(b), nil
}

// plainHeader ends the header of such a refusal (net/http, server.go); no other answer has it.
const plainHeader = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"

// asProblem returns a refusal of package http as JSON; nil of all else.
func asProblem(b []byte) []byte {
	if !bytes.HasPrefix(b, []byte("HTTP/1.")) || len(b) < len("HTTP/1.1 400") || b[9] < '4' {
		return nil
	}
	head, message, found := strings.Cut(string(b[:min(len(b), 1024)]), plainHeader)
	_, status, _ := strings.Cut(head, " ")
	code, err := strconv.Atoi(status[:min(len(status), 3)])
	if !found || err != nil || strings.Contains(head, "\r\n") {
		return nil
	}
	var answer problemAnswer
	answer.Error.Status, answer.Error.Message = code, strings.TrimPrefix(message, status[:3]+" ")
	text, err := json.Marshal(answer)
	if err != nil {
		return nil
	}
	text = append(text, '\n')
	return fmt.Appendf(nil, "%s\r\nContent-Type: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", head, jsonForm, len(text), text)
}

// Close implements net.Conn.
func (c *boundedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
