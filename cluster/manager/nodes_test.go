//go:build unix

package manager

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bellows"
	"bellows/cluster"
	"bellows/cluster/agent"
	"bellows/link/secure"
	"bellows/vec"
)

// until asks for the cluster's status until it is as wanted.
func (u *up) until(is func(s *cluster.Status) bool) cluster.Status {
	u.t.Helper()
	for {
		s, err := u.client.Status(u.t.Context())
		if err != nil {
			u.t.Fatal(err)
		}
		if is(&s) {
			return s
		}
		<-time.After(time.Millisecond)
	}
}

// waits follows a job until it says that it waits.
func (u *up) waits(j cluster.Job) {
	u.t.Helper()
	_, err := u.client.Output(u.t.Context(), j.Job, func(f cluster.Frame) error {
		if strings.Contains(string(f.Out), "waits") {
			return io.EOF
		}
		return nil
	})
	if err != io.EOF {
		u.t.Fatal(err)
	}
}

func names(s *cluster.Status) (list string) {
	for _, n := range s.Nodes {
		list += fmt.Sprintf("%s %s %s;", n.ID, strings.Join(n.Roles, "+"), n.State)
	}
	return list
}

// TestAClusterIsScaled with its own nodes, which are processes: the newest leaves first, and numbers are reused. A
// running job is notified.
func TestAClusterIsScaled(t *testing.T) {
	u := bringUpWith(t, 2, 1)
	if s, err := u.client.Status(t.Context()); err != nil || names(&s) != "node-1 worker idle;node-2 worker idle;node-3 server idle;" {
		t.Fatalf("it begins with %s, %v", names(&s), err)
	}
	scale := func(workers, servers int) (cluster.Done, error) {
		return u.client.Scale(t.Context(), cluster.Scale{Workers: &workers, Servers: &servers}, time.Minute)
	}
	for _, c := range []struct {
		workers, servers int
		said, nodes      string
	}{
		{1, 2, "node-2 has left the cluster;node-2 has joined the cluster", "node-1 worker idle;node-2 server idle;node-3 server idle;"},
		{2, 0, "node-3 has left the cluster;node-2 has left the cluster;node-2 has joined the cluster", "node-1 worker idle;node-2 worker idle;"},
	} {
		d, err := scale(c.workers, c.servers)
		s, _ := u.client.Status(t.Context())
		if err != nil || strings.Join(d.Sentences, ";") != c.said || d.Workers != c.workers || d.Servers != c.servers || names(&s) != c.nodes {
			t.Errorf("%d workers and %d servers: %+v, %v: %s", c.workers, c.servers, d, err, names(&s))
		}
	}
	for _, c := range [][2]int{{0, 1}, {-1, 1}, {1, -1}, {nodesMost + 1, 0}, {1, nodesMost + 1}} {
		if _, err := scale(c[0], c[1]); bellows.KindOf(err) != bellows.Usage {
			t.Errorf("%v: %v", c, err)
		}
	}
	if _, err := u.client.Scale(t.Context(), cluster.Scale{Job: 7}, time.Minute); bellows.KindOf(err) != bellows.Unavailable {
		t.Errorf("a job that does not run: %v", err)
	}
	for _, notice := range []int64{-1, time.Hour.Milliseconds() + 1} {
		if _, err := u.client.Drain(t.Context(), cluster.Drain{Node: "node-2", NoticeMillis: notice}, time.Minute); bellows.KindOf(err) != bellows.Usage {
			t.Errorf("a notice of %d ms: %v", notice, err)
		}
	}
	j := u.submit("answer")
	u.waits(j)
	if d, err := scale(3, 0); err != nil || strings.Join(d.Sentences, ";") != "node-3 has joined the cluster;it is offered 1 nodes, the first is node-3" {
		t.Errorf("beside a job: %+v, %v", d, err)
	}
	if d, err := u.client.Drain(t.Context(), cluster.Drain{Node: "node-2", NoticeMillis: time.Hour.Milliseconds()}, time.Minute); err != nil || strings.Join(d.Sentences, ";") != "it gives up node-2 within 3600000 ms;node-2 has left the cluster" {
		t.Errorf("drained during a job: %+v, %v", d, err)
	}
	if s := u.until(func(s *cluster.Status) bool { return true }); s.Jobs[0].PID == 0 || names(&s) != "node-1 worker idle;node-3 worker idle;" {
		t.Errorf("its process is %d, and there are %s", s.Jobs[0].PID, names(&s))
	}
	if err := u.client.Interrupt(t.Context(), j.Job); err != nil {
		t.Error(err)
	}
	if s := u.until(func(s *cluster.Status) bool { return s.Jobs[0].Ended != nil }); s.Jobs[0].PID != 0 {
		t.Errorf("it has ended, and its process is %d", s.Jobs[0].PID)
	}
	u.end()
	if err := <-u.over; err != nil {
		t.Error(err)
	}
	u.over <- nil // as the end of the test expects it
	text, err := os.ReadFile(u.folder.Log())
	if err != nil || !strings.Contains(string(text), "told to end\n") || !strings.HasSuffix(string(text), " down\n") {
		t.Errorf("it has said %s, %v", text, err)
	}
}

