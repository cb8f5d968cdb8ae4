//go:build unix

package agent

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"bellows"
	"bellows/cluster"
	"bellows/cluster/clustertest"
	"bellows/link/secure"
	"bellows/node/launch"
)

// TestMain also runs as a process that an agent has started: it follows its arguments.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || os.Args[0] != "child" {
		os.Exit(m.Run())
	}
	switch os.Args[1] {
	case "echo": // its input, until the end
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			fmt.Println(in.Text())
		}
		os.WriteFile("told to end", nil, 0o666)
	case "wait": // until a signal ends it
		fmt.Fprintln(os.Stderr, "so")
		fmt.Println("waits")
		never := make(chan os.Signal, 1)
		signal.Notify(never, syscall.SIGUSR1)
		<-never
	case "environment":
		dir, _ := os.Getwd()
		os.WriteFile("environment", fmt.Append(nil, os.Getenv("BELLOWS_A"), os.Getenv("BELLOWS_B"), os.Getenv("OTHER"), dir), 0o666)
	}
}

// joined returns an agent that has joined as node-3, the manager's end of its session, and what its Run returns.
func joined(t *testing.T) (s *cluster.Session, leave func(), over <-chan error) {
	t.Helper()
	called := make(chan *cluster.Session, 1)
	var server *clustertest.Fake
	server = clustertest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		by := server.Caller(r)
		if r.URL.Path == "/v1/certificates" && by.Role == "" && r.Header.Get("Authorization") == cluster.Bearer(server.Token) {
			var q cluster.Request
			if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
				t.Error(err)
			}
			c := cluster.Certificate{}
			c.Certificate, c.Authority = server.Issue(t, q.Key)
			json.NewEncoder(w).Encode(c)
			return
		}
		if r.URL.Path != "/v1/agents" || by.Role != secure.Agent || r.Header.Get("Authorization") != "" {
			t.Errorf("%s is called by %v %v", r.URL.Path, by, r.Header)
		}
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", cluster.Upgrade)
		s := cluster.NewSession(conn, strings.NewReader(""))
		if m, err := s.Receive(); err != nil || m.Hello == nil || m.Hello.Slots != 2 {
			t.Errorf("hello is %+v, %v", m.Hello, err)
		}
		s.Send(cluster.Message{Welcome: &cluster.Welcome{Node: "node-3"}})
		called <- s
	})
	ctx, cancel := context.WithCancel(context.Background())
	names, ends := make(chan string, 1), make(chan error, 1)
	go func() {
		ends <- Run(ctx, Config{Client: cluster.NewClient(server.Address, server.Token), Hello: cluster.Hello{Slots: 2}, Joined: func(node string) { names <- node },
			Left: func(sentences []string, err error) { names <- fmt.Sprint(sentences, err) }})
	}()
	s = <-called
	if node := <-names; node != "node-3" {
		t.Errorf("it is %s", node)
	}
	s.Send(cluster.Message{Answer: &cluster.Reply{Sentences: []string{"it is given up"}}})
	if said := <-names; said != "[it is given up] <nil>" {
		t.Errorf("it is told %s", said)
	}
	t.Cleanup(func() {
		cancel()
		s.Close()
		server.Close()
	})
	return s, cancel, ends
}

func sendMessage(t *testing.T, s *cluster.Session, m cluster.Message) {
	t.Helper()
	if err := s.Send(m); err != nil {
		t.Fatal(err)
	}
}

// heard returns the next that the manager hears, but for what processes write to their standard error.
func heard(t *testing.T, s *cluster.Session) cluster.Message {
	t.Helper()
	for {
		m, err := s.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if m.Wrote == nil {
			return m
		}
	}
}

// start makes an agent start a process with a word.
func start(t *testing.T, s *cluster.Session, number uint64, word string) (pid int, dir string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	sendMessage(t, s, cluster.Message{Process: number, Start: &cluster.Start{Node: "node-3", Args: []string{"child", word}, Env: []string{"BELLOWS_B=b"}, Dir: dir, Place: -1}})
	m := heard(t, s)
	if m.Process != number || m.PID == 0 {
		t.Fatalf("it is not started: %+v, %+v", m, m.Over)
	}
	return m.PID, dir
}

// ended receives the report of a process's end.
func ended(t *testing.T, s *cluster.Session, number uint64, how, last string) {
	t.Helper()
	if m := heard(t, s); m.Process != number || m.Over == nil || !strings.Contains(m.Over.How, how) || !strings.Contains(m.Over.Last, last) {
		t.Errorf("process %d has ended: %+v, %+v, want %q, %q", number, m, m.Over, how, last)
	}
}

