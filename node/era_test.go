package node_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/internal/require"
	"bellows/link/fabric"
	"bellows/link/transport"
	"bellows/link/transport/mem"
	"bellows/node"
	"bellows/train"
)

// TestANodeOfTheFormerLifeChangesNothing has a node wake of whose life nobody else is left: it calls again, with the token of the life that goes on, and at its addresses. It is
// turned away by name, and ends; the life ends with the bits of an undisturbed one, and an exact audit (P11).
func TestANodeOfTheFormerLifeChangesNothing(t *testing.T) {
	t.Parallel()
	const rounds, before, now = 30, 6, 7
	network := mem.New()
	quiet, err := node.Train(t.Context(), job(rounds, drift), node.Options{})
	require.NoError(t, err)
	open := func(n bellows.NodeID, address string) (transport.Transport, transport.Listener) {
		tr, err := network.Join(transport.Config{Self: transport.Hello{Node: n, Token: transport.Token{1}, Era: before}})
		require.NoError(t, err)
		l, err := tr.Listen(address)
		require.NoError(t, err)
		return tr, l
	}
	_, dead := open(0, "its node 0")
	left, listener := open(1, "the node that is left")
	accepted := make(chan transport.Conn, 1)
	go func() {
		conn, err := dead.Accept(t.Context())
		if err != nil {
			t.Error(err)
		}
		accepted <- conn
	}()
	conn, err := left.Dial(t.Context(), dead.Address())
	require.NoError(t, err)
	wakes, ended := make(chan struct{}), make(chan error, 1)
	go func() { // its node 0 has died
		<-wakes
		if err := errors.Join((<-accepted).Close(), dead.Close()); err != nil {
			t.Error(err)
		}
	}()
	go func() {
		ended <- errors.Join(node.Serve(t.Context(), job(rounds, drift), node.Cluster{Self: 1, Members: []node.Member{{}, {Node: 1, Slots: 1, Lanes: 1}}}, []transport.Conn{conn, nil},
			node.Options{Era: before, Links: &fabric.Links{Transport: left, Listener: listener, Addresses: []string{inMemory(0)}}}), listener.Close())
	}()
	var why error
	g := gang{members: []node.Member{{Lanes: 1}, {Node: 1, Slots: 1, Lanes: 1}, {Node: 2, Slots: 1, Lanes: 1}}, open: network.Join, address: inMemory, mend: true, lead: node.Options{Era: now},
		job: func(bellows.NodeID) train.Job {
			return job(rounds, func(task *train.Task) error {
				if task.Split() == 0 && task.Clock() == rounds/2 {
					close(wakes)
					why = <-ended
				}
				return drift(task)
			})
		}}
	r := g.done(t)
	if why == nil || !strings.Contains(why.Error(), "node 1 is of era 6 of the job, but node 0 of era 7: what is left of an era that a rollback has ended is not heard") {
		t.Errorf("the node of the former life ends: %v", why)
	}
	if !slices.Equal(r.Tables[0], quiet.Tables[0]) || r.Audit.Disagreements(true) != nil {
		t.Errorf("the tables are not those of an undisturbed job, or the audit is not: %v", r.Audit.Disagreements(true))
	}
}
