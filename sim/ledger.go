package sim

import (
	"fmt"

	"bellows"
	"bellows/route"
	"bellows/wire"
)

// ledger is the account of row deltas and leases that the world keeps from the messages it sees.
type ledger struct {
	route    *route.Route
	parts    map[partAt]*entry        // for look-ups only
	done     map[bellows.FlushID]bool // that the controller was told, by the client itself
	sentRows map[bellows.NodeID]int64
	laneRows map[wire.Address]int64 // that came to a lane
	lateRows map[wire.Address]int64 // likewise, perhaps after it closed
	leases   []out                  // per partition, by route.Number
	last     map[bellows.NodeID][]wire.Need
}

// partAt names the part of a flush for one lane.
type partAt struct {
	lane  wire.Address
	flush bellows.FlushID
}

// entry is what is known of a part.
type entry struct {
	rows     int64
	leases   []bellows.PartitionRef
	came     bool
	held     bool
	recorded bool
}

// out is the leases on a partition that are out, as its lane sees it.
type out struct {
	shared    int
	exclusive bool
	local     bool // the exclusive holder works on the slab itself
}

func newLedger(r *route.Route) ledger {
	return ledger{route: r, parts: map[partAt]*entry{}, done: map[bellows.FlushID]bool{}, sentRows: map[bellows.NodeID]int64{}, laneRows: map[wire.Address]int64{}, lateRows: map[wire.Address]int64{},
		leases: make([]out, r.Partitions()), last: map[bellows.NodeID][]wire.Need{}}
}

// sent takes a push on its way from its client. The same part may be sent again, after Room.
func (l *ledger) sent(to wire.Address, m *wire.Push, width func(bellows.TableID) int) {
	at := partAt{to, m.Flush}
	if l.parts[at] != nil {
		return
	}
	e := &entry{}
	for i := range m.Chunks {
		e.rows += int64(len(m.Chunks[i].Values) / width(m.Chunks[i].Ref.Table))
	}
	for i := range m.Leases {
		e.rows += int64(len(m.Leases[i].Values) / width(m.Leases[i].Ref.Table))
		e.leases = append(e.leases, m.Leases[i].Ref)
	}
	l.parts[at] = e
	l.sentRows[m.Flush.Client] += e.rows
}

// came takes a part on its arrival at its lane, for the first time or again. A stranger's is none. Late is
// that of a node declared gone, when the lane knows that the job is over: it may have closed.
func (l *ledger) came(at partAt, late bool) {
	e := l.parts[at]
	switch {
	case e == nil || e.came:
		return
	case late:
		l.lateRows[at.lane] += e.rows
	default:
		l.laneRows[at.lane] += e.rows
	}
	e.came = true
}

// held takes a lane's word that it holds a part.
func (l *ledger) held(at partAt) bool {
	e := l.parts[at]
	if e == nil || e.held {
		return false
	}
	e.held = true
	return true
}

// recorded takes a record on its arrival at a lane, and reports whether the lane holds a part of the flush.
func (l *ledger) recorded(at partAt) bool {
	e := l.parts[at]
	if e == nil || !e.held || e.recorded {
		return false
	}
	e.recorded = true
	for _, ref := range e.leases {
		l.leases[l.route.Number(ref)] = out{}
	}
	return true
}

func (l *ledger) released(ref bellows.PartitionRef) { l.leases[l.route.Number(ref)].shared-- }

// granted takes a lease that a lane gives.
func (l *ledger) granted(from, to wire.Address, m *wire.Granted) error {
	o := &l.leases[l.route.Number(m.Ref)]
	if o.exclusive || (m.Mode == wire.Exclusive && o.shared > 0) {
		return fmt.Errorf("leases: %v gets %v while another lease excludes it", to, m.Ref)
	}
	if m.Mode == wire.Exclusive {
		*o = out{exclusive: true, local: from.Node == to.Node}
	} else {
		o.shared++
	}
	return nil
}

// shown is the newest version of a partition that a node has been shown.
func (l *ledger) shown(n bellows.NodeID, ref bellows.PartitionRef) *wire.Need {
	if l.last[n] == nil {
		l.last[n] = make([]wire.Need, len(l.leases))
		for i := range l.last[n] {
			l.last[n][i].Clock = bellows.NoClock
		}
	}
	return &l.last[n][l.route.Number(ref)]
}