// TestAnAgentStartsProcesses, with the given variables and not its own. It passes their input, ends and kills them, and
// reports their ends.
func TestAnAgentStartsProcesses(t *testing.T) {
	t.Setenv("BELLOWS_A", "a")
	t.Setenv("OTHER", "c")
	s, _, over := joined(t)
	start(t, s, 1, "echo")
	sendMessage(t, s, cluster.Message{Process: 9, Say: []byte("nobody\n")})
	sendMessage(t, s, cluster.Message{Process: 1, Start: &cluster.Start{Args: []string{"child", "wait"}, Place: -1}}) // it is there already
	sendMessage(t, s, cluster.Message{Process: 1, Say: []byte("hello\n")})
	if m := heard(t, s); m.Process != 1 || strings.TrimSpace(string(m.Said)) != "hello" {
		t.Errorf("it says %+v", m)
	}
	_, dir := start(t, s, 2, "environment")
	ended(t, s, 2, "exit status 0", "")
	if text, err := os.ReadFile(filepath.Join(dir, "environment")); string(text) != "bc"+dir {
		t.Errorf("its environment is %s, %v", text, err)
	}
	sendMessage(t, s, cluster.Message{Process: 1, End: true})
	ended(t, s, 1, "exit status 0", "")
	start(t, s, 3, "wait")
	var said, wrote string
	for said == "" || wrote == "" {
		m, err := s.Receive()
		if err != nil || m.Process != 3 {
			t.Fatalf("%+v, %v", m, err)
		}
		said, wrote = said+string(m.Said), wrote+string(m.Wrote)
	}
	if strings.TrimSpace(said) != "waits" || wrote != "so\n" {
		t.Errorf("it says %q and writes %q", said, wrote)
	}
	sendMessage(t, s, cluster.Message{Process: 3, Kill: true})
	ended(t, s, 3, "killed", "so")
	sendMessage(t, s, cluster.Message{Process: 4, Start: &cluster.Start{Args: []string{"child", "echo"}, Dir: filepath.Join(dir, "none"), Place: -1}})
	ended(t, s, 4, "was not started: ", "")
	sendMessage(t, s, cluster.Message{Process: 7, Start: &cluster.Start{Args: []string{"child", "environment"}, Dir: dir, Place: 0, Computing: 1}}) // one that computes
	if m := heard(t, s); m.Process != 7 || m.PID == 0 {
		t.Errorf("it is not started: %+v", m)
	}
	ended(t, s, 7, "exit status 0", "")
	sendMessage(t, s, cluster.Message{Process: 6, Start: &cluster.Start{Args: []string{"child", "echo"}, Dir: dir}})
	ended(t, s, 6, "was not started: it would be process 0 of 0 that compute", "")
	pid, _ := start(t, s, 5, "echo")
	sendMessage(t, s, cluster.Message{End: true})
	if err := <-over; err != nil {
		t.Errorf("it is let go: %v", err)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d is there: %v", pid, err)
	}
}

// TestAgentLeavesNoProcess that is let go.
func TestAgentLeavesNoProcess(t *testing.T) {
	s, leave, over := joined(t)
	pid, dir := start(t, s, 1, "echo")
	leave()
	if m := heard(t, s); !m.End || m.Process != 0 {
		t.Errorf("it wants to leave and says %+v", m)
	}
	sendMessage(t, s, cluster.Message{End: true})
	if err := <-over; err != nil {
		t.Errorf("it has left: %v", err)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d is there: %v", pid, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "told to end")); err != nil {
		t.Error(err)
	}
}

// TestAManagerThatGoes returns an error, except for an agent that wants to leave. Processes may end on their own.
func TestAManagerThatGoes(t *testing.T) {
	s, _, over := joined(t)
	pid, dir := start(t, s, 1, "echo")
	s.Close()
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-over; bellows.KindOf(err) != bellows.Lost {
		t.Errorf("it ends with %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "told to end")); err == nil {
		t.Error("its process was not given time to end")
	}
	s, leave, over := joined(t)
	leave()
	heard(t, s)
	s.Close()
	if err := <-over; err != nil {
		t.Errorf("one that leaves ends with %v", err)
	}
	gone := cluster.NewClient("127.0.0.1:0", secure.Token{})
	if err := Run(t.Context(), Config{Client: gone}); bellows.KindOf(err) != bellows.Unavailable {
		t.Errorf("there is none: %v", err)
	}
}

// TestSilentManagerEndsSession silences a manager for longer than a session allows: when it continues, it learns at
// once that the agent no longer takes orders.
func TestSilentManagerEndsSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x, y := net.Pipe()
		over := make(chan error, 1)
		go func() {
			_, err := io.Copy(io.Discard, y)
			over <- err
		}()
		a := &agent{session: cluster.NewSession(x, strings.NewReader(""))}
		if err := a.serve(); bellows.KindOf(err) != bellows.Lost {
			t.Errorf("it ends with %v", err)
		}
		synctest.Wait()
		select {
		case <-over:
		default:
			t.Error("the manager still hears it")
			y.Close()
			a.session.Close()
		}
	})
}