// TestLeaveNotice: a job has the notice that the node has joined with to give it up, or the usual one.
func TestLeaveNotice(t *testing.T) {
	u := bringUpWith(t, 1, 0)
	u.waits(u.submit("answer"))
	for notice, want := range map[int64]string{7000: "within 7000 ms", 0: "within 30000 ms"} {
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		said := ""
		err := agent.Run(ctx, agent.Config{Client: u.client, Hello: cluster.Hello{Slots: 1, PID: os.Getpid(), NoticeMillis: notice, Program: own, Kernels: vec.Sets()},
			Joined: func(string) { leave() }, Left: func(sentences []string, err error) { said = fmt.Sprint(sentences, err) }})
		if err != nil || !strings.Contains(said, want) {
			t.Errorf("a notice of %d ms: %s, %v; not %s", notice, said, err, want)
		}
	}
}

// TestLeftoverProcessesAreEnded: a process at a node does not outlive its job.
func TestLeftoverProcessesAreEnded(t *testing.T) {
	u := bringUp(t)
	if _, _, err := u.join(1, 0, u.program); err != nil {
		t.Fatal(err)
	}
	waits := u.submit("start", "wait=x")
	u.waits(waits)
	u.until(func(s *cluster.Status) bool {
		return s.Nodes[0].State == cluster.Running && s.Nodes[0].Job == waits.Job && s.Nodes[0].PID != s.Nodes[0].Agent
	})
	if err := u.client.Interrupt(t.Context(), waits.Job); err != nil {
		t.Fatal(err)
	}
	u.until(func(s *cluster.Status) bool {
		return s.Jobs[0].Ended != nil && s.Nodes[0].State == cluster.Idle && s.Nodes[0].Job == 0
	})
	if out, _, code := u.output(u.submit("say=next").Job); out != "next\n" || code != 0 {
		t.Errorf("the next: %q, %d", out, code)
	}
}

// TestAnAgentThatIsLostIsForgotten: a node that joined on its own is not awaited. Output is lines of JSON.
func TestAnAgentThatIsLostIsForgotten(t *testing.T) {
	u := bringUp(t)
	s, w, err := u.member().Session(t.Context(), "/v1/agents", cluster.Hello{Slots: 1, PID: 1, Program: u.program})
	if err != nil || w.Node != "node-1" {
		t.Fatal(w, err)
	}
	u.until(func(s *cluster.Status) bool { return len(s.Nodes) == 1 })
	s.Close()
	u.until(func(s *cluster.Status) bool { return len(s.Nodes) == 0 })
	if _, _, err := u.member().Session(t.Context(), "/v1/agents", cluster.Hello{Node: "node-1", Slots: 1, PID: 1, Program: u.program}); bellows.KindOf(err) != bellows.Refused {
		t.Errorf("as one that is not awaited: %v", err)
	}
	token, err := u.folder.Token()
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("https://%s/v1/jobs/%d/output", u.client.Address, u.submit("say=never").Job), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", cluster.Bearer(token))
	answer, err := tlsClient(secure.Pinned(token)).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if kind := answer.Header.Get("Content-Type"); kind != "application/jsonl" {
		t.Errorf("its output is %s", kind)
	}
}

