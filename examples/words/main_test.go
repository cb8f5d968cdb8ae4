package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"bellows"
	"bellows/core/liveness"
	"bellows/link/fabric"
	"bellows/link/transport"
	"bellows/link/transport/mem"
	"bellows/node"
)

func Example() {
	main()
	// Output: 403 words; 81 % of new lines are told right
}

// TestThreeNodesGiveTheBitsOfOne runs the same job over a leader and two nodes that work.
func TestThreeNodesGiveTheBitsOfOne(t *testing.T) {
	one, err := node.Train(context.Background(), job(), node.Options{})
	if err != nil {
		t.Fatal(err)
	}
	members := []node.Member{{}, {Node: 1, Slots: 1, Lanes: 1}, {Node: 2, Slots: 1, Lanes: 2}}
	addresses := []string{"0", "1", "2"}
	network := mem.New()
	join := func(self bellows.NodeID) (node.Cluster, []transport.Conn) {
		c := node.Cluster{Self: self, Members: members}
		tr, err := network.Join(transport.Config{Self: transport.Hello{Node: self, Token: transport.Token{1}}})
		if err != nil {
			t.Error(err)
			return c, nil
		}
		l, err := tr.Listen(addresses[self])
		if err != nil {
			t.Error(err)
			return c, nil
		}
		defer l.Close()
		conns, err := fabric.Connect(context.Background(), tr, l, c.Joining(), addresses, liveness.Times{}, func(string) {})
		if err != nil {
			t.Error(err)
		}
		return c, conns
	}
	var others sync.WaitGroup
	for n := bellows.NodeID(1); n < 3; n++ {
		others.Go(func() {
			c, conns := join(n)
			if err := node.Serve(context.Background(), job(), c, conns, node.Options{}); err != nil {
				t.Error(fmt.Errorf("node %d: %w", n, err))
			}
		})
	}
	c, conns := join(0)
	var watch node.Watch
	many, err := node.Lead(context.Background(), job(), c, conns, node.Options{Watch: &watch})
	others.Wait()
	if err != nil {
		t.Fatal(err)
	}
	p, err := watch.Look(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	// In every clock each split would ask the lanes of the other node; words that are read for the second time come by themselves from then on.
	if asked := p.Bytes["pulls"].Frames; asked == 0 || asked > 2*splits/2*(2+1) {
		t.Errorf("%d questions crossed between the nodes", asked)
	}
	if !slices.Equal(many.Keys[weights], one.Keys[weights]) || !slices.Equal(many.Tables[weights], one.Tables[weights]) {
		t.Error("three nodes give another model than one")
	}
}
