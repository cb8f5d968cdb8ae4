package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"bellows"
	"bellows/cluster/clustertest"
	"bellows/link/secure"
)

// fake returns a manager that answers as a test says, and a client of it.
func fake(t *testing.T, answer http.HandlerFunc) *Client {
	t.Helper()
	server := clustertest.Serve(t, answer)
	t.Cleanup(server.Close)
	return NewClient(server.Address, server.Token)
}

// silent answers only after the caller has gone or the test is over.
func silent(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// TestQuestionsAreAsked, with the token, each under its path, and answered with what the manager says.
func TestQuestionsAreAsked(t *testing.T) {
	t.Parallel()
	var asked string
	var token secure.Token
	c := fake(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = fmt.Sprintf("%s %s %s %s", r.Method, r.URL.Path, strings.ReplaceAll(r.Header.Get("Authorization"), token.Text(), "secret"), body)
		w.Write([]byte(`{"sentences":["done"],"cluster":"here","job":3}`))
	})
	token = c.token
	ctx, three := t.Context(), 3
	for want, ask := range map[string]func() (string, error){
		"GET /v1/cluster Bearer secret ": func() (string, error) { s, err := c.Status(ctx); return s.Cluster, err },
		`POST /v1/jobs Bearer secret {"app":"mf","word":"","args":null,"env":null,"dir":"","run":"","program":{"name":"","fingerprint":"","platform":"","apps":null}}`: func() (string, error) {
			j, err := c.Submit(ctx, Submission{App: "mf"})
			return fmt.Sprint(j.Job), err
		},
		"POST /v1/jobs/7/interrupt Bearer secret ": func() (string, error) { return "", c.Interrupt(ctx, 7) },
		`POST /v1/scale Bearer secret {"workers":3}`: func() (string, error) {
			d, err := c.Scale(ctx, Scale{Workers: &three}, answerWithin)
			return d.Sentences[0], err
		},
		`POST /v1/drain Bearer secret {"node":"node-1","notice_millis":5}`: func() (string, error) {
			d, err := c.Drain(ctx, Drain{"node-1", 5}, answerWithin)
			return d.Sentences[0], err
		},
		"POST /v1/down Bearer secret ": func() (string, error) { d, err := c.Shutdown(ctx, answerWithin); return d.Sentences[0], err },
	} {
		got, err := ask()
		if asked != want || err != nil || got != "" && got != "done" && got != "here" && got != "3" {
			t.Errorf("%s\nis asked, want\n%s: %q, %v", asked, want, got, err)
		}
	}
}

// TestErrorsSayWhatToDo checks that a manager's refusal arrives as sent, and that other peers, missing ones and lost
// ones are distinguished for every request.
func TestErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	said := func(status int, text string) *Client {
		return fake(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(status); w.Write([]byte(text)) })
	}
	cut := fake(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100")
		w.WriteHeader(http.StatusConflict)
		w.Write([]byte(`{"exit`))
	})
	refused := fake(t, func(w http.ResponseWriter, r *http.Request) {
		WriteFault(w, http.StatusConflict, bellows.Errorf(bellows.Refused, "submit", "mf", "no").Hinted("never"))
	})
	const hint = "; see whether "
	for name, c := range map[string]struct {
		*Client
		kind bellows.Kind
		want string
	}{
		"refused":         {refused, bellows.Refused, "submit mf: no; never"},
		"not there":       {NewClient(gone.Addr().String(), secure.Token{}), bellows.Unavailable, "connection refused" + hint + "it is up there, and whether this machine reaches it"},
		"another program": {said(404, "<html>"), bellows.Unavailable, "the process that answers is not the manager of a cluster: it answers 404 Not Found" + hint + "the address is right"},
		"another one":     {said(404, `{}`), bellows.Unavailable, "it answers 404 Not Found"},
		"no JSON":         {said(200, "hello\n"), bellows.Unavailable, "the process that answers is not the manager of a cluster: "},
		"cut off":         {cut, bellows.Unavailable, "unexpected EOF"},
		"no address":      {NewClient("a b", secure.Token{}), bellows.Usage, "ask the cluster at a b: "},
	} {
		_, errStatus := c.Status(t.Context())
		code, errOutput := c.Output(t.Context(), 1, func(Frame) error { return nil })
		errs := []error{errStatus, errOutput}
		if name != "no address" && name != "no JSON" {
			_, _, err := c.Session(t.Context(), "/v1/agents", Hello{})
			errs = append(errs, err)
		}
		for i, err := range errs {
			if bellows.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.want) || code != 0 {
				t.Errorf("%s, question %d: %d, %v, want %q", name, i, code, err, c.want)
			}
		}
	}
}

