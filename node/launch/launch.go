// Package launch starts and joins the processes of a job on this machine: node 0 calls Processes.Run, and each other
// node calls RunChild.
//
// All run the same program with the same arguments. They parse the same flags, read the same files and so make the same
// job, of which nothing is sent: a description of it would be a second form of every setting, to be kept equal to the
// first. What differs comes on the standard input of each:
//
//  1. A started process reads a line: its node, the other nodes, and the token of the job (assignment). The token is not
//     on the command line, which other users of the machine can read.
//  2. It listens, and writes its address to its standard output. No address is fixed; otherwise two jobs would collide.
//  3. When all have, it reads a second line with all addresses. Then each connects to all others. With tcp its answer has
//     a public key, and the second line a certificate for it, by which nodes on other hosts recognise it. Later lines
//     have another certificate, before the current one expires.
//  4. The end of its standard input is the order to end. So a leader that is killed leaves no process behind.
//
// The package does not start processes on other machines, and does not judge the death of a process: it reports it to
// the leader.
package launch

import (
	"cmp"
	"context"
	"crypto/rand"
	"io"
	"os"
	"slices"
	"time"

	"bellows"
	"bellows/link/secure"
	"bellows/link/transport"
	"bellows/link/transport/sock"
	"bellows/node"
	"bellows/node/elastic"
	"bellows/train"
)

// Processes is how a job runs in processes of this machine: this one leads, and others are started for it. Its fields are
// what the caller decides; all else of a run is in node.Options, as for a job in one process.
type Processes struct {
	Program   string        // what to start
	Args      []string      // its arguments, the first its name: it must come to call RunChild
	Members   []node.Member // node 0 is this process
	Transport string        // "unix" or "tcp"
	// Connections is how many each pair of processes has, at most ConnectionsMost; 0: one.
	Connections int
	// Roam lets the system move processes between processors; otherwise each that computes keeps to its share.
	Roam bool
	// Saved says where a saved run lies to resume from, and what is saved of this one, for RunChild to pass on; nil:
	// nothing
	Saved []byte
	// Later replaces Saved for a process that is added while the job runs: it owns nothing when it joins, and the state
	// that the job resumed from may be gone by then. nil: nothing.
	Later []byte
	// Starter starts the others, in the place of Program and Args; nil: these, on this machine.
	Starter Starter
	// Host is the address of this machine at which the others reach it, with tcp; "": that of the loopback device.
	Host string
	// Output returns the writer of a node's standard error, in addition to its last lines; nil, or nil for a node: it
	// is dropped. The writer must accept everything: no process may be blocked by it. A Starter of the caller may keep
	// what it likes.
	Output func(bellows.NodeID) io.Writer
	// Control changes the job while it runs; nil: nothing does.
	Control *Control
	// Advice lets the job choose its shape, by the Control; nil: it does not.
	Advice *elastic.Advice
	// Succeed gets what another process needs to lead in place of this one, when the first tasks have been sent and
	// whenever it changes, on one goroutine at a time; nil: not called. The other nodes wait for such a process if the
	// times have a Successor.
	Succeed func(Succession)
	// Following makes Run continue with the processes of a Run that has died; nil: it starts new ones. Members,
	// Connections, Transport and Saved are then those of the dead Run, and need not be given.
	Following *Following
	// Notice is how long a process stays after it is asked to end, as by SIGTERM: a Control drains it within this time.
	// 0: 30 seconds.
	Notice time.Duration
}

// started names the environment variable that marks a process that a Run has started. Such a process may start no
// others: a program that does not check whether it is a child, such as a test binary, would start itself endlessly.
const started = "_BELLOWS_CHILD"

// Run runs a job as node 0, and returns like Train. When it returns, all processes have ended, and the folder of their
// sockets is gone. Connections end before the processes are asked to end, so that none of them mistakes the end of a
// job for the loss of node 0.
func (l Processes) Run(ctx context.Context, job train.Job, opt node.Options) (*node.Result, error) {
	if os.Getenv(started) != "" {
		return nil, bellows.Errorf(bellows.Config, "start", l.Program, "this process was itself started for a part of a job, and did not ask for it: the program must call RunChild, or cli.Main, before all else")
	}
	if opt.Notice == nil {
		opt.Notice = func(string) {}
	}
	if l.Following != nil {
		return l.follow(ctx, job, opt)
	}
	folder, err := os.MkdirTemp("", "bellows-")
	if err != nil {
		return nil, bellows.Errorf(bellows.IO, "make", "a folder for sockets in "+os.TempDir(), "%w", bellows.Pathless(err)).
			Hinted("set TMPDIR to a folder that can be written, such as TMPDIR=/tmp")
	}
	defer os.RemoveAll(folder)
	own, err := l.assign(folder, opt)
	if err != nil {
		return nil, err
	}
	issues, err := own.certify(l.Transport)
	if err != nil {
		return nil, err
	}
	self, err := own.listen()
	if err != nil {
		return nil, err
	}
	defer self.listener.Close()
	if issues != nil {
		if err := issues.Certify(self.identity, sock.NodeName(own.Self)); err != nil {
			return nil, err
		}
	}
	fleet, err := startFleet(ctx, l, own, issues, self.listener.Address(), opt.Notice)
	if err != nil {
		return nil, err
	}
	defer fleet.close()
	opt.Deaths = fleet.deaths
	conns, err := fleet.join(ctx, func(ctx context.Context) ([]transport.Conn, error) {
		return self.joinAt(ctx, fleet.addresses, opt.Notice)
	})
	if err != nil {
		return nil, err
	}
	return l.lead(ctx, job, opt, own, self, fleet, conns)
}

// lead leads the job whose nodes have joined.
func (l Processes) lead(ctx context.Context, job train.Job, opt node.Options, own assignment, self *endpoint, f *fleet, conns []transport.Conn) (*node.Result, error) {
	opt.Links, opt.Alone = self.links(slices.Clone(f.addresses)), true
	f.begins(&opt)
	if l.Control != nil {
		opt.Commands = &l.Control.Commands
		opt.OnWarning = l.Control.warned
		defer l.Control.begins(f, l, own)()
	}
	res, err := node.Lead(ctx, job, own.Cluster, conns, opt)
	if res != nil {
		f.killLost(res.Gone)
	}
	return res, err
}

// certify draws the authority of a job whose nodes are joined by TCP, and so may be on several hosts. Its key stays in
// this process.
func (s *assignment) certify(transport string) (*secure.Authority, error) {
	if transport != "tcp" {
		return nil, nil
	}
	a, err := secure.NewAuthority("a job")
	if err != nil {
		return nil, err
	}
	s.Authority = a.Certificate()
	return a, nil
}

// starter returns the starter of the other processes.
func (l Processes) starter() Starter {
	if l.Starter != nil {
		return l.Starter
	}
	return Local{Program: l.Program, Args: l.Args, Output: l.Output}
}

// assign returns node 0's assignment, with what the others need to know. The token is drawn for the job: every node
// refuses connections without it.
func (l Processes) assign(folder string, opt node.Options) (assignment, error) {
	s := assignment{Cluster: node.Cluster{Members: l.Members, Connections: l.Connections}, Transport: l.Transport, Host: l.Host, Folder: folder,
		Era: opt.Era, Wire: opt.Wire, Times: opt.Times, Notice: cmp.Or(l.Notice, 30*time.Second)}
	if _, err := rand.Read(s.Token[:]); err != nil {
		return s, bellows.Errorf(bellows.IO, "make", "the job's token", "%w", err)
	}
	s.Saved = l.Saved
	return s, nil
}
