package past

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"bellows"
	"bellows/cli/internal/event"
	"bellows/cli/internal/figures"
	"bellows/cli/internal/line"
	"bellows/cli/internal/screen"

	"github.com/spf13/cobra"
)

// Commands are those that look at what a run has left. model is the name of a run folder, for their examples.
func Commands(c *screen.Console, model string) []*cobra.Command {
	return []*cobra.Command{eventsCommand(c, model), logsCommand(c, model)}
}

func eventsCommand(c *screen.Console, model string) *cobra.Command {
	e := events{Console: c}
	cmd := &cobra.Command{
		Use:   "events RUN",
		Short: "What happened to a run, and proof of what it visited",
		Long: "Print the log of a run folder, a sentence for each event, or with --json the events themselves. RUN may also be a file that\n" +
			"`train --json` wrote, or \"-\" for standard input.\n\n" +
			"--verify proves by the log alone that each item of the training data was visited as often as the job states, and that the log\n" +
			"is whole. What was visited again, left out or overlaps is named with its split and clock, and is exit code 65. The log says of\n" +
			"each unit that counted the record by which it does; units that were given up, since the run went on from before, are void.",
		Example: "events " + model + "\nevents " + model + " --verify\nevents " + model + " --follow",
		Args:    line.Exactly("RUN"),
		RunE:    func(cmd *cobra.Command, args []string) error { return e.run(cmd.Context(), args[0]) },
	}
	cmd.Flags().BoolVar(&e.verify, "verify", false, "prove that each item was visited as often as stated, and print no events")
	cmd.Flags().BoolVar(&e.follow, "follow", false, "go on while the run's process does")
	return cmd
}

// events is one call of that command.
type events struct {
	*screen.Console
	verify, follow bool
}

func (e *events) run(ctx context.Context, word string) error {
	r, err := open(word, e.In)
	if err != nil {
		return err
	}
	defer r.close()
	if e.follow && r.folder == "" {
		return line.BadFlag("follow", "true", "only the log of a run folder can be followed; give the folder, or leave this out")
	}
	e.Calm.Store(e.follow)
	var v verifier
	busy := r.busy() // looked at before the log is read to its end: what comes behind that is of a process that was there
	for {
		text, err := r.next()
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
			more, err := r.await(ctx, busy)
			if err != nil {
				return err
			}
			if more {
				busy = r.busy()
				continue
			}
		}
		break
	}
	if len(r.part) > 0 && !busy {
		return r.bad(r.number+1, errors.New("the line is cut off"))
	}
	if !e.verify {
		return nil
	}
	return e.conclude(r, &v, busy)
}

// take shows a line, or goes on with the proof.
func (e *events) take(r *reader, v *verifier, text []byte) error {
	if e.verify {
		if err := v.take(text); err != nil {
			return r.wrong(err)
		}
		return nil
	}
	ev, err := read(text)
	switch {
	case err != nil:
		return r.bad(r.number, err)
	case ev == nil:
		return nil
	}
	if e.JSON {
		return e.Object(json.RawMessage(text))
	}
	if ev.Kind == event.Visited { // one for each epoch, which has a sentence of its own
		return nil
	}
	e.Printf("%s  %s\n", ev.Time.Local().Format(time.DateTime), bellows.Printable(strings.ReplaceAll(ev.Sentence, "\n", " "), sentenceMost))
	return nil
}

// sentenceMost is how many bytes of a sentence a line shows.
const sentenceMost = 4 << 10

// conclude says what was proved.
func (e *events) conclude(r *reader, v *verifier, busy bool) error {
	found, err := v.conclude(busy)
	if err != nil {
		return r.wrong(err)
	}
	found.Run = r.folder
	if r.folder == "" {
		found.Run = r.name
	}
	for _, p := range found.Proofs {
		e.Printf("%s\n", p.sentence())
	}
	switch found.Ended {
	case "":
		e.Printf("%s goes on; so far the log is whole: %s\n", found.Run, figures.Plural(found.Events, "event"))
	default:
		e.Printf("%s: %s; the log is whole: %s\n", found.Run, found.Ended, figures.Plural(found.Events, "event"))
	}
	return e.Object(found)
}

// sentence is what was proved, in words.
func (p *proved) sentence() string {
	var b strings.Builder
	if p.Fold > 0 {
		fmt.Fprintf(&b, "fold %d: ", p.Fold)
	}
	fmt.Fprintf(&b, "proved: each of the %s items of %s that an epoch visits was visited once in each of %s", figures.Grouped(p.Items), figures.Plural(p.Splits, "split"), figures.Plural(p.Epochs, "epoch"))
	if p.Begun > 0 {
		fmt.Fprintf(&b, ", %s of them in one that is not over", figures.Grouped(p.Begun))
	}
	if p.Before > 0 {
		fmt.Fprintf(&b, ", and %s items before the first epoch, as stated", figures.Grouped(p.Before))
	}
	fmt.Fprintf(&b, ": %s visits count", figures.Grouped(p.Visited))
	if p.Void > 0 {
		fmt.Fprintf(&b, ", and %s are void, since the run went on from before", figures.Grouped(p.Void))
	}
	if p.Lives > 1 {
		fmt.Fprintf(&b, "; it was trained in %d parts", p.Lives)
	}
	return b.String()
}

// place is a line of the log.
func (r *reader) place(line int) string { return fmt.Sprintf("%s:%d", r.name, line) }

// bad is what is wrong with a line of a log.
func (r *reader) bad(line int, cause error) error {
	return &bellows.Error{Kind: bellows.BadData, Op: "read events", Subject: r.place(line), Err: cause, Hint: "copy the log again from where it came from"}
}

// wrong is why a log proves nothing.
func (r *reader) wrong(err error) error {
	var f *fault
	if errors.As(err, &f) {
		return &bellows.Error{Kind: bellows.BadData, Op: "verify", Subject: r.place(f.line), Err: f.cause}
	}
	return &bellows.Error{Kind: bellows.Refused, Op: "verify", Subject: r.name, Err: err, Hint: "the application's driver must say which clocks make an epoch; package app/epochs does"}
}
