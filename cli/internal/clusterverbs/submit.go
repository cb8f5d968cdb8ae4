package clusterverbs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"bellows"
	"bellows/cli/internal/line"
	"bellows/cli/internal/screen"
	"bellows/cluster"
	"bellows/figures"

	"github.com/spf13/cobra"
)

// detached marks the context of a command that submit hands in.
type detached struct{}

// detachment is where submit hands a command in, and which words it is.
type detachment struct {
	Where
	args []string
}

// Detached returns the cluster that `submit` hands a training command to, if it does.
func Detached(ctx context.Context) bool { return ctx.Value(detached{}) != nil }

func (c commands) submitCommand() *cobra.Command {
	var w Where
	cmd := &cobra.Command{
		Use:   "submit COMMAND...",
		Short: "Submit a training command to the cluster and return",
		Annotations: line.Details("It prints the number of the job and its run folder, and returns at once. The flags of the training command follow the " +
			"command. Jobs run one after the other: `jobs` lists them, `status` and `top` show how far they are."),
		Example: "submit " + c.sample + "\nsubmit --cluster 10.0.0.7:7070 " + c.sample,
		Args:    line.AtLeastOne("COMMAND"),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		sub, rest, err := cmd.Root().Find(args)
		top := sub
		for top != nil && top.Parent() != nil && top.Parent().HasParent() {
			top = top.Parent()
		}
		if err != nil || sub == nil || sub == top || top.Name() != "train" && top.Name() != "demo" {
			return bellows.Errorf(bellows.Usage, cmd.CommandPath(), "", "%q is no training command", strings.Join(args, " ")).Hinted("call it as " + cmd.CommandPath() + " " + c.sample)
		}
		json := c.JSON
		sub.InheritedFlags() // so that those of the root are known
		if err := sub.ParseFlags(rest); err != nil {
			return sub.FlagErrorFunc()(sub, err)
		}
		if err := line.Fill(sub, os.Environ()); err != nil {
			return err
		}
		words := sub.Flags().Args()
		if err := sub.ValidateArgs(words); err != nil {
			return err
		}
		c.JSON = c.JSON || json
		sub.SetContext(context.WithValue(cmd.Context(), detached{}, &detachment{w, args}))
		return sub.RunE(sub, words)
	}
	cmd.Flags().SetInterspersed(false)
	w.flags(cmd.Flags())
	return cmd
}

// Submit hands a training command to a cluster. One of `train --cluster` is followed to its end, as if it ran here; one of `submit` is not. out is its run folder, where the
// command names it; else prefix is the folder's name without its number.
func Submit(ctx context.Context, c *screen.Console, apps []string, w Where, app, prefix, out string) error {
	t := commands{Console: c, apps: apps}
	request := cluster.Submission{App: app, Word: os.Args[0], Args: c.Args, Run: out}
	d, away := ctx.Value(detached{}).(*detachment)
	if away {
		w, request.Args = d.Where, d.args
	}
	client, err := t.find(w)
	if err != nil {
		return err
	}
	if request.Dir, err = os.Getwd(); err != nil {
		return bellows.Errorf(bellows.IO, "find", "the working directory", "%w", err)
	}
	for _, v := range os.Environ() {
		if strings.HasPrefix(v, "BELLOWS_") {
			request.Env = append(request.Env, v)
		}
	}
	if request.Program, err = cluster.ThisProgram(c.Name, apps); err != nil {
		return err
	}
	if !away {
		request.Terminal = (*cluster.Terminal)(c.Terminal())
	}
	if away && out == "" {
		if err := t.name(ctx, client, &request, prefix); err != nil {
			return err
		}
	}
	request = request.WithoutToken()
	if err := request.Check(); err != nil {
		return err
	}
	j, err := client.Submit(ctx, request)
	if err != nil {
		return err
	}
	if !away {
		return t.follow(ctx, w, client, j)
	}
	c.Printf("%s\n", jobLine(&j))
	state := c.Repeat("state")
	next := "status" + state
	if j.State == cluster.Queued {
		c.Talk("jobs run one after the other: it begins when %s before it %s ended", figures.Plural(j.Ahead, "job"), hasOrHave(j.Ahead))
		next = fmt.Sprintf("jobs --cancel %d%s%s", j.Job, state, c.Repeat("cluster"))
	}
	c.Printf("next:  %s jobs%s%s  ·  %[1]s %[4]s\n", c.Program(), state, c.Repeat("cluster"), next)
	return c.Object(j)
}

func hasOrHave(n int) string {
	if n == 1 {
		return "has"
	}
	return "have"
}

