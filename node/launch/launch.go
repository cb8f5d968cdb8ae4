// Package launch runs a job in processes of this machine that it starts: node 0 is the one that calls Processes.Run, and
// each other calls RunChild.
//
// All run the same program with the same arguments. They parse the same flags, read the same files and so make the same
// job, of which nothing is sent: a description of it would be a second form of every setting, to be kept equal to the first.
// What differs comes on the standard input of each:
//
//  1. A process that is started reads a line: who it is, who the others are, and the token of the job (assignment). It is not
//     on the command line, which others on the machine can read.
//  2. It listens, and writes a line to its standard output: where. No address is fixed, or two jobs would meet.
//  3. When all have, it reads a second line: where all of them listen. Then each connects to all others. With tcp its answer has a public key, and the
//     second line a certificate of that, by which the nodes of other hosts know it. Later lines have another, before that runs out.
//  4. The end of its standard input is the order to end. So a leader that is killed leaves nobody behind.
//
// The package refuses to reach for other machines, and to judge what the death of a process means: it tells whoever leads.
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
	Roam  bool
	Saved []byte // where a saved run lies to go on from, and what is saved of this one, for RunChild to pass on; nil: nowhere
	// Later is in the place of Saved for a process that is added while the job runs: it owns nothing when it comes, and what the job went on from may be gone by then.
	// nil: nowhere.
	Later []byte
	// Starter starts the others, in the place of Program and Args; nil: these, on this machine.
	Starter Starter
	// Host is the address of this machine at which the others reach it, with tcp; "": that of the loopback device.
	Host string
	// Output is where what a node's process says on its standard error goes, beside its last lines; nil, or for a node nil: nowhere. Whoever is
	// written to takes it all: no process is held up by it. A Starter of the caller's keeps what it likes.
	Output func(bellows.NodeID) io.Writer
	// Control changes the job while it runs; nil: nobody does.
	Control *Control
	// Succeed is told what another process needs that is to lead in the place of this one, when the first tasks have left and whenever that changes, by one goroutine at a time; nil: nobody
	// is. The others wait for such a one where the times have a Successor.
	Succeed func(Succession)
	// Following has Run go on with the processes of a Run that has died; nil: it starts some. Members, Connections, Transport and Saved are then those of the other, and need not be given.
	Following *Following
	// Notice is how long a process that is told to end, as by SIGTERM, is there still: by then a Control drains it. 0: 30 seconds.
	Notice time.Duration
}

// started names the variable of the environment that marks a process which a Run has started. Such a one starts no others: a
// program that does not look whether it is a child, as the binary of a test, would start itself again and again.
const started = "_BELLOWS_CHILD"

// Run runs a job as node 0, and returns like Train. All processes have ended when it returns, and the folder of their sockets
// is gone. The connections have ended before the processes are told to, so that none of them takes the end of a job for the
// loss of node 0.
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
	if err == nil {
		err = own.Fits(&job)
	}
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
		f.bury(res.Gone)
	}
	return res, err
}

// certify draws the authority of a job whose nodes are joined by TCP, and so may be on several hosts: its key stays in this process.
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

// starter is what starts the others.
func (l Processes) starter() Starter {
	if l.Starter != nil {
		return l.Starter
	}
	return Local{Program: l.Program, Args: l.Args, Output: l.Output}
}

// assign is node 0's assignment, with what the others need to know. The token is drawn for the job: whoever cannot show it
// is turned away at the door of every node.
func (l Processes) assign(folder string, opt node.Options) (assignment, error) {
	s := assignment{Cluster: node.Cluster{Members: l.Members, Connections: l.Connections}, Transport: l.Transport, Host: l.Host, Folder: folder,
		Era: opt.Era, Wire: opt.Wire, Times: opt.Times, Notice: cmp.Or(l.Notice, 30*time.Second)}
	if _, err := rand.Read(s.Token[:]); err != nil {
		return s, bellows.Errorf(bellows.IO, "make", "the job's token", "%w", err)
	}
	s.Saved = l.Saved
	return s, nil
}
