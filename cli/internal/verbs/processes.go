package verbs

import (
	"context"
	"os"
	"slices"
	"time"

	"bellows"
	"bellows/app"
	"bellows/cli/internal/clusterverbs"
	"bellows/cli/internal/testhook"
	"bellows/node"
	"bellows/node/elastic"
	"bellows/node/launch"
	"bellows/policy/advise"
	"bellows/progress"
	"bellows/run"
	"bellows/vec"
)

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
	var advice *elastic.Advice
	if c.Reshapes() {
		advice = &elastic.Advice{Advisor: advise.Advisor{Ask: c.Ask, State: t.advice}, Acts: c.Shape == "auto"}
	}
	if l := c.Lead; l != nil {
		if err := l.Reads(t.folder.Saved != nil && !t.folder.Named()); err != nil {
			return nil, err
		}
		args := clusterverbs.WithFlags(slices.Concat(os.Args[:1], t.Args), "--child", t.workers(), "--kernels="+vec.Kernels())
		opt.Times.Successor = opt.Times.Join
		control := &launch.Control{}
		l.Serve(control)
		return launch.Processes{Program: program, Control: control, Advice: advice, Succeed: l.Succeed, Following: t.Follow(t.folder, t.folder.Output.WriterOf), Starter: l.Processes(args, t.folder.Output.WriterOf), Host: l.Host, Members: t.members, Connections: c.Connections, Transport: "tcp",
			Roam: c.Roam, Saved: saved, Later: later, Notice: c.Notice}.Run(ctx, t.made.Job, opt)
	}
	return launch.Processes{Program: program, Advice: advice, Args: slices.Concat(os.Args[:1], t.Args, []string{"--child"}),
		Members: t.members, Connections: c.Connections, Transport: c.Sockets(), Roam: c.Roam, Saved: saved, Later: later,
		Control: &launch.Control{}, Notice: c.Notice, Output: t.folder.Output.WriterOf}.Run(ctx, t.made.Job, opt)
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