// TestClientMayDisconnect checks the errors of a cancelled request, and of one that takes too long.
func TestClientMayDisconnect(t *testing.T) {
	t.Parallel()
	c := fake(t, silent)
	late := c.ask(t.Context(), 1, http.MethodGet, "/v1/cluster", nil, &Status{})
	if bellows.KindOf(late) != bellows.Unavailable || !strings.Contains(late.Error(), "no answer within 1ns") {
		t.Errorf("late: %v", late)
	}
	for name, ask := range map[string]func(context.Context) error{
		"a status":  func(ctx context.Context) error { _, err := c.Status(ctx); return err },
		"output":    func(ctx context.Context) error { _, err := c.Output(ctx, 1, nil); return err },
		"a session": func(ctx context.Context) error { _, _, err := c.Session(ctx, "/v1/agents", Hello{}); return err },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := ask(ctx); bellows.KindOf(err) != bellows.Interrupted || !strings.HasPrefix(err.Error(), "ask the cluster at "+c.Address) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOutputIsFollowed to its end and its code. The reader may stop it, and a lost manager is named.
func TestOutputIsFollowed(t *testing.T) {
	t.Parallel()
	frames := "{\"out\":\"YQ==\"}\n{}\n{\"err\":\"Yg==\"}\n"
	code := 5
	end, _ := json.Marshal(Frame{Exit: &code})
	follow := func(text string, stop error) (got string, code int, err error) {
		c := fake(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v1/jobs/9/output" {
				t.Errorf("it asks for %s", r.URL.Path)
			}
			w.Write([]byte(text))
		})
		code, err = c.Output(t.Context(), 9, func(f Frame) error {
			got += string(f.Out) + "." + string(f.Err)
			return stop
		})
		return got, code, err
	}
	if got, code, err := follow(frames+string(end)+"\n"+frames, nil); got != "a...b" || code != 5 || err != nil {
		t.Errorf("%q, %d, %v", got, code, err)
	}
	if got, code, err := follow(frames, io.ErrShortWrite); got != "a." || code != 0 || !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("it is not wanted any more: %q, %d, %v", got, code, err)
	}
	if got, code, err := follow(frames, nil); got != "a...b" || code != 0 || bellows.KindOf(err) != bellows.Lost || !strings.HasPrefix(err.Error(), "follow job 9: the cluster's manager is gone: unexpected EOF") {
		t.Errorf("without an end: %q, %d, %v", got, code, err)
	}
	if _, code, err := follow("hello\n", nil); code != 0 || bellows.KindOf(err) != bellows.Unavailable {
		t.Errorf("no frame: %d, %v", code, err)
	}
	over := make(chan struct{})
	c := fake(t, func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte(frames))
		w.(http.Flusher).Flush()
		select {
		case <-over:
		case <-r.Context().Done():
		}
	})
	defer close(over)
	ctx, cancel := context.WithCancel(t.Context())
	code, err := c.Output(ctx, 9, func(Frame) error { cancel(); return nil })
	if code != 0 || bellows.KindOf(err) != bellows.Interrupted {
		t.Errorf("cancelled in the middle: %d, %v", code, err)
	}
}

// answers is a transport that gives each request the next of some answers; the last one repeats.
type answers []func() (*http.Response, error)

func (a *answers) RoundTrip(*http.Request) (*http.Response, error) {
	next := (*a)[0]
	if len(*a) > 1 {
		*a = (*a)[1:]
	}
	return next()
}

