//go:build unix

package manager

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"bellows"
	"bellows/cluster"
	"bellows/cluster/agent"
	"bellows/cluster/lead"
	"bellows/link/secure"
	"bellows/node"
	"bellows/node/launch"
	"bellows/port/registry"
	"bellows/port/registry/mem"
	"bellows/vec"
)

// TestMain also runs as the leader of a job, if the manager of a test has started this program: it follows its
// arguments. It is also an agent of the manager's, and a process that runs at a node until it is asked to end.
func TestMain(m *testing.M) {
	switch {
	case os.Getenv(lead.Variable) != "":
		os.Exit(leads(os.Args[1:]))
	case len(os.Args) == 2 && os.Args[1] == AgentCommand:
		os.Exit(serves())
	case len(os.Args) == 2 && os.Args[1] == "stay":
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	case Inside():
		os.Exit(70)
	}
	os.Exit(m.Run())
}

// serves returns an agent.
func serves() int {
	var a Assignment
	if err := json.NewDecoder(os.Stdin).Decode(&a); err != nil {
		return 70
	}
	err := agent.Run(context.Background(), agent.Config{Client: cluster.NewMember(a.Address, a.Identity),
		Hello: cluster.Hello{Node: a.Node, Slots: a.Slots, Lanes: a.Lanes, PID: os.Getpid(), Program: own, Kernels: vec.Sets()}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 70
	}
	return 0
}

// own is the program that the cluster of a test runs.
var own = cluster.Program{Name: "bellows", Fingerprint: "1234", Platform: "here", Apps: []string{"mf", "mlr"}}

// answers returns a job that says to whatever it is asked what that was.
func answers() int {
	var a lead.Assignment
	if err := json.NewDecoder(os.Stdin).Decode(&a); err != nil {
		return 70
	}
	s, _, err := cluster.NewMember(a.Address, a.Identity).Session(context.Background(), fmt.Sprintf("/v1/jobs/%d/lead", a.Job), cluster.Hello{PID: os.Getpid()})
	if err != nil {
		return 70
	}
	fmt.Println("waits")
	for {
		m, err := s.Receive()
		if err != nil {
			return 0
		}
		said := ""
		switch {
		case m.Scale != nil:
			said = fmt.Sprintf("it is offered %d nodes, the first is %s", len(m.Scale.Places), m.Scale.Places[0].Node)
		case m.Drain != nil:
			said = fmt.Sprintf("it gives up %s within %d ms", strings.Join(m.Drain.Nodes, " and "), m.Drain.NoticeMillis)
		}
		if m.Question != 0 {
			s.Send(cluster.Message{Question: m.Question, Answer: &cluster.Reply{Sentences: []string{said}}})
		}
	}
}

// loses leads a job with a process at node-1 and one at node-2, which it loses. It prints the nodes that it is offered, and refuses the first offer.
func loses() int {
	var a lead.Assignment
	if err := json.NewDecoder(os.Stdin).Decode(&a); err != nil {
		return 70
	}
	s, _, err := cluster.NewMember(a.Address, a.Identity).Session(context.Background(), fmt.Sprintf("/v1/jobs/%d/lead", a.Job), cluster.Hello{PID: os.Getpid()})
	if err != nil {
		return 70
	}
	for i := range uint64(2) {
		s.Send(cluster.Message{Process: i + 1, Start: &cluster.Start{Node: fmt.Sprint("node-", i+1), Args: []string{"bellows", "stay"}, Place: -1, Member: int(i + 1)}})
	}
	offers := 0
	for {
		m, err := s.Receive()
		switch {
		case err != nil:
			return 0
		case m.Process == 2 && m.PID != 0:
			s.Send(cluster.Message{Process: 2, Kill: true})
		case m.Process == 2 && m.Over != nil:
			s.Send(cluster.Message{Missing: "node-2"})
		case m.Lost != nil:
			fmt.Println("lost", m.Lost)
		case m.Scale != nil:
			reply := &cluster.Reply{Sentences: []string{"it is offered " + m.Scale.Places[0].Node}}
			if offers++; offers == 1 {
				reply = cluster.Failure(bellows.Errorf(bellows.Unavailable, "add", "a node", "it did not come"))
			}
			fmt.Println("offered", m.Scale.Places[0].Node)
			s.Send(cluster.Message{Question: m.Question, Answer: reply})
		}
	}
}

// leads returns a job: it takes its assignment, carries out words, and ends with a code.
func leads(words []string) int {
	switch words[0] {
	case "answer":
		return answers()
	case "lose":
		return loses()
	}
	line, err := bufio.NewReader(os.Stdin).ReadBytes('\n')
	var a lead.Assignment
	if err == nil {
		err = json.Unmarshal(line, &a)
	}
	if err != nil {
		return 70
	}
	if at := slices.Index(words, fmt.Sprint("away=", a.Term)); at >= 0 { // a process that does not reach the manager
		return bellows.Unavailable.ExitCode()
	}
	l, err := lead.Take(context.Background(), bytes.NewReader(line), func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) })
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 70
	}
	defer l.Close()
	ctx, end := l.Context(context.Background())
	defer end()
	for _, word := range words {
		switch what, rest, _ := strings.Cut(word, "="); what {
		case "say":
			fmt.Println(rest)
		case "complain":
			fmt.Fprintln(os.Stderr, rest)
		case "run":
			if err := l.Began(rest); err != nil {
				return 70
			}
		case "nodes":
			fmt.Println(len(l.Members(1))-1, l.Slots(), l.HasServersOnly())
		case "screen":
			fmt.Println(*l.Terminal)
		case "wait": // until the manager has gone, or an interruption kills
			fmt.Println("waits")
			<-ctx.Done()
			fmt.Println("the manager has gone") // to no reader
			os.WriteFile(rest, []byte("interrupted"), 0o666)
			return bellows.Interrupted.ExitCode()
		case "start": // a process at a node
			if l.Follows() != nil {
				continue
			}
			if _, err := l.Processes([]string{"bellows", "stay"}, func(bellows.NodeID) io.Writer { return io.Discard }).Start(node.Member{Node: 1, Slots: 1}, -1, 1); err != nil {
				return 70
			}
		case "succeed": // what another process needs
			if l.Follows() == nil {
				l.Succeed(launch.Succession{Nodes: 2})
			}
		case "followed": // what is there still of the process before
			if f := l.Following; f != nil {
				fmt.Printf("follows with %d numbers and %d processes, the first node %d at %s, behind %d units\n", l.Follows().Nodes, len(f.Processes), f.Processes[0].Member, f.Processes[0].Node, f.Units)
			}
		case "fail":
			return 66
		case "led": // its predecessors, as reported to it
			fmt.Printf("%s, term %d, in %s from %d, lost %d in a row: %s\n", l.Order, l.Term, l.Run, l.Checkpoint.Commit, l.InRow, l.Died.Died)
		case "cut": // a checkpoint with its term as number
			l.HowFar(cluster.Progress{Checkpoint: &cluster.Checkpoint{Era: uint32(l.Term), Commit: 5, Bytes: 7, At: time.Now()}, Units: 12, Seconds: 1.5})
		case "awaits": // until the manager has heard of so much
			if err := l.Renew(ctx, 0, func(string, ...any) {}); err != nil { // answers come in order
				return 70
			}
		case "die": // in terms up to that, or in every one
			if most, err := strconv.Atoi(rest); err != nil || l.Term <= most {
				fmt.Println("dies in term", l.Term)
				syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
		}
	}
	return 0
}

