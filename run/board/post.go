package board

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"bellows"
	"bellows/api"
	"bellows/link/transport/sock"
)

// Post is a board that other processes can read.
type Post struct {
	servers []*http.Server
	serving sync.WaitGroup
}

// CheckAddress refuses an address for Post that is none, or that other machines reach.
func CheckAddress(address string) error {
	host, port, err := net.SplitHostPort(address)
	switch {
	case err != nil || port == "":
		return errors.New("it must be HOST:PORT, such as 127.0.0.1:9090; port 0 is any free one")
	case !api.Loopback(host):
		return errors.New("any process with access to that address could read the job; give a loopback address, such as 127.0.0.1:9090")
	}
	return nil
}

// Post makes the board readable at a socket below the state folder, and, if address is not empty, at that loopback
// address. talk gets the latter's location, and the reason if there is no socket: then only the status verb of program
// cannot show the job. An address that cannot be used is an error.
func (b *Board) Post(program, state, address string, talk func(format string, args ...any)) (*Post, error) {
	p := &Post{}
	h := api.NewHandler(b.Status, b.Measured, b.feed)
	if address != "" {
		l, err := net.Listen("tcp", address)
		if err != nil {
			return nil, &bellows.Error{Kind: bellows.Unavailable, Op: "serve metrics at", Subject: address, Err: err,
				Hint: "give --metrics another port, or 0 for any free one"}
		}
		talk("metrics at http://%s/metrics", l.Addr())
		p.serve(l, h)
	}
	folder, err := Folder(state)
	if err == nil {
		var l net.Listener
		if l, err = sock.ListenLocal(filepath.Join(folder, fmt.Sprintf("%s.%d", b.fixed.Job, os.Getpid()))); err == nil {
			p.serve(l, h)
		}
	}
	if err != nil {
		talk("%s status will not show this run: %v", program, err)
	}
	return p, nil
}

// serve answers at a listener until it is closed.
func (p *Post) serve(l net.Listener, h http.Handler) {
	s := api.NewServer(h)
	p.servers = append(p.servers, s)
	p.serving.Go(func() { s.Serve(l) }) // it ends with the listener; the reason is not needed
}

// closeWait is how long requests in progress may take.
const closeWait = time.Second

// Close takes the board down, and the socket away. The board is closed before, so that followers go.
func (p *Post) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	for _, s := range p.servers {
		if s.Shutdown(ctx) != nil {
			s.Close()
		}
	}
	p.serving.Wait()
}
