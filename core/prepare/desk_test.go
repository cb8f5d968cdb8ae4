package prepare_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"bellows"
	"bellows/core/prepare"
	"bellows/core/route"
	"bellows/link/wire"
	"bellows/table"
)

var (
	laneAt     = wire.LaneAt(0, 0)
	controller = wire.ControllerAt()
	one        = wire.ClientAt(1)
)

// tables are the desk's: the first has a barrier, the second has none, the third has keys. Each has two
// partitions.
var tables = []table.Schema{
	{Name: "barrier", Rows: 4, Width: 1, Partitions: 2},
	{Name: "free", Rows: 8, Width: 2, Partitions: 2, Consistency: table.Async},
	{Name: "keys", Rows: 8, Width: 1, Partitions: 2, Sparse: true, Consistency: table.Async},
}

// desk drives the flushes of one lane, with clients at nodes 1 and 2 that run a split each, and puts the
// answers into words. It stands in for the lane's partitions.
type desk struct {
	*prepare.Flushes
	t          *testing.T
	route      *route.Route
	generation map[bellows.PartitionRef]bellows.Generation // of partitions that have moved; others: 1
	holder     map[bellows.PartitionRef]wire.Address       // of exclusive leases
	out        wire.Outbox
	refusal    string // of the last push
}

func newDesk(t *testing.T, heldBytesMax, waitingMax int) *desk {
	r := route.Spread(tables, 2, []wire.Address{laneAt}, []bellows.NodeID{1, 2})
	d := &desk{t: t, route: r, generation: map[bellows.PartitionRef]bellows.Generation{},
		holder: map[bellows.PartitionRef]wire.Address{}}
	d.Flushes = prepare.New(prepare.Config{Self: laneAt, Controller: controller, Tables: tables, Route: r,
		HeldBytesMax: heldBytesMax, WaitingMax: waitingMax})
	return d
}

var errNeverHere = errors.New("it never was here")

// Owns compares a pair with the newest generation.
func (d *desk) Owns(p wire.Pair) error {
	g := max(d.generation[p.Ref], 1)
	switch {
	case p.Generation < g:
		return route.ErrStale
	case p.Generation > g:
		return errNeverHere
	}
	return nil
}

// Barrier reports true for the first table alone.
func (d *desk) Barrier(ref bellows.PartitionRef) bool { return ref.Table == 0 }

// MayEnd looks for the holder of a lease.
func (d *desk) MayEnd(ref bellows.PartitionRef, client wire.Address) bool {
	holder, leased := d.holder[ref]
	return leased && holder == client
}

// said returns the messages since the last call.
func (d *desk) said() string {
	var list []string
	for _, e := range d.out.Envelopes {
		if e.From != laneAt {
			d.t.Errorf("a message from %v", e.From)
		}
		list = append(list, fmt.Sprintf("%v: %s", e.To, words(e.Message)))
	}
	d.out.Envelopes = nil
	return strings.Join(list, "; ")
}

func words(m wire.Message) string {
	switch m := m.(type) {
	case *wire.Held:
		return fmt.Sprintf("held %v%s", m.Flush, named(m.Pairs))
	case *wire.Full:
		return fmt.Sprintf("full %v%s", m.Flush, named(m.Pairs))
	case *wire.Room:
		return fmt.Sprintf("room %v%s", m.Flush, named(m.Pairs))
	case *wire.Stale:
		return fmt.Sprintf("stale %v by route %d%s", m.Flush, m.Route, named(m.Pairs))
	case *wire.Done:
		return fmt.Sprintf("done %v", m.Flush)
	case *wire.Committed:
		return fmt.Sprintf("%v is commit %d", m.List[0].Flush, m.List[0].Commit)
	}
	return fmt.Sprintf("%T", m)
}

func named(pairs []wire.Pair) string {
	if len(pairs) == 0 {
		return ""
	}
	return fmt.Sprint(" ", pairs)
}

// Reserve gives keys no rows.
func (d *desk) Reserve(*wire.Push) ([]uint32, error) { return nil, nil }

// Hold notes nothing.
func (d *desk) Hold(*wire.Push) {}

// push prepares a push, and returns what is said.
func (d *desk) push(m *wire.Push) string {
	from := wire.ClientAt(m.Flush.Client)
	refused, breach := d.Prepare(from, m, 7, d, &d.out)
	d.refusal = ""
	switch {
	case refused != nil:
		d.refusal = refused.Error()
		return "refused: " + d.refusal
	case breach != nil:
		d.refusal = breach.Error()
		return "breach: " + d.refusal
	}
	return d.said()
}

// record numbers a flush, and returns what is said and how many pushes of the flush were held.
func (d *desk) record(id bellows.FlushID) (said string, pushes int) {
	d.Count(id)
	pushes = len(d.Take(id))
	if pushes > 0 {
		d.Admit(&d.out)
	}
	return d.said(), pushes
}

// expect compares what is said with what is wanted.
func (d *desk) expect(what, got, want string) {
	d.t.Helper()
	if got != want {
		d.t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func pair(t bellows.TableID, p bellows.PartitionID) wire.Pair {
	return wire.Pair{Ref: bellows.PartitionRef{Table: t, Partition: p}, Generation: 1}
}

func id(client bellows.NodeID, seq uint64) bellows.FlushID {
	return bellows.FlushID{Client: client, Incarnation: 1, Seq: seq}
}

// pushOf returns a push that has a row of 12 bytes for each pair, of a table without a barrier, and of its
// flush nothing else.
func pushOf(f bellows.FlushID, clock bellows.Clock, pairs ...wire.Pair) *wire.Push {
	m := &wire.Push{Flush: f, Clock: clock, Pairs: pairs}
	for _, p := range pairs {
		m.Chunks = append(m.Chunks, wire.Chunk{Pair: p, Rows: []uint32{1}, Values: []float32{1, 2}})
	}
	return m
}

// partOf returns a push of some parts of a flush that has parts for both partitions of the free table.
func partOf(f bellows.FlushID, clock bellows.Clock, pairs ...wire.Pair) *wire.Push {
	m := pushOf(f, clock, pairs...)
	m.Pairs = []wire.Pair{pair(1, 0), pair(1, 1)}
	return m
}

func withDone(m *wire.Push) *wire.Push {
	m.Done = &wire.Done{Flush: m.Flush, Clock: m.Clock}
	return m
}

func again(m *wire.Push) *wire.Push {
	m.Again = true
	return m
}
