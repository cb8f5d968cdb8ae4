package cluster

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"syscall"
	"time"

	"bellows"
	"bellows/link/secure"
)

// Client asks the manager of a cluster.
type Client struct {
	Address  string // HOST:PORT
	token    secure.Token
	identity *secure.Identity // in the place of the token; nil: a user
	tls      *tls.Config
	http     *http.Client
	pid      int                                       // of a manager on this machine that held its lock; 0: it may be on any machine
	program  string                                    // what the user calls, where there is a pid
	stopped  time.Duration                             // after which a manager that is stopped is not waited for
	rest     func(context.Context, time.Duration) bool // waits before a follower comes again
}

// How long a question may take, but for those that end when something is done.
const (
	dialWithin   = 5 * time.Second
	dialAgain    = 20 * time.Millisecond // at first, and then twice as long each time
	answerWithin = 10 * time.Second
	// stoppedWithin is how long a stopped manager's process is waited for: its user may just be continuing it.
	stoppedWithin = 2 * time.Second
)

// Local is what --cluster calls the cluster of the state folder.
const Local = "local"

// Find returns a client of the cluster that where names: Local for that of a state folder, or HOST:PORT, with its
// token. program is what the user calls.
func Find(state, where, token, program string) (*Client, error) {
	folder, err := FindFolder(state)
	if err != nil {
		return nil, err
	}
	record, err := folder.Read()
	if err != nil && where == Local {
		return nil, err
	}
	up, err := folder.Up()
	if err != nil && where == Local {
		return nil, err
	}
	if where != Local {
		if _, port, err := net.SplitHostPort(where); err != nil || port == "" {
			return nil, bellows.Errorf(bellows.Usage, "find", "cluster "+where, "it must be %s or HOST:PORT, such as 127.0.0.1:7070", Local)
		}
		if token == "" && (!up || record == nil || record.Address != where) {
			return nil, bellows.Errorf(bellows.Refused, "find", "cluster "+where, "it requires a token").Hinted("give it with --token or BELLOWS_TOKEN: it is in the file token of the cluster's state folder")
		}
		given, err := secure.Token{}, error(nil)
		if token == "" {
			given, err = folder.Token()
		} else {
			given, err = secure.ParseToken(token)
		}
		if err != nil {
			return nil, err
		}
		return NewClient(where, given), nil
	}
	if !up || record == nil {
		none := bellows.Errorf(bellows.Unavailable, "find", "the local cluster", "no cluster is running in %s", folder.Path).Hinted("`" + program + " up` starts one")
		if record != nil {
			none.Err = fmt.Errorf("its manager (process %d) has ended without `down`", record.PID)
			none.Hint = "`" + program + " up` starts another"
		}
		return nil, none
	}
	given, err := folder.Token()
	if err != nil {
		return nil, err
	}
	c := NewClient(record.Address, given)
	c.pid, c.program = record.PID, program
	return c, nil
}

// NewClient returns a user's client of the manager at an address. The token is sent only to that manager, which its
// authority identifies.
func NewClient(address string, token secure.Token) *Client {
	c := &Client{Address: address, token: token, tls: secure.Pinned(token)}
	return c.begin()
}

// NewMember returns the client of a process of the cluster, which has a certificate.
func NewMember(address string, i *secure.Identity) *Client {
	c := &Client{Address: address, identity: i, tls: i.Client(secure.AdmitRole(secure.Manager))}
	return c.begin()
}

func (c *Client) begin() *Client {
	c.stopped, c.rest = stoppedWithin, pause
	c.http = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return c.dial(ctx) }},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return c
}

// dial connects to the manager, and makes sure that it is the cluster's. A connection that breaks before that is made again, while time is left: a manager with too many unknown callers closes the oldest connection.
func (c *Client) dial(ctx context.Context) (net.Conn, error) {
	bounded, cancel := context.WithTimeoutCause(ctx, dialWithin, fmt.Errorf("no handshake within %v", dialWithin))
	defer cancel()
	for wait := dialAgain; ; wait *= 2 {
		conn, err := (&net.Dialer{Timeout: dialWithin}).DialContext(ctx, "tcp", c.Address)
		if err != nil {
			return nil, err
		}
		sealed := tls.Client(conn, c.tls)
		if err = sealed.HandshakeContext(bounded); err == nil {
			return sealed, nil
		}
		conn.Close() // it says no more than the handshake
		if bounded.Err() != nil {
			err = context.Cause(bounded)
		}
		if !brokenOff(err) || !pause(bounded, wait) {
			return nil, secure.Explain(err)
		}
	}
}

