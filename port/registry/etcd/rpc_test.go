package etcd

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"bellows"
	"bellows/internal/require"
	"bellows/port/registry"
)

// answering starts a member that answers by a function, and returns its address.
func answering(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &http.Server{Handler: answer, Protocols: &http.Protocols{}}
	s.Protocols.SetUnencryptedHTTP2(true)
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(l) }() // it says that it was closed
	t.Cleanup(func() { _ = s.Close(); <-done })
	return "http://" + l.Addr().String()
}

// respond writes messages and then a status in trailers.
func respond(w http.ResponseWriter, code int, message string, frames ...[]byte) {
	w.Header().Set("Trailer", "Grpc-Status, Grpc-Message")
	for _, f := range frames {
		_, _ = w.Write(f)
	}
	w.Header().Set("Grpc-Status", strconv.Itoa(code))
	w.Header().Set("Grpc-Message", message)
}

// ask opens a client of a member and reads one key.
func ask(t *testing.T, answer http.HandlerFunc) (registry.Entry, error) {
	t.Helper()
	c := newClient(newMembers([]string{answering(t, answer)}, nil), "a test", "p", WithinDefault)
	t.Cleanup(func() { _ = c.Close() })
	return c.Get(t.Context(), "a")
}

// found is a response with the one entry of key p/a.
var found = frame(appendBytes(appendBytes(nil, 1, appendNumber(nil, 3, 5)), 2, appendNumber(appendText(appendText(nil, 1, "p/a"), 5, "v"), 3, 4)))

// TestCallSendsGRPCRequest also reads the answer.
func TestCallSendsGRPCRequest(t *testing.T) {
	t.Parallel()
	e, err := ask(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if want := frame(rangeRequest("p/a", "", 0)); r.URL.Path != "/etcdserverpb.KV/Range" || r.Header.Get("Content-Type") != "application/grpc" || !bytes.Equal(body, want) {
			t.Errorf("%s %v %q", r.URL.Path, r.Header, body)
		}
		respond(w, codeOK, "", found)
	})
	if err != nil || e.Key != "a" || string(e.Value) != "v" || e.Revision != 4 {
		t.Errorf("%+v, %v", e, err)
	}
}

// TestInvalidAnswersAreErrors shows each kind of wrong answer: none is taken for a value or ends the process.
func TestInvalidAnswersAreErrors(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"a status":             {func(w http.ResponseWriter, _ *http.Request) { respond(w, 7, "not%20for you") }, "not for you"},
		"a status without end": {func(w http.ResponseWriter, _ *http.Request) { respond(w, 7, "100%") }, "100%"},
		"a status in headers": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Grpc-Status", "7")
			w.Header().Set("Grpc-Message", "no")
		}, "no"},
		"a status of letters": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Grpc-Status", "x")
			w.Header().Set("Grpc-Message", "what")
		}, "what"},
		"a late status":       {func(w http.ResponseWriter, _ *http.Request) { respond(w, 7, "late", found) }, "late"},
		"no message":          {func(w http.ResponseWriter, _ *http.Request) { respond(w, codeOK, "") }, "an answer without a message"},
		"two messages":        {func(w http.ResponseWriter, _ *http.Request) { respond(w, codeOK, "", found, found) }, "an answer of several messages"},
		"compression":         {func(w http.ResponseWriter, _ *http.Request) { respond(w, codeOK, "", []byte{1, 0, 0, 0, 0}) }, "a compressed message"},
		"a large message":     {func(w http.ResponseWriter, _ *http.Request) { respond(w, codeOK, "", []byte{0, 255, 0, 0, 0}) }, "a message of 4278190080 bytes"},
		"no protocol buffers": {func(w http.ResponseWriter, _ *http.Request) { respond(w, codeOK, "", frame([]byte{255})) }, "cannot be read"},
		"a page":              {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "who?", http.StatusNotFound) }, "404 Not Found"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			if e, err := ask(t, c.answer); err == nil || !strings.Contains(err.Error(), c.want) || bellows.KindOf(err) != bellows.Unavailable {
				t.Errorf("%+v, %v; want %q", e, err, c.want)
			}
		})
	}
}

// TestErrorsOfEtcdHaveTheirMeaning checks the three texts on which the port acts.
func TestErrorsOfEtcdHaveTheirMeaning(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code int
		text string
		want error
	}{
		{codeNotFound, "etcdserver: requested lease not found", registry.ErrExpired},
		{codeOutOfRange, "etcdserver: mvcc: required revision has been compacted", registry.ErrBehind},
		{codeResourceExhausted, "etcdserver: mvcc: database space exceeded", registry.ErrFull},
		{codeResourceExhausted, "etcdserver: too many requests", nil},
		{codeNotFound, "etcdserver: user name not found", nil},
	} {
		got := cause(&status{code: c.code, message: c.text})
		if c.want != nil && !errors.Is(got, c.want) || c.want == nil && got.Error() != c.text {
			t.Errorf("%s: %v", c.text, got)
		}
	}
}

