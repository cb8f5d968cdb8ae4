package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"bellows/experiments/internal/subject"
)

// limit is how long a process that leads may take.
const limit = 10 * time.Minute

// measure runs a job in one of the ways.
func (p *plan) measure(o subject.Order, w way, image string) (*turn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	t := &turn{Way: w.name}
	began := time.Now()
	since := func() float64 { return time.Since(began).Seconds() }
	target := w.from
	if w.restarts {
		target = few
	}
	word := ""
	switch {
	case w.restarts:
		word = "stop"
	case w.to > w.from:
		word = fmt.Sprint("grow ", w.to-w.from)
	}
	at := max(1, int(asked*float64(o.Epochs)))
	saved, err := p.lead(ctx, led{Order: o, Item: p.item, Reads: p.reads, Serial: p.serial, Workers: target, Image: image}, func(said said) (answer string) {
		switch {
		case said.Epoch > 0:
			t.Epochs = append(t.Epochs, since())
			if said.Epoch == at {
				t.Asked = since()
				return word
			}
		case said.Joined > 0:
			t.Ready = since()
		case said.Moved > 0:
			t.Moved = since()
		}
		return ""
	})
	if err != nil || !saved {
		return t, errors.Join(err, t.complete(o.Epochs, w))
	}
	_, err = p.lead(ctx, led{Order: o, Item: p.item, Reads: p.reads, Workers: w.to, Image: image, Resume: true}, func(said said) string {
		if said.Epoch > 0 {
			t.Epochs = append(t.Epochs, since())
			if t.Ready == 0 {
				t.Ready = since()
			}
		}
		return ""
	})
	return t, errors.Join(err, t.complete(o.Epochs, w))
}

// complete refuses a run without all epochs. One that was over before it could change is late.
func (t *turn) complete(epochs int, w way) error {
	if len(t.Epochs) != epochs {
		return fmt.Errorf("%d epochs of %d", len(t.Epochs), epochs)
	}
	t.Late = w.from < w.to && (t.Ready == 0 || !w.restarts && t.Moved == 0)
	return nil
}

// lead runs a process that leads a job, tells of every line that it says, and gives it the answers. It reports whether the job was saved.
func (p *plan) lead(ctx context.Context, l led, heard func(said) string) (saved bool, err error) {
	text, err := json.Marshal(l)
	if err != nil {
		return false, err
	}
	command := exec.CommandContext(ctx, p.program, leads, string(text))
	var stderr strings.Builder
	command.Stderr = &stderr
	in, err := command.StdinPipe()
	if err != nil {
		return false, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return false, err
	}
	if err := command.Start(); err != nil {
		return false, err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && err == nil {
		var s said
		if err = json.Unmarshal(lines.Bytes(), &s); err == nil {
			saved = saved || s.Saved
			if answer := heard(s); answer != "" {
				_, err = io.WriteString(in, answer+"\n")
			}
		}
	}
	err = errors.Join(err, lines.Err(), in.Close(), command.Wait())
	if err != nil {
		return saved, fmt.Errorf("%w; it said: %s", err, strings.TrimSpace(stderr.String()))
	}
	return saved, nil
}

// roles are those of the processes that are started for another: they lead a job, or run a part of one. Their argument is a led.
var roles = map[string]func(args []string) error{
	leads:  role(func(l *led) error { return l.lead(os.Stdin, os.Stdout) }),
	serves: role((*led).serve),
}

func role(do func(l *led) error) func(args []string) error {
	return func(args []string) error {
		var l led
		if err := json.Unmarshal([]byte(strings.Join(args, " ")), &l); err != nil {
			return err
		}
		return do(&l)
	}
}