// brokenOff reports whether a connection was closed by the other side, without a word.
func brokenOff(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// pause waits, and reports whether ctx has not ended meanwhile.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// halted is why a manager is not waited for that cannot answer.
type halted struct {
	pid    int
	within time.Duration
}

func (h *halted) Error() string {
	return fmt.Sprintf("its manager (process %d) is stopped, and did not continue within %v", h.pid, h.within)
}

// look checks from time to time whether the manager is stopped and need not be waited for: then the context ends, with
// that as its cause. end ends it.
func (c *Client) look(parent context.Context) (ctx context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(parent)
	if c.pid == 0 {
		return ctx, func() { cancel(nil) }
	}
	was := stopped(c.pid)
	var again *time.Timer
	made := make(chan struct{}) // closed when it is
	again = time.AfterFunc(c.stopped, func() {
		<-made
		is := stopped(c.pid)
		if is && was {
			cancel(&halted{c.pid, c.stopped})
			return
		}
		was = is
		if ctx.Err() == nil {
			again.Reset(c.stopped)
		}
	})
	close(made)
	return ctx, func() { again.Stop(); cancel(nil) }
}

// unreachable returns the error of a manager that does not answer.
func (c *Client) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if errors.Is(err, context.Canceled) {
		return bellows.Errorf(bellows.Interrupted, "ask", "the cluster at "+c.Address, "%w", err)
	}
	if h := (*halted)(nil); errors.As(err, &h) {
		return bellows.Errorf(bellows.Unavailable, "ask", "the cluster at "+c.Address, "%w", err).
			Hinted(fmt.Sprintf("`kill -CONT %d` continues it, and `%s down` ends the cluster", h.pid, c.program))
	}
	if stranger := (*secure.Stranger)(nil); errors.As(err, &stranger) {
		return bellows.Errorf(bellows.Refused, "ask", "the cluster at "+c.Address, "%w", stranger).
			Hinted("take address and token from one cluster, and the same release on both sides: the token is in the file token of its state folder")
	}
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	return bellows.Errorf(bellows.Unavailable, "ask", "the cluster at "+c.Address, "%w", err).Hinted("see whether it is up there, and whether this machine reaches it")
}

// request makes one.
func (c *Client) request(ctx context.Context, method, path string, body any) (*http.Request, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, bellows.Errorf(bellows.Bug, "ask", path, "%w", err)
	}
	var content io.Reader
	if body != nil {
		content = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, "https://"+c.Address+path, content)
	if err != nil {
		return nil, bellows.Errorf(bellows.Usage, "ask", "the cluster at "+c.Address, "%w", err)
	}
	if c.identity == nil {
		r.Header.Set("Authorization", Bearer(c.token))
	}
	return r, nil
}

// Bearer returns how a question shows a token.
func Bearer(t secure.Token) string { return "Bearer " + t.Text() }

const pathDown = "/v1/down"

// answerMost is how many bytes an answer may have.
const answerMost = 16 << 20

// ask sends a question and takes the answer, within a time.
func (c *Client) ask(ctx context.Context, within time.Duration, method, path string, body, to any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("no answer within %v", within))
	defer cancel()
	ctx, end := c.look(ctx)
	defer end()
	r, err := c.request(ctx, method, path, body)
	if err != nil {
		return err
	}
	answer, err := c.http.Do(r)
	if err != nil && brokenOff(err) && ctx.Err() == nil && (method == http.MethodGet || path == pathDown) { // which may be asked twice
		if pause(ctx, brokenWait) {
			answer, err = c.http.Do(r)
		}
	}
	if err != nil {
		return c.unreachable(ctx, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, answerMost))
	if err != nil {
		return c.unreachable(ctx, err)
	}
	if answer.StatusCode != http.StatusOK {
		return c.refused(answer.StatusCode, text)
	}
	if err := json.Unmarshal(text, to); err != nil {
		return c.unknownPeer(err)
	}
	return nil
}

func (c *Client) refused(code int, text []byte) error {
	var f fault
	if err := decode(text, &f); err != nil || f.Code == 0 {
		return c.unknownPeer(fmt.Errorf("it answers %d %s", code, http.StatusText(code)))
	}
	return f.err()
}

// unknownPeer returns the error of an answer that does not come from a manager.
func (c *Client) unknownPeer(err error) error {
	return bellows.Errorf(bellows.Unavailable, "ask", "the cluster at "+c.Address, "the process that answers is not the manager of a cluster: %w", err).Hinted("see whether the address is right")
}

