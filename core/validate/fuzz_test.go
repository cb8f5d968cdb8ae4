package validate_test

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"testing"

	"bellows"
	"bellows/core"
	"bellows/core/client"
	"bellows/core/coord"
	"bellows/core/route"
	"bellows/core/server"
	"bellows/core/validate"
	"bellows/internal/require"
	"bellows/link/wire"
	"bellows/table"
)

// A talk is a small job of two nodes, all of whose frames can be changed on their way. Node 0 has the controller, a
// lane and a client; node 1 has a lane and a client. Table b is BSP, s is SSP(1) and counts, l is leased, k is
// sparse.
var talkTables = []table.Schema{
	{Name: "b", Rows: 8, Width: 2, Partitions: 4},
	{Name: "s", Rows: 6, Width: 1, Partitions: 2, DType: table.Int32, Consistency: table.SSP(1)},
	{Name: "l", Rows: 4, Width: 1, Partitions: 4, Consistency: table.Async},
	{Name: "k", Sparse: true, Rows: 20, Width: 1, Partitions: 2, Consistency: table.SSP(1)},
}

const (
	talkSplits = 4
	talkClocks = 3
	talkSteps  = 20000 // far more than a talk of that size takes: the end of one that hangs
)

type talk struct {
	lanes      []*server.Lane
	clients    []*client.Client
	checkers   []*validate.Checker
	joiners    [2]wire.Joiner // by receiving node
	controller *coord.Controller
	coordFX    coord.Effects
	clientFX   []client.Effects
	queue      []wire.Envelope
	outcome    *coord.Outcome
	refusals   int
	frames     int
	cut        int // messages in several frames
	edits      []edit
	at         map[*client.Task]int // the next step of each task that runs
}

// edit changes the frame of a number: what is not addressed stays.
type edit struct {
	frame int
	what  byte // which change
	place int
	value byte
}

func edits(b []byte) []edit {
	var list []edit
	for ; len(b) >= 6 && len(list) < 16; b = b[6:] {
		list = append(list, edit{int(binary.LittleEndian.Uint16(b)), b[2], int(binary.LittleEndian.Uint16(b[3:])), b[5]})
	}
	return list
}

// rounds is a driver that trusts its results, as drivers do.
type rounds struct{ done int }

func (d *rounds) DispatchInitialTasks(to *coord.Dispatcher) {
	for s := range bellows.SplitID(talkSplits) {
		to.DispatchTask(s, 1, 2)
	}
}

func (d *rounds) HandleTaskCompletion(c coord.Completion, to *coord.Dispatcher) {
	d.done += int(c.Result[1])
	switch {
	case d.done == talkSplits*talkClocks:
		to.Keep()
		to.Finish()
	case d.done%talkSplits == 0:
		to.SetStaleness(1, table.SSP(d.done/talkSplits))
		d.DispatchInitialTasks(to)
	}
}

func (d *rounds) Save() []float64           { return []float64{float64(d.done)} }
func (d *rounds) Restore(s []float64) error { d.done = int(s[0]); return nil }

func talkItems(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{Begin: 0, End: 3} }

func newTalk(t testing.TB, changes []edit) *talk {
	t.Helper()
	laneAt := []wire.Address{{Role: wire.Lane}, {Node: 1, Role: wire.Lane}}
	clientAt := []wire.Address{{}, {Node: 1}}
	r := route.Spread(talkTables, talkSplits, laneAt, []bellows.NodeID{0, 1})
	k := &talk{edits: changes, at: map[*client.Task]int{}, clientFX: make([]client.Effects, 2)}
	for n := range clientAt {
		l, err := server.NewLane(core.Job{Controller: controller, Clients: clientAt, Tables: talkTables, Route: r, Items: talkItems}, laneAt[n], server.Options{HeldBytesMax: 64})
		require.NoError(t, err)
		k.lanes = append(k.lanes, l)
		k.clients = append(k.clients, client.New(core.Job{Controller: controller, Tables: talkTables, Route: r}, clientAt[n], client.Options{}))
		k.checkers = append(k.checkers, validate.New(core.Job{Nodes: 2, Clients: clientAt, Tables: talkTables, Route: r, Items: talkItems}, bellows.NodeID(n)))
	}
	k.controller = coord.New(core.Job{Controller: controller, Lanes: laneAt, Clients: clientAt, Route: r, Items: talkItems}, coord.Options{Driver: &rounds{}})
	return k
}

