package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"bellows"
	"bellows/sim/lab"
)

// pattern reads --slow.
func pattern(text string, nodes int) (lab.Pattern, error) {
	if text == "" {
		return nil, nil
	}
	name, rest, _ := strings.Cut(text, ":")
	p := &fieldReader{text: text}
	if rest != "" {
		p.fields = strings.Split(rest, ":")
	}
	var made lab.Pattern
	switch name {
	case "constant":
		factor, count := p.number(), p.whole()
		slow := make([]bellows.NodeID, count)
		for i := range slow {
			slow[i] = bellows.NodeID(i + 1)
		}
		made = lab.Constant(factor, slow...)
	case "rotating":
		factor, period := p.number(), p.duration()
		made = lab.Rotating(factor, period, nodes)
	case "worker":
		iteration, delay := p.duration(), p.number()
		made = lab.SlowWorker(iteration, delay)
	case "disrupted":
		every, delay := p.duration(), p.number()
		made = lab.Disrupted(every, delay)
	case "power":
		iteration, alpha := p.duration(), p.above(1)
		made = lab.PowerLaw(iteration, alpha)
	case "persistent":
		made = lab.Persistent()
	default:
		p.fail("there is no pattern %q", name)
	}
	if len(p.fields) > 0 {
		p.fail("%q is one too many", p.fields[0])
	}
	return made, p.err
}

// fieldReader reads the fields of a pattern, one after the other, and keeps the first thing that is wrong.
type fieldReader struct {
	text   string
	fields []string
	err    error
}

func (p *fieldReader) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("--slow %s: %s", p.text, fmt.Sprintf(format, args...))
	}
}

func (p *fieldReader) next() string {
	if len(p.fields) == 0 {
		p.fail("a field is missing")
		return ""
	}
	f := p.fields[0]
	p.fields = p.fields[1:]
	return f
}

// above is a number above a bound.
func (p *fieldReader) above(bound float64) float64 {
	f := p.next()
	x, err := strconv.ParseFloat(f, 64)
	if err != nil || !(x > bound) {
		p.fail("%q is not a number above %v", f, bound)
		return bound + 1
	}
	return x
}

func (p *fieldReader) number() float64 { return p.above(0) }

func (p *fieldReader) whole() int {
	f := p.next()
	n, err := strconv.Atoi(f)
	if err != nil || n < 1 || n > 1<<16 {
		p.fail("%q is not a number of nodes", f)
		return 1
	}
	return n
}

func (p *fieldReader) duration() time.Duration {
	f := p.next()
	d, err := time.ParseDuration(f)
	if err != nil || d <= 0 {
		p.fail("%q is not a time, such as 20s", f)
		return time.Second
	}
	return d
}
