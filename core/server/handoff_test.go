package server_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"bellows"
	"bellows/core"
	"bellows/core/migration"
	"bellows/core/route"
	"bellows/core/rowstore"
	"bellows/core/server"
	"bellows/internal/require"
	"bellows/link/wire"
	"bellows/table"
)

// ferryTables are one of each kind: what waits for clocks, with a rule that remembers; what does not; rows with keys; and what is leased.
var ferryTables = []table.Schema{
	{Name: "barrier", Rows: 8, Width: 2, Partitions: 2, Rule: table.Rule{Name: "momentum", Step: 0.1, Momentum: 0.9}},
	{Name: "free", Rows: 8, Width: 1, Partitions: 2, Consistency: table.Async},
	{Name: "words", Rows: 64, Width: 1, Partitions: 2, Sparse: true, Rule: table.Rule{Name: "adagrad", Step: 0.1, Epsilon: 1e-6}},
	{Name: "leased", Rows: 6, Width: 1, Partitions: 2, Consistency: table.Async},
}

const leasedTable = 3

var (
	ferryLanes   = []wire.Address{wire.LaneAt(1, 0), wire.LaneAt(2, 0)}
	ferryClients = []wire.Address{wire.ClientAt(3), wire.ClientAt(4)}
)

func ferryJob(lanes []wire.Address) core.Job {
	return core.Job{Controller: controller, Nodes: 5, Lanes: lanes, Clients: ferryClients, Tables: ferryTables, Route: route.Spread(ferryTables, 2, lanes, []bellows.NodeID{3, 4}),
		Items: func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{Begin: 0, End: 1} }}
}

// ferry is two lanes between which partitions move back and forth, the messages on their way in the order of each
// link, and a minimal controller and clients. A third lane owns all partitions, and receives the same messages in the
// order of the records.
type ferry struct {
	*rand.Rand
	t      *testing.T
	lanes  [2]*server.Lane
	whole  *server.Lane
	links  [6][]wire.Envelope // from the controller, the clients and the other lane, to each
	route  *route.Route
	number bellows.CommitNumber
	asked  uint64
	moves  map[bellows.PartitionRef]*wire.Handoff
	seq    [2]uint64
	clock  [2]bellows.Clock
	open   [2]*ferried
	sent   int64
	leases map[uint64]int // requests for leases that are out or waited for, by client
	last   uint64         // request
	flips  int
	breach string
	closed int
	counts wire.Counts
	keeps  int
	over   bool // the clients have passed on the end
	states map[migration.CopyState]int
	told   map[uint64]uint64 // by move: how many bytes were there, as was told last
}

// ferried is a flush of a client that has no number.
type ferried struct {
	client int
	id     bellows.FlushID
	clock  bellows.Clock
	chunks []wire.Chunk
	ends   []wire.LeaseEnd
	held   map[bellows.PartitionRef]bellows.Generation
	sent   map[bellows.PartitionRef]wire.Pair
	first  []wire.Pair
}

func newFerry(t *testing.T, seed uint64, limits server.Limits) *ferry {
	f := &ferry{Rand: rand.New(rand.NewPCG(seed, 9)), t: t, moves: map[bellows.PartitionRef]*wire.Handoff{}, leases: map[uint64]int{}, states: map[migration.CopyState]int{}, told: map[uint64]uint64{}}
	job := ferryJob(ferryLanes)
	f.route = job.Route
	for i, a := range ferryLanes {
		l, err := server.NewLane(job, a, server.Options{Limits: limits})
		require.NoError(t, err)
		f.lanes[i] = l
	}
	l, err := server.NewLane(ferryJob(ferryLanes[:1]), ferryLanes[0], server.Options{})
	require.NoError(t, err)
	f.whole = l
	return f
}

func (f *ferry) lane(a wire.Address) int { return slices.Index(ferryLanes, a) }

func (f *ferry) post(link, lane int, from wire.Address, m wire.Message) {
	f.links[2*link+lane] = append(f.links[2*link+lane], wire.Envelope{From: from, To: ferryLanes[lane], Message: m})
}

// deliver lets the first message of a link come, if there is one.
func (f *ferry) deliver(link int) bool {
	if len(f.links[link]) == 0 {
		return false
	}
	n := 1 + f.IntN(len(f.links[link]))
	batch := slices.Clone(f.links[link][:n])
	f.links[link] = slices.Clone(f.links[link][n:])
	f.step(link%2, batch)
	return true
}