// Status asks for the cluster as it is now.
func (c *Client) Status(ctx context.Context) (s Status, err error) {
	return s, c.ask(ctx, answerWithin, http.MethodGet, "/v1/cluster", nil, &s)
}

// Submit hands a job in.
func (c *Client) Submit(ctx context.Context, s Submission) (j Job, err error) {
	return j, c.ask(ctx, answerWithin, http.MethodPost, "/v1/jobs", s, &j)
}

// Interrupt ends a job at a safe point, or takes it out of the queue.
func (c *Client) Interrupt(ctx context.Context, job int) error {
	return c.ask(ctx, answerWithin, http.MethodPost, fmt.Sprintf("/v1/jobs/%d/interrupt", job), nil, &struct{}{})
}

// Scale changes how many nodes there are, and returns when they are there, at the latest after a time.
func (c *Client) Scale(ctx context.Context, s Scale, within time.Duration) (d Done, err error) {
	return d, c.ask(ctx, within, http.MethodPost, "/v1/scale", s, &d)
}

// Drain lets a node leave, and returns when it has.
func (c *Client) Drain(ctx context.Context, s Drain, within time.Duration) (d Done, err error) {
	return d, c.ask(ctx, within, http.MethodPost, "/v1/drain", s, &d)
}

// Shutdown ends the cluster, and returns what became of its jobs when all but the manager has ended.
func (c *Client) Shutdown(ctx context.Context, within time.Duration) (d Done, err error) {
	return d, c.ask(ctx, within, http.MethodPost, pathDown, nil, &d)
}

// A follower connects again after its connection has broken, or after the manager has given its place to another follower.
const (
	brokenMost  = 8 // times in a row without a line
	brokenWait  = 100 * time.Millisecond
	againWait   = 5 * time.Second // at least, and at most twice as long
	followBytes = 4 * lineMost    // of one line
)

// Output follows what a job writes, from its beginning to its end, and returns its exit code. The manager sends an empty frame now and then, so that its
// silence is noticed. A connection that breaks is made again, and what was written meanwhile is not lost; an error of kind Lost is that the manager does not answer any more.
func (c *Client) Output(ctx context.Context, job int, take func(Frame) error) (code int, err error) {
	var lost error
	f := following{Client: c, job: job, take: take}
	for {
		before := f.at
		code, err = f.connect(ctx)
		wait := brokenWait
		switch {
		case err == errAgain:
			f.broken, lost, wait = 0, nil, againWait+rand.N(againWait)
		case bellows.KindOf(err) == bellows.Lost:
			if lost = err; f.at > before {
				f.broken = 0
			}
			if f.broken++; f.ended || f.broken > brokenMost {
				return 0, lost
			}
		case lost != nil && ManagerLost(err):
			return 0, lost
		default:
			return code, err
		}
		if !c.rest(ctx, wait) {
			return 0, c.unreachable(ctx, ctx.Err())
		}
	}
}

// ManagerLost reports whether an error of a call says that the manager which answered before is not there any more: the connection to it was lost, nothing
// answers, or the manager of another cluster has its address.
func ManagerLost(err error) bool {
	kind := bellows.KindOf(err)
	return kind == bellows.Lost || kind == bellows.Unavailable || errors.As(err, new(*secure.Stranger))
}

// errAgain reports that the manager wants a follower to connect again later.
var errAgain = errors.New("others want to follow a job")

// following is the state of a command that follows the output of a job.
type following struct {
	*Client
	job    int
	take   func(Frame) error
	at     int64 // bytes of the output that were read
	broken int   // connections in a row that have broken without a line
	ended  bool  // the manager has ended the last one, in order
}

