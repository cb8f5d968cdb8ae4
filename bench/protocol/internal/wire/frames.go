package wire

import (
	"context"
	"fmt"
	"math"
	"time"

	"bellows"
	"bellows/bench/internal/pair"
	"bellows/bench/protocol/internal/wire/internal/duty"
	"bellows/core"
	"bellows/core/route"
	"bellows/core/server"
	"bellows/link/fabric"
	"bellows/link/transport"
	"bellows/link/transport/sock"
	"bellows/link/wire"
	"bellows/table"
)

// Our side is two nodes as in a job: node 0 holds tables in a lane of package server, node 1 is a client and, since the
// flushes need numbers, the controller. A push is a complete flush: the push and its done, the done passed on by the
// lane that holds it, the record, and the lane's report that it is applied, which is when it counts as done. Both nodes
// pass messages through package fabric, as nodes of a job do: queues, goroutines, frames and connections.

var (
	laneAt       = wire.LaneAt(0, 0)
	clientAt     = wire.ClientAt(1)
	controllerAt = wire.Address{Node: 1, Role: wire.Controller}
)

// width is the values of a row: 64 bytes.
const width = 16

// tables have one partition each, of every size that is measured.
var tables = []table.Schema{
	{Name: "1 KiB", Rows: 1 << 10 / (4 * width), Width: width, Partitions: 1, Consistency: table.Async},
	{Name: "64 KiB", Rows: 64 << 10 / (4 * width), Width: width, Partitions: 1, Consistency: table.Async},
	{Name: "1 MiB", Rows: 1 << 20 / (4 * width), Width: width, Partitions: 1, Consistency: table.Async},
}

// token is the job's. Both processes are on this machine, and hold nothing but zeros.
var token = transport.Token{0: 'b', 1: 'e', 2: 'n', 3: 'c', 4: 'h'}

func nodeTransport(self bellows.NodeID) transport.Transport {
	return pair.Must(sock.New(transport.Config{Self: transport.Hello{Node: self, Token: token}}))
}

// newLane returns the server's lane.
func newLane() (*server.Lane, error) {
	return server.NewLane(core.Job{Controller: controllerAt, Clients: []wire.Address{clientAt}, Tables: tables,
		Route: route.Spread(tables, 1, []wire.Address{laneAt}, []bellows.NodeID{1}),
		Items: func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{End: 1} }}, laneAt, server.Options{})
}

// serveFrames runs the server's process.
func serveFrames(address string) {
	lane := pair.Must(newLane())
	l := pair.Must(nodeTransport(0).Listen(address))
	accept := func() error {
		conn, err := l.Accept(context.Background())
		if err == nil {
			m := fabric.NewMesh([]transport.Conn{nil, conn})
			b := fabric.NewBus(0, 0, m)
			b.Add(laneAt, lane.Step)
			m.Start(b, fabric.Options{Checker: open{}, Lost: func(fabric.Loss) {}})
		}
		return err
	}
	fabric.ShortenSlices()
	duty.Serve(l.Address(), l, accept, fabric.Places)
}

// driveFrames runs the driver's process.
func driveFrames(address string) {
	conn := pair.Must(nodeTransport(1).Dial(context.Background(), address))
	d := newDriver()
	m := fabric.NewMesh([]transport.Conn{conn, nil})
	d.bus = fabric.NewBus(1, 0, m)
	d.bus.Add(clientAt, d.step)
	d.bus.Add(controllerAt, number)
	m.Start(d.bus, fabric.Options{Checker: open{}, Lost: d.lost})
	fabric.ShortenSlices()
	duty.Drive(d.drive, fabric.Places)
	m.Close()
	d.bus.Close()
}

// open admits every frame: there is no job to check it against.
type open struct{}

func (open) Header(bellows.NodeID, wire.Header) error { return nil }
func (open) Message(wire.Header, wire.Envelope) error { return nil }

// driver is node 1. All except bus and done belong to the goroutine that steps the client.
type driver struct {
	bus  *fabric.Bus
	done chan error

	duty      duty.Duty
	latencies []time.Duration
	sent      int
	answered  int
	began     time.Time // of the only request in flight
	pushes    []*wire.Push
	values    []float32
	list      []uint32
	flushes   uint64 // so far
	requests  uint64
}

// begin is a duty, told to the client's actor by its own process.
type begin struct {
	wire.Message
	duty      duty.Duty
	latencies []time.Duration
}

func newDriver() *driver {
	return &driver{done: make(chan error, 1)}
}

func (d *driver) lost(n fabric.Loss) { d.done <- fmt.Errorf("node %d is gone: %s", n.Node, n.Reason) }