// up is a cluster without its own nodes.
type up struct {
	t       *testing.T
	folder  cluster.Folder
	client  *cluster.Client
	program cluster.Program
	log     *os.File
	end     context.CancelFunc
	over    chan error
}

func bringUp(t *testing.T) *up { return bringUpWith(t, 0, 0) }

// bringUpWith starts a cluster with its own nodes.
func bringUpWith(t *testing.T, workers, servers int) *up {
	t.Helper()
	return bringUpAt(t, mem.New("test"), workers, servers)
}

// opens returns what opens a registry in memory.
func opens(store *mem.Store) func(context.Context) (registry.Registry, error) {
	return func(context.Context) (registry.Registry, error) { return store.Open(), nil }
}

// bringUpAt brings one up that has this registry.
func bringUpAt(t *testing.T, store *mem.Store, workers, servers int) *up {
	t.Helper()
	return bringUpWithRegistry(t, opens(store), workers, servers)
}

// bringUpWithRegistry brings one up with a function that opens its registry.
func bringUpWithRegistry(t *testing.T, open func(context.Context) (registry.Registry, error), workers, servers int) *up {
	t.Helper()
	state := t.TempDir()
	folder, err := cluster.FindFolder(state)
	if err == nil {
		err = folder.Make()
	}
	var log *os.File
	if err == nil {
		log, err = os.Create(folder.Log())
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	u := &up{t: t, folder: folder, end: end, over: make(chan error, 1), log: log, program: own}
	ready := make(chan cluster.Status, 1)
	go func() {
		u.over <- Run(ctx, Config{Folder: folder, Listen: "127.0.0.1:0", Workers: workers, Servers: servers, Program: u.program, Log: log, OpenRegistry: open, Own: true}, func(s cluster.Status) { ready <- s })
	}()
	select {
	case <-ready:
	case err := <-u.over:
		t.Fatal(err)
	}
	if u.client, err = cluster.Find(state, cluster.Local, "", "bellows"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		end()
		if err := <-u.over; err != nil {
			t.Errorf("the end: %v", err)
		}
		log.Close()
	})
	return u
}

