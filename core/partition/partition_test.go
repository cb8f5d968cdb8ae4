package partition_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"bellows"
	"bellows/core/checkpoint"
	"bellows/core/handoff"
	"bellows/core/partition"
	"bellows/core/partition/partitiontest"
	"bellows/core/rowstore"
	"bellows/internal/require"
	"bellows/link/wire"
	"bellows/table"
)

// flush is a flush with a name.
type flush uint64

func (f flush) ID() bellows.FlushID {
	return bellows.FlushID{Client: 1, Incarnation: 1, Seq: uint64(f)}
}

// held is a lease that is out.
type held struct {
	from   wire.Address
	mode   wire.Mode
	values []float32
}

// rig drives one partition through everything that its lane may do, and knows what must come of it.
type rig struct {
	t       *testing.T
	schema  table.Schema
	rng     *rand.Rand
	p       *partition.Partition
	mirror  *partitiontest.Mirror
	mirrors []*partitiontest.Mirror
	giver   *checkpoint.Giver
	at      partition.Frontier
	fx      partition.Effects
	flushes flush
	applied map[uint64]int // flushes that are part of the state
	leases  []held
	asked   uint64
	splits  map[bellows.Clock]uint32 // that have pushed

	to     *partition.Partition // a copy is sent there; nil: none
	source *handoff.Source
	copies uint64
	pieces []*wire.Piece
	moves  int

	want map[bellows.Key]float32 // by row or key: the sum of everything that was accepted
}

var (
	self   = wire.LaneAt(3, 0)
	target = wire.LaneAt(4, 0)
	near   = wire.ClientAt(3)
	far    = wire.ClientAt(9)
)

const rows = 40

func newRig(t *testing.T, seed uint64, sparse bool, c table.Consistency, logMax int) *rig {
	r := &rig{t: t, rng: rand.New(rand.NewPCG(seed, 1)), giver: new(checkpoint.Giver), applied: map[uint64]int{},
		splits: map[bellows.Clock]uint32{}, want: map[bellows.Key]float32{}}
	r.schema = table.Schema{Name: "w", Rows: rows, Width: 1, Partitions: 1, Sparse: sparse, Consistency: c}
	r.at.Complete = bellows.NoClock
	r.p = r.make(false, logMax)
	r.mirror = r.follow(r.p)
	return r
}

func (r *rig) make(blank bool, logMax int) *partition.Partition {
	r.t.Helper()
	p, err := partition.New(partition.Config{Generation: 1, Schema: &r.schema, Cut: r.schema.Cut(), Blank: blank,
		Barrier: r.schema.Consistency == table.BSP, Complete: r.at.Complete, Cuts: r.giver, LogMax: logMax})
	require.NoError(r.t, err)
	return p
}

func (r *rig) follow(p *partition.Partition) *partitiontest.Mirror {
	r.t.Helper()
	m, err := partitiontest.New(p, &r.schema, r.schema.Cut())
	require.NoError(r.t, err)
	m.Every = 1 + r.rng.IntN(4)
	r.mirrors = append(r.mirrors, m)
	return m
}

// carry takes the effects of a call.
func (r *rig) carry(err error) {
	r.t.Helper()
	require.NoError(r.t, err)
	for _, s := range r.fx.Sends {
		if s.To != target {
			r.t.Fatalf("a message to %v", s.To)
		}
		r.pieces = append(r.pieces, s.Message.(*wire.Piece))
	}
	for _, f := range r.fx.Applied {
		r.applied[f.ID().Seq]++
	}
	r.fx.Reset()
}

// record returns the number of the next record.
func (r *rig) record() bellows.CommitNumber {
	r.at.Applied++
	return r.at.Applied
}

// accept records a chunk of a flush, with the deltas 1, 2 and so on.
func (r *rig) accept() {
	n := 1 + r.rng.IntN(6)
	c := &wire.Chunk{Pair: r.p.Pair()}
	clock := r.at.Complete + 1 + bellows.Clock(r.rng.IntN(2))
	c.Subtree.Index = r.splits[clock]
	r.splits[clock]++
	for i, row := range r.rng.Perm(rows)[:n] {
		if r.schema.Sparse {
			c.Keys = append(c.Keys, bellows.Key(row*row))
		} else {
			c.Rows = append(c.Rows, uint32(row))
		}
		c.Values = append(c.Values, float32(i+1))
		r.want[r.key(row)] += float32(i + 1)
	}
	if c.Keys != nil {
		var err error
		c.Rows, err = r.p.State.Reserve(c.Keys, nil)
		require.NoError(r.t, err)
	}
	r.flushes++
	r.p.Accept(partition.Entry{Flush: r.flushes, Chunk: c, Clock: clock, Number: r.record()}, &r.fx)
	r.carry(nil)
}