// run plays the talk to its end, or to where it hangs.
func (k *talk) run() {
	k.controller.Start(&k.coordFX)
	k.obey()
	for range talkSteps {
		if len(k.queue) == 0 {
			return
		}
		e := k.queue[0]
		k.queue = k.queue[1:]
		k.travel(e)
	}
}

// partMost is the longest part of a message in a talk. Many messages are longer.
const partMost = 90

// travel takes a message to its receiver, between nodes as frames.
func (k *talk) travel(e wire.Envelope) {
	if e.From.Node == e.To.Node {
		k.deliver(e)
		return
	}
	var b wire.Batch
	b.Shorten(partMost, 0)
	if err := b.Add(e); err != nil {
		panic(err)
	}
	var frames [][]byte
	for turn := b.Next(); len(turn) > 0; turn = b.Next() {
		frames = append(frames, slices.Concat(turn...))
	}
	b.Reset()
	if len(frames) > 1 {
		k.cut++
	}
	for _, frame := range frames {
		for _, f := range k.change(frame) {
			k.arrive(e.From.Node, e.To.Node, f)
		}
		k.frames++
	}
}

// change returns the frames that are sent in place of one.
func (k *talk) change(frame []byte) [][]byte {
	list := [][]byte{frame}
	for _, c := range k.edits {
		if c.frame != k.frames {
			continue
		}
		switch at := c.place % len(frame); c.what % 4 {
		case 0:
			frame[at] = c.value
		case 1:
			frame[at] += c.value
		case 2:
			list = append(list, slices.Clone(frame))
		case 3: // a whole number, as large or as small as can be
			for i := range min(4, len(frame)-at) {
				frame[at+i] = byte(int8(c.value) >> 7)
			}
		}
	}
	sums := crc32.MakeTable(crc32.Castagnoli)
	for _, f := range list {
		binary.LittleEndian.PutUint32(f[12:], crc32.Checksum(f[wire.HeaderSize:], sums))
		binary.LittleEndian.PutUint32(f[28:], crc32.Checksum(f[:28], sums))
	}
	return list
}

// arrive handles a frame of another node as a node does.
func (k *talk) arrive(from, at bellows.NodeID, frame []byte) {
	h, err := wire.ParseHeader(frame)
	var e wire.Envelope
	if err == nil {
		err = k.checkers[at].Header(from, h)
	}
	if err == nil {
		payload := h.Payload()
		copy(payload, frame[wire.HeaderSize:])
		e, err = k.joiners[at].Decode(h, payload)
	}
	if err == nil && e.Message == nil {
		return // more must come
	}
	if err == nil {
		err = k.checkers[at].Message(h, e)
	}
	if err != nil {
		k.refusals++
		k.controller.Lost(from, err.Error(), &k.coordFX)
		k.obey()
		return
	}
	k.deliver(e)
}

func (k *talk) deliver(e wire.Envelope) {
	switch e.To.Role {
	case wire.Lane:
		var out wire.Outbox
		k.lanes[e.To.Node].Step([]wire.Envelope{e}, &out)
		k.queue = append(k.queue, out.Envelopes...)
	case wire.Client:
		k.clients[e.To.Node].Deliver(e, &k.clientFX[e.To.Node])
		k.work(int(e.To.Node))
	default:
		k.controller.Step([]wire.Envelope{e}, &k.coordFX)
		k.obey()
	}
}

func (k *talk) obey() {
	k.queue = append(k.queue, k.coordFX.Envelopes...)
	if k.coordFX.Outcome != nil {
		k.outcome = k.coordFX.Outcome
	}
	k.coordFX.Reset()
}

// work runs a node's tasks as far as they come.
func (k *talk) work(n int) {
	for fx := &k.clientFX[n]; ; {
		k.queue = append(k.queue, fx.Envelopes...)
		todo := slices.Concat(fx.Run, fx.Wake)
		fx.Reset()
		if len(todo) == 0 {
			return
		}
		for _, t := range todo {
			if k.clients[n].Ended() == nil {
				k.step(n, t, fx)
			}
		}
	}
}

