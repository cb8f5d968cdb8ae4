package clusterverbs

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"bellows"
	"bellows/cli/internal/line"
	"bellows/cli/internal/watch"
	"bellows/cluster"
	"bellows/cluster/agent"
	"bellows/cluster/manager"
	"bellows/figures"
	"bellows/port/registry"
	"bellows/vec"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// managerCommand names the hidden command that is a manager.
const managerCommand = "cluster-manager"

// defaultAddress is where a manager listens by default.
const defaultAddress = "127.0.0.1:7070"

// How long a manager may take until it is ready, with its nodes, and until all processes have ended.
const (
	upWithin    = time.Minute
	emptyWithin = time.Minute
	downWithin  = 2 * time.Minute
)

// order is what a manager reads from its standard input.
type order struct {
	State, Listen             string
	Asked                     bool
	Workers, Servers, Slots   int
	Notice                    time.Duration
	Etcd                      []string // addresses of an etcd cluster; none: its own registry
	EtcdPrefix                string
	EtcdCA, EtcdCert, EtcdKey string // files
}

// isUp is what `up --json` prints, and down.
type isUp struct {
	cluster.Status
	Already   bool     `json:"already"` // it was up before
	State     string   `json:"state"`   // its folder
	Sentences []string `json:"sentences"`
}

// up is one call of that command.
type up struct {
	commands
	order
	sentences []string
}

func (c commands) upCommand() *cobra.Command {
	u := up{commands: c}
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a local cluster of processes",
		Annotations: line.Details("It starts a manager, and one agent for each node, as processes of this machine. It returns when all are ready. They " +
			"run without a terminal until `down`. Access needs the token in the state folder, which only you can read."),
		Example: "up --workers 3 --servers 2\nup --listen 10.0.0.7:7070",
		Args:    line.Exactly(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return u.run(cmd.Context(), cmd.Flags().Changed("listen")) },
	}
	f := cmd.Flags()
	f.IntVar(&u.Workers, "workers", runtime.GOMAXPROCS(0), "`NUMBER` of nodes that compute")
	f.IntVar(&u.Servers, "servers", 0, "`NUMBER` of nodes that only hold tables; 0: the workers hold them")
	f.IntVar(&u.Slots, "slots", 0, "compute `SLOTS` of each worker (default: its share of the CPUs)")
	noticeFlag(f, &u.Notice)
	f.StringVar(&u.Listen, "listen", defaultAddress, "`ADDR` of the manager, HOST:PORT")
	u.etcdFlags(f)
	watch.StateFlag(f, &u.order.State)
	return cmd
}

func (u *up) run(ctx context.Context, asked bool) error {
	u.Asked = asked
	if err := u.check(); err != nil {
		return err
	}
	if manager.Inside() {
		return bellows.Errorf(bellows.Refused, "bring up", "a cluster", "this process belongs to a cluster itself, and did not ask for it").
			Hinted("call cli.Main before all else")
	}
	if u.order.State != "" { // the manager runs in its own folder
		state, err := filepath.Abs(u.order.State)
		if err != nil {
			return bellows.Errorf(bellows.IO, "find", u.order.State, "%w", err)
		}
		u.order.State = state
	}
	folder, err := cluster.FindFolder(u.order.State)
	if err != nil {
		return err
	}
	if there, err := u.already(ctx, folder); there || err != nil {
		return err
	}
	if err := folder.Make(); err != nil {
		return err
	}
	if err := u.clean(ctx, folder); err != nil {
		return err
	}
	s, err := u.start(ctx, folder)
	if err != nil {
		return err
	}
	if s.Cluster != u.Listen && !u.Asked {
		_, port, _ := net.SplitHostPort(defaultAddress)
		u.sentences = append(u.sentences, "port "+port+" is taken by another process, so that the cluster has another one")
	}
	return u.showStatus(s, folder, false)
}

