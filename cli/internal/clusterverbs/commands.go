// Package clusterverbs has the commands of a local cluster: up, down, join, submit, jobs, scale, drain, and the
// caller's side of `train --cluster`. Those that are a cluster's own processes are hidden.
//
// Its caller puts Commands below the root of the program. Submit hands a training command to a cluster; ClusterStatus
// is what status shows of it.
package clusterverbs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"bellows"
	"bellows/api"
	"bellows/cli/internal/line"
	"bellows/cli/internal/screen"
	"bellows/cli/internal/watch"
	"bellows/cluster"
	"bellows/figures"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// commands are those of a program with some applications.
type commands struct {
	*screen.Console
	apps   []string
	sample string // a training command, for examples
}

// Commands returns the commands, of a program with these applications. sample is a training command, without the
// program's name.
func Commands(c *screen.Console, apps []string, sample string) []*cobra.Command {
	t := commands{c, apps, sample}
	return []*cobra.Command{t.upCommand(), t.downCommand(), t.joinCommand(), t.submitCommand(), t.jobsCommand(), t.scaleCommand(), t.drainCommand(),
		t.managerCommand(), t.agentCommand()}
}

// Where is which cluster a command means.
type Where struct{ At, Token, State string }

const tokenHelp = "`TOKEN` of the cluster (default: the one in the state folder)"

// Flags declares --cluster and --token, of a command that runs where the first is empty.
func (w *Where) Flags(f *pflag.FlagSet) {
	f.StringVar(&w.At, "cluster", "", "train in the cluster at this `ADDR`: local or HOST:PORT")
	f.StringVar(&w.Token, "token", "", tokenHelp)
}

// flags declares all, for a command of a cluster.
func (w *Where) flags(f *pflag.FlagSet) {
	f.StringVar(&w.At, "cluster", cluster.Local, "`ADDR` of the cluster: local or HOST:PORT")
	f.StringVar(&w.Token, "token", "", tokenHelp)
	watch.StateFlag(f, &w.State)
}

// find returns a client of the cluster.
func (c commands) find(w Where) (*cluster.Client, error) {
	return cluster.Find(w.State, w.At, w.Token, c.Program())
}

// How long a change may take: nodes that come read a job's data first.
const changeWithin = 10 * time.Minute

func (c commands) scaleCommand() *cobra.Command {
	var w Where
	var workers, servers, job int
	cmd := &cobra.Command{
		Use:   "scale",
		Short: "Change how many workers and servers the cluster has",
		Annotations: line.Details("It starts nodes, or removes the last ones, until there are as many as asked for. It returns when they are ready, or " +
			"have left. A running job uses new nodes at once, and hands over its work before a node leaves."),
		Example: "scale --workers 5\nscale --workers 2 --servers 1",
		Args:    line.Exactly(),
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s := cluster.Scale{Job: job}
		if cmd.Flags().Changed("workers") {
			s.Workers = &workers
		}
		if cmd.Flags().Changed("servers") {
			s.Servers = &servers
		}
		if s.Workers == nil && s.Servers == nil {
			return bellows.Errorf(bellows.Usage, cmd.CommandPath(), "", "no number of nodes is given").Hinted("give --workers, --servers or both")
		}
		client, err := c.find(w)
		if err != nil {
			return err
		}
		done, err := client.Scale(cmd.Context(), s, changeWithin)
		if err != nil {
			return err
		}
		return c.done(done)
	}
	cmd.Flags().IntVar(&workers, "workers", 0, "`NUMBER` of nodes that compute")
	cmd.Flags().IntVar(&servers, "servers", 0, "`NUMBER` of nodes that only hold tables")
	cmd.Flags().IntVar(&job, "job", 0, "fail unless the job of this `NUMBER` runs")
	w.flags(cmd.Flags())
	return cmd
}

func (c commands) drainCommand() *cobra.Command {
	var w Where
	var notice time.Duration
	cmd := &cobra.Command{
		Use:   "drain NODE",
		Short: "Remove a node from the cluster after moving its work",
		Annotations: line.Details("The work and the part of the tables that a job has on the node move to other nodes, as far as the notice allows. The " +
			"command returns when the node has left."),
		Example: "drain node-3 --notice 30s\ndrain node-3",
		Args:    line.Exactly("NODE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := c.find(w)
			if err != nil {
				return err
			}
			done, err := client.Drain(cmd.Context(), cluster.Drain{Node: args[0], NoticeMillis: notice.Milliseconds()}, notice+changeWithin)
			if err != nil {
				return err
			}
			return c.done(done)
		},
	}
	cmd.Flags().DurationVar(&notice, "notice", 30*time.Second, "`DURATION` for the node to hand over its work")
	w.flags(cmd.Flags())
	return cmd
}

// done tells what was changed.
func (c commands) done(d cluster.Done) error {
	for _, s := range d.Sentences {
		c.Printf("%s\n", s)
	}
	c.Printf("%s\n", nodes(d.Workers, d.Servers))
	if d.Sentences == nil {
		d.Sentences = []string{}
	}
	return c.Object(d)
}

// nodes says how many there are.
func nodes(workers, servers int) string {
	s := figures.Plural(workers, "worker")
	if servers > 0 {
		s += ", " + figures.Plural(servers, "server")
	}
	return s
}

// jobList is what `jobs --json` prints.
type jobList struct {
	Cluster string        `json:"cluster"`
	Jobs    []cluster.Job `json:"jobs"`
}

