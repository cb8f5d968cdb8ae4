package watch

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"bellows"
	"bellows/cli/internal/line"
	"bellows/cli/internal/screen"
	"bellows/run"
	"bellows/run/history"

	"github.com/spf13/cobra"
)

// logs is one call of that command.
type logs struct {
	*screen.Console
	node   int // -1: all
	lines  int
	follow bool
}

// followEvery is how often --follow looks for more lines.
const followEvery = 200 * time.Millisecond

// linesMost bounds --lines: no file of a run has as many.
const linesMost = 1 << 20

func logsCommand(c *screen.Console, model string) *cobra.Command {
	l := logs{Console: c}
	cmd := &cobra.Command{
		Use:   "logs RUN",
		Short: "Show the log output of a run's processes",
		Annotations: line.Details("It prints the last lines that each process of a run wrote to standard error, and how the process ended. The last " +
			"MiB is kept, for runs in several processes. Node 0 is the training command itself: its messages are on its own screen, and in `events`."),
		Example: "logs " + model + "\nlogs " + model + " --node 2 --lines 50\nlogs " + model + " --follow",
		Args:    line.Exactly("RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case cmd.Flag("node").Changed && (l.node < 0 || l.node > 1<<16-1):
				return line.BadFlag("node", strconv.Itoa(l.node), "it must be the number of a node, as in 2 for node-2")
			case l.lines < 1 || l.lines > linesMost:
				return line.BadFlag("lines", strconv.Itoa(l.lines), "it must be from 1 to %d", linesMost)
			}
			return l.run(cmd.Context(), args[0])
		},
	}
	cmd.Flags().IntVar(&l.node, "node", -1, "`NUMBER` of the node to show (default: all)")
	cmd.Flags().IntVar(&l.lines, "lines", 100, "largest `NUMBER` of lines of each process")
	cmd.Flags().BoolVar(&l.follow, "follow", false, "continue until the process of the run ends")
	return cmd
}

func (l *logs) run(ctx context.Context, dir string) error {
	past, err := run.Look(dir)
	if err != nil {
		return err
	}
	name := filepath.Join(dir, run.OutputFile)
	l.Calm.Store(l.follow)
	var last time.Time // of what was looked at: older lines may go meanwhile
	first, shown := true, 0
	for {
		list, err := history.ReadOutput(name)
		if err != nil {
			return err
		}
		fresh := slices.DeleteFunc(list, func(s history.Line) bool { return !s.Time.After(last) })
		if first {
			fresh, first = l.last(fresh), false
		}
		for i := range fresh {
			if l.node >= 0 && fresh[i].Node != fmt.Sprintf("node-%d", l.node) {
				continue
			}
			shown++
			if err := l.show(&fresh[i]); err != nil {
				return err
			}
		}
		if len(fresh) > 0 {
			last = fresh[len(fresh)-1].Time
		}
		if !l.follow || !past.Busy {
			break
		}
		select {
		case <-ctx.Done():
			return nil // as it is meant to end
		case <-time.After(followEvery):
		}
		if past, err = run.Look(dir); err != nil {
			return err
		}
	}
	if shown == 0 && !l.JSON {
		who := "a process"
		if l.node >= 0 {
			who = fmt.Sprintf("node-%d", l.node)
		}
		l.Talk("%s keeps no output of %s", dir, who)
	}
	return nil
}

// last returns the last lines of each process, in the order in which they were said.
func (l *logs) last(list []history.Line) (out []history.Line) {
	count := map[string]int{}
	for _, s := range slices.Backward(list) {
		if count[s.Node]++; count[s.Node] <= l.lines {
			out = append(out, s)
		}
	}
	slices.Reverse(out)
	return out
}

// show prints one line.
func (l *logs) show(s *history.Line) error {
	l.Printf("%s  %s  %s\n", s.Time.Local().Format(time.DateTime), s.Node, bellows.Printable(s.Text, sentenceMost))
	return l.Object(s)
}
