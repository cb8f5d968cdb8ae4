package claim

import (
	"slices"

	"bellows"
	"bellows/core/planted"
	"bellows/link/wire"
)

// messages are the dispatches of a step. They are sent after the records on which they rely.
type messages struct {
	term   bellows.Term
	list   []message // in the order of their records
	newest []int     // by node: 1 + the place of its last message in the list; 0: it has none
}

// message has the claims of one node that rely on the same record.
type message struct {
	to       bellows.NodeID
	dispatch *wire.Dispatch
}

// messageTo returns the message to a node for claims that rely on a record. Claims of another record have a message of
// their own, although both are made in one step: a controller that takes over replays record by record, does not know
// which came in one step, and must dispatch the same.
func (m *messages) messageTo(node bellows.NodeID, commit bellows.CommitNumber) *wire.Dispatch {
	if planted.On("dispatch-blind") {
		commit = 0
	}
	for len(m.newest) <= int(node) {
		m.newest = append(m.newest, 0)
	}
	if n := m.newest[node]; n > 0 && m.list[n-1].dispatch.Commit == commit {
		return m.list[n-1].dispatch
	}
	d := wire.New[wire.Dispatch]()
	d.Term, d.Commit = m.term, commit
	m.list = append(m.list, message{node, d})
	m.newest[node] = len(m.list)
	return d
}

// Sends reports whether dispatches wait to be sent.
func (b *Book) Sends() bool { return len(b.messages.list) > 0 }

// Send sends the dispatches of the step. The caller has sent the records on which they rely.
func (b *Book) Send(out *wire.Outbox) {
	m := &b.messages
	for _, one := range m.list {
		out.Send(b.job.Controller, wire.ClientAt(one.to), one.dispatch)
		m.newest[one.to] = 0
	}
	clear(m.list)
	m.list = m.list[:0]
}

// Redispatch sends the claims of a split to a node once more.
func (b *Book) Redispatch(s bellows.SplitID, to bellows.NodeID) {
	for _, u := range b.progress.Open() {
		if u.Split == s && planted.On("half-clock-run-again") {
			b.messages.messageTo(to, b.out[s][0].Commit).Append(u, nil)
		}
	}
	for i := range b.out[s] {
		c := &b.out[s][i]
		b.messages.messageTo(to, c.Commit).Append(c.Unit, c.Args)
	}
}

// RedispatchLost sends the claims of splits to their holders, after the node is lost that had them.
func (b *Book) RedispatchLost(splits []bellows.SplitID, clients []wire.Address) {
	for _, s := range splits {
		if len(b.out[s]) == 0 || planted.On("units-of-the-lost-forgotten") {
			continue
		}
		holder := b.out[s][0].Holder
		b.Redispatch(s, holder)
		if !planted.On("units-of-the-lost-run-twice") {
			continue
		}
		other := func(a wire.Address) bool { return a.Node != holder }
		if i := slices.IndexFunc(clients, other); i >= 0 {
			b.Redispatch(s, clients[i].Node)
		}
	}
}
