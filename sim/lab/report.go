package lab

import (
	"time"

	"bellows/core/tally"
	"bellows/link/wire"
	"bellows/policy/gauge"
)

// lanework adds up the time in which a node handles messages for its lanes. A piece of service has messages for others
// besides: the lanes have the part of its time that they have of its cost.
type lanework struct {
	cost  float64 // of the present piece: nanoseconds for lanes
	share float64 // of all that it costs
	began int64
	sum   time.Duration
}

// begin notes that a piece of service begins, with its whole cost.
func (l *lanework) begin(now int64, whole float64) { l.began, l.share = now, l.cost/whole }

// end notes that it has ended.
func (l *lanework) end(now int64) { l.sum += time.Duration(l.share * float64(now-l.began)) }

// receiver returns the actor that a message is for. Data of no message has the zero address.
func (m *mail) receiver() wire.Address {
	if m.frame != nil {
		return m.frame.envelope.To
	}
	return m.envelope.To
}

// report returns what a node has counted since this life of the job began, as a process reports it. Serving is the time in
// which it handled messages for its lanes, and Processor what the cores have given it.
func (n *node) report() gauge.Report {
	now := n.w.agenda.Time()
	r := gauge.Report{Node: n.id, Millis: n.w.elapsed().Milliseconds()}
	t := &r.Tally
	if n.runner != nil {
		n.runner.Count(t)
	}
	t.Spent, t.Sent, t.Received = n.meter.Spent(n.w.elapsed()), n.sent, n.received
	for _, l := range n.lanes {
		t.Work.Rows += l.Rows()
	}
	t.Work.Serving = n.lanework.sum
	used := n.machine.Used(now, func(o owner) bool { return o.node == n })
	t.Work.Processor = time.Duration(n.processor + used)
	for _, other := range n.w.nodes {
		if bytes, busy := n.w.links.Flow(n.id, other.id).Sent(now); bytes > 0 || busy > 0 {
			r.Links = append(r.Links, tally.Link{To: uint16(other.id), Bytes: bytes, Busy: busy})
		}
	}
	return r
}