// join makes an agent join, which ends with the test, or when told to.
func (u *up) join(slots, lanes int, program cluster.Program) (node string, leave func() error, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	joined, over := make(chan string, 1), make(chan error, 1)
	go func() {
		over <- agent.Run(ctx, agent.Config{Client: u.client, Hello: cluster.Hello{Slots: slots, Lanes: lanes, PID: os.Getpid(), Program: program, Kernels: vec.Sets()},
			Joined: func(node string) { joined <- node }})
	}()
	select {
	case node := <-joined:
		return node, func() error { cancel(); return <-over }, nil
	case err := <-over:
		cancel()
		return "", nil, err
	}
}

// submit hands in a job of words.
func (u *up) submit(words ...string) cluster.Job {
	u.t.Helper()
	j, err := u.client.Submit(u.t.Context(), cluster.Submission{App: "mf", Word: "bellows", Args: words, Dir: u.t.TempDir(), Program: u.program})
	if err != nil {
		u.t.Fatal(err)
	}
	return j
}

// output returns all that a job has written, and its exit code.
func (u *up) output(job int) (out, talk string, code int) {
	u.t.Helper()
	var o, e bytes.Buffer
	code, err := u.client.Output(u.t.Context(), job, func(f cluster.Frame) error {
		o.Write(f.Out)
		e.Write(f.Err)
		return nil
	})
	if err != nil {
		u.t.Fatal(err)
	}
	return o.String(), e.String(), code
}

