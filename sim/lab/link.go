package lab

import (
	"bellows/link/wire"
)

// mail is a message for an actor of a node: as it is within a node, as a frame between nodes.
type mail struct {
	envelope wire.Envelope // where frame is nil
	frame    *frame
	bytes    int // of the frame, or of the deltas in the message
}

// frame is a message between nodes, encoded. One in parts travels with all of them, one behind the other.
type frame struct {
	header  wire.Header
	payload []byte
	before  *frame // the part before it; nil: none
	from    *node
	to      *node

	copying    *copying // it is no message, but a piece of a split's data
	pieceBytes int
}

func (f *frame) len() int {
	if f.copying != nil {
		return wire.HeaderSize + f.pieceBytes
	}
	n := wire.HeaderSize + len(f.payload)
	if f.before != nil {
		n += f.before.len()
	}
	return n
}

// pack encodes a message, which is then the frame's.
func (w *world) pack(from *node, e wire.Envelope) (last *frame, err error) {
	if err := w.batch.Add(e); err != nil {
		return nil, err
	}
	defer w.batch.Reset()
	for buffers := w.batch.Next(); len(buffers) > 0; buffers = w.batch.Next() {
		h, err := wire.ParseHeader(buffers[0])
		if err != nil {
			return nil, err
		}
		f := &frame{header: h, payload: h.Payload()[:0], before: last, from: from, to: w.nodes[e.To.Node]}
		f.payload = append(f.payload, buffers[0][wire.HeaderSize:]...)
		for _, b := range buffers[1:] {
			f.payload = append(f.payload, b...)
		}
		last = f
	}
	return last, nil
}

// unpack makes the message of a frame, or of all parts that end with it.
func (f *frame) unpack(j *wire.Joiner) (wire.Envelope, error) {
	if f.before != nil {
		if e, err := f.before.unpack(j); err != nil {
			return e, err
		}
	}
	return j.Decode(f.header, f.payload)
}

// transmit sends a frame off.
func (w *world) transmit(f *frame) {
	now, bytes := w.agenda.Now(), f.len()
	f.from.sent.Count(f.header.Class(), bytes)
	if f.from.machine == f.to.machine {
		w.agenda.After(int64(w.cfg.Site.LocalLatency), event{what: frameIn, frame: f})
		return
	}
	left := through(now, &f.from.machine.upFree, bytes, f.from.machine.Up)
	w.agenda.After(left-now+int64(w.cfg.Site.Latency), event{what: frameAtLink, frame: f})
}

// atLink takes a frame through the receiver's downlink.
func (w *world) atLink(f *frame) {
	now := w.agenda.Now()
	in := through(now, &f.to.machine.downFree, f.len(), f.to.machine.Down)
	if in == now {
		f.to.arrives(f)
		return
	}
	w.agenda.After(in-now, event{what: frameIn, frame: f})
}

// deltaBytes is how much of a message a lane has to add to its rows.
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