// TestAnAgentThatDoesNotListen checks lost when it is welcomed, and let go when it does not leave.
func TestAnAgentThatDoesNotListen(t *testing.T) {
	t.Parallel()
	log, err := os.Create(t.TempDir() + "/log")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	m := &manager{Config: Config{Program: own, Log: log}}
	x, y := net.Pipe()
	y.Close()
	if err := m.welcome(cluster.NewSession(x, strings.NewReader("")), secure.Name{Role: secure.Agent, ID: "caller-1"}, &cluster.Hello{Slots: 1, Program: own}); err != nil || len(m.nodes) != 1 || m.nodes[0].state != cluster.Gone {
		t.Errorf("%v, %+v", err, m.nodes)
	}
	synctest.Test(t, func(t *testing.T) {
		x, y := net.Pipe()
		go io.Copy(io.Discard, y)
		n := &member{place: cluster.Place{Node: "node-1"}, session: cluster.NewSession(x, strings.NewReader("")), over: make(chan struct{})}
		go func() {
			n.session.Receive()
			close(n.over)
		}()
		began := time.Now()
		if why := m.awaitEnd(n); why != "node-1 did not leave, and is let go" || time.Since(began) != endWithin {
			t.Errorf("after %v: %s", time.Since(began), why)
		}
		if why := m.awaitEnd(n); why != "" || time.Since(began) != endWithin {
			t.Errorf("one that has left: %s", why)
		}
		y.Close()
	})
}

// TestTheQueueHasItsBound, and its numbers in order, when many submit at once while it has room for few.
func TestTheQueueHasItsBound(t *testing.T) {
	log, err := os.CreateTemp(t.TempDir(), "log")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	m := &manager{Config: Config{Program: own, Log: log, Folder: cluster.Folder{Path: t.TempDir()}}}
	const room, many = 3, 64
	m.current = &job{} // so that none begins
	for len(m.jobs) < jobsMost-room {
		m.jobs = append(m.jobs, &job{number: len(m.jobs) + 1, state: cluster.Queued})
	}
	m.mu.Lock() // so that they come to it together
	about, answers := make(chan struct{}), make(chan error, many)
	for range many {
		go func() {
			about <- struct{}{}
			d, err := m.submit(cluster.Submission{Program: own, App: "mf", Args: []string{"x"}, Dir: "/"})
			if err == nil && d.Job == 0 {
				err = errors.New("it has no number")
			}
			answers <- err
		}()
	}
	for range many {
		<-about
	}
	for range 10_000 {
		runtime.Gosched()
	}
	m.mu.Unlock()
	taken := 0
	for range many {
		switch err := <-answers; {
		case err == nil:
			taken++
		case bellows.KindOf(err) != bellows.Unavailable || !strings.Contains(err.Error(), "256 jobs wait already"):
			t.Error(err)
		}
	}
	if taken != room || len(m.jobs) != jobsMost {
		t.Errorf("%d of %d are taken, and %d wait", taken, many, len(m.jobs))
	}
	for i, j := range m.jobs {
		if j.number != i+1 {
			t.Fatalf("job %d is number %d", i+1, j.number)
		}
		if j.spool != nil {
			j.spool.Close()
		}
	}
	m.closing = true
	if _, err := m.submit(cluster.Submission{Program: own, App: "mf", Args: []string{"x"}, Dir: "/"}); err == nil || !strings.Contains(err.Error(), "shutting down") {
		t.Errorf("the cluster ends, and takes it: %v", err)
	}
}

// TestScaleNamesChoices also expects the way to get a node if the cluster has none.
func TestScaleNamesChoices(t *testing.T) {
	t.Parallel()
	if got := choice([]string{"node-1", "node-3"}); got != "there are node-1, node-3" {
		t.Error(got)
	}
	if got := choice(nil); !strings.Contains(got, "`bellows scale --workers 1`") {
		t.Error(got)
	}
}
