package lab

import (
	"bellows/core/tally"
	"bellows/link/wire"
)

// mail is a message for an actor of a node: an envelope within a node, a frame between nodes.
type mail struct {
	envelope wire.Envelope // where frame is nil
	frame    *frame
	bytes    int // of the frame, or of the deltas in the message
}

// frame is a message between nodes, encoded, in one part or several.
type frame struct {
	envelope wire.Envelope
	parts    []part
	lengths  []int // of the parts, with their headers
	deltas   int   // bytes of deltas in the message
	from     *node
	to       *node

	copying *copying // it is no message, but a piece of a split's data
}

// part is one frame on the wire.
type part struct {
	header  wire.Header
	payload []byte
}

// Envelope implements link.Frame.
func (f *frame) Envelope() (e wire.Envelope, some bool) { return f.envelope, f.copying == nil }

// Parts implements link.Frame.
func (f *frame) Parts() []int { return f.lengths }

// header returns that of the last part.
func (f *frame) header() *wire.Header { return &f.parts[len(f.parts)-1].header }

func (f *frame) len() (n int) {
	for _, part := range f.lengths {
		n += part
	}
	return n
}

// class returns the class that its bytes are counted as.
func (f *frame) class() tally.Class {
	if f.copying != nil {
		return tally.Control
	}
	return f.header().Class()
}

// pack encodes a message. It stays its sender's until the frame has left.
func (w *world) pack(from *node, e wire.Envelope) (*frame, error) {
	f := &frame{envelope: e, from: from, to: w.nodes[e.To.Node], deltas: deltaBytes(e.Message)}
	if from.machine == f.to.machine {
		w.codec.batch.Cut(0, wholePart)
	} else {
		w.codec.batch.Cut(w.links.Conn(from.id, e.To.Node, false).Cuts())
	}
	w.codec.batch.Lend()
	if err := w.codec.batch.Add(e); err != nil {
		return nil, err
	}
	defer w.codec.batch.Reset()
	for buffers := w.codec.batch.Next(); len(buffers) > 0; buffers = w.codec.batch.Next() {
		h, err := wire.ParseHeader(buffers[0])
		if err != nil {
			return nil, err
		}
		p := part{header: h, payload: h.Payload()[:0]}
		p.payload = append(p.payload, buffers[0][wire.HeaderSize:]...)
		for _, b := range buffers[1:] {
			p.payload = append(p.payload, b...)
		}
		f.parts, f.lengths = append(f.parts, p), append(f.lengths, wire.HeaderSize+len(p.payload))
	}
	return f, nil
}

// wholePart is how long the parts of a message are that is cut within a machine, as on a fast connection.
const wholePart = 1<<20 - 64

// unpack makes the message of a frame.
func (f *frame) unpack(j *wire.Joiner) (e wire.Envelope, err error) {
	for i := range f.parts {
		if e, err = j.Decode(f.parts[i].header, f.parts[i].payload); err != nil {
			break
		}
	}
	return e, err
}

// transmit sends a frame off.
func (w *world) transmit(f *frame) {
	f.from.sent.Count(f.class(), f.len())
	if f.from.machine == f.to.machine {
		w.links.Flow(f.from.id, f.to.id).Post(w.agenda.Time(), f.len())
		w.agenda.After(int64(w.cfg.Site.LocalLatency), event{what: frameIn, frame: f})
		return
	}
	w.links.Send(w.links.Conn(f.from.id, f.to.id, f.copying != nil), f)
}

// deltaBytes returns how much of a message a lane has to add to its rows.
func deltaBytes(m wire.Message) int {
	p, push := m.(*wire.Push)
	if !push {
		return 0
	}
	n := 0
	for i := range p.Chunks {
		n += 4 * len(p.Chunks[i].Values)
	}
	return n
}
