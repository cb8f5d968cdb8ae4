package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"bellows"
	"bellows/sim/lab/pattern"
)

// slowness reads --slow.
func slowness(text string, nodes int) (pattern.Slow, error) {
	if text == "" {
		return nil, nil
	}
	name, rest, _ := strings.Cut(text, ":")
	p := &fieldReader{flag: "slow", text: text}
	if rest != "" {
		p.fields = strings.Split(rest, ":")
	}
	var made pattern.Slow
	switch name {
	case "constant":
		factor, count := p.number(), p.whole()
		slow := make([]bellows.NodeID, count)
		for i := range slow {
			slow[i] = bellows.NodeID(i + 1)
		}
		made = pattern.Constant(factor, slow...)
	case "rotating":
		factor, period := p.number(), p.duration()
		made = pattern.Rotating(factor, period, nodes)
	case "worker":
		iteration, delay := p.duration(), p.number()
		made = pattern.SlowWorker(iteration, delay)
	case "disrupted":
		every, delay := p.duration(), p.number()
		made = pattern.Disrupted(every, delay)
	case "power":
		iteration, alpha := p.duration(), p.above(1)
		made = pattern.PowerLaw(iteration, alpha)
	case "persistent":
		made = pattern.Persistent()
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
	flag   string
	text   string
	fields []string
	err    error
}

func (p *fieldReader) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("--%s %s: %s", p.flag, p.text, fmt.Sprintf(format, args...))
	}
}

// field reads the next one, which must be what it is called; else it is read as the value instead.
func field[T any](p *fieldReader, parse func(string) (T, error), ok func(T) bool, called string, instead T) T {
	if len(p.fields) == 0 {
		p.fail("a field is missing")
		return instead
	}
	text := p.fields[0]
	p.fields = p.fields[1:]
	v, err := parse(text)
	if err != nil || !ok(v) {
		p.fail("%q is not %s", text, called)
		return instead
	}
	return v
}

func (p *fieldReader) above(bound float64) float64 {
	parse := func(text string) (float64, error) { return strconv.ParseFloat(text, 64) }
	return field(p, parse, func(x float64) bool { return x > bound }, fmt.Sprintf("a number above %v", bound), bound+1)
}

func (p *fieldReader) number() float64 { return p.above(0) }

func (p *fieldReader) whole() int {
	return field(p, strconv.Atoi, func(n int) bool { return 1 <= n && n <= 1<<16 }, "a number of nodes", 1)
}

func (p *fieldReader) duration() time.Duration {
	return field(p, time.ParseDuration, func(d time.Duration) bool { return d > 0 }, "a time, such as 20s", time.Second)
}

// load reads --load.
func load(text string) (pattern.Load, error) {
	if text == "" {
		return nil, nil
	}
	p := &fieldReader{flag: "load", text: text, fields: strings.Split(text, ":")}
	share, period, part := p.number(), p.duration(), p.number()
	if len(p.fields) > 0 || p.err == nil && (period <= 0 || share < 0 || share >= 1 || part < 0 || part > 1) {
		p.fail("it must be SHARE:PERIOD:PART, such as 0.5:1s:0.2")
	}
	return pattern.Bursts(share, period, part), p.err
}
