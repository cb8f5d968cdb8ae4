package client

import (
	"slices"

	"bellows"
	"bellows/core/lists"
)

// Rows of sparse tables are named by keys, on the wire and in the cache (docs/decisions/0010): a
// task sorts the keys of a read by their partitions without the shell's lock (Group), and the read
// goes on as that of any rows. Numbers of rows are the lane's alone.

// groups are the keys of one read, sorted by their partition and within it by themselves, each
// once.
type groups struct {
	table bellows.TableID
	keys  []bellows.Key
	ends  []int // per partition: where its keys end in keys
}

// group are the keys of a partition.
func (g *groups) group(p int) []bellows.Key {
	first := 0
	if p > 0 {
		first = g.ends[p-1]
	}
	return g.keys[first:g.ends[p]]
}

// Group sorts the keys of a read, given in any order, for ReadKeys and PrefetchKeys. Keys that
// ascend are grouped fastest.
func (t *Task) Group(tab bellows.TableID, list []bellows.Key) {
	cut, g := t.client.cfg.Route.Cut(tab), &t.groups
	g.table = tab
	g.ends = append(g.ends[:0], make([]int, cut.Len())...)
	for _, k := range list {
		g.ends[cut.FindKey(k)]++
	}
	at := 0
	for p, n := range g.ends { // for now: where its keys begin
		g.ends[p] = at
		at += n
	}
	g.keys = slices.Grow(g.keys[:0], len(list))[:len(list)]
	for _, k := range list {
		p := cut.FindKey(k)
		g.keys[g.ends[p]] = k
		g.ends[p]++
	}
	g.sort()
}

// sort sorts every group and leaves out what comes twice.
func (g *groups) sort() {
	first, to := 0, 0
	for p, end := range g.ends {
		group := g.keys[first:end]
		if !slices.IsSorted(group) {
			slices.Sort(group)
		}
		group = slices.Compact(group)
		to += copy(g.keys[to:], group)
		first, g.ends[p] = end, to
	}
	g.keys = g.keys[:to]
}

// ReadKeys is Read for the rows of the keys that the task has grouped.
func (c *Client) ReadKeys(t *Task, fx *Effects) bool { return c.readKeys(readOp{c: c, t: t}, fx) }

// PrefetchKeys is Prefetch for the rows of the keys that the task has grouped.
func (c *Client) PrefetchKeys(t *Task, fx *Effects) { c.readKeys(readOp{c: c, t: t, ahead: true}, fx) }

func (c *Client) readKeys(asked readOp, fx *Effects) bool {
	fx.Era = c.cfg.Era
	g := &asked.t.groups
	asked.need = asked.t.need(&c.cfg.Tables[g.table])
	first := c.cfg.Route.Number(bellows.PartitionRef{Table: g.table})
	for p := range g.ends {
		if list := g.group(p); len(list) > 0 {
			asked.want(first+p, rowSet{keys: list})
		}
	}
	return asked.done(fx)
}

// ViewKey is the row of a key as the task sees it, with its own deltas laid over (read-my-writes).
// ReadKeys must have said that it is there. The slice is read-only and valid until the task ends.
func (t *Task) ViewKey(tab bellows.TableID, key bellows.Key) []float32 {
	r := t.client.cfg.Route
	n := r.Number(bellows.PartitionRef{Table: tab, Partition: r.Cut(tab).FindKey(key)})
	row := t.pins[n].row(key, t.client.partitions[n].schema.Width)
	if !t.overlaid(n) {
		return row
	}
	dst := t.room(len(row))
	copy(dst, row)
	t.overlayKey(n, key, dst)
	return dst
}

// GatherKeys writes the rows of keys, one after the other, to dst, as ViewKey would show them.
func (t *Task) GatherKeys(tab bellows.TableID, list []bellows.Key, dst []float32) {
	w, cut := t.client.cfg.Tables[tab].Width, t.client.cfg.Route.Cut(tab)
	first := t.client.cfg.Route.Number(bellows.PartitionRef{Table: tab})
	for i, k := range list {
		n, to := first+int(cut.FindKey(k)), dst[i*w:(i+1)*w]
		copy(to, t.pins[n].row(k, w))
		if t.overlaid(n) {
			t.overlayKey(n, k, to)
		}
	}
}

// AddKeys adds a delta row to the row of each of the keys.
func (t *Task) AddKeys(tab bellows.TableID, list []bellows.Key, deltas []float32) {
	w, cut := t.client.cfg.Tables[tab].Width, t.client.cfg.Route.Cut(tab)
	first := t.client.cfg.Route.Number(bellows.PartitionRef{Table: tab})
	for i, k := range list {
		t.buffer(first+int(cut.FindKey(k))).AddKey(k, deltas[i*w:(i+1)*w])
	}
}

// row is the row of a key in place: most likely the one behind that of the key before, for tasks
// that go through keys as they ascend.
func (p *pin) row(key bellows.Key, width int) []float32 {
	at := lists.Seek(p.block.keys, p.near, key)
	p.near = at + 1
	return p.block.values[at*width : (at+1)*width : (at+1)*width]
}

// overlayKey adds to the row of a key the split's deltas that it lacks.
func (t *Task) overlayKey(n int, key bellows.Key, dst []float32) {
	for i, own := range t.own {
		if t.pins[n].uncovered&(1<<i) != 0 {
			own.update.buffers[n].OverlayKey(key, dst)
		}
	}
	if open := t.open(n); open != nil {
		open.OverlayKey(key, dst)
	}
}