// TestAnAgentLeavesInTime even if it gets no answer: it waits for processes that end, and kills those that do not.
func TestAnAgentLeavesInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x, y := net.Pipe()
		go io.Copy(io.Discard, y)
		a := &agent{Config: Config{Hello: cluster.Hello{NoticeMillis: 2000}}, session: cluster.NewSession(x, strings.NewReader(""))}
		over := make(chan struct{})
		close(over)
		began := time.Now()
		if a.leave(over); time.Since(began) != 0 {
			t.Errorf("it leaves after %v", time.Since(began))
		}
		if err := a.session.Send(cluster.Message{}); err != nil {
			t.Errorf("its session has ended: %v", err)
		}
		if a.leave(nil); time.Since(began) != 2*time.Second+leaveWithin {
			t.Errorf("it leaves after %v", time.Since(began))
		}
		if err := a.session.Send(cluster.Message{}); err == nil {
			t.Error("its session goes on")
		}
		p, q := &child{over: make(chan struct{}), began: time.Now()}, &child{over: make(chan struct{}), began: time.Now()}
		a.processes = map[uint64]launch.Process{1: p, 3: &child{over: make(chan struct{})}}
		began = time.Now()
		if a.await(graceWithin); time.Since(began) != graceWithin || p.ended != 0 {
			t.Errorf("it waits %v for them", time.Since(began))
		}
		close(q.over)
		a.processes = map[uint64]launch.Process{1: q}
		began = time.Now()
		if a.await(graceWithin); time.Since(began) != 0 {
			t.Errorf("it waits %v for one that has ended", time.Since(began))
		}
		a.processes = map[uint64]launch.Process{1: p, 2: q}
		p.began, q.began = time.Now(), time.Now()
		a.end()
		<-p.over
		<-time.After(2 * endWithin)
		if p.ended != 1 || q.ended != 1 || p.killed != endWithin || q.killed != 0 {
			t.Errorf("told to end %d and %d times, and killed after %v and %v", p.ended, q.ended, p.killed, q.killed)
		}
		y.Close()
	})
}

// child is a process that ends when it is killed.
type child struct {
	launch.Process
	over   chan struct{}
	began  time.Time
	ended  int
	killed time.Duration // after which; 0: it was not
}

func (c *child) Ended() <-chan struct{} { return c.over }
func (c *child) End()                   { c.ended++ }

func (c *child) Kill() {
	c.killed = time.Since(c.began)
	close(c.over)
}

// TestAgentForwardsOutput in pieces, up to so much; that there was more is said once.
func TestAgentForwardsOutput(t *testing.T) {
	t.Parallel()
	x, y := net.Pipe()
	defer y.Close()
	a := &agent{session: cluster.NewSession(x, strings.NewReader(""))}
	defer a.session.Close()
	go func() {
		w := &passed{agent: a, number: 7}
		for _, n := range []int{passedEach + 1, passedMost - passedEach - 3, 10, 10} {
			if took, err := w.Write(make([]byte, n)); took != n || err != nil {
				t.Errorf("%d of %d bytes are taken: %v", took, n, err)
			}
		}
		a.say(cluster.Message{PID: 1})
	}()
	s := cluster.NewSession(y, strings.NewReader(""))
	bytes, last, pieces := 0, "", 0
	for {
		m, err := s.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if m.PID != 0 {
			break
		}
		if len(m.Wrote) == 0 || len(m.Wrote) > passedEach || m.Process != 7 {
			t.Errorf("%d bytes of process %d come at once", len(m.Wrote), m.Process)
		}
		bytes, last, pieces = bytes+len(m.Wrote), string(m.Wrote), pieces+1
	}
	const more = "\n[output truncated]\n"
	if bytes != passedMost+len(more) || last != more || pieces != 19 {
		t.Errorf("%d bytes come in %d pieces, at the end %q", bytes, pieces, last)
	}
}