// check refuses numbers and addresses that cannot be.
func (u *up) check() error {
	switch {
	case u.Workers < 1 || u.Workers > 256:
		return line.BadFlag("workers", fmt.Sprint(u.Workers), "it must be from 1 to 256")
	case u.Servers < 0 || u.Servers > 256:
		return line.BadFlag("servers", fmt.Sprint(u.Servers), "it must be from 0 to 256")
	case u.Slots < 0 || u.Slots > 1024:
		return line.BadFlag("slots", fmt.Sprint(u.Slots), "it must be from 1 to 1024, or 0 for a share of the processors")
	}
	if err := checkNotice(u.Notice); err != nil {
		return err
	}
	if err := u.checkEtcd(); err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(u.Listen)
	if ip := net.ParseIP(host); err != nil || port == "" || ip == nil && host != "localhost" || ip.IsUnspecified() {
		return line.BadFlag("listen", u.Listen, "it must be the IP address of this machine at which nodes reach it, with a port, such as %s", defaultAddress)
	}
	return nil
}

// already says what is up in the folder, if something is.
func (u *up) already(ctx context.Context, folder cluster.Folder) (bool, error) {
	there, err := folder.Up()
	if err != nil || !there {
		return false, err
	}
	client, err := cluster.Find(u.order.State, cluster.Local, "", u.Program())
	if err != nil {
		return true, bellows.Errorf(bellows.Unavailable, "bring up", "a cluster", "another one is starting or stopping in %s: %w", folder.Path, err).Hinted("call the command again")
	}
	s, err := client.Status(ctx)
	if err != nil {
		if there, wrong := folder.Up(); wrong == nil && !there { // it was killed just now
			return false, nil
		}
		return true, err
	}
	return true, u.showStatus(s, folder, true)
}

// clean removes what a killed manager has left: its processes end when they notice.
func (u *up) clean(ctx context.Context, folder cluster.Folder) error {
	said, err := clean(ctx, folder)
	if said != "" {
		u.sentences = append(u.sentences, said)
		u.Talk("%s", said)
	}
	return err
}

func clean(ctx context.Context, folder cluster.Folder) (said string, err error) {
	record, err := folder.Read()
	if err == nil && record == nil {
		return "", nil
	}
	said = "a cluster that was up here has ended without `down`; what it left is taken away"
	if err == nil {
		said = fmt.Sprintf("a cluster that was up here has ended without `down` (its manager was process %d); what it left is taken away", record.PID)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, emptyWithin, fmt.Errorf("they have not ended within %v", emptyWithin))
	defer cancel()
	if err := folder.Empty(ctx); err != nil {
		return "", err
	}
	return said, folder.Forget()
}

// said is the one line that a manager writes.
type said struct {
	Status *cluster.Status
	Error  *cluster.Reply
}

// start starts the manager and waits until it is ready, or why it is not.
func (u *up) start(ctx context.Context, folder cluster.Folder) (s cluster.Status, err error) {
	path, err := cluster.Path()
	if err != nil {
		return s, err
	}
	text, err := json.Marshal(u.order)
	if err != nil {
		return s, bellows.Errorf(bellows.Bug, "start", "a manager", "%w", err)
	}
	log, err := os.OpenFile(folder.Log(), os.O_CREATE|os.O_WRONLY|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return s, bellows.Errorf(bellows.CannotWrite, "write", folder.Log(), "%w", bellows.Pathless(err))
	}
	defer log.Close()
	cmd := exec.Command(path, managerCommand)
	cmd.Args[0] = os.Args[0]
	cmd.Env, cmd.Dir, cmd.Stderr, cmd.SysProcAttr = manager.Mark(), folder.Path, log, alone()
	in, err := cmd.StdinPipe()
	var out io.ReadCloser
	if err == nil {
		out, err = cmd.StdoutPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return s, bellows.Errorf(bellows.IO, "start", "a manager", "%w", err)
	}
	if _, err := in.Write(append(text, '\n')); err != nil {
		u.Talk("%v", err)
	}
	in.Close()
	heard := make(chan said, 1)
	go func() { heard <- hear(out) }()
	late := time.NewTimer(upWithin)
	defer late.Stop()
	var why error
	select {
	case r := <-heard:
		if r.Status != nil {
			return *r.Status, cmd.Process.Release()
		}
		if r.Error != nil {
			why = r.Error.Err()
		} else {
			why = bellows.Errorf(bellows.Lost, "start", "a manager", "it ended without a message").Hinted("its output is in " + folder.Log())
		}
		return s, errors.Join(why, ended(cmd))
	case <-ctx.Done():
		why = bellows.Errorf(bellows.Interrupted, "bring up", "a cluster", "%w", ctx.Err())
	case <-late.C:
		why = bellows.Errorf(bellows.Unavailable, "bring up", "a cluster", "it is not ready after %v", upWithin).Hinted("its output is in " + folder.Log())
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		u.Talk("%v", err)
	}
	return s, errors.Join(why, ended(cmd))
}