// step takes a task one step further: it reads all of a table, some rows of another and some keys, leases, and
// changes them all. In the second clock it uses the keys of the first, so that they are subscribed to; in the third
// clock it adds others.
func (k *talk) step(n int, t *client.Task, fx *client.Effects) {
	c := k.clients[n]
	rows := []bellows.RowID{bellows.RowID(t.Unit.Split) % 3, 3 + bellows.RowID(t.Unit.Clock)%3}
	lease := bellows.PartitionRef{Table: 2, Partition: bellows.PartitionID(int(t.Unit.Split)+int(t.Unit.Clock)) % 4}
	for {
		ready, err := true, error(nil)
		switch k.at[t] {
		case 0:
			if ready = c.Read(t, 0, 0, 8, fx); ready {
				t.AddRange(0, 0, t.View(0, 0, 8))
			}
		case 1:
			if ready = c.ReadRows(t, 1, rows, fx); ready {
				t.Gather(1, rows, make([]float32, 2))
				t.AddRow(1, rows[0], []float32{1})
			}
		case 2:
			keys := []bellows.Key{7, bellows.Key(t.Unit.Split) << 40, bellows.Key(t.Unit.Clock/2) << 20}
			t.Group(3, keys)
			if ready = c.ReadKeys(t, fx); ready {
				t.GatherKeys(3, keys, make([]float32, 3))
				t.AddKeys(3, keys, []float32{1, 2, 3})
			}
		case 3:
			ready, err = c.Lease(t, lease, wire.Mode(int(t.Unit.Split)%2), fx)
			if ready {
				v := t.Leased(lease)
				v[0] += float32(int(t.Unit.Split) % 2)
			}
		default:
			delete(k.at, t)
			c.Finish(t, []float64{0.5, 1}, nil, fx)
			return
		}
		if err != nil {
			delete(k.at, t)
			c.Finish(t, nil, err, fx)
			return
		}
		if !ready {
			return
		}
		k.at[t]++
	}
}

// TestATalkEndsInPeace checks the talk itself: without a change nothing is refused, and every frame counts.
func TestATalkEndsInPeace(t *testing.T) {
	t.Parallel()
	k := newTalk(t, nil)
	k.run()
	if k.outcome == nil || k.outcome.Reason != "" || k.refusals > 0 || k.frames < 100 || k.cut < 20 {
		t.Fatalf("outcome %+v, %d refusals, %d frames, %d messages in parts", k.outcome, k.refusals, k.frames, k.cut)
	}
	c := k.outcome.Counts
	if c.Sent != c.Applied || c.Dropped != 0 {
		t.Errorf("counts %+v", c)
	}
}

// TestChangedFramesEndTheJobByName changes each frame of a talk a few times, at random places. Nothing may panic.
// Most changes must be noticed, and the node that notices one reports it.
func TestChangedFramesEndTheJobByName(t *testing.T) {
	t.Parallel()
	quiet := newTalk(t, nil)
	quiet.run()
	random := rand.New(rand.NewPCG(1, 2))
	refused, named, tries := 0, 0, 0
	each := 8
	if testing.Short() {
		each = 2
	}
	for frame := range quiet.frames {
		for range each {
			k := newTalk(t, []edit{{frame, byte(random.IntN(4)), random.IntN(400), byte(random.Uint32())}})
			k.run()
			tries++
			if k.refusals > 0 {
				refused++
			}
			if k.outcome != nil && k.outcome.Reason != "" {
				named++
			}
		}
	}
	if refused < tries/4 || named < tries/3 {
		t.Errorf("of %d changes %d were refused by a checker and %d ended the job by name", tries, refused, named)
	}
}

// FuzzTalk changes frames of a talk: whatever comes, no actor panics, and none works for ever.
func FuzzTalk(f *testing.F) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 40 {
		var b []byte
		for range 1 + random.IntN(3) {
			b = binary.LittleEndian.AppendUint16(b, uint16(random.IntN(150)))
			b = append(b, byte(random.IntN(4)))
			b = binary.LittleEndian.AppendUint16(b, uint16(wire.HeaderSize+random.IntN(120)))
			b = append(b, byte(random.Uint32()))
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		k := newTalk(t, edits(b))
		k.run()
		if len(k.queue) > 0 {
			t.Fatal(fmt.Sprint("the talk does not end: ", len(k.queue), " messages wait"))
		}
	})
}
