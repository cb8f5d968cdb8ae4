package node

import (
	"cmp"
	"errors"
	"fmt"
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
	live, kept []store.Image  // by route.Number
	open       []wire.Address // lanes that have not sent all
	whole      bool
	over       bool
	err        error
	done       chan struct{}
}

func newGathering(p *process) *gathering {
	n := p.route.Partitions()
	return &gathering{process: p, live: make([]store.Image, n), kept: make([]store.Image, n), done: make(chan struct{})}
}

// begin asks every lane. Before, nobody may send anything.
func (g *gathering) begin(whole bool) {
	g.whole, g.open = whole, g.process.cluster.lanes()
}

// take adds an array, or the next piece of one, to the state of its partition. An error is a breach.
func (g *gathering) take(from wire.Address, m *wire.Slab) error {
	if !slices.Contains(g.open, from) {
		return fmt.Errorf("%v sent values of %v, for which it was not asked", from, m.Ref)
	}
	list := g.live
	if m.Kept {
		list = g.kept
	}
	im := &list[g.process.route.Number(m.Ref)]
	if m.Keys != nil {
		return g.takeKeys(from, m, im)
	}
	array := &im.Values
	if m.Slot > 0 {
		for len(im.Slots) < int(m.Slot) {
			im.Slots = append(im.Slots, nil)
		}
		array = &im.Slots[m.Slot-1]
	}
	if have, all := len(*array)+len(m.Values), g.process.sizeOf(m.Ref, im, int(m.Slot)); have > all {
		return fmt.Errorf("%v sent %d values of %v, slot %d, which has %d", from, have, m.Ref, m.Slot, all)
	}
	*array = append(*array, m.Values...)
	return nil
}

// takeKeys adds keys to the state of a partition: of a sparse table, ascending, before their rows.
func (g *gathering) takeKeys(from wire.Address, m *wire.Slab, im *store.Image) error {
	cut, n := g.process.route.Cut(m.Ref.Table), len(im.Keys)
	switch {
	case !g.process.job.Tables[m.Ref.Table].Sparse || len(im.Values) > 0:
		return fmt.Errorf("%v sent keys of %v, which has none, or after its rows", from, m.Ref)
	case n+len(m.Keys) > cut.Most():
		return fmt.Errorf("%v sent %d keys of %v, which has at most %d", from, n+len(m.Keys), m.Ref, cut.Most())
	}
	im.Keys = append(slices.Grow(im.Keys, 1), m.Keys...) // not nil, though there be none
	for i, k := range im.Keys[n:] {
		if n+i > 0 && k <= im.Keys[n+i-1] || cut.FindKey(k) != m.Ref.Partition {
			return fmt.Errorf("%v sent the key %d of %v, which is not behind the one before or not of that partition", from, k, m.Ref)
		}
	}
	return nil
}

// has reports whether anything has come of a partition's image.
func has(im *store.Image) bool { return im.Values != nil || im.Keys != nil }

// sizeOf is how many values a partition has: in its rows, or in a slot from 1 of its table's rule. The rows of a sparse
// table are those whose keys have come.
func (p *process) sizeOf(ref bellows.PartitionRef, im *store.Image, slot int) int {
	first, end := p.route.Cut(ref.Table).Rows(ref.Partition)
	width := p.job.Tables[ref.Table].Width
	if slot > 0 {
		width = p.slots[ref.Table][slot-1]
	}
	return (int(end-first) + len(im.Keys)) * width
}

// end takes a lane's word that it has sent all, and looks whether it has. An error is a breach.
func (g *gathering) end(from wire.Address, m *wire.Collected) error {
	i := slices.Index(g.open, from)
	if i < 0 {
		return fmt.Errorf("%v sent the end of its values, for which it was not asked", from)
	}
	if m.Reason != "" {
		g.err = errors.Join(g.err, errors.New(m.Reason))
	} else if err := g.complete(from); err != nil {
		return err
	}
	if g.open = slices.Delete(g.open, i, i+1); len(g.open) == 0 {
		g.finish()
	}
	return nil
}

// complete wants of each of a lane's partitions all values that the job returns or goes on from.
func (g *gathering) complete(lane wire.Address) error {
	for ref := range g.process.partitions() {
		if g.process.route.Owner(ref).Lane != lane {
			continue
		}
		n := g.process.route.Number(ref)
		kept, live := &g.kept[n], &g.live[n]
		if has(kept) && !g.process.fits(ref, kept, g.whole) || (!has(kept) || g.whole) && !g.process.fits(ref, live, g.whole) {
			return fmt.Errorf("%v ended before it had sent all of %v", lane, ref)
		}
	}
	return nil
}

// fits reports whether an image has all values of a partition, and of its slots where it is the whole state.
func (p *process) fits(ref bellows.PartitionRef, im *store.Image, whole bool) bool {
	if p.job.Tables[ref.Table].Sparse && im.Keys == nil {
		return false
	}
	if len(im.Values) != p.sizeOf(ref, im, 0) || whole && len(im.Slots) != len(p.slots[ref.Table]) {
		return false
	}
	for i := range im.Slots {
		if len(im.Slots[i]) != p.sizeOf(ref, im, i+1) {
			return false
		}
	}
	return true
}

// fail ends the gathering without the state: somebody who had it is gone, or sends what cannot be.
func (g *gathering) fail(reason string) {
	if !g.over {
		g.err = errors.New(reason)
		g.finish()
	}
}

func (g *gathering) finish() {
	g.open = nil
	if !g.over {
		g.over = true
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
		if !has(im) {
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
		if has(&g.kept[i]) {
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
	l.tell(asking{whole: whole})
	ticker := time.NewTicker(tickEvery)
	defer ticker.Stop()
	deaths := l.opt.Deaths
	for late := time.Now().Add(gatherWait); ; {
		select {
		case e := <-l.asked:
			l.surrender(e)
		case d := <-deaths:
			l.tell(loss{node: d.Node, reason: d.Reason, known: true})
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

// asking begins the gathering, as an actor's step.
type asking struct {
	wire.Message
	whole bool
}

// surrenders is a Collect that may be answered: no task of this process runs any more.
type surrenders struct {
	wire.Message
	whole bool
}

// stepLane is the step of a lane. A Collect goes by way of the process, which knows when its tasks
// have ended: until then they may work in place on what they leased.
func (p *process) stepLane(l *server.Lane) func(batch []wire.Envelope, out *wire.Outbox) {
	asked := false
	return func(batch []wire.Envelope, out *wire.Outbox) {
		rest := 0
		for _, e := range batch {
			if _, end := e.Message.(*wire.End); end {
				p.ended.Store(true)
			}
			switch m := e.Message.(type) {
			case *wire.Collect:
				if !asked { // more than once is too often: somebody waits for the answers
					asked = true
					p.asked <- e
				}
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
	if p.lead == nil {
		out.Send(e.To, e.From, p.report())
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
