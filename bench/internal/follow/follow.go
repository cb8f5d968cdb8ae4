// Package follow runs a command that prints JSON lines, such as `bellows train --json`, and reads its events until it
// ends or is killed.
//
// The caller's duties: Start a command, Await events or Rest, and Kill it in the end, whether it still runs or not. An error ends the
// benchmark's command, as in package pair.
//
// The package refuses to wait without a bound.
package follow

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"time"

	"bellows/bench/internal/pair"
)

// Event is a line of a command: an event by its kind, or another line, which has none.
type Event struct {
	Kind      string
	Time      time.Time
	Node      string
	Sentence  string
	Epoch     *int
	Processes map[string]int // by the name of the node
	Bytes     int64          `json:"checkpoint_bytes"`
	Seconds   float64        `json:"checkpoint_seconds"`
	Every     float64        `json:"interval_seconds"`
	Text      string         `json:"-"` // the line itself
}

// HasKind returns a function that reports whether an event has one of these kinds.
func HasKind(kinds ...string) func(Event) bool {
	return func(e Event) bool { return slices.Contains(kinds, e.Kind) }
}

// IsEpoch reports whether an event tells of an epoch.
func IsEpoch(e Event) bool { return e.Kind == "epoch" && e.Epoch != nil }

// Command is a command that runs, or has run.
type Command struct {
	cmd    *exec.Cmd
	events chan Event
	note   func(Event)
	stderr bytes.Buffer
	closed bool // its output has ended: it exits without a kill
	gone   bool
}

// Start starts a command. note, unless it is nil, gets every line, by the goroutine that waits for one.
func Start(note func(Event), program string, words ...string) *Command {
	c := &Command{cmd: exec.Command(program, words...), events: make(chan Event, 1<<16), note: note}
	c.cmd.Stderr = &c.stderr
	out := pair.Must(c.cmd.StdoutPipe())
	pair.Check(c.cmd.Start())
	go c.read(out)
	return c
}

func (c *Command) read(out io.Reader) {
	defer close(c.events)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		e := Event{Text: lines.Text()}
		_ = json.Unmarshal(lines.Bytes(), &e) // what is no event stays without a kind
		c.events <- e
	}
	_, _ = io.Copy(io.Discard, out) // a line was too long: the command must not wait for its reader
}

// PID returns the number of the process.
func (c *Command) PID() int { return c.cmd.Process.Pid }

// Why Pass has ended without the wanted event.
var (
	ErrTime  = errors.New("the time is over")
	ErrEnded = errors.New("the command has ended")
)

// Pass waits until a line is wanted, for some time at most. A nil function wants none.
func (c *Command) Pass(long time.Duration, wanted func(Event) bool) (Event, error) {
	timer := time.NewTimer(long)
	defer timer.Stop()
	for {
		select {
		case e, more := <-c.events:
			if !more {
				c.closed = true
				return e, ErrEnded
			}
			if c.note != nil {
				c.note(e)
			}
			if wanted != nil && wanted(e) {
				return e, nil
			}
		case <-timer.C:
			return Event{}, ErrTime
		}
	}
}

// Await returns the next event that is wanted, which must come within some time.
func (c *Command) Await(what string, within time.Duration, wanted func(Event) bool) Event {
	e, err := c.Pass(within, wanted)
	if err != nil {
		c.fail(fmt.Errorf("no %s within %v: %w", what, within, err))
	}
	return e
}

// Rest waits for some time, in which the command must not end.
func (c *Command) Rest(long time.Duration) {
	if _, err := c.Pass(long, nil); errors.Is(err, ErrEnded) {
		c.fail(err)
	}
}

func (c *Command) fail(err error) {
	c.Kill()
	pair.Check(fmt.Errorf("%w; it printed: %s", err, c.Stderr()))
}

// Kill kills the command if it runs, and waits until it is gone.
func (c *Command) Kill() {
	if c.gone {
		return
	}
	c.gone = true
	if !c.closed {
		_ = c.cmd.Process.Kill() // it may have ended
	}
	for e := range c.events {
		if c.note != nil {
			c.note(e)
		}
	}
	if err := c.cmd.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		pair.Check(err)
	}
}

// Code returns the exit code of a command that was killed or has ended; -1: a signal ended it.
func (c *Command) Code() int { return c.cmd.ProcessState.ExitCode() }

// Stderr returns the end of what a command that is gone has printed to its standard error.
func (c *Command) Stderr() string {
	text := c.stderr.Bytes()
	return string(text[max(0, len(text)-2000):])
}