// TestOutputOfALostManager checks that a follower whose connection was cut reports a lost manager, whatever is at its
// address then. Before any cut, the error describes that.
func TestOutputOfALostManager(t *testing.T) {
	t.Parallel()
	cut := func() (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(iotest.ErrReader(syscall.ECONNRESET))}, nil
	}
	for name, c := range map[string]struct {
		then error
		kind bellows.Kind
	}{
		"nothing":                   {syscall.ECONNREFUSED, bellows.Unavailable},
		"a manager that is killed":  {io.EOF, bellows.Unavailable},
		"another cluster's manager": {&secure.Stranger{Err: errors.New("another token")}, bellows.Refused},
	} {
		then := func() (*http.Response, error) { return nil, c.then }
		for kind, list := range map[bellows.Kind]answers{bellows.Lost: {cut, then}, c.kind: {then}} {
			follower := NewClient("localhost:1", secure.Token{})
			follower.http = &http.Client{Transport: &list}
			_, err := follower.Output(t.Context(), 9, func(Frame) error { return nil })
			if bellows.KindOf(err) != kind || !ManagerLost(err) {
				t.Errorf("%s, want %v: %v", name, kind, err)
			}
		}
	}
	if ManagerLost(nil) || ManagerLost(bellows.Errorf(bellows.Config, "follow", "job 9", "there is none")) {
		t.Error("an answer of the manager is taken for its loss")
	}
}