// name gives a job the next run folder with that prefix, so that submit can print it before the job runs.
func (c commands) name(ctx context.Context, client *cluster.Client, r *cluster.Submission, prefix string) error {
	s, err := client.Status(ctx)
	if err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join("runs", prefix+"-*"))
	if err != nil {
		return bellows.Errorf(bellows.IO, "look into", "runs", "%w", err)
	}
	for i := range s.Jobs {
		if s.Jobs[i].Dir == r.Dir {
			old = append(old, s.Jobs[i].Run)
		}
	}
	last := 0
	for _, dir := range old {
		if digits, is := strings.CutPrefix(filepath.Base(dir), prefix+"-"); is {
			if n, err := strconv.Atoi(digits); err == nil {
				last = max(last, n)
			}
		}
	}
	r.Run = filepath.Join("runs", fmt.Sprintf("%s-%d", prefix, last+1))
	r.Args = WithFlags(r.Args, "--out="+r.Run)
	return nil
}

// WithFlags returns the words of a command with more flags, which go before others of their name.
func WithFlags(args []string, flags ...string) []string {
	at := slices.Index(args, "--")
	if at < 0 {
		at = len(args)
	}
	return slices.Concat(args[:at], flags, args[at:])
}

// interruptWithin is how long the manager may take to hear of an interruption.
const interruptWithin = 10 * time.Second

// follow shows a job as if it ran here, to its end. An interruption is the job's; the end of the terminal is this command's alone. Where the manager is lost, that which follows it in the same state folder is
// asked, and what the job writes from then on is shown.
func (c commands) follow(ctx context.Context, w Where, client *cluster.Client, j cluster.Job) error {
	c.Calm.Store(true) // the job says what an interruption does
	if j.State == cluster.Queued {
		c.Talk("job %d waits: jobs run one after the other, and it begins when %s before it %s ended; Ctrl-C takes it out of the queue", j.Job, figures.Plural(j.Ahead, "job"), hasOrHave(j.Ahead))
	}
	var at atomic.Pointer[cluster.Client]
	at.Store(client)
	reading, leave := context.WithCancelCause(context.WithoutCancel(ctx))
	defer leave(nil)
	stop := context.AfterFunc(ctx, func() {
		if errors.Is(context.Cause(ctx), screen.ErrHungUp) {
			leave(screen.ErrHungUp)
			return
		}
		asking, cancel := context.WithTimeout(reading, interruptWithin)
		defer cancel()
		if err := at.Load().Interrupt(asking, j.Job); err != nil {
			c.Talk("%v", err)
		}
	})
	defer stop()
	code, err := client.Output(reading, j.Job, c.pass)
	for tries := 0; err != nil && cluster.ManagerLost(err) && tries < anotherMost && w.At == cluster.Local && ctx.Err() == nil; tries++ { // another may be lost as soon as it is found
		next, why := c.another(ctx, w, &j, err)
		if why != nil {
			err = why
			break
		}
		at.Store(next)
		if code, err = next.Output(reading, j.Job, c.pass); err != nil && j.ExitCode != nil { // it was over when that manager came, which has nothing that it has written
			code, err = *j.ExitCode, nil
		}
	}
	switch {
	case errors.Is(context.Cause(reading), screen.ErrHungUp):
		return bellows.Errorf(bellows.Interrupted, "follow", fmt.Sprintf("job %d", j.Job), "the terminal was closed; the job continues")
	case err != nil:
		return err
	case code != 0:
		return screen.Said{Code: code}
	}
	return nil
}

// How long a watcher waits for the manager that follows one that was lost, how often it looks, and how many it takes up with.
const (
	anotherWithin = 5 * time.Minute
	lookEvery     = 500 * time.Millisecond
	anotherMost   = 20 // managers that are found, one after the other
)

// another returns the client of the manager that follows, when it is up and has the job that is meant, which is then
// as that one has it. lost is why another is wanted.
func (c commands) another(ctx context.Context, w Where, j *cluster.Job, lost error) (*cluster.Client, error) {
	c.Talk("the cluster's manager is gone: the next `%s up` resumes job %d; waiting at most %v for it; Ctrl-C stops waiting", c.Program(), j.Job, anotherWithin)
	tick, late := time.NewTicker(lookEvery), time.NewTimer(anotherWithin)
	defer tick.Stop()
	defer late.Stop()
	for {
		select {
		case <-tick.C:
		case <-late.C:
			return nil, lost
		case <-ctx.Done():
			return nil, bellows.Errorf(bellows.Interrupted, "follow", fmt.Sprintf("job %d", j.Job), "its manager is gone, and no other is running").Hinted(fmt.Sprintf("call `%s up` to resume it", c.Program()))
		}
		client, err := c.find(w)
		if err != nil {
			continue // not yet
		}
		s, err := client.Status(ctx)
		if err != nil {
			continue
		}
		at := slices.IndexFunc(s.Jobs, func(o cluster.Job) bool { return o.Job == j.Job && o.Submitted.Equal(j.Submitted) })
		if at < 0 {
			return nil, bellows.Errorf(bellows.Lost, "follow", fmt.Sprintf("job %d", j.Job), "the running cluster does not have it").Hinted("repeat the command to resume from the last checkpoint")
		}
		*j = s.Jobs[at]
		return client, nil
	}
}