// TestJobsRunOneAfterTheOther checks that a job waits for its predecessor, and that each has all nodes, and reports its
// arguments, its folder and its code.
func TestJobsRunOneAfterTheOther(t *testing.T) {
	u := bringUp(t)
	if _, talk, code := u.output(u.submit("say=never").Job); code != 69 || !strings.Contains(talk, "start job 1: no worker of the cluster is left; ") {
		t.Errorf("without nodes: %d %s", code, talk)
	}
	for i, lanes := range []int{0, 0, 2} {
		slots := 3 - i
		if i == 2 {
			slots = 0
		}
		if node, _, err := u.join(slots, lanes, u.program); err != nil || node != fmt.Sprintf("node-%d", i+1) {
			t.Fatalf("%s, %v", node, err)
		}
	}
	waits := u.submit("run=runs/mf-1", "wait=x")
	second, third := u.submit("nodes", "complain=so", "say=done"), u.submit("fail")
	if second.State != cluster.Queued || second.Ahead != 1 || third.Ahead != 2 {
		t.Errorf("queued: %+v, %+v", second, third)
	}
	fourth := u.submit("say=never")
	if err := u.client.Interrupt(t.Context(), fourth.Job); err != nil {
		t.Error(err)
	}
	if out, talk, code := u.output(fourth.Job); out != "" || code != 130 || talk != fmt.Sprintf("job %d had not begun, and is dropped\n", fourth.Job) {
		t.Errorf("a job that is taken out of the queue: %q %q %d", out, talk, code)
	}
	err := errors.New("it does not wait")
	if _, e := u.client.Output(t.Context(), waits.Job, func(f cluster.Frame) error {
		if strings.Contains(string(f.Out), "waits") {
			err = u.client.Interrupt(t.Context(), waits.Job)
		}
		return nil
	}); e != nil || err != nil {
		t.Fatal(e, err)
	}
	if out, talk, code := u.output(second.Job); out != "3 5 true\ndone\n" || talk != "so\n" || code != 0 {
		t.Errorf("the second: %q %q %d", out, talk, code)
	}
	if _, _, code := u.output(third.Job); code != 66 {
		t.Errorf("the third ends with %d", code)
	}
	s, err := u.client.Status(t.Context())
	if err != nil || len(s.Jobs) != 5 || s.Jobs[1].Run != "runs/mf-1" || s.Jobs[2].State != cluster.Ended || s.Jobs[3].State != cluster.Failed || s.Jobs[4].State != cluster.Interrupted {
		t.Errorf("%+v, %v", s.Jobs, err)
	}
}

// TestJoinPermissions: another program is refused, and named; a node that leaves is gone, and its number is free again.
func TestJoinPermissions(t *testing.T) {
	u := bringUp(t)
	other := u.program
	other.Fingerprint = "5678"
	if _, _, err := u.join(1, 0, other); bellows.KindOf(err) != bellows.Refused || !strings.Contains(err.Error(), "it runs bellows (1234), and this is bellows (5678)") {
		t.Errorf("another program: %v", err)
	}
	if _, _, err := u.join(0, 0, u.program); bellows.KindOf(err) != bellows.Usage {
		t.Errorf("nothing to give: %v", err)
	}
	other.Platform = "elsewhere"
	_, _, err := u.join(2, 0, other)
	if err != nil {
		t.Errorf("the same program of another kind of machine: %v", err)
	}
	node, leave, err := u.join(1, 0, u.program)
	if err != nil || node != "node-2" {
		t.Fatal(node, err)
	}
	if err := leave(); err != nil {
		t.Errorf("it leaves: %v", err)
	}
	u.until(func(s *cluster.Status) bool { return len(s.Nodes) == 1 }) // it is let go before it is forgotten
	if node, _, err := u.join(0, 1, u.program); err != nil || node != "node-2" {
		t.Errorf("%s, %v", node, err)
	}
	if _, err := u.client.Drain(t.Context(), cluster.Drain{Node: "node-1"}, time.Minute); bellows.KindOf(err) != bellows.Refused {
		t.Errorf("the last worker is drained: %v", err)
	}
	if d, err := u.client.Drain(t.Context(), cluster.Drain{Node: "node-2"}, time.Minute); err != nil || d.Workers != 1 || d.Servers != 0 || strings.Join(d.Sentences, "") != "node-2 has left the cluster" {
		t.Errorf("%+v, %v", d, err)
	}
}

