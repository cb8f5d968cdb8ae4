package past

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"bellows"
	"bellows/cli/internal/line"
	"bellows/cli/internal/run"
	"bellows/cli/internal/screen"

	"github.com/spf13/cobra"
)

// logs is one call of that command.
type logs struct {
	*screen.Console
	node   int // -1: all
	lines  int
	follow bool
}

// linesMost bounds --lines: no file of a run has as many.
const linesMost = 1 << 20

func logsCommand(c *screen.Console, model string) *cobra.Command {
	l := logs{Console: c}
	cmd := &cobra.Command{
		Use:   "logs RUN",
		Short: "What the processes of a run have said",
		Long: "Print the last lines that each process of a run folder has said on its standard error, and how it ended. They are kept for\n" +
			"runs in several processes, the last MiB. Node 0 is the command itself: what it says is on its own screen, and in `events`.",
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
	cmd.Flags().IntVar(&l.node, "node", -1, "`number` of the node whose process is meant (default all)")
	cmd.Flags().IntVar(&l.lines, "lines", 100, "how many lines of each process at most")
	cmd.Flags().BoolVar(&l.follow, "follow", false, "go on while the run's process does")
	return cmd
}

// said is one line of a process.
type said struct {
	Time time.Time `json:"time"`
	Node string    `json:"node"`
	Line string    `json:"line"`
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
		list, err := readSaid(name)
		if err != nil {
			return err
		}
		fresh := slices.DeleteFunc(list, func(s said) bool { return !s.Time.After(last) })
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
		case <-time.After(lookEvery):
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
		l.Talk("nothing is kept in %s that %s has said", dir, who)
	}
	return nil
}

// last is the last lines of each process, in the order in which they were said.
func (l *logs) last(list []said) (out []said) {
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
func (l *logs) show(s *said) error {
	l.Printf("%s  %s  %s\n", s.Time.Local().Format(time.DateTime), s.Node, bellows.Printable(s.Line, sentenceMost))
	return l.Object(s)
}

// readSaid is all lines of a file; none where it is not there. A last one that is being written is left out, and one that is none is an error.
func readSaid(name string) (list []said, err error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, bellows.Errorf(bellows.NoInput, "read lines of", name, "%w", bellows.Pathless(err))
	}
	number := 0
	for row := range strings.Lines(string(text)) {
		number++
		if !strings.HasSuffix(row, "\n") {
			break
		}
		stamp, rest, _ := strings.Cut(strings.TrimSuffix(row, "\n"), " ")
		node, words, ok := strings.Cut(rest, " ")
		at, err := time.Parse(time.RFC3339Nano, stamp)
		if err != nil || !ok || !strings.HasPrefix(node, "node-") {
			return nil, &bellows.Error{Kind: bellows.BadData, Op: "read lines of", Subject: fmt.Sprintf("%s:%d", name, number),
				Err: errors.New("it does not begin with a time and a node"), Hint: "copy the file again from where it came from"}
		}
		list = append(list, said{at, node, words})
	}
	return list, nil
}
