package etcd

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"

	"bellows"
)

// The calls of gRPC that etcd's API needs, over the HTTP/2 of net/http. Requests and responses are messages of protocol
// buffers, each preceded by a flag and its length. The status of a call comes in trailers
// (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md).
//
// Turned down: etcd's own client, which brings gRPC and 144 packages (docs/decisions/0122).

// Codes of gRPC's statuses that mean something here.
const (
	codeOK                = 0
	codeUnknown           = 2
	codeNotFound          = 5
	codeResourceExhausted = 8
	codeOutOfRange        = 11
	codeInternal          = 13
	codeUnavailable       = 14
)

// messageMost bounds a message of a member: a list of as many entries as one may have, each of the largest size.
const messageMost = 128 << 20

// messageHeader is the flag of compression, and the length of what follows.
const messageHeader = 5

// status is the error of a call that a member, or the way to it, has refused.
type status struct {
	code    int
	message string
	unsent  bool // the request has not left this process
}

func (s *status) Error() string { return s.message }

// isUnavailable reports whether another member, or the same one later, may answer.
func isUnavailable(err error) bool {
	var s *status
	return errors.As(err, &s) && s.code == codeUnavailable
}

// isUnsent reports whether a call failed before any member could have seen it.
func isUnsent(err error) bool {
	var s *status
	return errors.As(err, &s) && s.unsent
}

// member is one address of the cluster.
type member struct {
	base string // of URLs
	http *http.Client
}

// members sends requests to a cluster: to one member until that one is unavailable, then to the next.
type members struct {
	list []member
	next atomic.Uint32 // the member to ask, modulo their number; it only grows
}

// newMembers prepares connections to endpoints that CheckEndpoint accepts. None is made yet.
func newMembers(endpoints []string, secrets *tls.Config) *members {
	m := &members{}
	for _, at := range endpoints {
		m.list = append(m.list, newMember(at, secrets))
	}
	return m
}

func newMember(at string, secrets *tls.Config) member {
	dialer := &net.Dialer{Timeout: silentFor}
	t := &http.Transport{Protocols: &http.Protocols{}, HTTP2: &http.HTTP2Config{SendPingTimeout: silentAfter, PingTimeout: silentFor},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := dialer.DialContext(ctx, network, address)
			return c, unsent(err)
		}}
	base := strings.TrimSuffix(at, "/")
	switch scheme, path, _ := strings.Cut(at, ":"); scheme {
	case "https":
		t.TLSClientConfig = secrets.Clone()
		t.Protocols.SetHTTP2(true)
	case "unix":
		base = "http://localhost"
		t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			c, err := dialer.DialContext(ctx, "unix", strings.TrimPrefix(path, "//"))
			return c, unsent(err)
		}
		t.Protocols.SetUnencryptedHTTP2(true)
	default:
		t.Protocols.SetUnencryptedHTTP2(true)
	}
	return member{base: base, http: &http.Client{Transport: t}}
}

// unsent returns the status of a call for which no connection could be made.
func unsent(err error) error {
	if err == nil {
		return nil
	}
	return &status{code: codeUnavailable, message: err.Error(), unsent: true}
}

// close closes the connections that are idle. Those of calls end with their contexts.
func (m *members) close() {
	for _, one := range m.list {
		one.http.CloseIdleConnections()
	}
}

// call sends one request and returns the one response. If no connection to a member can be made, it asks the next one; each
// member is asked at most once.
func (m *members) call(ctx context.Context, method string, request []byte) (response []byte, err error) {
	for range m.list {
		response, err = m.callOne(ctx, method, request)
		if err == nil || !isUnsent(err) || ctx.Err() != nil {
			break
		}
	}
	return response, err
}

func (m *members) callOne(ctx context.Context, method string, request []byte) ([]byte, error) {
	s, err := m.open(ctx, method, bytes.NewReader(frame(request)), false)
	if err != nil {
		return nil, err
	}
	defer s.close()
	response, err := s.receive()
	if err == nil {
		_, err = s.receive() // the status of the call
	} else if errors.Is(err, io.EOF) {
		return nil, &status{code: codeInternal, message: "an answer without a message"}
	}
	switch {
	case errors.Is(err, io.EOF):
		return response, nil
	case err == nil:
		err = &status{code: codeInternal, message: "an answer of several messages"}
	case isUnavailable(err):
		m.leave(s.of)
	}
	return nil, err
}

// follow sends one request for a stream of responses, which lasts until ctx ends.
func (m *members) follow(ctx context.Context, method string, request []byte) (*stream, error) {
	ctx, end := context.WithCancel(ctx)
	s, err := m.open(ctx, method, newOpenBody(ctx, request), true)
	if err != nil {
		end()
		return nil, err
	}
	s.end = end
	return s, nil
}

// openBody is the body of a request that stays open until its context ends: the end of the body would end the call.
//
// Close makes a Read return. net/http calls it when a connection is lost, and reports the loss to the reader of the
// responses only when Read has returned (TestWatchSurvivesLostConnection).
type openBody struct {
	ctx     context.Context
	end     context.CancelFunc
	request *bytes.Reader
}

