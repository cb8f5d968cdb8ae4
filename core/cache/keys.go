package cache

import (
	"slices"

	"bellows"
	"bellows/core/lists"
	"bellows/table"
)

// Rows of sparse tables are named by keys, on the wire and in the cache (docs/decisions/0010). A task sorts the keys
// of a read by their partitions without a lock (Group), and the read then proceeds like that of any rows. Numbers of
// rows are the lane's alone.

// groups are the keys of one read, sorted by their partition and then by value, each once.
type groups struct {
	table bellows.TableID
	keys  []bellows.Key
	ends  []int // per partition: where its keys end in keys
}

// group returns the keys of a partition.
func (g *groups) group(p int) []bellows.Key {
	first := 0
	if p > 0 {
		first = g.ends[p-1]
	}
	return g.keys[first:g.ends[p]]
}

// Group sorts the keys of a read of a sparse table, given in any order, for ReadKeys and PrefetchKeys. Keys that
// ascend are grouped fastest.
func (r *Reader) Group(t bellows.TableID, cut table.Cut, list []bellows.Key) {
	g := &r.groups
	g.table = t
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

// sort sorts every group and removes what comes twice.
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

// KeyRow returns the row of a key of a partition as it is pinned. It is found fastest after the row of the key
// before. The slice is read-only.
func (r *Reader) KeyRow(n int, key bellows.Key, width int) []float32 {
	p := &r.pins[n]
	at := lists.Seek(p.block.keys, p.near, key)
	p.near = at + 1
	return p.block.values[at*width : (at+1)*width : (at+1)*width]
}

// OverlayKey works like Overlay, for the row of a key.
func (r *Reader) OverlayKey(n int, key bellows.Key, dst []float32) {
	for i, own := range r.retained {
		if r.pins[n].uncovered&(1<<i) != 0 {
			own.Find(n).OverlayKey(key, dst)
		}
	}
}