func (f *ferry) step(lane int, batch []wire.Envelope) {
	var out wire.Outbox
	batch = slices.DeleteFunc(batch, func(e wire.Envelope) bool { // as who paces copies does: a later word says as much
		m, ok := e.Message.(*wire.Taken)
		if !ok {
			return false
		}
		state := f.lanes[lane].CopyOf(e.From, m)
		f.states[state]++
		return state == migration.CopyUnderWay
	})
	f.lanes[lane].Step(batch, &out)
	for _, e := range out.Envelopes {
		switch m := e.Message.(type) {
		case *wire.Prepared:
			f.prepared(m)
		case *wire.Complaint:
			f.breach = m.Reason
		case *wire.Refused:
			f.breach = m.Reason
		case *wire.Held:
			f.votes(m.Flush, m.Pairs, lane)
		case *wire.Stale:
			f.stale(m)
		case *wire.Granted:
			f.granted(e.To, m)
		case *wire.Closed:
			f.closed++
			f.counts.Add(&m.Counts)
		default:
			if to := f.lane(e.To); to >= 0 {
				f.post(2, to, e.From, e.Message)
			}
		}
	}
}

// record numbers something for all lanes.
func (f *ferry) record(fill func(*wire.Records)) {
	f.number++
	for i := range f.lanes {
		m := wire.New[wire.Records]()
		fill(m)
		f.post(0, i, controller, m)
	}
}

func (f *ferry) control(c bellows.Control) {
	f.record(func(m *wire.Records) { m.AppendControl(f.number, c) })
	if !c.Kind.ChangesRoute() {
		m := wire.New[wire.Records]()
		m.AppendControl(f.wholeNumber(), c)
		f.tellWhole(controller, m)
	}
}

// wholeNumber returns the next number of the lane beside, which knows no moves.
func (f *ferry) wholeNumber() bellows.CommitNumber { return f.whole.Applied() + 1 }

func (f *ferry) tellWhole(from wire.Address, m wire.Message) (values []float32) {
	var out wire.Outbox
	f.whole.Step([]wire.Envelope{{From: from, To: ferryLanes[0], Message: m}}, &out)
	for _, e := range out.Envelopes {
		if g, ok := e.Message.(*wire.Granted); ok {
			values = slices.Clone(g.Values)
		}
	}
	return values
}

// shows checks that the progress of a move begins with nothing, whatever became of an earlier one, and grows up to
// all of it.
func (f *ferry) shows(m *wire.Prepared) {
	if m.Reason != "" {
		return
	}
	before, some := f.told[m.Number]
	if m.Copied > m.Of || m.Copied < before || !some && m.Copied > 0 || m.Whole && m.Copied < m.Of {
		f.t.Errorf("told is %+v, behind %d bytes of that move (%v)", m, before, some)
	}
	f.told[m.Number] = m.Copied
}

// prepared records a move that has the newest number.
func (f *ferry) prepared(m *wire.Prepared) {
	f.shows(m)
	h := f.moves[m.Pair.Ref]
	if f.over || h == nil || h.Number != m.Number || !m.Whole && m.Reason == "" {
		return
	}
	delete(f.moves, m.Pair.Ref)
	if m.Reason != "" {
		return
	}
	f.flips++
	c := f.route.MovePartition(m.Pair.Ref, h.NextOwner())
	next, err := f.route.Next(c)
	require.NoError(f.t, err)
	f.route = next
	f.control(c)
	for _, o := range f.open { // of its client the controller would refuse the done
		if o != nil {
			f.done(o)
		}
	}
}

// push sends the parts of a flush that are not held to their current owners.
func (f *ferry) push(o *ferried, again bool, refs ...bellows.PartitionRef) {
	for i := range f.lanes {
		m := &wire.Push{Flush: o.id, Clock: o.clock, Again: again, Route: f.route.Version()}
		for _, c := range o.chunks {
			if owner := f.route.Owner(c.Ref); f.lane(owner.Lane) == i && slices.Contains(refs, c.Ref) {
				c.Generation = owner.Generation
				m.Chunks = append(m.Chunks, c)
				o.sent[c.Ref] = c.Pair
			}
		}
		for _, e := range o.ends {
			if owner := f.route.Owner(e.Ref); f.lane(owner.Lane) == i && slices.Contains(refs, e.Ref) {
				e.Generation = owner.Generation
				m.Leases = append(m.Leases, e)
				o.sent[e.Ref] = e.Pair
			}
		}
		if len(m.Chunks)+len(m.Leases) > 0 {
			for _, p := range o.sent {
				m.Pairs = append(m.Pairs, p)
			}
			if !again {
				for _, c := range m.Chunks {
					o.first = append(o.first, c.Pair)
				}
				for _, e := range m.Leases {
					o.first = append(o.first, e.Pair)
				}
			}
			f.post(1, i, ferryClients[o.client], m)
		}
	}
}

