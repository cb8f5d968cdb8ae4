package watch

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"bellows"
	"bellows/api"
	"bellows/cli/internal/line"
	"bellows/cli/internal/screen"
	"bellows/run/board"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// ClusterStatus returns what status shows besides jobs, as lines and as an object for JSON; neither: nothing. of has
// the nodes of the jobs.
type ClusterStatus func(ctx context.Context, state string, of []api.Node) ([]string, any, error)

// Commands returns status and top. job is the name of a job, for their examples.
func Commands(c *screen.Console, job string, beside ClusterStatus) []*cobra.Command {
	w := watcher{c, beside}
	return []*cobra.Command{w.statusCommand(job), w.topCommand(job)}
}

// watcher shows jobs on a console.
type watcher struct {
	*screen.Console
	beside ClusterStatus
}

const stateHelp = "state `FOLDER` (default: bellows in the user's state folder)"

// StateFolder returns where sockets of running jobs are without --state; empty where no such folder is known.
func StateFolder() string {
	folder, err := board.Folder("")
	if err != nil {
		return ""
	}
	return folder
}

// StateFlag declares --state.
func StateFlag(f *pflag.FlagSet, to *string) { f.StringVar(to, "state", "", stateHelp) }

func (c watcher) statusCommand(job string) *cobra.Command {
	var state string
	cmd := &cobra.Command{
		Use:   "status [JOB]",
		Short: "Show how far a running job is and where its time goes",
		Annotations: line.Details("Without JOB, and if several jobs run, it lists the jobs that this user runs on this machine. Of JOB, or of the " +
			"only job, it shows the nodes, the clock, where the time of its compute slots went, its traffic, how stale its reads were, and its " +
			"last events. JOB is the name of the run folder, the process number, or both: mf-1.4711."),
		Example: "status\nstatus " + job + " --json",
		Args:    atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.status(cmd.Context(), state, word(args))
		},
	}
	StateFlag(cmd.Flags(), &state)
	return cmd
}

func (c watcher) topCommand(job string) *cobra.Command {
	t := top{watcher: c}
	cmd := &cobra.Command{
		Use:   "top [JOB]",
		Short: "Watch a running job",
		Annotations: line.Details("It repeats what status shows, with the shares of time and the traffic since the update before, until the job " +
			"ends or Ctrl-C. If standard output is not a terminal, it prints one line for each update."),
		Example: "top\ntop " + job + " --interval 5s",
		Args:    atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if t.interval < intervalLeast || t.interval > intervalMost {
				return bellows.Errorf(bellows.Usage, "set", "--interval="+t.interval.String(), "it must be from %v to %v", intervalLeast, intervalMost)
			}
			c.Calm.Store(true)
			return t.run(cmd.Context(), word(args))
		},
	}
	StateFlag(cmd.Flags(), &t.state)
	cmd.Flags().DurationVar(&t.interval, "interval", time.Second, "`DURATION` between two updates")
	cmd.Flags().BoolVar(&t.once, "once", false, "print one update after an interval, then end")
	return cmd
}

func atMostOne(cmd *cobra.Command, args []string) error {
	if len(args) <= 1 {
		return nil
	}
	err := bellows.Errorf(bellows.Usage, cmd.CommandPath(), "", "one JOB at most, and %d given", len(args))
	err.Hint = "call it as " + cmd.CommandPath() + " [JOB]"
	return err
}