func (r *rig) key(row int) bellows.Key {
	if r.schema.Sparse {
		return bellows.Key(row * row)
	}
	return bellows.Key(row)
}

// reach completes the next clock.
func (r *rig) reach() {
	n := r.record()
	r.at.Complete++
	r.at.Barrier = n
	r.carry(r.p.Reach(r.at.Complete, n, &r.fx))
}

// ask requests a lease, and grants what may be granted.
func (r *rig) ask() {
	r.asked++
	from, mode := near, wire.Mode(r.rng.IntN(2))
	if r.rng.IntN(2) == 0 {
		from = far
	}
	r.p.Leases.Request(from, &wire.Acquire{Request: r.asked, Mode: mode, Need: wire.Need{Clock: bellows.NoClock}}, 10)
	r.grant()
}

func (r *rig) grant() {
	for s := range r.p.Grants(r.at, self.Node, func(bellows.NodeID) bool { return false }) {
		g := s.Message.(*wire.Granted)
		r.leases = append(r.leases, held{s.To, g.Mode, g.Values})
	}
}

// release ends the oldest lease. An exclusive holder has added 1 to some rows.
func (r *rig) release() {
	if len(r.leases) == 0 {
		return
	}
	h := r.leases[0]
	r.leases = r.leases[1:]
	if h.mode == wire.Shared {
		there, err := r.p.Release(h.from, &r.fx)
		if r.carry(err); !there {
			r.t.Fatalf("%v had no lease", h.from)
		}
		return
	}
	for range 3 {
		row := r.rng.IntN(rows)
		h.values[row]++
		r.want[bellows.Key(row)]++
	}
	r.flushes++
	r.carry(r.p.EndExclusive(r.flushes, h.values, r.at.Complete+1, r.record(), &r.fx))
}

// move begins a copy, gives it up, or continues it, and moves the partition when it may go.
func (r *rig) move() {
	if r.to == nil {
		r.copies++
		m := &wire.Handoff{Term: 1, Number: r.copies, Pair: r.p.Pair(), Node: target.Node}
		r.source = handoff.NewSource(m, r.copies, handoff.Limits{Slab: 7, Window: 200, Behind: 1 << 20})
		r.to = r.make(true, 0)
		r.follow(r.to)
		r.p.Out.Offer(r.source, 1, &r.fx)
		r.carry(nil)
		r.to.In.Target = handoff.NewTarget(self, r.pieces[0])
		r.pieces = nil
		r.p.Out.Begin()
		return
	}
	if r.rng.IntN(60) == 0 {
		r.p.Out.Void(&r.fx)
		r.carry(nil)
		r.to, r.pieces = nil, nil
		r.grant()
		return
	}
	switch r.p.Out.Stream(&r.fx) {
	case partition.CopyOverrun:
		r.t.Fatal("more is on its way than may be")
	case partition.CopyStops:
		r.carry(nil)
		r.grant()
		r.p.Out.Stop(&r.fx)
	}
	r.carry(nil)
	whole := false
	if m := r.p.Out.Announce(); m != nil {
		whole = m.Whole
	}
	r.deliver(r.rng.IntN(25))
	if whole {
		r.handOver()
	}
}

// deliver delivers pieces.
func (r *rig) deliver(most int) {
	for len(r.pieces) > 0 && most > 0 {
		m := r.pieces[0]
		r.pieces = r.pieces[1:]
		number := m.Number
		var fx partition.Effects
		require.NoError(r.t, r.to.TakePiece(m, &fx))
		if len(fx.Sends)+len(fx.Applied) > 0 {
			r.t.Fatalf("the receiver of a copy has effects %v", fx)
		}
		r.source.Taken(number)
		most--
	}
}

// handOver moves the partition by a record, on which the lane of the mirror follows.
func (r *rig) handOver() {
	n := r.record()
	r.carry(r.p.HandOver(target, r.at, &r.fx))
	for _, q := range r.p.Leave(n) {
		r.to.Leases.Request(q.From, q.Acquire, 10)
	}
	early := r.rng.IntN(2) == 0
	if early {
		r.deliver(1 << 20)
	}
	r.to.Gain(2, n, r.at.Complete, r.schema.Consistency == table.BSP)
	if r.rng.IntN(2) == 0 { // a record before all is here
		r.to.Keep(r.record(), &r.fx)
		r.at.Complete++
		r.at.Barrier = r.record()
		r.carry(r.to.Reach(r.at.Complete, r.at.Barrier, &r.fx))
	}
	r.deliver(1 << 20)
	require.NoError(r.t, r.to.Serve())
	r.carry(r.to.Settle(r.at, &r.fx))
	if !r.source.Arrived() || !r.to.In.Served() {
		r.t.Fatal("the copy has not arrived")
	}
	r.p.Free()
	r.p, r.to = r.to, nil
	r.moves++
}

