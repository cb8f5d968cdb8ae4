package cluster

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"bellows"
)

// Message is one line of a session: between the manager and an agent, or the manager and the process that leads a job. Processes have
// numbers that the side which leads draws; the manager passes what is of them on to the agent, and back.
type Message struct {
	Hello   *Hello   `json:"hello,omitempty"`   // the first message of the caller
	Welcome *Welcome `json:"welcome,omitempty"` // the manager's answer
	Refused *fault   `json:"refused,omitempty"` // or this

	Process uint64 `json:"process,omitempty"` // that the rest is of
	Start   *Start `json:"start,omitempty"`
	Say     []byte `json:"say,omitempty"`   // to its standard input
	End     bool   `json:"end,omitempty"`   // of its standard input; without a process: of the agent
	Kill    bool   `json:"kill,omitempty"`  // it
	PID     int    `json:"pid,omitempty"`   // it has been started
	Said    []byte `json:"said,omitempty"`  // the first line of its standard output
	Wrote   []byte `json:"wrote,omitempty"` // to its standard error
	Over    *Over  `json:"over,omitempty"`  // it has ended

	Run      string    `json:"run,omitempty"`      // the job's folder
	Progress *Progress `json:"progress,omitempty"` // of the job
	Nodes    *Nodes    `json:"nodes,omitempty"`    // asked for by a job that has lost some, and the answer
	Lost     []string  `json:"lost,omitempty"`     // nodes that the cluster has lost: a job starts nothing there
	Missing  string    `json:"missing,omitempty"`  // a node where a job has lost its process and continues without; the manager offers it again
	// Succession is what another process needs that is to lead the job in the place of this one, for it alone. It has secrets.
	Succession json.RawMessage `json:"succession,omitempty"`

	Question uint64 `json:"question,omitempty"` // of Scale, Drain and Answer
	Scale    *Grow  `json:"scale,omitempty"`
	Drain    *Drop  `json:"drain,omitempty"`
	Answer   *Reply `json:"answer,omitempty"` // to an agent: what a job did with what it had there
}

// Hello identifies the caller.
type Hello struct {
	Node    string  `json:"node,omitempty"` // which an agent of the manager's own is to be
	Slots   int     `json:"slots,omitempty"`
	Lanes   int     `json:"lanes,omitempty"`
	PID     int     `json:"pid"`
	Program Program `json:"program"`
	// NoticeMillis is how long an agent that leaves on its own lets a job give it up; 0: NoticeOfLeave.
	NoticeMillis int64 `json:"notice_millis,omitempty"`
	// Kernels are the kernel sets that an agent's processor has.
	Kernels []string `json:"kernels,omitempty"`
}

// NoticeOfLeave is the default time that a node leaving on its own gives a job with a process there.
const NoticeOfLeave = 30 * time.Second

// noticeMost is the longest notice.
const noticeMost = time.Hour

// Notice returns how long an agent that leaves gives a job.
func (h *Hello) Notice() time.Duration {
	if h.NoticeMillis <= 0 {
		return NoticeOfLeave
	}
	return min(noticeMost, time.Duration(h.NoticeMillis)*time.Millisecond)
}

// Welcome tells an agent which node it is.
type Welcome struct {
	Node string `json:"node"`
}

// Start is a process to start.
type Start struct {
	Node      string   `json:"node"` // at which
	Args      []string `json:"args"` // the first its name
	Env       []string `json:"env"`  // BELLOWS_*
	Dir       string   `json:"dir"`
	Place     int      `json:"place"` // among so many that compute; -1: none
	Computing int      `json:"computing"`
	Member    int      `json:"member"` // the node of the job that it is
}

// Process is a process of a job at a node, for another process that leads the job.
type Process struct {
	Number uint64 `json:"number"`
	Node   string `json:"node"`
	Member int    `json:"member"`
	PID    int    `json:"pid"`
}

// Over is how a process has ended.
type Over struct {
	How  string `json:"how"`
	Last string `json:"last"` // its last lines, as the end of a sentence
}

// Place is a node that a job may have a process at.
type Place struct {
	Node  string `json:"node"`
	Slots int    `json:"slots"`
	Lanes int    `json:"lanes"`
	Host  string `json:"host"` // from which it came
	// Kernels are the kernel sets that its processor has.
	Kernels []string `json:"kernels"`
}

// Nodes are those that a job may have processes at.
type Nodes struct {
	Places []Place `json:"places"`
}

// Grow asks a job to take nodes.
type Grow struct {
	Places []Place `json:"places"`
}

// Drop asks a job to give nodes up.
type Drop struct {
	Nodes        []string `json:"nodes"`
	NoticeMillis int64    `json:"notice_millis"`
}

// Reply answers either.
type Reply struct {
	Sentences []string `json:"sentences,omitempty"`
	Error     *fault   `json:"error,omitempty"`
}

// Err returns the error of a reply.
func (r *Reply) Err() error { return r.Error.err() }

// Failure makes the reply of an error.
func Failure(err error) *Reply { return &Reply{Error: faultOf(err)} }

// Refusal returns the message of an error.
func Refusal(err error) Message { return Message{Refused: faultOf(err)} }

// Err returns the error of a message that refuses.
func (m *Message) Err() error { return m.Refused.err() }

// Session limits: a line's length in bytes, how long a line may take to leave, how often a side says that it is there, and how long
// nothing may come before the other is lost.
const (
	lineMost    = 1 << 20
	sendWithin  = 10 * time.Second
	pulseEvery  = 5 * time.Second
	silenceMost = 30 * time.Second
)