func (f *ferry) openOf(id bellows.FlushID) *ferried {
	for _, o := range f.open {
		if o != nil && o.id == id {
			return o
		}
	}
	return nil
}

func (f *ferry) votes(id bellows.FlushID, pairs []wire.Pair, lane int) {
	o := f.openOf(id)
	if o == nil {
		return
	}
	if len(pairs) == 0 {
		for _, p := range o.first {
			if f.laneOf(p) == lane {
				pairs = append(pairs, p)
			}
		}
	}
	for _, p := range pairs {
		if o.sent[p.Ref] == p {
			o.held[p.Ref] = p.Generation
		}
	}
	f.done(o)
}

// laneOf returns the lane that had a pair when the flush was sent first: the one of the two that owned it.
func (f *ferry) laneOf(p wire.Pair) int {
	own := f.route.Owner(p.Ref)
	if (own.Generation-p.Generation)%2 == 0 {
		return f.lane(own.Lane)
	}
	return 1 - f.lane(own.Lane)
}

func (f *ferry) stale(m *wire.Stale) {
	o := f.openOf(m.Flush)
	if o == nil {
		for r := range f.leases {
			if r == m.Request {
				delete(f.leases, r)
			}
		}
		return
	}
	var refs []bellows.PartitionRef
	for _, p := range m.Pairs {
		if o.sent[p.Ref] == p {
			delete(o.held, p.Ref)
			refs = append(refs, p.Ref)
		}
	}
	f.push(o, true, refs...)
}

// done numbers a flush that its current owners hold completely.
func (f *ferry) done(o *ferried) {
	for ref := range o.sent {
		if o.held[ref] != f.route.Owner(ref).Generation {
			return
		}
	}
	f.open[o.client] = nil
	d := &wire.Done{Flush: o.id, Clock: o.clock}
	if o.ends == nil {
		d.Results = []wire.Result{{Unit: bellows.Unit{Split: bellows.SplitID(o.client), Clock: o.clock, Items: bellows.Range{End: 1}}}}
	}
	f.record(func(m *wire.Records) { m.Append(f.number, d) })
	push := &wire.Push{Flush: o.id, Clock: o.clock}
	for _, c := range o.chunks {
		c.Generation = 1
		push.Chunks = append(push.Chunks, c)
	}
	for _, e := range o.ends {
		e.Generation = 1
		m := &wire.Acquire{Request: 1, Pair: e.Pair, Mode: wire.Exclusive, Need: wire.Need{Clock: bellows.NoClock}}
		if got := f.tellWhole(ferryClients[o.client], m); !slices.Equal(worked(got), e.Values) {
			f.breach = fmt.Sprintf("the lease of %v had other values: %v became %v", e.Ref, got, e.Values)
		}
		push.Leases = append(push.Leases, e)
	}
	f.tellWhole(ferryClients[o.client], push)
	m := wire.New[wire.Records]()
	m.Append(f.wholeNumber(), d)
	f.tellWhole(controller, m)
}

// worked returns what a task makes of a partition that it leases.
func worked(v []float32) []float32 {
	to := make([]float32, len(v))
	for i, x := range v {
		to[i] = x*1.25 + float32(i+1)
	}
	return to
}

// granted works on a lease and ends it, or gives a shared one back later.
func (f *ferry) granted(to wire.Address, m *wire.Granted) {
	client := int(to.Node) - 3
	delete(f.leases, m.Request)
	if f.over {
		return
	}
	if m.Mode == wire.Shared {
		f.post(1, f.laneOf(m.Pair), to, &wire.Release{Pair: m.Pair})
		return
	}
	f.seq[client]++
	o := &ferried{client: client, id: bellows.FlushID{Client: to.Node, Incarnation: 1, Seq: f.seq[client]}, clock: f.clock[client],
		ends: []wire.LeaseEnd{{Pair: m.Pair, Values: worked(m.Values)}}, held: map[bellows.PartitionRef]bellows.Generation{}, sent: map[bellows.PartitionRef]wire.Pair{}}
	f.open[client] = o
	f.sent += int64(len(m.Values))
	f.push(o, false, m.Pair.Ref)
}

