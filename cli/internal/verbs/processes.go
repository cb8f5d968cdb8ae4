package verbs

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"bellows"
	"bellows/app"
	"bellows/cli/internal/clusterverbs"
	"bellows/cli/internal/line"
	"bellows/cli/internal/testhook"
	"bellows/cluster/lead"
	"bellows/figures"
	"bellows/node"
	"bellows/node/launch"
	"bellows/progress"
	"bellows/run"
	"bellows/vec"
)

// clusterOptions are the flags for the number of processes of a job; without them it runs in this one. None of them
// changes the result, except the format of values on the wire (processes.txtar), and none is in run.json: a run may
// resume in other processes.
type clusterOptions struct {
	processes   int
	servers     string
	transport   string
	wire        string
	format      vec.Format // of wire
	pairs       string     // connections of each pair of processes
	connections int
	pin         bool // each process keeps to its share of the processors
	child       bool // this process was started for a part of another's job
	notice      time.Duration
	clusterverbs.Where
	lead *lead.Lead // this process was started to lead a job of a cluster
}

// isDistributed reports whether the job runs in more processes than this one.
func (o *clusterOptions) isDistributed() bool {
	return o.processes > 0 || o.At != "" || o.lead != nil || o.child
}

// auto reports whether small tables may all be on one node. For a resumed job that is already decided.
func (o *clusterOptions) auto() bool {
	if o.lead != nil {
		return !o.lead.HasServersOnly() && o.lead.Follows() == nil
	}
	return o.servers == "auto"
}

// alone is why flags that say how processes talk mean nothing for one.
const alone = "nothing travels within one process; give --processes too"

// processesMost bounds what one machine is asked to start.
const processesMost = 256

// members returns the nodes of a job with that many compute slots in all: this process, which leads, and the
// others. With servers, the last of them hold the tables and run no tasks; without, each does both.
func (o *clusterOptions) members(slots int) ([]node.Member, error) {
	if o.processes < 0 || o.processes > processesMost {
		return nil, line.BadFlag("processes", strconv.Itoa(o.processes), "it must be from 0, for this process alone, to %d", processesMost)
	}
	if o.transport != "unix" && o.transport != "tcp" {
		return nil, line.BadFlag("transport", o.transport, "it must be unix or tcp")
	}
	if f, err := vec.ParseFormat(o.wire); err != nil {
		return nil, line.BadFlag("wire", o.wire, "%v", err)
	} else if o.format = f; f != vec.Float32 && !o.isDistributed() {
		return nil, line.BadFlag("wire", o.wire, alone)
	}
	var err error
	if o.connections, err = node.ParseConnections(o.pairs); err != nil {
		return nil, line.BadFlag("connections", o.pairs, "%v", err)
	}
	switch {
	case o.isDistributed():
	case o.transport != "unix":
		return nil, line.BadFlag("transport", o.transport, alone)
	case o.pairs != "auto":
		return nil, line.BadFlag("connections", o.pairs, alone)
	}
	if o.notice < 0 {
		return nil, line.BadFlag("notice", o.notice.String(), "it must not be negative")
	}
	if o.At != "" || o.lead != nil {
		return o.placed(slots)
	}
	servers := 0
	if o.servers != "auto" {
		n, err := strconv.Atoi(o.servers)
		if err != nil || n < 1 || n >= max(1, o.processes) {
			return nil, line.BadFlag("servers", o.servers, "it must be auto or a number from 1 to less than --processes, which is %d", o.processes)
		}
		servers = n
	}
	if o.processes == 0 {
		return []node.Member{{Slots: slots, Lanes: slots}}, nil
	}
	workers := o.processes - servers
	list := []node.Member{{}}
	for i := range o.processes {
		m := node.Member{Node: bellows.NodeID(i + 1)}
		if i < workers {
			m.Slots = max(1, slots*(i+1)/workers-slots*i/workers)
		}
		switch {
		case servers == 0:
			m.Lanes = max(m.Slots, o.connections-1) // each connection but the first has a lane
		case i >= workers:
			m.Lanes = max(1, slots/servers, o.connections-1)
		}
		list = append(list, m)
	}
	return list, nil
}

