package watch

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"bellows"
	"bellows/cli/internal/line"
	"bellows/cli/internal/screen"
	"bellows/figures"
	"bellows/run/event"
	"bellows/run/history"

	"github.com/spf13/cobra"
)

// RunCommands returns those that look at what a run has left. model is the name of a run folder, for their examples.
func RunCommands(c *screen.Console, model string) []*cobra.Command {
	return []*cobra.Command{eventsCommand(c, model), logsCommand(c, model)}
}

func eventsCommand(c *screen.Console, model string) *cobra.Command {
	e := events{Console: c}
	cmd := &cobra.Command{
		Use:   "events RUN",
		Short: "Show the events of a run, or check what it visited",
		Annotations: line.Details("It prints the event log of a run folder, one sentence for each event, or with --json the events themselves. RUN may " +
			"also be a file that `train --json` wrote, or \"-\" for standard input.\n\n" +
			"--verify checks by the log alone that the log is complete, and that each item of the training data was visited as often as the job states. " +
			"An item that was visited twice or left out is named with its split and clock; the exit code is then 65. For each unit of work that " +
			"counts, the log has the record that counted it. Units that were discarded because the run resumed from an earlier state do not count."),
		Example: "events " + model + "\nevents " + model + " --verify\nevents " + model + " --follow",
		Args:    line.Exactly("RUN"),
		RunE:    func(cmd *cobra.Command, args []string) error { return e.run(cmd.Context(), args[0]) },
	}
	cmd.Flags().BoolVar(&e.verify, "verify", false, "check that each item was visited as often as stated; print no events")
	cmd.Flags().BoolVar(&e.follow, "follow", false, "continue until the process of the run ends")
	return cmd
}

// events is one call of that command.
type events struct {
	*screen.Console
	verify, follow bool
}

func (e *events) run(ctx context.Context, word string) error {
	r, err := history.Open(word, e.In)
	if err != nil {
		return err
	}
	defer r.Close()
	if e.follow && r.Folder == "" {
		return line.BadFlag("follow", "true", "only the log of a run folder can be followed; give the folder, or leave this out")
	}
	e.Calm.Store(e.follow)
	var v history.Verifier
	busy := r.Busy() // checked before the log is read to its end: later lines are from a process that was there
	for {
		text, err := r.Next()
		switch {
		case err != nil:
			return err
		case text != nil:
			if err := e.take(r, &v, text); err != nil {
				return err
			}
			continue
		}
		if e.follow {
			more, err := r.Await(ctx, busy)
			if err != nil {
				return err
			}
			if more {
				busy = r.Busy()
				continue
			}
		}
		break
	}
	if r.Partial() && !busy {
		return r.BadLine(r.Number()+1, errors.New("the line is cut off"))
	}
	if !e.verify {
		return nil
	}
	return e.conclude(r, &v, busy)
}

// take shows a line, or continues the proof.
func (e *events) take(r *history.Reader, v *history.Verifier, text []byte) error {
	if e.verify {
		if err := v.Take(text); err != nil {
			return r.Unproved(err)
		}
		return nil
	}
	ev, err := history.Decode(text)
	switch {
	case err != nil:
		return r.BadLine(r.Number(), err)
	case ev == nil:
		return nil
	}
	if e.JSON {
		return e.Object(json.RawMessage(text))
	}
	if ev.Kind == event.Visited { // one for each epoch, which has its own sentence
		return nil
	}
	e.Printf("%s  %s\n", ev.Time.Local().Format(time.DateTime), bellows.Printable(strings.ReplaceAll(ev.Sentence, "\n", " "), sentenceMost))
	return nil
}

// sentenceMost is how many bytes of a sentence a line shows.
const sentenceMost = 4 << 10

// conclude says what was proved.
func (e *events) conclude(r *history.Reader, v *history.Verifier, busy bool) error {
	found, err := v.Conclude(busy)
	if err != nil {
		return r.Unproved(err)
	}
	found.Run = r.Folder
	if r.Folder == "" {
		found.Run = r.Name
	}
	for _, p := range found.Proofs {
		e.Printf("%s\n", p.Sentence())
	}
	switch found.Ended {
	case "":
		e.Printf("%s is still running; so far the log is complete: %s\n", found.Run, figures.Plural(found.Events, "event"))
	default:
		e.Printf("%s: %s; the log is whole: %s\n", found.Run, found.Ended, figures.Plural(found.Events, "event"))
	}
	return e.Object(found)
}