// work lets a client push a clock of its split, or lease something.
func (f *ferry) work(client int) {
	if f.open[client] != nil || len(f.leases) > 0 {
		return
	}
	ref := bellows.PartitionRef{Table: leasedTable, Partition: bellows.PartitionID(f.IntN(2))}
	mode := wire.Exclusive
	if f.IntN(3) == 0 {
		ref.Table, mode = 1, wire.Shared
	}
	if f.IntN(3) == 0 {
		f.last++
		f.leases[f.last] = client
		owner := f.route.Owner(ref)
		f.post(1, f.lane(owner.Lane), ferryClients[client], &wire.Acquire{Request: f.last, Pair: wire.Pair{Ref: ref, Generation: owner.Generation}, Mode: mode, Need: wire.Need{Clock: bellows.NoClock}, Route: f.route.Version()})
		return
	}
	f.seq[client]++
	o := &ferried{client: client, id: bellows.FlushID{Client: ferryClients[client].Node, Incarnation: 1, Seq: f.seq[client]}, clock: f.clock[client],
		held: map[bellows.PartitionRef]bellows.Generation{}, sent: map[bellows.PartitionRef]wire.Pair{}}
	f.clock[client]++
	var refs []bellows.PartitionRef
	for t := range bellows.TableID(leasedTable) {
		for p := range bellows.PartitionID(2) {
			ref := bellows.PartitionRef{Table: t, Partition: p}
			c := f.chunk(ref)
			c.Subtree = wire.Subtree{Index: uint32(client)}
			if c.Values == nil {
				continue
			}
			o.chunks, refs = append(o.chunks, c), append(refs, ref)
			f.sent += int64(len(c.Values) / ferryTables[t].Width)
		}
	}
	f.open[client] = o
	f.push(o, false, refs...)
	if len(refs) == 0 {
		f.done(o)
	}
}

func (f *ferry) chunk(ref bellows.PartitionRef) (c wire.Chunk) {
	c.Ref = ref
	s := &ferryTables[ref.Table]
	values := func(n int) {
		for range n * s.Width {
			c.Values = append(c.Values, f.Float32()-0.5)
		}
	}
	switch {
	case f.IntN(4) == 0:
	case s.Sparse:
		c.Keys = []bellows.Key{}
		for k := range bellows.Key(60) {
			if f.route.Cut(ref.Table).FindKey(k) == ref.Partition && f.IntN(5) == 0 {
				c.Keys = append(c.Keys, k)
			}
		}
		f.Shuffle(len(c.Keys), func(i, k int) { c.Keys[i], c.Keys[k] = c.Keys[k], c.Keys[i] })
		values(len(c.Keys))
	case f.IntN(3) == 0:
		values(s.Rows / 2)
	default:
		c.Rows = []uint32{uint32(f.IntN(2)), uint32(2 + f.IntN(2))}
		values(2)
	}
	return c
}

// move asks for a move of a partition, or gives it up.
func (f *ferry) move() {
	ref := bellows.PartitionRef{Table: bellows.TableID(f.IntN(len(ferryTables))), Partition: bellows.PartitionID(f.IntN(2))}
	owner := f.route.Owner(ref)
	at := f.lane(owner.Lane)
	f.asked++
	m := &wire.Handoff{Term: 1, Number: f.asked, Pair: wire.Pair{Ref: ref, Generation: owner.Generation}, Node: ferryLanes[1-at].Node}
	if h := f.moves[ref]; h != nil && f.IntN(3) == 0 {
		m.Number, m.Cancel = h.Number, true
		delete(f.moves, ref)
	} else {
		f.moves[ref] = m
	}
	f.post(0, at, controller, m)
}

// finish delivers everything, gives all moves up that have no record, and ends the job.
func (f *ferry) finish(early bool) {
	for step := 0; !early && step < 100_000; step++ {
		rest := len(f.leases) > 0 || f.open[0] != nil || f.open[1] != nil
		some := false
		for l := range f.links {
			some = f.deliver(l) || some
		}
		if !rest && !some {
			break
		}
		if step == 99_999 {
			f.t.Fatalf("it does not come to rest: leases %v, open %+v %+v", f.leases, f.open[0], f.open[1])
		}
	}
	for i := range f.lanes {
		f.post(0, i, controller, &wire.End{Term: 1, Commit: f.number})
		for _, c := range ferryClients {
			f.post(1, i, c, &wire.End{})
		}
	}
	f.open, f.leases, f.over = [2]*ferried{}, map[uint64]int{}, true
	for some := true; some; {
		some = false
		for l := range f.links {
			some = f.deliver(l) || some
		}
	}
	for _, c := range append(slices.Clone(ferryClients), controller) {
		f.tellWhole(c, &wire.End{Term: 1})
	}
	for i, l := range f.lanes {
		var out wire.Outbox
		l.Step([]wire.Envelope{{From: ferryLanes[i], To: ferryLanes[i], Message: &server.TasksEnded{}}}, &out)
	}
}

