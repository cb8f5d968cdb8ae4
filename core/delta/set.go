package delta

import (
	"sync"

	"bellows"
	"bellows/core/planted"
	"bellows/table"
)

// Pools keep the empty buffers of a node for each partition of its job, and its free bundles. Tasks take buffers from
// them while others do; bundles are for one goroutine at a time. The memory is bounded by what was in use at one
// time.
type Pools struct {
	partitions []pool
	slabs      map[int]*slabs // of the lists of all partitions, by their width
	direct     int            // see NewBuffer
	free       []*Bundle
}

// pool keeps the empty buffers of one partition.
type pool struct {
	schema  *table.Schema
	rows    int
	seed    uint64
	slabs   *slabs
	buffers sync.Pool // of *Buffer
}

// NewPools returns pools for a number of partitions. Each is to be described before its first buffer is taken.
// Partitions of more than direct rows are large (NewBuffer).
func NewPools(partitions, direct int) *Pools {
	return &Pools{partitions: make([]pool, partitions), slabs: map[int]*slabs{}, direct: direct}
}

// Describe says what the buffers of a partition are made of: the schema of its table and its rows. The seed is that
// of a keyed buffer (NewKeyed).
func (p *Pools) Describe(n int, s *table.Schema, rows int, seed uint64) {
	at := &p.partitions[n]
	if p.slabs[s.Width] == nil {
		p.slabs[s.Width] = &slabs{width: s.Width}
	}
	at.schema, at.rows, at.seed, at.slabs = s, rows, seed, p.slabs[s.Width]
}

// get returns an empty buffer for a partition. It is safe for concurrent use.
func (p *Pools) get(n int) *Buffer {
	at := &p.partitions[n]
	if b, ok := at.buffers.Get().(*Buffer); ok {
		return b
	}
	if at.schema.Sparse {
		return NewKeyed(at.schema, at.seed)
	}
	b := NewBuffer(at.schema, at.rows, p.direct)
	b.slabs = at.slabs
	return b
}

// put takes back a buffer of a partition.
func (p *Pools) put(n int, b *Buffer) {
	b.Reset()
	b.releaseMemory()
	p.partitions[n].buffers.Put(b)
}

// NewSet returns a set without deltas.
func (p *Pools) NewSet() Set { return Set{pools: p, buffers: make([]*Buffer, len(p.partitions))} }

// NewBundle returns a bundle without deltas, which has one user.
func (p *Pools) NewBundle() *Bundle {
	var b *Bundle
	if last := len(p.free) - 1; last >= 0 {
		b, p.free = p.free[last], p.free[:last]
	} else {
		b = &Bundle{Set: p.NewSet()}
	}
	b.users = 1
	return b
}

// Bundle returns a bundle with the deltas of a set, which is empty then. It has one user.
func (p *Pools) Bundle(s *Set) *Bundle {
	b := p.NewBundle()
	b.Set, *s = *s, b.Set
	return b
}

// Set is deltas for any partitions of a job: those of a task while it runs, or those that a flush sends. Its buffers
// belong to pools, to which they return.
type Set struct {
	pools   *Pools
	buffers []*Buffer // by the partition's number (route.Number); nil: none
	touched []int
}

// Touched returns the numbers of the partitions that have a buffer, in the order of their first delta. A buffer may
// be empty. The list stays the set's.
func (s *Set) Touched() []int { return s.touched }

// Find returns the buffer of a partition, or nil.
func (s *Set) Find(n int) *Buffer { return s.buffers[n] }

// Buffer returns the buffer of a partition, and takes an empty one if there is none yet.
func (s *Set) Buffer(n int) *Buffer {
	if s.buffers[n] == nil {
		s.buffers[n] = s.pools.get(n)
		s.touched = append(s.touched, n)
	}
	return s.buffers[n]
}

// Reset returns all buffers to their pools.
func (s *Set) Reset() {
	for _, n := range s.touched {
		s.pools.put(n, s.buffers[n])
		s.buffers[n] = nil
	}
	s.touched = s.touched[:0]
}

// Merge adds the deltas of another set, which keeps them.
func (s *Set) Merge(o *Set) {
	for _, n := range o.touched {
		s.Buffer(n).Merge(o.buffers[n])
	}
}

// MergeThree adds the deltas of o, and to that the sum of p and q, as the tree over splits has them (Sum). It may
// change p, and keeps the deltas of none.
func (s *Set) MergeThree(o, p, q *Set) {
	if !s.sameShape(o) || !s.sameShape(p) || !s.sameShape(q) {
		s.Merge(o)
		p.Merge(q)
		s.Merge(p)
		return
	}
	for _, n := range s.touched {
		s.buffers[n].MergeThree(o.buffers[n], p.buffers[n], q.buffers[n])
	}
}

// sameShape reports whether both sets have buffers for the same partitions.
func (s *Set) sameShape(o *Set) bool {
	if len(s.touched) != len(o.touched) {
		return false
	}
	for _, n := range s.touched {
		if o.buffers[n] == nil {
			return false
		}
	}
	return true
}

// HasCounts reports whether the set has deltas of a table of counts.
func (s *Set) HasCounts() bool {
	for _, n := range s.touched {
		if s.buffers[n].counts {
			return true
		}
	}
	return false
}

// TakeCounts moves the deltas of tables of counts here.
func (s *Set) TakeCounts(from *Set) {
	rest := from.touched[:0]
	for _, n := range from.touched {
		if from.buffers[n].counts {
			s.take(n, from)
		} else {
			rest = append(rest, n)
		}
	}
	from.touched = rest
}

// TakeAll moves all deltas here.
func (s *Set) TakeAll(from *Set) {
	for _, n := range from.touched {
		s.take(n, from)
	}
	from.touched = from.touched[:0]
}

// take moves the deltas of a partition here. The caller takes it from the list of the other set.
func (s *Set) take(n int, from *Set) {
	d := from.buffers[n]
	from.buffers[n] = nil
	if s.buffers[n] == nil {
		s.buffers[n], s.touched = d, append(s.touched, n)
		return
	}
	if !planted.On("counts-of-one") {
		s.buffers[n].Merge(d)
	}
	s.pools.put(n, d)
}

// Bundle is a set with several users: a flush that sends it, and a split that lays it over its reads until it is
// committed. Its memory is used again after the last of them has dropped it.
type Bundle struct {
	Set
	Commit bellows.CommitNumber // 0: it is not known to be committed
	users  int
}

// Keep adds a user.
func (b *Bundle) Keep() { b.users++ }

// Drop removes a user. The last one gives the buffers and the bundle back.
func (b *Bundle) Drop() {
	if b.users--; b.users > 0 {
		return
	}
	b.Reset()
	b.Commit = 0
	b.pools.free = append(b.pools.free, b)
}