// TestASessionBegins with hello and a welcome. A refusal, another message and an end are distinguished, and a call may
// be cancelled.
func TestASessionBegins(t *testing.T) {
	t.Parallel()
	hello := Hello{Slots: 2, PID: 3}
	call := func(ctx context.Context, answers func(s *Session)) (*Session, *Welcome, error) {
		c := fake(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost || r.URL.Path != "/v1/agents" || r.Header.Get("Upgrade") != Upgrade || r.Header.Get("Connection") != "Upgrade" || !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") {
				t.Errorf("called by %s %s %v", r.Method, r.URL.Path, r.Header)
			}
			conn, both, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n\n", Upgrade)
			early, _ := both.Reader.Peek(both.Reader.Buffered())
			s := NewSession(conn, bytes.NewReader(bytes.Clone(early)))
			defer s.Close()
			if m, err := s.Receive(); err != nil || m.Hello == nil || !reflect.DeepEqual(*m.Hello, hello) {
				t.Errorf("hello is %+v, %v", m.Hello, err)
			}
			answers(s)
		})
		return c.Session(ctx, "/v1/agents", hello)
	}
	s, w, err := call(t.Context(), func(s *Session) {
		s.Send(Message{Welcome: &Welcome{Node: "node-4"}})
		s.Send(Message{PID: 8})
		s.Receive() // until it is closed
	})
	if err != nil || w.Node != "node-4" {
		t.Fatal(w, err)
	}
	if m, err := s.Receive(); err != nil || m.PID != 8 {
		t.Errorf("after the welcome: %+v, %v", m, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for name, c := range map[string]struct {
		answer Message
		kind   bellows.Kind
		want   string
	}{
		"refused":      {Refusal(bellows.Errorf(bellows.Config, "join", "it", "no")), bellows.Config, "join it: no"},
		"another word": {Message{PID: 1}, bellows.Unavailable, "it does not welcome this process"},
	} {
		if s, w, err := call(t.Context(), func(s *Session) { s.Send(c.answer) }); s != nil || w != nil || bellows.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v, %v", name, s, w, err)
		}
	}
	if _, _, err := call(t.Context(), func(*Session) {}); bellows.KindOf(err) != bellows.Lost {
		t.Errorf("ended: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, _, err := call(ctx, func(s *Session) { cancel(); s.Receive() }); bellows.KindOf(err) != bellows.Interrupted {
		t.Errorf("given up: %v", err)
	}
}

// TestFindMeansOneCluster: that of the folder, by its record and token, or that of an address with the token that is given, or that of the folder if it is the same.
func TestFindMeansOneCluster(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	find := func(where, token string, kind bellows.Kind, want string) *Client {
		t.Helper()
		c, err := Find(state, where, token, "bel")
		if want == "" && err != nil || want != "" && (bellows.KindOf(err) != kind || !strings.Contains(fmt.Sprint(err), want)) {
			t.Errorf("%s: %v, want %q", where, err, want)
		}
		return c
	}
	find(Local, "", bellows.Unavailable, "find the local cluster: no cluster is running in "+filepath.Join(state, "cluster")+"; `bel up` starts one")
	f, err := FindFolder(state)
	if err == nil {
		err = f.Make()
	}
	if err == nil {
		err = f.Write(Whereabouts{PID: 77, Address: "127.0.0.1:7"})
	}
	if err != nil {
		t.Fatal(err)
	}
	find(Local, "", bellows.Unavailable, "its manager (process 77) has ended without `down`; `bel up` starts another")
	held, err := f.Hold()
	if err != nil || held == nil {
		t.Fatal(held, err)
	}
	defer held.Close()
	find(Local, "", bellows.Unavailable, "no such file")
	token := drawn(t)
	if err := f.Keep(token); err != nil {
		t.Fatal(err)
	}
	other := drawn(t)
	for where, c := range map[string]*Client{"of the folder": find(Local, "", 0, ""), "of its address": find("127.0.0.1:7", "", 0, "")} {
		if c.Address != "127.0.0.1:7" || c.token != token {
			t.Errorf("%s: %+v", where, c)
		}
	}
	if c := find("127.0.0.1:8", other.Text(), 0, ""); c.Address != "127.0.0.1:8" || c.token != other {
		t.Errorf("elsewhere: %+v", c)
	}
	find("127.0.0.1:8", "", bellows.Refused, "find cluster 127.0.0.1:8: it requires a token; give it with --token")
	find("127.0.0.1:8", "mine", bellows.Refused, "read the token: it is none: it has 4 characters")
	for _, where := range []string{"here", "here:", ""} {
		find(where, "x", bellows.Usage, "it must be local or HOST:PORT")
	}
	if err := os.WriteFile(f.file(recordName), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	find(Local, "", bellows.IO, "`down` takes it away, and ends the cluster if one is up")
	find("127.0.0.1:8", other.Text(), 0, "")
}

// drawn returns a token of a random authority.
func drawn(t *testing.T) secure.Token {
	t.Helper()
	a, err := secure.NewAuthority("a test")
	if err != nil {
		t.Fatal(err)
	}
	token, err := a.NewToken()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// TestAQuestionIsOneValue with the fields that there are.
func TestAQuestionIsOneValue(t *testing.T) {
	t.Parallel()
	for text, right := range map[string]bool{`{"node":"a"}`: true, `{"node":"a"} x`: false, `{"node":"a","oil":1}`: false, ``: false} {
		var d Drain
		if err := Decode([]byte(text), &d); (err == nil) != right || right && d.Node != "a" || !right && bellows.KindOf(err) != bellows.Usage {
			t.Errorf("%s: %+v, %v", text, d, err)
		}
	}
}

// TestFollowerConnectsAgain breaks a connection within a line: the next one continues after the last whole line. A manager that needs the place is called again later. Connections that break
// repeatedly without a line are an error.
func TestFollowerConnectsAgain(t *testing.T) {
	t.Parallel()
	line := func(f Frame) []byte {
		text, err := json.Marshal(f)
		if err != nil {
			t.Error(err)
		}
		return append(text, '\n')
	}
	first, second, code := line(Frame{Out: []byte("one ")}), line(Frame{Out: []byte("two")}), 3
	var from []string
	c := fake(t, func(w http.ResponseWriter, r *http.Request) {
		from = append(from, r.URL.Query().Get("from"))
		switch len(from) {
		case 1:
			w.Write(first)
			w.Write(second[:len(second)/2])
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler) // the connection breaks
		case 2:
			w.Write([]byte("{}\n"))
			w.Write(second)
			w.Write(line(Frame{Again: true}))
		case 3:
			w.Write(line(Frame{Exit: &code}))
		default:
			panic(http.ErrAbortHandler)
		}
	})
	var waits []time.Duration
	c.rest = func(_ context.Context, d time.Duration) bool {
		waits = append(waits, d)
		return true
	}
	all := ""
	got, err := c.Output(t.Context(), 1, func(f Frame) error { all += string(f.Out); return nil })
	want := fmt.Sprintf("0 %d %d", len(first), len(first)+len(second))
	if err != nil || got != 3 || all != "one two" || strings.Join(from, " ") != want || len(waits) != 2 || waits[0] != brokenWait || waits[1] < againWait || waits[1] > 2*againWait {
		t.Errorf("%d, %v: %q, from %v, want %s; it waits %v", got, err, all, from, want, waits)
	}
	if _, err := c.Output(t.Context(), 1, nil); bellows.KindOf(err) != bellows.Lost && bellows.KindOf(err) != bellows.Unavailable {
		t.Errorf("broken again and again: %v", err)
	}
}

// TestAManagerWithoutRoomIsCalledAgain closes connections before their handshake, which are made again for any question. Persist calls until it has an answer, or its time is over.
func TestAManagerWithoutRoomIsCalledAgain(t *testing.T) {
	t.Parallel()
	server := clustertest.Serve(t, func(w http.ResponseWriter, r *http.Request) { w.Write([]byte(`{"cluster":"here"}`)) })
	t.Cleanup(server.Close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() { // it closes two connections, and passes the others on
		for n := 0; ; n++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if n < 2 {
				conn.Close()
				continue
			}
			to, err := net.Dial("tcp", server.Address)
			if err != nil {
				t.Error(err)
				return
			}
			go io.Copy(to, conn)
			go io.Copy(conn, to)
		}
	}()
	if s, err := NewClient(l.Addr().String(), server.Token).Status(t.Context()); err != nil || s.Cluster != "here" {
		t.Errorf("%+v, %v", s, err)
	}
	calls := 0
	busy := fake(t, func(w http.ResponseWriter, r *http.Request) {
		if calls++; calls < 3 {
			WriteFault(w, http.StatusServiceUnavailable, bellows.Errorf(bellows.Unavailable, "ask", "the cluster", "it has no room"))
			return
		}
		WriteFault(w, http.StatusConflict, bellows.Errorf(bellows.Refused, "lead", "job 1", "it is led already"))
	})
	if _, _, err := busy.Persist(t.Context(), 0, "/v1/jobs/1/lead", Hello{}); bellows.KindOf(err) != bellows.Unavailable || calls != 1 {
		t.Errorf("without time: %v, after %d calls", err, calls)
	}
	if _, _, err := busy.Persist(t.Context(), time.Minute, "/v1/jobs/1/lead", Hello{}); bellows.KindOf(err) != bellows.Refused || calls != 3 {
		t.Errorf("with time: %v, after %d calls", err, calls)
	}
	began := time.Now()
	l.Close()
	if _, _, err := NewClient(l.Addr().String(), server.Token).Persist(t.Context(), time.Hour, "/v1/agents", Hello{}); bellows.KindOf(err) != bellows.Unavailable || time.Since(began) > time.Minute {
		t.Errorf("a manager that has ended: %v, after %v", err, time.Since(began))
	}
}

// TestSubmissionFitsIntoALine checks that command, variables and folder of a job, in any letters, are shorter than a session's line when a process is started with them.
func TestSubmissionFitsIntoALine(t *testing.T) {
	t.Parallel()
	variable := func(n int) string { return "BELLOWS_X=" + strings.Repeat("x", n) }
	for name, c := range map[string]struct {
		Submission
		want string
	}{
		"short":              {Submission{App: "mf", Args: []string{"train"}, Dir: "/"}, ""},
		"many files":         {Submission{App: "mf", Args: strings.Split(strings.Repeat("data/part-00001.csv ", 3000), " "), Env: []string{variable(1 << 16)}, Dir: "/"}, ""},
		"no words":           {Submission{App: "mf", Dir: "/"}, "submit mf: the command is missing"},
		"a relative folder":  {Submission{App: "mf", Args: []string{"train"}, Dir: "here"}, "its folder is not absolute"},
		"a foreign variable": {Submission{App: "mf", Args: []string{"train"}, Env: []string{"PATH=x"}, Dir: "/"}, `the variable "PATH=x" belongs to no flag`},
		"a long command":     {Submission{App: "mf", Args: []string{strings.Repeat("x", 1<<16+1)}, Dir: "/"}, "its command has 65537 bytes; at most 65536; name a folder"},
		"a long environment": {Submission{App: "mf", Args: []string{"train"}, Env: []string{variable(1 << 17), variable(1 << 17)}, Dir: "/"}, "its command has 5 bytes, and 2"},
		"strange letters":    {Submission{App: "mf", Args: []string{strings.Repeat("\x01", 1<<16)}, Dir: "/"}, "its command has 65536 bytes, and 3"},
		"a deep folder":      {Submission{App: "mf", Args: []string{"train"}, Dir: "/" + strings.Repeat("d", 1<<18)}, "unset the variables"},
	} {
		err := c.Check()
		if c.want == "" {
			line, e := json.Marshal(Message{Process: 1 << 60, Start: &Start{Node: "node-256", Args: append(c.Args, "--child", "--workers=auto:1024"), Env: c.Env, Dir: c.Dir}})
			if err != nil || e != nil || len(line) >= lineMost {
				t.Errorf("%s: %v, %d bytes, %v", name, err, len(line), e)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