func (c commands) jobsCommand() *cobra.Command {
	var w Where
	var cancel, follow int
	cmd := &cobra.Command{
		Use:   "jobs",
		Short: "List the jobs of the cluster",
		Annotations: line.Details("It lists the jobs that were submitted since the cluster was started, the oldest first. They run one after the other, " +
			"each on all nodes. --cancel removes a job from the queue, or interrupts it at a safe point; the same command then resumes it. " +
			"--follow shows the output of a job until its end; Ctrl-C stops showing it, and the job continues."),
		Example: "jobs\njobs --json\njobs --cancel 3\njobs --follow 3",
		Args:    line.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("follow") && cmd.Flags().Changed("cancel") {
				return bellows.Errorf(bellows.Usage, cmd.CommandPath(), "", "--cancel and --follow cannot be combined").Hinted("give one of them")
			}
			client, err := c.find(w)
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("follow") {
				return c.output(cmd.Context(), client, follow)
			}
			if cmd.Flags().Changed("cancel") {
				if err := client.Interrupt(cmd.Context(), cancel); err != nil {
					return err
				}
			}
			s, err := client.Status(cmd.Context())
			if err != nil {
				return err
			}
			for i := range s.Jobs {
				c.Printf("%s\n", jobLine(&s.Jobs[i]))
			}
			if failed := slices.IndexFunc(s.Jobs, func(j cluster.Job) bool { return j.State == cluster.Failed }); failed >= 0 {
				c.Talk("`%s jobs --follow %d` shows the output of job %[2]d", c.Program(), s.Jobs[failed].Job)
			}
			if len(s.Jobs) == 0 {
				c.Talk("no jobs; `%s submit %s` submits one", c.Program(), c.sample)
			}
			return c.Object(jobList{s.Cluster, s.Jobs})
		},
	}
	cmd.Flags().IntVar(&cancel, "cancel", 0, "end the job of this `NUMBER`")
	cmd.Flags().IntVar(&follow, "follow", 0, "show the output of the job of this `NUMBER`")
	w.flags(cmd.Flags())
	return cmd
}

// output shows what a job writes, to its end or until the user stops it.
func (c commands) output(ctx context.Context, client *cluster.Client, job int) error {
	c.Calm.Store(true)
	_, err := client.Output(ctx, job, c.pass)
	if ctx.Err() != nil {
		return nil // as it is meant to end
	}
	return err
}

// pass writes what a job has written.
func (c commands) pass(f cluster.Frame) error {
	if f.Err != nil {
		c.Err.Write(f.Err) // no receiver is left
	}
	_, _ = c.Write(f.Out) // the end of the command says what could not be written
	return nil
}

// jobLine returns a job in one line.
func jobLine(j *cluster.Job) string {
	s := fmt.Sprintf("job %d · %s", j.Job, j.State)
	switch {
	case j.State == cluster.Queued:
		s += fmt.Sprintf(" behind %s", figures.Plural(j.Ahead, "job"))
	case j.ExitCode != nil && *j.ExitCode != 0:
		s += fmt.Sprintf(" with exit code %d", *j.ExitCode)
	}
	if j.Began != nil {
		end := time.Now()
		if j.Ended != nil {
			end = *j.Ended
		}
		s += fmt.Sprintf(" · %s s", figures.Duration(end.Sub(*j.Began).Seconds()))
	}
	if j.Run != "" {
		s += " · " + j.Run
	}
	return s + " · " + j.Command
}

// ClusterStatus returns what `status` shows besides the jobs of the state folder: the cluster that is up there, if one
// is. of is what the jobs report of their nodes.
func ClusterStatus(ctx context.Context, state string, of []api.Node) ([]string, any, error) {
	folder, err := cluster.FindFolder(state)
	if err != nil {
		return nil, nil, err
	}
	if up, err := folder.Up(); err != nil || !up {
		return nil, nil, err
	}
	client, err := cluster.Find(state, cluster.Local, "", "bellows")
	if err != nil {
		return nil, nil, err
	}
	s, err := client.Status(ctx)
	if err != nil {
		return nil, nil, err
	}
	lines := []string{fmt.Sprintf("cluster at %s · %s · %s", s.Cluster, nodes(s.Count("worker"), len(s.Nodes)-s.Count("worker")-gone(&s)), jobsOf(&s))}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if at := slices.IndexFunc(of, func(o api.Node) bool { return n.Job != 0 && o.PID == n.PID }); at >= 0 {
			n.Splits, n.Partitions = of[at].Splits, of[at].Partitions
		}
		lines = append(lines, nodeLine(n))
	}
	return lines, s, nil
}

// nodeLine returns a node in one line.
func nodeLine(n *cluster.Node) string {
	if n.State == cluster.Gone {
		return fmt.Sprintf("%s is lost: %s", n.ID, n.Why)
	}
	line := fmt.Sprintf("%-8s  process %-8d %-14s %-8s %s", n.ID, n.PID, strings.Join(n.Roles, " "), n.State, figures.Plural(n.Slots, "slot"))
	if n.Job != 0 {
		line += fmt.Sprintf("  job %d: %s, %s", n.Job, figures.Plural(n.Splits, "split"), figures.Plural(n.Partitions, "partition"))
	}
	return line
}

func gone(s *cluster.Status) (n int) {
	for i := range s.Nodes {
		if s.Nodes[i].State == cluster.Gone {
			n++
		}
	}
	return n
}

func jobsOf(s *cluster.Status) string {
	running, queued := 0, 0
	for i := range s.Jobs {
		switch s.Jobs[i].State {
		case cluster.Running:
			running = s.Jobs[i].Job
		case cluster.Queued:
			queued++
		}
	}
	switch {
	case running == 0:
		return "no job"
	case queued == 0:
		return fmt.Sprintf("job %d runs", running)
	}
	return fmt.Sprintf("job %d runs, %s queued", running, figures.Plural(queued, "job"))
}