// ended waits for the end of a manager that did not come up, and kills one that does not end.
func ended(cmd *exec.Cmd) error {
	late := time.AfterFunc(emptyWithin, func() { cmd.Process.Kill() }) // it may have ended in this moment
	defer late.Stop()
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		return bellows.Errorf(bellows.IO, "wait for", "a manager", "%w", err)
	}
	return nil
}

// hear reads the manager's line.
func hear(out io.Reader) (s said) {
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &s) != nil {
		return said{}
	}
	return s
}

// showStatus prints what is up.
func (u *up) showStatus(s cluster.Status, folder cluster.Folder, already bool) error {
	workers := s.Count("worker")
	servers := len(s.Nodes) - gone(&s) - workers
	word := "cluster up"
	if already {
		word = "a cluster is up already"
		if workers != u.Workers || servers != u.Servers {
			u.sentences = append(u.sentences, fmt.Sprintf("`%s scale` changes how many nodes it has", u.Program()))
		}
	}
	if !already {
		for _, said := range s.Recovered {
			u.Talk("%s", said)
		}
	}
	for _, said := range u.sentences {
		if !strings.HasPrefix(said, "a cluster that was up here") {
			u.Talk("%s", said)
		}
	}
	u.Printf("%s: %s · %s · state %s\n", word, nodes(workers, servers), s.Cluster, folder.Path)
	for i := range s.Nodes {
		n := &s.Nodes[i]
		u.Printf("%s\n", nodeLine(n))
	}
	u.Printf("next:  %s %s --cluster local%s  ·  %[1]s status%[3]s  ·  %[1]s down%[3]s\n", u.Program(), u.commands.sample, u.Repeat("state"))
	if u.sentences == nil {
		u.sentences = []string{}
	}
	return u.Object(isUp{s, already, folder.Path, u.sentences})
}

// managerCommand returns the manager's process.
func (c commands) managerCommand() *cobra.Command {
	return &cobra.Command{Use: managerCommand, Hidden: true, Args: line.Exactly(), RunE: func(cmd *cobra.Command, _ []string) error {
		c.Calm.Store(true)
		answer := json.NewEncoder(c.Out)
		err := c.manage(cmd.Context(), func(s cluster.Status) {
			answer.Encode(said{Status: &s}) // a closed client needs no answer
			if out, is := c.Out.(io.Closer); is {
				out.Close() // ends the waiting reader
			}
		})
		if err != nil {
			answer.Encode(said{Error: cluster.Failure(err)}) // as above
		}
		return err
	}}
}

func (c commands) manage(ctx context.Context, ready func(cluster.Status)) error {
	var o order
	line, err := bufio.NewReader(c.In).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &o)
	}
	if err != nil {
		return bellows.Errorf(bellows.Usage, "take orders", "standard input", "this process is started by `up`: %w", err).Hinted("call that")
	}
	folder, err := cluster.FindFolder(o.State)
	if err != nil {
		return err
	}
	program, err := cluster.ThisProgram(c.Name, c.apps)
	if err != nil {
		return err
	}
	open := func(ctx context.Context) (registry.Registry, error) { return o.registry(ctx, folder) }
	return manager.Run(ctx, manager.Config{Folder: folder, OpenRegistry: open, Own: len(o.Etcd) == 0, Listen: o.Listen, Asked: o.Asked, Workers: o.Workers, Servers: o.Servers,
		Slots: o.Slots, Notice: o.Notice, Program: program, Log: os.Stderr}, ready)
}