// The times of a leading process, whose silence is detected within three seconds, like that of a node
// (docs/decisions/0073). The last half second of a silence is for messages that arrived while the listener did not run:
// they are read, and judged, first.
const (
	promptPulse   = 200 * time.Millisecond
	promptSilence = 2750 * time.Millisecond
	lateMost      = 500 * time.Millisecond
)

// Session is a connection of lines of JSON, both ways. Any goroutine may send; one receives. An empty line is a pulse.
type Session struct {
	conn  net.Conn
	lines *bufio.Scanner
	quiet *time.Ticker
	over  chan struct{}
	once  sync.Once

	silence time.Duration // that ends it
	mu      sync.Mutex    // of writing
}

// NewSession makes a session of a connection; early has been read from it already.
func NewSession(conn net.Conn, early io.Reader) *Session {
	s := &Session{conn: conn, quiet: time.NewTicker(pulseEvery), over: make(chan struct{}), silence: silenceMost}
	s.lines = bufio.NewScanner(io.MultiReader(early, deadlined{s}))
	s.lines.Buffer(nil, lineMost)
	go s.pulse()
	return s
}

// Prompt makes this side send signs of life so often that the other side may rely on them (ExpectsPrompt).
func (s *Session) Prompt() { s.quiet.Reset(promptPulse) }

// ExpectsPrompt declares the other side lost when it is silent for as long as a leading process may be. It is called
// before the first Receive.
func (s *Session) ExpectsPrompt() { s.silence = promptSilence }

// deadlined gives each read of a session its time. Where that is over, what has come meanwhile still counts: this side may have been stopped itself.
type deadlined struct{ *Session }

func (d deadlined) Read(b []byte) (n int, err error) {
	for _, within := range []time.Duration{d.silence - lateMost, lateMost} {
		if err := d.conn.SetReadDeadline(time.Now().Add(within)); err != nil {
			return 0, err
		}
		if n, err = d.conn.Read(b); n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
	}
	return n, err
}

// pulse says again and again that this side is there.
func (s *Session) pulse() {
	for {
		select {
		case <-s.over:
			return
		case <-s.quiet.C:
			if s.write([]byte{'\n'}) != nil {
				s.Close()
			}
		}
	}
}

// Host returns the address of this machine by which the other side is reached.
func (s *Session) Host() string {
	host, _, err := net.SplitHostPort(s.conn.LocalAddr().String())
	if err != nil {
		return ""
	}
	return host
}

// Peer returns the address of the other side.
func (s *Session) Peer() string {
	host, _, err := net.SplitHostPort(s.conn.RemoteAddr().String())
	if err != nil {
		return ""
	}
	return host
}

// Send sends a message. After an error the session is over.
func (s *Session) Send(m Message) error {
	line, err := json.Marshal(m)
	if err == nil && len(line) >= lineMost {
		err = fmt.Errorf("a message of %d bytes; at most %d", len(line), lineMost)
	}
	if err != nil {
		return bellows.Errorf(bellows.Bug, "send to", s.conn.RemoteAddr().String(), "%w", err)
	}
	if err := s.write(append(line, '\n')); err != nil {
		s.Close()
		return bellows.Errorf(bellows.Lost, "send to", s.conn.RemoteAddr().String(), "%w", err)
	}
	return nil
}

func (s *Session) write(line []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.conn.SetWriteDeadline(time.Now().Add(sendWithin)); err != nil {
		return err
	}
	_, err := s.conn.Write(line)
	return err
}

// Receive returns the next message.
func (s *Session) Receive() (m Message, err error) {
	for s.lines.Scan() {
		if len(s.lines.Bytes()) == 0 {
			continue
		}
		if err := decode(s.lines.Bytes(), &m); err != nil {
			return m, bellows.Errorf(bellows.Refused, "read from", s.conn.RemoteAddr().String(), "%w", err)
		}
		return m, nil
	}
	if err = s.lines.Err(); err == nil {
		err = errors.New("the other side has ended")
	}
	return m, bellows.Errorf(bellows.Lost, "read from", s.conn.RemoteAddr().String(), "%w", err)
}

// Close ends the session. Closing twice is allowed.
func (s *Session) Close() error {
	var err error
	s.once.Do(func() {
		s.quiet.Stop()
		close(s.over)
		err = hangUp(s.conn)
	})
	return err
}

// hangUp closes a connection without a word: TLS has one for that, which waits for a side that takes nothing any more.
func hangUp(c net.Conn) error {
	if sealed, ok := c.(*tls.Conn); ok {
		return sealed.NetConn().Close()
	}
	return c.Close()
}

// decode reads one JSON value, and refuses fields that it does not know.
func decode(text []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if d.More() {
		return errors.New("something follows the JSON value")
	}
	return nil
}

func faultOf(err error) *fault {
	var e *bellows.Error
	if !errors.As(err, &e) {
		return &fault{Code: bellows.Bug.ExitCode(), Op: "ask", Subject: "the cluster", Why: err.Error()}
	}
	f := &fault{Code: e.Kind.ExitCode(), Op: e.Op, Subject: e.Subject, Hint: e.Hint}
	if e.Err != nil {
		f.Why = e.Err.Error()
	}
	return f
}

// err returns the error that has travelled.
func (f *fault) err() error {
	if f == nil {
		return nil
	}
	kind := bellows.Bug
	for k := bellows.Bug; k <= bellows.Interrupted; k++ {
		if k.ExitCode() == f.Code {
			kind = k
		}
	}
	e := &bellows.Error{Kind: kind, Op: f.Op, Subject: f.Subject, Hint: f.Hint}
	if f.Why != "" {
		e.Err = errors.New(bellows.Printable(f.Why, lineMost))
	}
	return e
}
