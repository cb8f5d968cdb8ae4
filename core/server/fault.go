package server

import (
	"errors"
	"fmt"

	"bellows"
	"bellows/core/partition"
	"bellows/link/wire"
)

// fault is the first protocol violation that the lane has seen. From then on only the end counts.
type fault struct {
	self, controller wire.Address
	complaint        *wire.Complaint // nil: it has seen none
}

// broken reports whether the lane has seen a protocol violation.
func (f *fault) broken() bool { return f.complaint != nil }

// breach ends the lane's work because of an invalid message.
func (f *fault) breach(from wire.Address, out *wire.Outbox, format string, args ...any) {
	if f.broken() {
		return
	}
	f.complaint = &wire.Complaint{Node: from.Node, Breach: true, Reason: fmt.Sprintf(
		"%v cannot go on with what %v sent: %s", f.self, from, fmt.Sprintf(format, args...))}
	f.complain(out)
}

// complain tells the controller, and each that follows it, why the lane has stopped (TestALaneComplainsToEachController).
func (f *fault) complain(out *wire.Outbox) {
	if f.broken() {
		said := *f.complaint
		out.Send(f.self, f.controller, &said)
	}
}

// refusal returns the answer to a request that cannot be served, ever. An error without a kind comes from a peer of
// another version.
func refusal(f bellows.FlushID, err error) *wire.Refused {
	r := &wire.Refused{Flush: f, Kind: bellows.Lost, Reason: err.Error()}
	if e := (*bellows.Error)(nil); errors.As(err, &e) {
		r.Kind = e.Kind
	}
	return r
}

// carry carries out what partitions have asked for. An error is a breach by a peer: by the client of the split, if
// chunks overlap.
func (l *Lane) carry(from wire.Address, err error, out *wire.Outbox) {
	l.fx.SendAll(l.cfg.Self, out)
	l.commits.Finish(l.fx.Applied)
	l.rows += l.fx.Rows
	l.fx.Reset()
	if err == nil {
		return
	}
	if o := (*partition.OverlapError)(nil); errors.As(err, &o) {
		from = wire.ClientAt(l.state.Route().Node(o.Split))
	}
	l.fault.breach(from, out, "%v", err)
}