// TestAJobOfAnotherProgramIsRefused by its fingerprint, and by name where the cluster has no such application.
func TestAJobOfAnotherProgramIsRefused(t *testing.T) {
	u := bringUp(t)
	for app, want := range map[string]string{
		"mf":     "submit mf: the cluster runs another build of bellows (1234) than this one (5678)",
		"kmeans": "submit kmeans: the cluster runs bellows (1234), which has mf, mlr and not kmeans of kmeans (5678)",
	} {
		p := cluster.Program{Name: "bellows", Fingerprint: "5678"}
		if app != "mf" {
			p.Name = app
		}
		_, err := u.client.Submit(t.Context(), cluster.Submission{App: app, Word: "x", Args: []string{"train"}, Dir: "/", Program: p})
		if bellows.KindOf(err) != bellows.Refused || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", app, err)
		}
	}
	for name, s := range map[string]cluster.Submission{
		"no words":      {App: "mf", Dir: "/", Program: u.program},
		"a place":       {App: "mf", Args: []string{"train"}, Dir: "here", Program: u.program},
		"a long word":   {App: "mf", Args: []string{strings.Repeat("x", 1<<16+1)}, Dir: "/", Program: u.program},
		"long together": {App: "mf", Args: []string{strings.Repeat("\x01", 1<<15)}, Env: []string{"BELLOWS_X=" + strings.Repeat("x", 1<<16)}, Dir: "/", Program: u.program},
		"a variable":    {App: "mf", Args: []string{"train"}, Env: []string{"LD_PRELOAD=x"}, Dir: "/", Program: u.program},
		"of the inside": {App: "mf", Args: []string{"train"}, Env: []string{marker + "="}, Dir: "/", Program: u.program},
	} {
		if _, err := u.client.Submit(t.Context(), s); bellows.KindOf(err) != bellows.Usage && bellows.KindOf(err) != bellows.Refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestUnknownCallersAreRejected without the token, under another name, and with fields that are too long or unknown.
func TestUnknownCallersAreRejected(t *testing.T) {
	u := bringUp(t)
	shown, err := u.folder.Token()
	if err != nil {
		t.Fatal(err)
	}
	token, asks := shown.Text(), tlsClient(secure.Pinned(shown))
	for name, c := range map[string]struct {
		method, path, body, token, host string
		want                            int
	}{
		"no token":       {"GET", "/v1/cluster", "", "", "", http.StatusUnauthorized},
		"another token":  {"GET", "/v1/cluster", "", strings.Repeat("0", len(token)), "", http.StatusUnauthorized},
		"another secret": {"GET", "/v1/cluster", "", strings.Repeat("0", 48) + token[48:], "", http.StatusUnauthorized},
		"a part of it":   {"GET", "/v1/cluster", "", token[:len(token)-1], "", http.StatusUnauthorized},
		"another name":   {"GET", "/v1/cluster", "", token, "example.com", http.StatusMisdirectedRequest},
		"another method": {"GET", "/v1/jobs", "", token, "", http.StatusMethodNotAllowed},
		"too long":       {"POST", "/v1/scale", `{"job":` + strings.Repeat(" ", bodyMost) + `1}`, token, "", http.StatusConflict},
		"unknown field":  {"POST", "/v1/scale", `{"wrokers":1}`, token, "", http.StatusConflict},
		"two values":     {"POST", "/v1/scale", `{} {}`, token, "", http.StatusConflict},
		"no job":         {"GET", "/v1/jobs/7/output", "", token, "", http.StatusConflict},
		"a session":      {"POST", "/v1/agents", "", "", "", http.StatusUnauthorized},
		"it is right":    {"GET", "/v1/cluster", "", token, "", http.StatusOK},
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, "https://"+u.client.Address+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+c.token)
		if c.host != "" {
			r.Host = c.host
		}
		answer, err := asks.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode != c.want || err != nil || c.want != http.StatusOK && bytes.Contains(text, []byte("nodes")) {
			t.Errorf("%s: %d %s %v", name, answer.StatusCode, text, err)
		}
	}
	for name, mode := range map[string]os.FileMode{u.folder.Path: 0o700, filepath.Join(u.folder.Path, "token"): 0o600, filepath.Join(u.folder.Path, "manager.json"): 0o600} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s has mode %v, %v", name, info.Mode(), err)
		}
	}
}

