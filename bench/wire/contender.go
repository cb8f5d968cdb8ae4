package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bellows/bench/internal/pair"
)

// contender is a server and a driver, each in a process of its own.
type contender struct {
	name           string
	server, driver *pair.Child
	allocations    []float64 // of both processes in the turns since the last side, per request
	p50, p99       time.Duration
}

// start runs the two processes of a program that is called with "serve ADDRESS" and "drive ADDRESS".
func start(name, program, address string, args ...string) (*contender, error) {
	c := &contender{name: name}
	var err error
	if c.server, err = pair.Start(name+"'s server", program, append(args, "serve", address)...); err != nil {
		return nil, err
	}
	port, err := c.server.Ask("port")
	if err != nil {
		return c, err
	}
	if network, _, _ := strings.Cut(address, ":"); network == "tcp" {
		address = "tcp:" + net.JoinHostPort("127.0.0.1", fmt.Sprint(int(port[0])))
	}
	c.driver, err = pair.Start(name+"'s driver", program, append(args, "drive", address)...)
	return c, err
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

// side does a duty each turn. Work is what one request is worth; CPU time is that of both processes.
func (c *contender) side(d duty, work float64) pair.Side {
	line := fmt.Sprintf("%s %d %d %d", d.kind, d.size, d.window, d.count)
	c.allocations = nil
	return pair.Side{Name: c.name, Run: func() (pair.Turn, error) {
		asking, err := c.server.Ask("usage")
		if err != nil {
			return pair.Turn{}, err
		}
		before, err := c.server.Ask("usage")
		if err != nil {
			return pair.Turn{}, err
		}
		a, err := c.driver.Ask(line)
		if err != nil {
			return pair.Turn{}, err
		}
		after, err := c.server.Ask("usage")
		if err != nil {
			return pair.Turn{}, err
		}
		if len(a) != 6 || len(asking) != 2 || len(before) != 2 || len(after) != 2 {
			return pair.Turn{}, fmt.Errorf("%s answered %d, %d, %d and %d numbers", c.name, len(asking), len(before), len(a), len(after))
		}
		question := before[1] - asking[1] // what it takes to ask
		c.allocations = append(c.allocations, max(0, a[3]+after[1]-before[1]-question)/a[0])
		c.p50, c.p99 = seconds(a[4]), seconds(a[5])
		return pair.Turn{Work: a[0] * work, Wall: seconds(a[1]), CPU: seconds(a[2] + after[0] - before[0])}, nil
	}}
}

// compute lets each process multiply matrices on n processors; 0 ends it.
func (c *contender) compute(n int) error {
	for _, child := range []*pair.Child{c.server, c.driver} {
		if _, err := child.Ask(fmt.Sprintf("compute %d", n)); err != nil {
			return err
		}
	}
	return nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// places makes addresses of one kind.
type places struct {
	unix   bool
	folder string
	made   int
}

// next is a new address: of a socket in the folder, or of a port that the system chooses.
func (p *places) next() (string, error) {
	if !p.unix {
		return "tcp:127.0.0.1:0", nil
	}
	p.made++
	folder := filepath.Join(p.folder, fmt.Sprint(p.made))
	if err := os.Mkdir(folder, 0o700); err != nil {
		return "", err
	}
	return "unix:" + filepath.Join(folder, "s"), nil
}