// drive runs a duty.
func (d *driver) drive(job duty.Duty, latencies []time.Duration) error {
	if _, err := tableOf(job); err != nil {
		return err
	}
	d.bus.Send(clientAt, clientAt, begin{duty: job, latencies: latencies})
	return <-d.done
}

// tableOf returns the table that a duty works on: for rows one by one, the next larger one.
func tableOf(d duty.Duty) (bellows.TableID, error) {
	for i, s := range tables {
		bytes := 4 * s.Width * s.Rows
		if bytes == d.Size && (d.Kind == "push" || d.Kind == "pull") || bytes > d.Size && d.Kind == "list" {
			return bellows.TableID(i), nil
		}
	}
	return 0, fmt.Errorf("%s of %d bytes: %w", d.Kind, d.Size, duty.ErrKind)
}

// step steps the client.
func (d *driver) step(batch []wire.Envelope, out *wire.Outbox) {
	for _, e := range batch {
		switch m := e.Message.(type) {
		case begin:
			d.prepare(m)
			for range min(d.duty.Window, d.duty.Count) {
				d.next(out)
			}
		case *wire.Committed:
			for _, c := range m.List {
				if !c.Waiting {
					d.answer(out)
				}
			}
			wire.Free(m)
		case *wire.Rows:
			d.answer(out)
			wire.Free(m)
		case *wire.Refused:
			d.done <- fmt.Errorf("refused: %s", m.Reason)
		}
	}
}

// prepare makes what the requests of a duty need.
func (d *driver) prepare(b begin) {
	d.duty, d.latencies, d.sent, d.answered = b.duty, b.latencies, 0, 0
	for len(d.pushes) < d.duty.Window {
		d.pushes = append(d.pushes, new(wire.Push))
	}
	if need := d.duty.Size / 4; len(d.values) < need {
		d.values = make([]float32, need)
	}
	d.list = d.list[:0]
	for row := range d.duty.Size / (4 * width) { // every third row, so that the list is needed
		d.list = append(d.list, uint32(3*row))
	}
}

// number steps the controller. Flushes are held in the order in which they are sent, and numbered so.
func number(batch []wire.Envelope, out *wire.Outbox) {
	records := wire.New[wire.Records]()
	for _, e := range batch {
		if m, ok := e.Message.(*wire.Done); ok {
			records.Append(bellows.CommitNumber(m.Flush.Seq), m)
			wire.Free(m)
		}
	}
	out.Send(controllerAt, laneAt, records)
}

// next sends a request.
func (d *driver) next(out *wire.Outbox) {
	at, _ := tableOf(d.duty)
	where := wire.Pair{Ref: bellows.PartitionRef{Table: at}, Generation: 1}
	if d.latencies != nil {
		d.began = time.Now()
	}
	d.sent++
	if d.duty.Kind == "push" {
		d.flushes++
		m := d.pushes[d.flushes%uint64(d.duty.Window)]
		m.Flush = bellows.FlushID{Client: 1, Incarnation: 1, Seq: d.flushes}
		m.Clock = bellows.Clock((d.flushes - 1) % math.MaxInt32)
		m.Pairs = append(m.Pairs[:0], where)
		m.Chunks = append(m.Chunks[:0], wire.Chunk{Pair: where, Values: d.values[:d.duty.Size/4]})
		if m.Done == nil {
			m.Done = wire.New[wire.Done]()
			m.Done.Pairs = append(m.Done.Pairs, where)
			m.Done.Append(bellows.Unit{Items: bellows.Range{End: 1}}, nil)
		}
		m.Done.Flush, m.Done.Clock, m.Done.Results[0].Unit.Clock, m.Done.Pairs[0] = m.Flush, m.Clock, m.Clock, where
		out.Send(clientAt, laneAt, m)
		return
	}
	d.requests++
	m := wire.New[wire.Pull]()
	m.Incarnation = 1
	m.Request = d.requests
	part := wire.PullPart{Pair: where}
	if d.duty.Kind == "list" {
		part.Rows = d.list
	}
	m.Parts = append(m.Parts, part)
	m.Need.Clock = bellows.NoClock
	out.Send(clientAt, laneAt, m)
}

// answer counts a request that is done, and sends the next.
func (d *driver) answer(out *wire.Outbox) {
	if d.latencies != nil {
		d.latencies[d.answered] = time.Since(d.began)
	}
	if d.answered++; d.answered == d.duty.Count {
		d.done <- nil
		return
	}
	if d.sent < d.duty.Count {
		d.next(out)
	}
}