// agentCommand returns the process of an agent that a manager has started.
func (c commands) agentCommand() *cobra.Command {
	return &cobra.Command{Use: manager.AgentCommand, Hidden: true, Args: line.Exactly(), RunE: func(cmd *cobra.Command, _ []string) error {
		c.Calm.Store(true)
		var a manager.Assignment
		lines := bufio.NewReader(c.In)
		text, err := lines.ReadBytes('\n')
		if err == nil {
			err = json.Unmarshal(text, &a)
		}
		if err == nil && a.Identity == nil {
			err = errors.New("it has no certificate")
		}
		if err != nil {
			return bellows.Errorf(bellows.Usage, "take assignment", "standard input", "this process is started by a cluster's manager: %w", err).Hinted("`up` starts a cluster, and `join` a node of one")
		}
		program, err := cluster.ThisProgram(c.Name, c.apps)
		if err != nil {
			return err
		}
		return agent.Run(cmd.Context(), agent.Config{Client: cluster.NewMember(a.Address, a.Identity), Call: manager.ReadyWithin,
			Hello: cluster.Hello{Node: a.Node, Slots: a.Slots, Lanes: a.Lanes, PID: os.Getpid(), NoticeMillis: a.Notice.Milliseconds(), Program: program, Kernels: vec.Sets()}})
	}}
}

// isDown is what `down --json` prints.
type isDown struct {
	Already   bool     `json:"already"` // none was up
	State     string   `json:"state"`
	Sentences []string `json:"sentences"` // what became of jobs and nodes
}

func (c commands) downCommand() *cobra.Command {
	var state string
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop the local cluster",
		Annotations: line.Details("A running job is interrupted at a safe point; the same command resumes it. Then the agents and the manager end. The " +
			"command returns when no process of the cluster is left."),
		Example: "down\ndown --json",
		Args:    line.Exactly(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.takeDown(cmd.Context(), state) },
	}
	watch.StateFlag(cmd.Flags(), &state)
	return cmd
}

func (c commands) takeDown(ctx context.Context, state string) error {
	folder, err := cluster.FindFolder(state)
	if err != nil {
		return err
	}
	there, err := folder.Up()
	if err != nil {
		return err
	}
	d := isDown{State: folder.Path, Already: !there, Sentences: []string{}}
	if !there {
		said, err := clean(ctx, folder)
		if err != nil {
			return err
		}
		if said == "" {
			said = "no cluster is up in " + folder.Path
		}
		d.Sentences = append(d.Sentences, said)
		c.Printf("%s\n", said)
		return c.Object(d)
	}
	var done cluster.Done
	client, err := cluster.Find(state, cluster.Local, "", c.Program())
	switch {
	case err != nil: // its token or its record cannot be read
		done.Sentences, err = end(folder, syscall.SIGTERM, "told to end", err)
	default:
		if done, err = client.Shutdown(ctx, downWithin); err != nil && bellows.KindOf(err) == bellows.Unavailable {
			done.Sentences, err = end(folder, syscall.SIGKILL, "killed", err)
		}
	}
	if err != nil {
		return err
	}
	bounded, cancel := context.WithTimeoutCause(ctx, downWithin, fmt.Errorf("they have not ended within %v", downWithin))
	defer cancel()
	if err := folder.Empty(bounded); err != nil {
		return err
	}
	if err := folder.Forget(); err != nil { // a killed manager could not
		return err
	}
	d.Sentences = append(d.Sentences, done.Sentences...)
	for _, s := range d.Sentences {
		c.Printf("%s\n", s)
	}
	c.Printf("cluster down: no process of it is left\n")
	return c.Object(d)
}