// finish lets everything become part of the state.
func (r *rig) finish() {
	for range 3 {
		for len(r.leases) > 0 || r.p.Leases.Waiting() && r.to == nil {
			r.release()
			r.grant()
		}
		r.reach()
	}
	for seq := range uint64(r.flushes) {
		if n := r.applied[seq+1]; n != 1 {
			r.t.Fatalf("flush %d is part of the state %d times", seq+1, n)
		}
	}
}

// check compares the rows with the sum of all deltas, and the mirrors with the bits of their partitions.
func (r *rig) check() {
	r.t.Helper()
	var im rowstore.Image
	r.p.State.Save(&im)
	got := map[bellows.Key]float32{}
	for i, v := range im.Values {
		if k := bellows.Key(i); im.Keys == nil && v != 0 {
			got[k] = v
		} else if im.Keys != nil {
			got[im.Keys[i]] = v
		}
	}
	for k, v := range r.want {
		if got[k] != v {
			r.t.Fatalf("row %d is %v, not %v", k, got[k], v)
		}
		delete(got, k)
	}
	if len(got) > 0 {
		r.t.Fatalf("rows that nothing has changed: %v", got)
	}
	for _, m := range r.mirrors {
		require.NoError(r.t, m.Check())
	}
}

// TestAMirrorHasTheSameBits takes a partition through records, clocks, leases, images, cuts and moves in
// random order. A mirror that reads nothing but the log has its bits, and no delta is lost or counted twice.
func TestAMirrorHasTheSameBits(t *testing.T) {
	t.Parallel()
	for _, c := range []table.Consistency{table.BSP, table.Async} {
		for _, sparse := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v, keys %v", c, sparse), func(t *testing.T) {
				t.Parallel()
				moves := 0
				var counts [partition.Loaded + 1]int
				for seed := range uint64(30) {
					r := newRig(t, seed, sparse, c, 0)
					r.soup(600)
					moves += r.moves
					for _, m := range r.mirrors {
						for kind, n := range m.Counts {
							counts[kind] += n
						}
					}
				}
				if moves < 30 || counts[partition.Copied] == 0 || counts[partition.Kept] == 0 ||
					counts[partition.Cut] == 0 || !sparse && counts[partition.LeaseEnd] == 0 {
					t.Errorf("%d moves, changes %v", moves, counts)
				}
			})
		}
	}
}

// soup takes so many random steps.
func (r *rig) soup(steps int) {
	for range steps {
		r.step()
	}
	r.finish()
	r.check()
}

// step performs one random action.
func (r *rig) step() {
	switch do := r.rng.IntN(20); {
	case do < 8:
		r.accept()
	case do < 10:
		r.reach()
	case do < 12 && !r.schema.Sparse:
		r.ask()
	case do < 15:
		r.release()
		r.grant()
	case do == 15:
		r.p.Keep(r.record(), &r.fx)
		r.carry(nil)
	case do == 16:
		r.giver.Take(&wire.Cut{Term: 1, Attempt: 1})
		r.giver.Cut(r.record())
		r.p.Cut(r.at.Applied)
	case do == 17:
		r.giver.End(false)
	default:
		r.move()
	}
}

// TestCutIsTheStateAtItsRecord changes a partition in every way after the record of a cut. The cut still
// has the state at the record.
func TestCutIsTheStateAtItsRecord(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		for _, sparse := range []bool{false, true} {
			r := newRig(t, seed, sparse, table.Async, 0)
			for range 20 {
				r.accept()
			}
			r.giver.Take(&wire.Cut{Term: 1, Attempt: 1})
			n := r.record()
			r.giver.Cut(n)
			var want rowstore.Image
			r.p.State.Save(&want)
			r.p.Cut(n)
			for range 20 {
				r.accept()
				if !sparse {
					r.ask()
					r.release()
				}
			}
			var got rowstore.Image
			for piece := (checkpoint.Piece{}); !piece.Last; {
				require.NoError(t, r.giver.Piece(n, r.p.Ref, 7, &piece))
				got.Keys = append(got.Keys, piece.Keys...)
				got.Values = append(got.Values, piece.Values...)
			}
			if !slices.Equal(got.Keys, want.Keys) || !slices.Equal(got.Values, want.Values) {
				t.Fatalf("the cut has %v %v, and the partition had %v %v", got.Keys, got.Values, want.Keys, want.Values)
			}
		}
	}
}
