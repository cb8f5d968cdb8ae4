package node_test

import (
	"context"
	"sync/atomic"
	"testing"

	"bellows"
	"bellows/link/transport"
	"bellows/node"
	"bellows/train"
)

// mute is a connection over which nothing passes.
type mute struct {
	transport.Conn
	node bellows.NodeID
}

func (c mute) Peer() transport.Hello { return transport.Hello{Node: c.node} }
func (c mute) Close() error          { return nil }

// TestWhoCannotServeHangsUp has nodes that cannot make their part of a job: the others are not left to wait for them.
func TestWhoCannotServeHangsUp(t *testing.T) {
	t.Parallel()
	members := []node.Member{{Slots: 1, Lanes: 1}, {Node: 1, Slots: 1, Lanes: 1}}
	for name, serve := range map[string]func(j train.Job, c transport.Conn) error{
		"who leads": func(j train.Job, c transport.Conn) error {
			_, err := node.Lead(context.Background(), j, node.Cluster{Members: members}, []transport.Conn{nil, c}, node.Options{})
			return err
		},
		"another": func(j train.Job, c transport.Conn) error {
			return node.Serve(context.Background(), j, node.Cluster{Self: 1, Members: members}, []transport.Conn{c, nil}, node.Options{})
		},
	} {
		var closings atomic.Int32
		bad := job(1, drift)
		bad.Splits = 0
		other := mute{node: 1}
		if name == "another" {
			other.node = 0
		}
		if err := serve(bad, closeConn{other, &closings}); bellows.KindOf(err) != bellows.Config {
			t.Errorf("%s: %v", name, err)
		}
		if closings.Load() != 1 {
			t.Errorf("%s: the connection is closed %d times", name, closings.Load())
		}
	}
}

// TestWhoHostsNothingLeavesInPeace has a node without slots and lanes, as Place makes of one that would only hold tables.
func TestWhoHostsNothingLeavesInPeace(t *testing.T) {
	t.Parallel()
	gang{members: []node.Member{{Lanes: 1}, {Node: 1, Slots: 1}, {Node: 2}}, job: func(bellows.NodeID) train.Job { return job(3, drift) }}.done(t)
}
