//go:build unix

package manager

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"bellows"
	"bellows/cluster"
	"bellows/cluster/internal/admission"
	"bellows/cluster/internal/spool"
	"bellows/link/secure"
)

// TestIdleConnectionsBlockNoCaller opens more idle connections than there are places: the oldest are closed, and users, agents and jobs are served.
func TestIdleConnectionsBlockNoCaller(t *testing.T) {
	u := bringUp(t)
	var idle []net.Conn
	for range connectionsMost + 100 {
		c, err := net.Dial("tcp", u.client.Address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		idle = append(idle, c)
	}
	if _, err := u.client.Status(t.Context()); err != nil {
		t.Errorf("a user: %v", err)
	}
	if _, _, err := u.join(1, 0, u.program); err != nil {
		t.Errorf("an agent: %v", err)
	}
	idle[0].SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := idle[0].Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the oldest: %v", err)
	}
	if out, _, code := u.output(u.submit("say=done").Job); out != "done\n" || code != 0 {
		t.Errorf("a job beside idle connections: %q, %d", out, code)
	}
}

// crowd serves the API of a manager with one job, which four callers may follow at a time. follow begins to follow it.
func crowd(t *testing.T) (m *manager, follow func() *bufio.Reader) {
	t.Helper()
	m = &manager{processes: map[uint64]*relayed{}}
	var err error
	if m.issues, err = secure.NewAuthority("a test"); err != nil {
		t.Fatal(err)
	}
	if m.self, err = m.issues.Member(secure.Name{Role: secure.Manager, ID: "manager"}); err != nil {
		t.Fatal(err)
	}
	if m.token, err = m.issues.NewToken(); err != nil {
		t.Fatal(err)
	}
	j := &job{number: 1, processes: map[uint64]uint64{}, over: make(chan struct{})}
	if j.spool, err = spool.New(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	j.spool.Say("begun")
	m.jobs = append(m.jobs, j)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m.address = l.Addr().String()
	m.server = m.serve(l)
	m.followers = admission.NewPlaces(4)
	t.Cleanup(m.server.close)
	return m, func() *bufio.Reader {
		t.Helper()
		c, err := tls.Dial("tcp", m.address, secure.Pinned(m.token))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		fmt.Fprintf(c, "GET /v1/jobs/1/output HTTP/1.1\r\nHost: %s\r\nAuthorization: %s\r\n\r\n", m.address, cluster.Bearer(m.token))
		c.SetReadDeadline(time.Now().Add(time.Minute))
		r := bufio.NewReader(c)
		until(t, r, "err") // a frame: it follows
		return r
	}
}

// until reads lines up to one that has some text.
func until(t *testing.T, r *bufio.Reader, text string) {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("before %s: %v", text, err)
		}
		if strings.Contains(line, text) {
			return
		}
	}
}