// connect follows the output over one connection.
func (f *following) connect(ctx context.Context) (code int, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r, err := f.request(ctx, http.MethodGet, fmt.Sprintf("/v1/jobs/%d/output?from=%d", f.job, f.at), nil)
	if err != nil {
		return 0, err
	}
	silence := time.AfterFunc(silenceMost, func() { cancel(fmt.Errorf("nothing came for %v", silenceMost)) })
	defer silence.Stop()
	answer, err := f.http.Do(r)
	if err != nil {
		return 0, f.unreachable(ctx, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		text, err := io.ReadAll(io.LimitReader(answer.Body, answerMost))
		if err != nil {
			return 0, f.unreachable(ctx, err)
		}
		return 0, f.refused(answer.StatusCode, text)
	}
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, followBytes)
	lines.Split(wholeLines)
	for lines.Scan() {
		silence.Reset(silenceMost)
		var frame Frame
		if err := decode(lines.Bytes(), &frame); err != nil {
			return 0, f.unknownPeer(err)
		}
		switch {
		case frame.Exit != nil:
			return *frame.Exit, nil
		case frame.Again:
			return 0, errAgain
		case frame.Out != nil || frame.Err != nil: // else it says that it is there
			f.at += int64(len(lines.Bytes())) + 1
		}
		if err := f.take(frame); err != nil {
			return 0, err
		}
	}
	err = lines.Err()
	if f.ended = err == nil; f.ended {
		err = io.ErrUnexpectedEOF
	}
	if ctx.Err() == nil {
		return 0, bellows.Errorf(bellows.Lost, "follow", fmt.Sprintf("job %d", f.job), "the cluster's manager is gone: %w", err).Hinted("the job is interrupted then: when a cluster is up again, the same command resumes it")
	}
	return 0, f.unreachable(ctx, err)
}

// wholeLines splits a stream into lines, and refuses a last line without an end: the next connection brings all of it.
func wholeLines(data []byte, end bool) (advance int, line []byte, err error) {
	if at := bytes.IndexByte(data, '\n'); at >= 0 {
		return at + 1, data[:at], nil
	}
	if end && len(data) > 0 {
		return 0, nil, io.ErrUnexpectedEOF
	}
	return 0, nil, nil
}

// How long Persist waits, at first and at most.
const (
	persistWait     = 100 * time.Millisecond
	persistWaitMost = 2 * time.Second
)

// Upgrade is the name of the protocol of sessions.
const Upgrade = "bellows-session"

// Session calls the manager for a session, and says hello; the answer has been looked at.
func (c *Client) Session(ctx context.Context, path string, hello Hello) (*Session, *Welcome, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerWithin, fmt.Errorf("no answer within %v", answerWithin))
	defer cancel()
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, nil, c.unreachable(ctx, err)
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	s, err := c.upgrade(ctx, conn, path, hello)
	if err != nil {
		stop()
		return nil, nil, errors.Join(err, conn.Close())
	}
	m, err := s.Receive()
	if err == nil {
		err = m.Err()
	}
	if err == nil && m.Welcome == nil {
		err = c.unknownPeer(errors.New("it does not welcome this process"))
	}
	if !stop() { // the connection is closed for that
		err = c.unreachable(ctx, context.Cause(ctx))
	}
	if err != nil {
		s.Close()
		return nil, nil, err
	}
	return s, m.Welcome, nil
}

// Persist begins a Session. For some time it tries again, at growing intervals, while the manager does not answer or is
// at its connection limit. A manager that has ended, whose port is closed, is not called again.
func (c *Client) Persist(ctx context.Context, within time.Duration, path string, hello Hello) (*Session, *Welcome, error) {
	bounded, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for wait := persistWait; ; wait = min(2*wait, persistWaitMost) {
		s, w, err := c.Session(ctx, path, hello)
		if bellows.KindOf(err) != bellows.Unavailable || errors.Is(err, syscall.ECONNREFUSED) || bounded.Err() != nil || !pause(bounded, wait/2+rand.N(wait/2)) {
			return s, w, err
		}
	}
}

func (c *Client) upgrade(ctx context.Context, conn net.Conn, path string, hello Hello) (*Session, error) {
	r, err := c.request(ctx, http.MethodPost, path, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", Upgrade)
	if err := r.Write(conn); err != nil {
		return nil, c.unreachable(ctx, err)
	}
	early := bufio.NewReader(conn)
	answer, err := http.ReadResponse(early, r)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	if answer.StatusCode != http.StatusSwitchingProtocols {
		text, err := io.ReadAll(io.LimitReader(answer.Body, answerMost))
		if err != nil {
			return nil, c.unreachable(ctx, err)
		}
		return nil, c.refused(answer.StatusCode, text)
	}
	begun, err := early.Peek(early.Buffered())
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	s := NewSession(conn, bytes.NewReader(bytes.Clone(begun)))
	if err := s.Send(Message{Hello: &hello}); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// WriteFault answers a question with an error.
func WriteFault(w http.ResponseWriter, status int, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(faultOf(err)) // a client that has gone needs no answer
}

// Decode reads the body of a question.
func Decode(text []byte, to any) error {
	if err := decode(text, to); err != nil {
		return bellows.Errorf(bellows.Usage, "read", "the question", "%w", err)
	}
	return nil
}
