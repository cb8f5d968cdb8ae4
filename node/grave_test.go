package node_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bellows"
	"bellows/link/transport"
	"bellows/node"
	"bellows/train"
)

// grave is the state of node 3 after its death: its connections end, and it neither calls nor answers. The other nodes'
// connections, except those to node 0, break with it, as they do when one of them ends before the next has read its
// last message.
type grave struct {
	mu    sync.Mutex
	dead  bool
	conns []transport.Conn
}

func (g *grave) wrap(from, to bellows.NodeID, c transport.Conn) transport.Conn {
	if from != 0 && to != 0 || from == 3 || to == 3 {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.conns = append(g.conns, c)
	}
	return c
}

func (g *grave) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.dead = true
	for _, c := range g.conns {
		c.Close()
	}
}

// parting is a transport that reaches no node after a death.
type parting struct {
	transport.Transport
	*grave
}

func (p parting) Number(n, of uint8) transport.Transport {
	return parting{p.Transport.Number(n, of), p.grave}
}

func (p parting) Dial(ctx context.Context, address string) (transport.Conn, error) {
	p.mu.Lock()
	dead := p.dead
	p.mu.Unlock()
	if dead {
		return nil, errors.New("it is dead")
	}
	return p.Transport.Dial(ctx, address)
}

// TestLossIsReportedAtOnce kills a server, as its starter reports, while broken connections are remade: the remaining
// nodes still have messages for it. None of them waits for that: the job ends at once, with the node's name.
func TestLossIsReportedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, deaths := &grave{}, make(chan node.Death, 1)
		var died time.Time
		_, _, err := gang{members: []node.Member{{}, {Node: 1, Slots: 1}, {Node: 2, Slots: 1}, {Node: 3, Lanes: 1}}, redial: true, wrap: g.wrap, lead: node.Options{Deaths: deaths},
			dial: func(tr transport.Transport) transport.Transport { return parting{tr, g} },
			job: func(bellows.NodeID) train.Job {
				return job(40, func(task *train.Task) error {
					if task.Split() == 0 && task.Clock() == 20 {
						died = time.Now()
						g.close()
						deaths <- node.Death{Node: 3, Reason: "node 3 (process 4711) ended with signal: killed"}
					}
					<-time.After(time.Millisecond)
					return drift(task)
				})
			}, left: func(n bellows.NodeID) {
				if took := time.Since(died); n != 3 && took > 200*time.Millisecond {
					t.Errorf("node %d left after %v", n, took)
				}
			}}.run(t.Context(), t)
		if err == nil || !strings.Contains(err.Error(), "node 3 (process 4711) ended with signal: killed") {
			t.Errorf("the job ended: %v", err)
		}
	})
}