func newOpenBody(ctx context.Context, request []byte) *openBody {
	ctx, end := context.WithCancel(ctx)
	return &openBody{ctx: ctx, end: end, request: bytes.NewReader(frame(request))}
}

func (b *openBody) Close() error {
	b.end()
	return nil
}

func (b *openBody) Read(to []byte) (int, error) {
	if b.request.Len() > 0 {
		return b.request.Read(to)
	}
	<-b.ctx.Done()
	return 0, b.ctx.Err()
}

// open sends a request to a member and returns its responses. A member that is unavailable is left for the next one.
func (m *members) open(ctx context.Context, method string, body io.Reader, mustLead bool) (*stream, error) {
	at := m.next.Load()
	s, err := m.list[int(at)%len(m.list)].open(ctx, method, body, mustLead)
	if isUnavailable(err) {
		m.leave(at)
	}
	if s != nil {
		s.of = at
	}
	return s, err
}

// leave asks another member from now on, unless another call has already left this one.
func (m *members) leave(at uint32) { m.next.CompareAndSwap(at, at+1) }

func (m member) open(ctx context.Context, method string, body io.Reader, mustLead bool) (*stream, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, m.base+"/etcdserverpb."+method, body)
	if err != nil {
		return nil, err
	}
	r.Header = http.Header{"Content-Type": {"application/grpc"}, "Te": {"trailers"}}
	if mustLead {
		r.Header.Set("hasleader", "true") // else a member that has lost the others is silent
	}
	answer, err := m.http.Do(r)
	if err != nil {
		return nil, lost(ctx, err)
	}
	s := &stream{ctx: ctx, answer: answer}
	if answer.StatusCode != http.StatusOK {
		s.close()
		return nil, &status{code: statusOf(answer.StatusCode), message: "it answers " + bellows.Printable(answer.Status, 100)}
	}
	if err := statusIn(answer.Header); err != nil { // of an answer that has nothing else
		s.close()
		return nil, err
	}
	return s, nil
}

// lost returns the status of a call after its connection has failed.
func lost(ctx context.Context, err error) error {
	var s *status
	if ctx.Err() != nil || errors.As(err, &s) {
		return err
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return &status{code: codeUnavailable, message: err.Error()}
}

// statusOf returns the code of an answer that is not of gRPC, such as that of a proxy.
func statusOf(http int) int {
	switch http {
	case 429, 502, 503, 504:
		return codeUnavailable
	}
	return codeUnknown
}

// statusIn returns the status that headers or trailers name; nil: they name none, or success.
func statusIn(h http.Header) error {
	word := h.Get("Grpc-Status")
	if word == "" {
		return nil
	}
	code, err := strconv.Atoi(word)
	if err != nil {
		code = codeUnknown
	}
	if code == codeOK {
		return nil
	}
	message, err := url.PathUnescape(h.Get("Grpc-Message"))
	if err != nil {
		message = h.Get("Grpc-Message")
	}
	return &status{code: code, message: message}
}

// stream is the responses to one request.
type stream struct {
	of     uint32 // the member, as members counts
	ctx    context.Context
	end    context.CancelFunc // of an open request; else nil
	answer *http.Response
}

// close ends the call. It first ends a request that is open, because net/http waits for its end.
func (s *stream) close() {
	if s.end != nil {
		s.end()
	}
	_ = s.answer.Body.Close()
}

// receive returns the next response; io.EOF: the member has ended the call without an error.
func (s *stream) receive() ([]byte, error) {
	var head [messageHeader]byte
	if _, err := io.ReadFull(s.answer.Body, head[:]); errors.Is(err, io.EOF) {
		if _, told := s.answer.Trailer["Grpc-Status"]; !told && s.answer.Header.Get("Grpc-Status") == "" {
			return nil, &status{code: codeUnavailable, message: "the answer ends without a status"}
		}
		if err := statusIn(s.answer.Trailer); err != nil {
			return nil, err
		}
		return nil, io.EOF
	} else if err != nil {
		return nil, lost(s.ctx, err)
	}
	n := binary.BigEndian.Uint32(head[1:])
	switch {
	case head[0] != 0:
		return nil, &status{code: codeInternal, message: "a compressed message, which was not asked for"}
	case n > messageMost:
		return nil, &status{code: codeInternal, message: fmt.Sprintf("a message of %d bytes, more than %d", n, messageMost)}
	}
	var message bytes.Buffer // which grows as bytes come, and not by what a member announces
	if _, err := io.CopyN(&message, s.answer.Body, int64(n)); err != nil {
		return nil, lost(s.ctx, err)
	}
	return message.Bytes(), nil
}

// frame returns a message after its header.
func frame(message []byte) []byte {
	b := make([]byte, messageHeader, messageHeader+len(message))
	binary.BigEndian.PutUint32(b[1:], uint32(len(message)))
	return append(b, message...)
}