// check holds every partition, and its image, against the lane beside.
func (f *ferry) check(seed uint64) {
	f.t.Helper()
	if f.breach != "" {
		f.t.Fatalf("seed %d: %s", seed, f.breach)
	}
	if f.closed != 2 {
		f.t.Fatalf("seed %d: %d lanes have closed", seed, f.closed)
	}
	if got := f.counts.Applied + f.counts.Dropped; got != f.sent {
		f.t.Errorf("seed %d: %d rows were sent, %d applied and %d dropped", seed, f.sent, f.counts.Applied, f.counts.Dropped)
	}
	same := func(what string, ref bellows.PartitionRef, got, want *rowstore.Image) {
		if (got == nil) != (want == nil) {
			f.t.Errorf("seed %d: %s of %v: %v, want %v", seed, what, ref, got, want)
			return
		}
		if got != nil && (fmt.Sprint(got.Keys) != fmt.Sprint(want.Keys) || fmt.Sprint(got.Values) != fmt.Sprint(want.Values) || fmt.Sprint(got.Slots) != fmt.Sprint(want.Slots)) {
			f.t.Errorf("seed %d: %s of %v is\n%v\nwant\n%v", seed, what, ref, got, want)
		}
	}
	for ref := range f.route.Each() {
		l := f.lanes[f.lane(f.route.Owner(ref).Lane)]
		got, err := l.Partition(ref)
		want, werr := f.whole.Partition(ref)
		if err != nil || werr != nil {
			f.t.Errorf("seed %d: %v: %v, %v", seed, ref, err, werr)
			continue
		}
		same("the state", ref, &got, &want)
		same("the image", ref, l.Kept(ref), f.whole.Kept(ref))
	}
}

// TestACopyHasTheSameBits moves partitions of every kind back and forth between two lanes, at any moment, several at
// once, given up and asked for again, while clients push and lease, and the driver keeps images and changes the
// staleness. In the end everything is as at a lane that has owned it all the time, and each row that was sent is
// accounted for once.
func TestACopyHasTheSameBits(t *testing.T) {
	t.Parallel()
	flips, states := 0, map[migration.CopyState]int{}
	for seed := range uint64(400) {
		limits := server.Limits{Slab: 1 + int(seed%5), Window: 1 + int(seed%7)*100}
		if seed%11 == 0 {
			limits.Behind = 200
		}
		f := newFerry(t, seed, limits)
		for range 150 + f.IntN(150) {
			switch n := f.IntN(100); {
			case n < 8:
				f.move()
			case n < 20:
				f.work(f.IntN(2))
			case n < 22 && f.keeps < 4:
				f.keeps++
				f.control(bellows.Control{Kind: bellows.KeepTables})
			case n < 23 && f.open[0] == nil && f.open[1] == nil && f.clock[0] == f.clock[1]:
				f.control(bellows.Control{Kind: bellows.SetStaleness, Table: 0, Clocks: []int32{0, int32(table.Async)}[f.IntN(2)]})
			case n < 24:
				for i := range f.lanes { // as another controller does
					f.post(0, i, controller, &wire.Handoff{Term: 1})
				}
				clear(f.moves)
			default:
				f.deliver(f.IntN(len(f.links)))
			}
		}
		f.finish(seed%4 == 0)
		if seed%4 != 0 {
			f.check(seed)
		} else if f.breach != "" || f.closed != 2 || f.counts.Applied+f.counts.Dropped != f.sent {
			t.Errorf("seed %d: %s, %d closed, %d sent, %d applied, %d dropped", seed, f.breach, f.closed, f.sent, f.counts.Applied, f.counts.Dropped)
		}
		flips += f.flips
		for state, n := range f.states {
			states[state] += n
		}
		if t.Failed() {
			return
		}
	}
	if flips < 800 {
		t.Errorf("only %d moves came to their end", flips)
	}
	for _, state := range []migration.CopyState{migration.CopyHurries, migration.CopyBegins, migration.CopyUnderWay, migration.CopyRests} {
		if states[state] < 100 {
			t.Errorf("%d words were of a copy in state %d", states[state], state)
		}
	}
}