// placed returns the members of a job that runs in a cluster, whose nodes are given.
func (o *clusterOptions) placed(slots int) ([]node.Member, error) {
	switch {
	case o.processes > 0:
		return nil, line.BadFlag("processes", strconv.Itoa(o.processes), "the job runs in the nodes of a cluster, as many as it has; leave one of --cluster and --processes out")
	case o.servers != "auto":
		return nil, line.BadFlag("servers", o.servers, "the cluster's nodes have their roles already; `scale --servers` changes how many there are")
	case o.lead == nil: // it runs elsewhere
		return []node.Member{{Slots: slots, Lanes: slots}}, nil
	}
	return o.lead.Members(o.connections), nil
}

// membership returns the members in numbers.
func membership(list []node.Member) members {
	m := members{Processes: len(list) - 1}
	for _, o := range list {
		m.Workers += o.Slots
		if o.Lanes > 0 {
			m.Servers++
		}
	}
	return m
}

// place says where a job runs, for the headline.
func (m members) place() string {
	if m.Processes == 0 {
		return "one process, " + figures.Plural(m.Workers, "worker")
	}
	return fmt.Sprintf("%s, %s, %s", figures.Plural(m.Processes, "process"), figures.Plural(m.Workers, "worker"), figures.Plural(m.Servers, "server"))
}

func (m members) String() string { return fmt.Sprintf("%dw %ds", m.Workers, m.Servers) }

// lead runs the job as node 0 of processes that it starts and ends.
func (t *training) lead(ctx context.Context, opt node.Options) (*node.Result, error) {
	if t.Lead != nil && !t.folder.Live && (opt.Checkpoints != nil || t.folder.Saved != nil) {
		if err := t.folder.Prove(ctx); err != nil {
			return nil, err
		}
	}
	if err := t.folder.Enter(); err != nil {
		return nil, err
	}
	saved, later, err := t.folder.Reference(opt.Checkpoints != nil)
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, bellows.Errorf(bellows.IO, "find", "this program", "%w", err)
	}
	opt.Times.Join = joinWithin(t.prepared, len(t.members)).Milliseconds()
	c := &t.opt.cluster
	if l := c.lead; l != nil {
		if err := l.Reads(t.folder.Saved != nil && !t.folder.Named()); err != nil {
			return nil, err
		}
		args := clusterverbs.WithFlags(slices.Concat(os.Args[:1], t.Args), "--child", t.workers(), "--kernels="+vec.Kernels())
		opt.Times.Successor = opt.Times.Join
		control := &launch.Control{}
		l.Serve(control)
		return launch.Processes{Program: program, Control: control, Succeed: l.Succeed, Following: t.Follow(t.folder, t.folder.Output.WriterOf), Starter: l.Processes(args, t.folder.Output.WriterOf), Host: l.Host, Members: t.members, Connections: c.connections, Transport: "tcp",
			Roam: !c.pin, Saved: saved, Later: later, Notice: c.notice}.Run(ctx, t.made.Job, opt)
	}
	return launch.Processes{Program: program, Args: slices.Concat(os.Args[:1], t.Args, []string{"--child"}),
		Members: t.members, Connections: c.connections, Transport: c.transport, Roam: !c.pin, Saved: saved, Later: later,
		Control: &launch.Control{}, Notice: c.notice, Output: t.folder.Output.WriterOf}.Run(ctx, t.made.Job, opt)
}

// joinWithin returns how long processes may take to join: a minute, and twice what reading and preparing took here
// for each of them, since they do the same all at once, on processors that may be few.
func joinWithin(prepared time.Duration, processes int) time.Duration {
	return time.Minute + 2*time.Duration(processes)*prepared
}

// runChild takes this process's assignment in the job of the one that started it: it reads and prepares the same,
// and runs its part.
func (c *Tool) runChild(ctx context.Context, a app.Application, files []string, opt *trainOptions) error {
	var in inputs
	defer in.close()
	return launch.RunChild(ctx, c.In, c.Out, func(ctx context.Context, reference []byte) (part launch.Part, err error) {
		meter := progress.New(ctx)
		o, err := newOrder(a, files, opt)
		if err == nil {
			err = in.read(ctx, o, c.In, meter)
		}
		if err != nil {
			return part, err
		}
		made, err := o.job(&in, meter)
		if err != nil {
			return part, err
		}
		testhook.Install(made)
		part.Job = made.Job
		part.Checkpoints, part.Saved, err = run.Refer(ctx, reference, made.Job.Tables)
		return part, err
	})
}