func word(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// write writes lines, or what JSON has instead.
func (c watcher) write(lines []string, object any) error {
	if c.JSON {
		return c.Object(object)
	}
	_, err := c.Write([]byte(strings.Join(lines, "\n") + "\n"))
	return err
}

func (c watcher) status(ctx context.Context, state, word string) error {
	answers, err := board.Ask(ctx, state, word)
	if word == "" {
		shown, wrong := c.showCluster(ctx, state, answers)
		if wrong != nil || shown && err != nil {
			return wrong
		}
	}
	if err != nil {
		return err
	}
	var silent error
	for _, a := range answers {
		if a.Err != nil {
			silent = a.Err
			if len(answers) > 1 && !c.JSON {
				err = c.write([]string{a.Err.Error()}, nil)
			}
		} else if len(answers) == 1 {
			err = c.write(render(&a.Status, nil, c.Width()), a.Status)
		} else {
			err = c.write([]string{brief(&a.Status)}, a.Status)
		}
		if err != nil {
			return err
		}
	}
	return silent
}

// showCluster shows the cluster's status, if there is one.
func (c watcher) showCluster(ctx context.Context, state string, answers []board.Answer) (shown bool, err error) {
	if c.beside == nil {
		return false, nil
	}
	var nodes []api.Node
	for _, a := range answers {
		nodes = append(nodes, a.Status.Nodes...)
	}
	lines, object, err := c.beside(ctx, state, nodes)
	if err != nil || object == nil {
		return false, err
	}
	return true, c.write(lines, object)
}

// top is one call of that command.
type top struct {
	watcher
	state    string
	interval time.Duration
	once     bool
}

// The intervals between two looks.
const (
	intervalLeast = 100 * time.Millisecond
	intervalMost  = time.Hour
)

// run looks at one job until it is gone.
func (t *top) run(ctx context.Context, word string) error {
	answers, err := board.Ask(ctx, t.state, word)
	if err != nil {
		return err
	}
	if len(answers) > 1 {
		var names []string
		for _, a := range answers {
			names = append(names, fmt.Sprintf("%s.%d", a.Job.Name, a.Job.PID))
		}
		several := bellows.Errorf(bellows.Usage, "watch", "", "%d jobs are running", len(answers))
		several.Hint = "name one of " + strings.Join(names, ", ")
		return several
	}
	first := answers[0]
	if first.Err != nil {
		return first.Err
	}
	return t.follow(ctx, first.Job, &first.Status)
}

// follow shows a job, and then what it did between one look and the next.
func (t *top) follow(ctx context.Context, j board.Job, last *api.Status) error {
	if !t.once {
		if err := t.show(last, nil); err != nil {
			return err
		}
	}
	ticker := time.NewTicker(t.interval)
	defer ticker.Stop()
	before := last // that the next look is compared with; nil: with none
	for {
		select {
		case <-ctx.Done():
			return nil // as it is meant to end
		case <-ticker.C:
		}
		s, err := j.Status(ctx)
		// A process that ends may reset connections before its socket refuses them.
		for asked := time.Now(); err != nil && !j.Dead(err) && ctx.Err() == nil && time.Since(asked) < againWithin; {
			time.Sleep(heirEvery)
			s, err = j.Status(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && j.Dead(err):
			o, now, led := t.successorOf(ctx, j, last)
			if !led {
				return t.gone(j)
			}
			if err := t.follows(j, o); err != nil {
				return err
			}
			j, last, before = o, &now, nil
			continue
		case err != nil:
			return err
		}
		if err := t.show(&s, before); err != nil || t.once {
			return err
		}
		last, before = &s, &s
	}
}

// How long another process may take to lead a job whose nodes continue, and one whose nodes have ended, and how often
// to check.
const (
	heirWithin  = time.Minute
	againWithin = 3 * time.Second
	heirEvery   = 50 * time.Millisecond
)

// successorOf returns a job under a new leader, if its leader died and it had other nodes, as in a cluster; false:
// none.
func (t *top) successorOf(ctx context.Context, j board.Job, last *api.Status) (_ board.Job, s api.Status, led bool) {
	others := slices.DeleteFunc(slices.Clone(last.Nodes), func(n api.Node) bool { return n.PID < 2 || n.PID == j.PID })
	folder, err := board.Folder(t.state)
	if err != nil || last.State == api.Ended || len(others) == 0 {
		return j, s, false
	}
	tick := time.NewTicker(heirEvery)
	defer tick.Stop()
	died := time.Now()
	for alive := died; time.Since(died) < heirWithin && time.Since(alive) < againWithin; {
		list, err := board.Jobs(folder)
		for _, o := range list {
			if o.Name != j.Name || o.PID == j.PID {
				continue
			}
			if s, err := o.Status(ctx); err == nil && s.Model == last.Model {
				return o, s, true
			}
		}
		if slices.ContainsFunc(others, func(n api.Node) bool { return syscall.Kill(n.PID, 0) == nil }) {
			alive = time.Now()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return j, s, false
		}
		if err != nil {
			return j, s, false
		}
	}
	return j, s, false
}

// follows says that another process leads the job.
func (t *top) follows(j, o board.Job) error {
	if t.JSON {
		return nil
	}
	return t.write([]string{fmt.Sprintf("%v has ended, and %v leads the job in its place", j, o)}, nil)
}

// gone says that the job does not run any more.
func (t *top) gone(j board.Job) error {
	if t.JSON {
		return nil
	}
	return t.write([]string{j.String() + " has ended"}, nil)
}

// show writes the job: over what was there before, where that is a terminal.
func (t *top) show(now, before *api.Status) error {
	f, isFile := t.Out.(*os.File)
	if t.JSON || !isFile || !term.IsTerminal(int(f.Fd())) || !screen.Obeys() {
		return t.write([]string{pulse(now, before)}, now)
	}
	columns, rows, err := term.GetSize(int(f.Fd()))
	if err != nil {
		columns, rows = 80, 24
	}
	_, err = io.WriteString(t.Console, page(render(now, before, columns), columns, rows))
	return err
}

// page returns lines over all of a terminal's screen: the first ones, each cut off where the terminal ends.
func page(lines []string, columns, rows int) string {
	var b strings.Builder
	b.WriteString("\x1b[H")
	for _, line := range lines[:min(len(lines), max(1, rows-1))] {
		if utf8.RuneCountInString(line) > columns {
			line = string([]rune(line)[:columns])
		}
		b.WriteString(line + "\x1b[K\r\n")
	}
	b.WriteString("\x1b[J")
	return b.String()
}
