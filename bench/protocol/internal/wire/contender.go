package wire

import (
	"errors"
	"fmt"
	"net"
	"time"

	"bellows/bench/internal/pair"
	"bellows/bench/protocol/internal/wire/internal/duty"
)

// contender is a server and a driver, each in a process of its own.
type contender struct {
	name           string
	server, driver *pair.Child
	allocations    []float64 // of both processes in the turns since the last side, per request
	p50, p99       time.Duration
}

// contender runs the two processes of a program that is called with "serve ADDRESS" and "drive ADDRESS".
func (b *bench) contender(name, program string, args ...string) *contender {
	c := &contender{name: name}
	b.contenders = append(b.contenders, c)
	address := b.address()
	c.server = pair.Must(pair.Start(name+"'s server", program, append(args, "serve", address)...))
	port := pair.Must(c.server.Ask("port"))
	if !b.unix {
		address = "tcp:" + net.JoinHostPort("127.0.0.1", fmt.Sprint(int(port[0])))
	}
	c.driver = pair.Must(pair.Start(name+"'s driver", program, append(args, "drive", address)...))
	return c
}

// close ends both, those that there are.
func (c *contender) close() (err error) {
	for _, child := range []*pair.Child{c.driver, c.server} {
		if child != nil {
			err = errors.Join(err, child.Close())
		}
	}
	return err
}

// ask asks one of the two for so many numbers.
func ask(child *pair.Child, request string, numbers int) []float64 {
	a := pair.Must(child.Ask(request))
	if len(a) != numbers {
		pair.Check(fmt.Errorf("asked for %q, a child answered %d numbers instead of %d", request, len(a), numbers))
	}
	return a
}

// side returns a side of a comparison that runs a duty each turn. Work is the value of one request; CPU time is that of
// both processes.
func (c *contender) side(d duty.Duty, work float64) pair.Side {
	line := fmt.Sprintf("%s %d %d %d", d.Kind, d.Size, d.Window, d.Count)
	c.allocations = nil
	return pair.Side{Name: c.name, Run: func() pair.Turn {
		asking, before := ask(c.server, "usage", 2), ask(c.server, "usage", 2)
		a := ask(c.driver, line, 6)
		after := ask(c.server, "usage", 2)
		question := before[1] - asking[1] // what it takes to ask
		c.allocations = append(c.allocations, max(0, a[3]+after[1]-before[1]-question)/a[0])
		c.p50, c.p99 = pair.Seconds(a[4]), pair.Seconds(a[5])
		return pair.Turn{Work: a[0] * work, Wall: pair.Seconds(a[1]), CPU: pair.Seconds(a[2] + after[0] - before[0])}
	}}
}

// compute lets each process multiply matrices on n processors; 0 ends it.
func (c *contender) compute(n int) {
	ask(c.server, fmt.Sprintf("compute %d", n), 1)
	ask(c.driver, fmt.Sprintf("compute %d", n), 1)
}