// tlsClient returns a client of HTTP over TLS.
func tlsClient(c *tls.Config) *http.Client {
	return &http.Client{Transport: &http.Transport{TLSClientConfig: c, DisableKeepAlives: true}}
}

// TestTheEndIsTold: down ends queue, jobs and nodes, once.
func TestTheEndIsTold(t *testing.T) {
	u := bringUp(t)
	if _, _, err := u.join(1, 0, u.program); err != nil {
		t.Fatal(err)
	}
	waits := u.submit("run=runs/a", "wait=x")
	u.submit("say=never")
	begun := make(chan error, 1)
	var code int
	ended := make(chan error, 1)
	go func() {
		var err error
		code, err = u.client.Output(context.Background(), waits.Job, func(f cluster.Frame) error {
			if strings.Contains(string(f.Out), "waits") {
				begun <- nil
			}
			return nil
		})
		ended <- err
	}()
	<-begun
	d, err := u.client.Shutdown(t.Context(), time.Minute)
	if err != nil || len(d.Sentences) != 2 || d.Sentences[0] != "job 2 had not begun, and is dropped" || !strings.HasPrefix(d.Sentences[1], "job 1 ") {
		t.Errorf("%q, %v", d.Sentences, err)
	}
	if err := <-ended; err != nil || code == 0 {
		t.Errorf("its watcher: %d, %v", code, err)
	}
	if err := u.folder.Empty(t.Context()); err != nil {
		t.Error(err)
	}
	_, err = u.client.Status(t.Context())
	if bellows.KindOf(err) != bellows.Unavailable {
		t.Errorf("it answers still: %v", err)
	}
}

// TestTwoManagersOfAFolder checks the second one's error.
func TestTwoManagersOfAFolder(t *testing.T) {
	u := bringUp(t)
	err := Run(t.Context(), Config{Folder: u.folder, Listen: "127.0.0.1:0", Program: u.program, Log: u.log, OpenRegistry: opens(mem.New("test")), Own: true}, func(cluster.Status) { t.Error("it is up") })
	if bellows.KindOf(err) != bellows.Refused {
		t.Error(err)
	}
	if r, err := u.folder.Read(); err != nil || r == nil || r.Address != u.client.Address {
		t.Errorf("the record is %+v, %v", r, err)
	}
}

// TestSingleScreenIsOneStream follows a job at a terminal, which shows what goes to both streams: it is kept in the order in which it was written, and the job knows
// the terminal.
func TestSingleScreenIsOneStream(t *testing.T) {
	u := bringUp(t)
	if _, _, err := u.join(1, 0, u.program); err != nil {
		t.Fatal(err)
	}
	words, want := []string{"screen"}, "{72 true true}\n"
	for i := range 40 {
		words = append(words, fmt.Sprint("say=out ", i), fmt.Sprint("complain=err ", i))
		want += fmt.Sprintf("out %d\nerr %d\n", i, i)
	}
	j, err := u.client.Submit(t.Context(), cluster.Submission{App: "mf", Word: "bellows", Args: words, Dir: t.TempDir(), Program: u.program,
		Terminal: &cluster.Terminal{Columns: 72, Out: true, Err: true}})
	if err != nil {
		t.Fatal(err)
	}
	if out, talk, code := u.output(j.Job); out != want || talk != "" || code != 0 {
		t.Errorf("%d: %q, and %q", code, out, talk)
	}
}

// member returns a client of an agent that joins.
func (u *up) member() *cluster.Client {
	u.t.Helper()
	c, err := u.client.Member(u.t.Context())
	if err != nil {
		u.t.Fatal(err)
	}
	return c
}