// TestFollowersLeaveRoomForLeaders lets more callers follow a job than there are places: the oldest has to connect again later. Meanwhile the process that is to lead a job, an agent and a user
// are answered.
func TestFollowersLeaveRoomForLeaders(t *testing.T) {
	m, follow := crowd(t)
	first, second := follow(), follow()
	for range 4 {
		follow()
	}
	until(t, first, `{"again":true}`)
	until(t, second, `{"again":true}`)
	for _, c := range []struct {
		by   secure.Role
		call string
		want int
	}{{secure.Controller, "POST /v1/jobs/2/lead", http.StatusConflict}, {secure.Agent, "POST /v1/certificates", http.StatusConflict}, {secure.User, "POST /v1/jobs/7/interrupt", http.StatusConflict}} {
		config, token := secure.Pinned(m.token), cluster.Bearer(m.token)
		if c.by != secure.User {
			config, token = named(t, m.issues, c.by, "job-2-1"), ""
		}
		method, path, _ := strings.Cut(c.call, " ")
		r, err := http.NewRequestWithContext(t.Context(), method, "https://"+m.address+path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", token)
		answer, err := tlsClient(config).Do(r)
		if err != nil {
			t.Fatalf("%s: %v", c.call, err)
		}
		answer.Body.Close()
		if answer.StatusCode != c.want {
			t.Errorf("%s: %d, want %d", c.call, answer.StatusCode, c.want)
		}
	}
}

// TestQuestionsLeaveRoomForDown fills the places of questions: `down` and agents are still served, and one more question is refused by name.
func TestQuestionsLeaveRoomForDown(t *testing.T) {
	t.Parallel()
	waits, enough := make(chan struct{}), make(chan struct{})
	handlers := map[string]http.HandlerFunc{callDown: func(http.ResponseWriter, *http.Request) {}, "POST /v1/agents": func(http.ResponseWriter, *http.Request) {}}
	handlers["POST /v1/scale"] = func(http.ResponseWriter, *http.Request) {
		waits <- struct{}{}
		<-enough
	}
	all := routes(handlers)
	ask := func(role secure.Role, call string) (int, string) {
		method, path, _ := strings.Cut(call, " ")
		w := httptest.NewRecorder()
		all.ServeHTTP(w, httptest.NewRequestWithContext(context.WithValue(t.Context(), caller{}, secure.Name{Role: role, ID: "x"}), method, path, nil))
		return w.Code, w.Body.String()
	}
	for range questionsMost {
		go ask(secure.User, "POST /v1/scale")
		<-waits
	}
	if code, text := ask(secure.User, "POST /v1/scale"); code != http.StatusServiceUnavailable || !strings.Contains(text, "as many questions already as it takes") {
		t.Errorf("one too many: %d %s", code, text)
	}
	if code, text := ask(secure.User, callDown); code != http.StatusOK {
		t.Errorf("down: %d %s", code, text)
	}
	if code, text := ask(secure.Agent, "POST /v1/agents"); code != http.StatusOK {
		t.Errorf("an agent: %d %s", code, text)
	}
	close(enough)
}

// TestFollowContinuesAtAnOffset reads the output of a job from a byte offset, and refuses an offset after its end.
func TestFollowContinuesAtAnOffset(t *testing.T) {
	u := bringUp(t)
	if _, _, err := u.join(1, 0, u.program); err != nil {
		t.Fatal(err)
	}
	j := u.submit("say=one", "say=two")
	if out, _, code := u.output(j.Job); out != "one\ntwo\n" || code != 0 {
		t.Fatalf("%q, %d", out, code)
	}
	shown, err := u.folder.Token()
	if err != nil {
		t.Fatal(err)
	}
	get := func(from string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("https://%s/v1/jobs/%d/output?from=%s", u.client.Address, j.Job, from), nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", cluster.Bearer(shown))
		answer, err := tlsClient(secure.Pinned(shown)).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		return answer.StatusCode, string(text)
	}
	_, all := get("0")
	first, rest, _ := strings.Cut(all, "\n")
	if _, text := get(fmt.Sprint(len(first) + 1)); text != rest || rest == "" {
		t.Errorf("the rest is %q, not %q", text, rest)
	}
	for _, from := range []string{"-1", "x", fmt.Sprint(len(all) + 1)} {
		if code, text := get(from); code != http.StatusConflict {
			t.Errorf("from %s: %d %s", from, code, text)
		}
	}
}

// TestUnreachedManagerDoesNotEndAJob ends leading processes before they have called: another one begins the job, or takes over its nodes. After too many of them the job is interrupted.
func TestUnreachedManagerDoesNotEndAJob(t *testing.T) {
	u := bringUp(t)
	if _, _, err := u.join(1, 0, u.program); err != nil {
		t.Fatal(err)
	}
	if out, talk, code := u.output(u.submit("away=1", "away=2", "say=done").Job); out != "done\n" || talk != "" || code != 0 {
		t.Errorf("at its beginning: %q %q %d", out, talk, code)
	}
	j := u.submit("start", "succeed", "followed", "die=1", "away=2", "say=done")
	out, talk, code := u.output(j.Job)
	if !strings.HasSuffix(out, "follows with 2 numbers and 1 processes, the first node 1 at node-1, behind 0 units\ndone\n") || !strings.Contains(talk, "has not reached the manager") || code != 0 {
		t.Errorf("when it follows: %q %q %d", out, talk, code)
	}
	var always []string
	for i := range 9 {
		always = append(always, fmt.Sprint("away=", i+1))
	}
	if _, talk, code := u.output(u.submit(append(always, "say=never")...).Job); code != bellows.Lost.ExitCode() || !strings.Contains(talk, "has not reached the manager") {
		t.Errorf("again and again: %q %d", talk, code)
	}
}