// end ends a manager by a signal: it has the folder's lock, so that the number there is its own.
func end(folder cluster.Folder, by syscall.Signal, how string, why error) ([]string, error) {
	if up, err := folder.Up(); err != nil || !up {
		return nil, err
	}
	pid, err := folder.Holder()
	if err != nil {
		return nil, err
	}
	if err := syscall.Kill(pid, by); err != nil && !errors.Is(err, syscall.ESRCH) {
		return nil, bellows.Errorf(bellows.Unavailable, "end", fmt.Sprintf("the manager (process %d)", pid), "%w", err)
	}
	return []string{fmt.Sprintf("the manager (process %d) was %s: %v", pid, how, why)}, nil
}

func (c commands) joinCommand() *cobra.Command {
	var w Where
	var slots, lanes int
	var notice time.Duration
	cmd := &cobra.Command{
		Use:   "join ADDR",
		Short: "Add a node to a cluster until Ctrl-C",
		Annotations: line.Details("ADDR is the address of the manager, local or HOST:PORT, on this machine or another one. Ctrl-C or SIGTERM removes the " +
			"node again, within --notice. The node must run the same program as the cluster, and must find the DATA of jobs under the same paths."),
		Example: "join local\njoin 10.0.0.7:7070 --slots 8 --notice 2m",
		Args:    line.Exactly("ADDR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			w.At = args[0]
			return c.join(cmd.Context(), w, slots, lanes, notice)
		},
	}
	f := cmd.Flags()
	f.IntVar(&slots, "slots", runtime.GOMAXPROCS(0), "`NUMBER` of compute slots; 0: only hold tables")
	f.IntVar(&lanes, "lanes", 0, "`NUMBER` of lanes for tables; 0: none if others are servers")
	noticeFlag(f, &notice)
	f.StringVar(&w.Token, "token", "", tokenHelp)
	watch.StateFlag(f, &w.State)
	return cmd
}

// noticeFlag adds the flag for how long an ending node gives a job.
func noticeFlag(f *pflag.FlagSet, notice *time.Duration) {
	f.DurationVar(notice, "notice", cluster.NoticeOfLeave, "`DURATION` to hand over work after Ctrl-C or SIGTERM")
}

func checkNotice(notice time.Duration) error {
	if notice < time.Second || notice > time.Hour {
		return line.BadFlag("notice", notice.String(), "it must be from 1s to 1h")
	}
	return nil
}

// nodeJoined is what `join --json` prints.
type nodeJoined struct {
	Node    string `json:"node"`
	Cluster string `json:"cluster"`
	PID     int    `json:"pid"`
}

func (c commands) join(ctx context.Context, w Where, slots, lanes int, notice time.Duration) error {
	if err := checkNotice(notice); err != nil {
		return err
	}
	if slots == 0 && lanes == 0 {
		lanes = 1
	}
	client, err := c.find(w)
	if err != nil {
		return err
	}
	program, err := cluster.ThisProgram(c.Name, c.apps)
	if err != nil {
		return err
	}
	c.Calm.Store(true)
	err = agent.Run(ctx, agent.Config{Client: client, Hello: cluster.Hello{Slots: slots, Lanes: lanes, PID: os.Getpid(), NoticeMillis: notice.Milliseconds(), Program: program, Kernels: vec.Sets()},
		Joined: func(node string) {
			c.Printf("%s of the cluster at %s, with %s; Ctrl-C leaves\n", node, client.Address, figures.Plural(slots, "compute slot"))
			c.Object(nodeJoined{node, client.Address, os.Getpid()}) // a failed write is reported at the end
		},
		Left: func(sentences []string, err error) {
			for _, s := range sentences {
				c.Talk("%s", s)
			}
			if err != nil {
				c.Talk("%v", err)
			}
		}})
	if err != nil && bellows.KindOf(err) == bellows.Lost {
		return bellows.Errorf(bellows.Unavailable, "stay in", "the cluster at "+client.Address, "its manager is gone: %w", err).Hinted("join again when it is up")
	}
	return err
}
