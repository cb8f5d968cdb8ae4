package node

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"bellows"
	"bellows/coord"
	"bellows/server"
	"bellows/store"
	"bellows/train"
	"bellows/wire"
)

// gathering is the state of all partitions at node 0, when the job is over.
type gathering struct {
	process    *process
	live, kept []store.Image // by route.Number
	hasKept    []bool        // which of kept have come
	open       int           // lanes that have not sent all
	err        error
	done       chan struct{}
}

func newGathering(p *process) *gathering {
	n := p.route.Partitions()
	return &gathering{process: p, live: make([]store.Image, n), kept: make([]store.Image, n), hasKept: make([]bool, n),
		open: len(p.cluster.lanes()), done: make(chan struct{})}
}

func (g *gathering) take(m *wire.Slab) {
	n := g.process.route.Number(m.Ref)
	im := &g.live[n]
	if m.Kept {
		im, g.hasKept[n] = &g.kept[n], true
	}
	if m.Keys != nil {
		im.Keys = append(slices.Grow(im.Keys, 1), m.Keys...) // not nil, though there be none
		return
	}
	if m.Slot == 0 {
		im.Values = append(im.Values, m.Values...)
		return
	}
	for len(im.Slots) < int(m.Slot) {
		im.Slots = append(im.Slots, nil)
	}
	im.Slots[m.Slot-1] = append(im.Slots[m.Slot-1], m.Values...)
}

func (g *gathering) end(m *wire.Collected) {
	if m.Reason != "" {
		g.err = errors.Join(g.err, errors.New(m.Reason))
	}
	if g.open--; g.open == 0 {
		close(g.done)
	}
}

// fail ends the gathering without the state: somebody who had it is gone.
func (g *gathering) fail(reason string) {
	if g.open > 0 {
		g.err = errors.New(reason)
		g.open = 0
		close(g.done)
	}
}

// tables are the values of all tables, as kept or as they ended, and of sparse ones the keys.
func (g *gathering) tables() (tables [][]float32, list [][]bellows.Key) {
	n := len(g.process.job.Tables)
	tables, list = make([][]float32, n), make([][]bellows.Key, n)
	for ref := range g.process.partitions() {
		n := g.process.route.Number(ref)
		im := &g.kept[n]
		if !g.hasKept[n] {
			im = &g.live[n]
		}
		tables[ref.Table] = append(tables[ref.Table], im.Values...)
		list[ref.Table] = append(list[ref.Table], im.Keys...)
	}
	for t := range tables {
		if s := &g.process.job.Tables[t]; s.Sparse {
			list[t], tables[t] = byKey(list[t], tables[t], s.Width)
		}
	}
	return tables, list
}

// byKey sorts rows by their keys, which differ.
func byKey(list []bellows.Key, values []float32, width int) ([]bellows.Key, []float32) {
	order := make([]uint32, len(list))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int { return cmp.Compare(list[a], list[b]) })
	sorted, rows := make([]bellows.Key, 0, len(list)), make([]float32, 0, len(values))
	for _, i := range order {
		sorted, rows = append(sorted, list[i]), append(rows, values[int(i)*width:(int(i)+1)*width]...)
	}
	return sorted, rows
}

// image is what a run that was interrupted needs to go on.
func (g *gathering) image(s coord.State) *train.Image {
	n := len(g.process.job.Tables)
	im := &train.Image{State: s, Tables: make([][]store.Image, n)}
	for ref := range g.process.partitions() {
		i := g.process.route.Number(ref)
		im.Tables[ref.Table] = append(im.Tables[ref.Table], g.live[i])
		if g.hasKept[i] {
			if im.Kept == nil {
				im.Kept = make([][]store.Image, n)
			}
			im.Kept[ref.Table] = append(im.Kept[ref.Table], g.kept[i])
		}
	}
	return im
}

// gatherWait is how long the lanes may take to send the state of their partitions.
const gatherWait = 5 * time.Minute

// gather asks every lane for its partitions and waits for them. No task runs any more.
func (l *lead) gather(whole bool) error {
	for _, a := range l.cluster.lanes() {
		l.bus.send(controllerAddress, a, &wire.Collect{Whole: whole})
	}
	ticker := time.NewTicker(tickEvery)
	defer ticker.Stop()
	deaths := l.opt.Deaths
	for late := time.Now().Add(gatherWait); ; {
		select {
		case e := <-l.asked:
			l.surrender(e)
		case d := <-deaths:
			l.tell(loss{node: d.Node, reason: d.Reason, died: true})
		case now := <-ticker.C:
			if now.After(late) {
				return bellows.Errorf(bellows.Lost, "collect the model", "", "after %v not all nodes have sent their part", gatherWait)
			}
			l.tick()
		case <-l.gathering.done:
			if err := l.gathering.err; err != nil {
				return &bellows.Error{Kind: bellows.Lost, Op: "collect the model", Err: err}
			}
			return nil
		}
	}
}

// surrenders is a Collect that may be answered: no task of this process runs any more.
type surrenders struct {
	wire.Message
	whole bool
}

// stepLane is the step of a lane. A Collect goes by way of the process, which knows when its tasks
// have ended: until then they may work in place on what they leased.
func (p *process) stepLane(l *server.Lane) func(batch []wire.Envelope, out *wire.Outbox) {
	return func(batch []wire.Envelope, out *wire.Outbox) {
		rest := 0
		for _, e := range batch {
			if _, end := e.Message.(*wire.End); end {
				p.ended.Store(true)
			}
			switch m := e.Message.(type) {
			case *wire.Collect:
				p.asked <- e
			case surrenders:
				p.answer(l, e, m.whole, out)
			default:
				batch[rest] = e
				rest++
			}
		}
		l.Step(batch[:rest], out)
	}
}

// surrender lets a lane answer a Collect.
func (p *process) surrender(e wire.Envelope) {
	p.bus.send(e.From, e.To, surrenders{whole: e.Message.(*wire.Collect).Whole})
}

// answer sends what a lane holds.
func (p *process) answer(l *server.Lane, e wire.Envelope, whole bool, out *wire.Outbox) {
	end := &wire.Collected{}
	for ref := range p.partitions() {
		if p.route.Owner(ref).Lane != e.To {
			continue
		}
		kept := l.Kept(ref)
		if kept != nil {
			sendImage(wire.Slab{Ref: ref, Kept: true}, kept, whole, e, out)
		}
		if kept != nil && !whole {
			continue
		}
		live, err := l.Partition(ref)
		if err != nil {
			end.Reason = err.Error()
			break
		}
		sendImage(wire.Slab{Ref: ref}, &live, whole, e, out)
	}
	out.Send(e.To, e.From, end)
}

// slabMost is how many values, or half as many keys, go into one Slab.
const slabMost = 4 << 20

// sendImage sends an image, its slots only as part of the whole.
func sendImage(head wire.Slab, im *store.Image, whole bool, e wire.Envelope, out *wire.Outbox) {
	for keys := im.Keys; im.Keys != nil; {
		m := head
		n := min(len(keys), slabMost/2)
		m.Keys, keys = keys[:n:n], keys[n:]
		out.Send(e.To, e.From, &m)
		if len(keys) == 0 {
			break
		}
	}
	arrays := [][]float32{im.Values}
	if whole {
		arrays = append(arrays, im.Slots...)
	}
	for i, values := range arrays {
		for first := true; first || len(values) > 0; first = false {
			m := head
			n := min(len(values), slabMost)
			m.Slot, m.Values = uint16(i), values[:n:n]
			values = values[n:]
			out.Send(e.To, e.From, &m)
		}
	}
}
