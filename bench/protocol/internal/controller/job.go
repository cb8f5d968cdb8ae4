package controller

import (
	"bytes"
	"fmt"
	"runtime"

	"bellows"
	"bellows/bench/internal/pair"
	"bellows/core"
	"bellows/core/coord"
	"bellows/core/liveness"
	"bellows/core/route"
	"bellows/link/transport"
	"bellows/link/wire"
	"bellows/table"
	"bellows/train"
)

// The table that every flush changes: as large as it must be for the most partitions that a table gets by default.
const (
	rows  = 1 << 16
	width = 64
)

// job is a controller and its nodes, numbered from 1, which are frames and nothing else.
type job struct {
	nodes, step int
	controller  *coord.Controller
	fx          coord.Effects
	pairs       []wire.Pair
	clock       bellows.Clock
	started     bool
	batches     []wire.Batch // by node, as each has its own writer
	inbox       []wire.Envelope
	sent        tally
	allocated   float64 // by the last turn, per node and clock
}

// tally counts what the controller has sent.
type tally struct{ records, tasks int }

var self = wire.ControllerAt()

func clientOf(n int) wire.Address { return wire.ClientAt(bellows.NodeID(n)) }

// newJob makes a job of rounds: every split's next clock begins when all have ended.
func newJob(nodes, step int) *job {
	j := &job{nodes: nodes, step: step, batches: make([]wire.Batch, nodes+1)}
	tables := []table.Schema{{Name: "weights", Rows: rows, Width: width}}
	var lanes, clients []wire.Address
	var ids []bellows.NodeID
	for n := 1; n <= nodes; n++ {
		lanes = append(lanes, wire.LaneAt(bellows.NodeID(n), 0))
		clients = append(clients, clientOf(n))
		ids = append(ids, bellows.NodeID(n))
	}
	owners := route.Spread(tables, nodes, lanes, ids)
	for p := range owners.Partitions() {
		ref := bellows.PartitionRef{Partition: bellows.PartitionID(p)}
		j.pairs = append(j.pairs, wire.Pair{Ref: ref, Generation: owners.Owner(ref).Generation})
	}
	j.controller = coord.New(core.Job{Controller: self, Lanes: lanes, Clients: clients, Route: owners, Items: items, Times: liveness.Times{Lease: 10_000}},
		coord.Options{Driver: &train.Rounds{Splits: nodes, Each: func(int, [][]float64, *train.Dispatcher) bool { return true }}})
	return j
}

func items(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{End: 1} }

// frames writes the messages of all clients in one clock, as they arrive from the wire.
func (j *job) frames(to *bytes.Buffer, clock bellows.Clock) {
	var batch wire.Batch
	for n := 1; n <= j.nodes; n++ {
		m := wire.New[wire.Done]()
		m.Flush = bellows.FlushID{Client: bellows.NodeID(n), Incarnation: 1, Seq: uint64(clock) + 1}
		m.Clock, m.Deferrable = clock, true // as of a BSP table
		m.Pairs = append(m.Pairs, j.pairs...)
		m.Append(bellows.Unit{Split: bellows.SplitID(n - 1), Clock: clock, Items: bellows.Range{End: 1}}, []float64{1, 2, 3})
		pair.Check(batch.Add(wire.Envelope{From: clientOf(n), To: self, Message: m}))
	}
	for _, b := range batch.Buffers() {
		to.Write(b)
	}
	batch.Reset()
}

// turn runs clocks whose frames have been made before.
func (j *job) turn(clocks int) pair.Turn {
	var stream bytes.Buffer
	for c := range bellows.Clock(clocks) {
		j.frames(&stream, j.clock+c)
	}
	j.clock += bellows.Clock(clocks)
	j.sent = tally{}
	reader := transport.NewReader(&stream)
	work := float64(j.nodes * clocks)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	t := pair.Measure(func() float64 { j.run(reader, clocks); return work })()
	runtime.ReadMemStats(&after)
	j.allocated = float64(after.Mallocs-before.Mallocs) / work
	if want := int(work); j.sent.records != want*j.nodes || j.sent.tasks < want {
		pair.Check(fmt.Errorf("of %d flushes %d records and %d tasks were sent", want, j.sent.records, j.sent.tasks))
	}
	return t
}

// run runs the measured part: frames in, steps, frames out.
func (j *job) run(reader *transport.Reader, clocks int) {
	if !j.started {
		j.started = true
		j.controller.Start(&j.fx)
		for n := range j.nodes + 1 {
			j.controller.Step([]wire.Envelope{{From: clientOf(n), To: self, Message: &wire.Ready{}}}, &j.fx)
		}
		j.send()
	}
	for left := j.nodes * clocks; left > 0; left -= len(j.inbox) {
		j.inbox = j.inbox[:0]
		for range min(j.step, left) {
			h, payload, err := reader.Frame()
			pair.Check(err)
			j.inbox = append(j.inbox, pair.Must(wire.Decode(h, payload)))
		}
		j.controller.Step(j.inbox, &j.fx)
		j.send()
	}
}

// send encodes what the controller says, for each node what would leave in one write.
func (j *job) send() {
	for _, e := range j.fx.Envelopes {
		switch m := e.Message.(type) {
		case *wire.Records:
			j.sent.records += len(m.List)
		case *wire.Dispatch:
			j.sent.tasks += len(m.Tasks)
		}
		pair.Check(j.batches[e.To.Node].Add(e))
	}
	for n := range j.batches {
		if b := &j.batches[n]; b.Len() > 0 {
			b.Buffers()
			b.Reset()
		}
	}
	if j.fx.Outcome != nil {
		pair.Check(fmt.Errorf("the job ended: %s", j.fx.Outcome.Reason))
	}
	j.fx.Reset()
}