// TestCallGoesToTheNextMember opens a client of two members; the first is missing, or refuses. An unsent request is
// sent to the second; one that may have been carried out is not repeated.
func TestCallGoesToTheNextMember(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	nobody := "http://" + l.Addr().String()
	require.NoError(t, l.Close())
	var asked, refused atomic.Int32
	good := answering(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		respond(w, codeOK, "", frame(appendNumber(nil, 2, 1)))
	})
	bad := answering(t, func(w http.ResponseWriter, r *http.Request) {
		refused.Add(1)
		respond(w, codeUnavailable, "no leader")
	})
	c := newClient(newMembers([]string{nobody, good}, nil), "a test", "p", WithinDefault)
	defer c.Close()
	if _, err := c.Put(t.Context(), "a", nil, 0); err != nil || asked.Load() != 1 {
		t.Errorf("what was not sent: asked %d times, %v", asked.Load(), err)
	}
	c = newClient(newMembers([]string{bad, good}, nil), "a test", "p", WithinDefault)
	defer c.Close()
	if _, err := c.Put(t.Context(), "a", nil, 0); bellows.KindOf(err) != bellows.Unavailable || refused.Load() != 1 || asked.Load() != 1 {
		t.Errorf("what may have been done: asked %d times, %v", asked.Load(), err)
	}
	if _, err := c.Put(t.Context(), "a", nil, 0); err != nil || refused.Load() != 1 {
		t.Errorf("after a refusal the next member is asked: %v", err)
	}
}

// TestWatchIsAStream answers a watch by several messages, ends it twice without an error, and then says that revisions are
// missing. Each change comes once, and each request begins after the last change.
func TestWatchIsAStream(t *testing.T) {
	t.Parallel()
	change := func(revision int64) []byte {
		kv := appendNumber(appendText(nil, 1, "p/k"), 3, revision)
		return frame(appendBytes(nil, 11, appendBytes(nil, 2, kv)))
	}
	var asked atomic.Int64
	at := answering(t, func(w http.ResponseWriter, r *http.Request) {
		request := make([]byte, len(frame(watchRequest("p/", "p0", 1))))
		_, _ = io.ReadFull(r.Body, request)
		n := asked.Add(1)
		if want := frame(watchRequest("p/", "p0", 2*n-1)); !bytes.Equal(request, want) || r.Header.Get("hasleader") != "true" {
			t.Errorf("request %d is %q, want %q; %v", n, request, want, r.Header)
		}
		if n == 3 {
			respond(w, codeOK, "", frame(appendNumber(appendNumber(nil, 4, 1), 5, 9)))
			return
		}
		respond(w, codeOK, "", frame(appendNumber(nil, 3, 1)), change(2*n-1), change(2*n))
	})
	c := newClient(newMembers([]string{at}, nil), "a test", "p", WithinDefault)
	defer c.Close()
	w, err := c.Watch("", 0)
	require.NoError(t, err)
	defer w.Close()
	var seen []registry.Revision
	for err == nil {
		var list []registry.Change
		list, err = w.Next(t.Context())
		for _, one := range list {
			seen = append(seen, one.Revision)
		}
	}
	if !errors.Is(err, registry.ErrBehind) || len(seen) != 4 || seen[0] != 1 || seen[3] != 4 {
		t.Errorf("%v, %v", seen, err)
	}
}

// TestWatchSurvivesLostConnection closes the connection of a watch between two responses: the watch continues at the next
// member, after the last change.
func TestWatchSurvivesLostConnection(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	opened := make(chan struct{})
	s := &http.Server{Protocols: &http.Protocols{}, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(frame(appendNumber(nil, 3, 1)))
		w.(http.Flusher).Flush()
		close(opened)
		<-r.Context().Done()
	})}
	s.Protocols.SetUnencryptedHTTP2(true)
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(l) }() // it says that it was closed
	defer func() { <-done }()
	next := answering(t, func(w http.ResponseWriter, _ *http.Request) {
		respond(w, codeOK, "", frame(appendNumber(appendNumber(nil, 4, 1), 5, 9)))
	})
	c := newClient(newMembers([]string{"http://" + l.Addr().String(), next}, nil), "a test", "p", WithinDefault)
	defer c.Close()
	w, err := c.Watch("", 0)
	require.NoError(t, err)
	defer w.Close()
	<-opened
	require.NoError(t, s.Close())
	if _, err := w.Next(t.Context()); !errors.Is(err, registry.ErrBehind) {
		t.Errorf("the next member has not ended the watch: %v", err)
	}
}

// TestCloseEndsACallThatWaits closes a client while a member does not answer.
func TestCloseEndsACallThatWaits(t *testing.T) {
	t.Parallel()
	there, over := make(chan struct{}), make(chan struct{})
	at := answering(t, func(_ http.ResponseWriter, r *http.Request) { close(there); <-over })
	defer close(over)
	c := newClient(newMembers([]string{at}, nil), "a test", "p", WithinDefault)
	go func() { <-there; _ = c.Close() }()
	if _, err := c.Get(context.Background(), "a"); !errors.Is(err, registry.ErrClosed) {
		t.Error(err)
	}
	if _, err := c.Get(context.Background(), "a"); !errors.Is(err, registry.ErrClosed) {
		t.Error(err)
	}
	if _, err := c.Watch("", 0); !errors.Is(err, registry.ErrClosed) {
		t.Error(err)
	}
}

// TestMissingKeyIsNotExist reads an empty answer.
func TestMissingKeyIsNotExist(t *testing.T) {
	t.Parallel()
	if _, err := ask(t, func(w http.ResponseWriter, _ *http.Request) { respond(w, codeOK, "", frame(nil)) }); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// FuzzResponses reads bytes as each kind of response.
func FuzzResponses(f *testing.F) {
	f.Add(found[messageHeader:])
	f.Add(appendBytes(nil, 11, appendBytes(appendNumber(nil, 1, 1), 2, appendText(nil, 1, "p/k"))))
	f.Add([]byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, b []byte) {
		for name, err := range map[string]error{
			"range": second(readRange(b)), "txn": second(readTxn(b)), "lease": second(readLease(b)), "watch": second(readWatch(b)),
		} {
			if err != nil && !errors.Is(err, errMessage) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func second[T any](_ T, err error) error { return err }
