package sim

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"bellows"
	"bellows/wire"
)

// clone is a message as it arrives on another node: what a codec would make of it, sharing no memory
// with the original.
func clone(m wire.Message) wire.Message {
	switch m := m.(type) {
	case *wire.Pull:
		n := wire.NewPull()
		n.Request, n.Need = m.Request, m.Need
		for _, p := range m.Parts {
			n.Parts = append(n.Parts, wire.PullPart{Pair: p.Pair, Rows: slices.Clone(p.Rows)})
		}
		return n
	case *wire.Rows:
		return cloneRows(m)
	case *wire.Acquire:
		n := wire.NewAcquire()
		*n = *m
		return n
	case *wire.Granted:
		n := wire.NewGranted()
		*n = *m
		n.Values = slices.Clone(m.Values)
		return n
	case *wire.Push:
		return clonePush(m)
	case *wire.Done:
		n := wire.NewDone()
		n.Flush, n.Clock, n.Pairs = m.Flush, m.Clock, append(n.Pairs, m.Pairs...)
		for _, r := range m.Results {
			n.Append(r.Unit, r.Values)
		}
		return n
	case *wire.Records:
		n := wire.NewRecords()
		for _, r := range m.List {
			n.List = append(n.List, wire.Record{Number: r.Number, Flush: r.Flush, Units: slices.Clone(r.Units)})
		}
		return n
	case *wire.Dispatch:
		n := wire.NewDispatch()
		n.Commit = m.Commit
		for _, t := range m.Tasks {
			n.Append(t.Unit, t.Args)
		}
		return n
	}
	return cloneSmall(m)
}

func cloneRows(m *wire.Rows) *wire.Rows {
	n := wire.NewRows()
	n.Request = m.Request
	for i := range m.Parts {
		p := &m.Parts[i]
		q := n.Extend()
		values := append(q.Values, p.Values...)
		*q = *p
		q.Rows, q.Values = slices.Clone(p.Rows), values
	}
	return n
}

func clonePush(m *wire.Push) *wire.Push {
	n := wire.NewPush()
	n.Flush, n.Clock, n.Pairs = m.Flush, m.Clock, append(n.Pairs, m.Pairs...)
	for _, c := range m.Chunks {
		c.Rows, c.Values = slices.Clone(c.Rows), slices.Clone(c.Values)
		n.Chunks = append(n.Chunks, c)
	}
	for _, l := range m.Leases {
		l.Values = slices.Clone(l.Values)
		n.Leases = append(n.Leases, l)
	}
	return n
}

// cloneSmall copies the messages that hold no slices.
func cloneSmall(m wire.Message) wire.Message {
	switch m := m.(type) {
	case *wire.Release:
		n := wire.NewRelease()
		*n = *m
		return n
	case *wire.Held:
		n := wire.NewHeld()
		*n = *m
		return n
	case *wire.Committed:
		n := wire.NewCommitted()
		*n = *m
		return n
	case *wire.Full:
		return &wire.Full{Flush: m.Flush}
	case *wire.Room:
		return &wire.Room{Flush: m.Flush}
	case *wire.Refused:
		return &wire.Refused{Flush: m.Flush, Reason: m.Reason}
	case *wire.Failed:
		return &wire.Failed{Unit: m.Unit, Reason: m.Reason}
	case *wire.Keep:
		return &wire.Keep{Commit: m.Commit}
	case *wire.Staleness:
		return &wire.Staleness{Table: m.Table, Clocks: m.Clocks}
	case *wire.End:
		return &wire.End{Commit: m.Commit, Reason: m.Reason, Gone: slices.Clone(m.Gone)}
	case *wire.Closed:
		return &wire.Closed{Counts: m.Counts}
	case *wire.Beat:
		return &wire.Beat{}
	}
	panic(fmt.Sprintf("sim: no codec for %T", m))
}

// digest is a running hash of 64-bit words.
type digest uint64

func (d *digest) word(x uint64) {
	*d = digest(bits.RotateLeft64(uint64(*d)^x, 27) * 0x9e3779b97f4a7c15)
}

func (d *digest) text(s string) {
	for i := range len(s) {
		d.word(uint64(s[i]))
	}
	d.word(uint64(len(s)) | 1<<32)
}

func (d *digest) values(v []float32) {
	for _, x := range v {
		d.word(uint64(math.Float32bits(x)))
	}
	d.word(uint64(len(v)) | 1<<33)
}

func (d *digest) rows(r []uint32) {
	for _, x := range r {
		d.word(uint64(x))
	}
	d.word(uint64(len(r)) | 1<<34)
}

func (d *digest) pair(p wire.Pair) {
	d.word(uint64(p.Ref.Table)<<48 | uint64(p.Ref.Partition)<<24 | uint64(p.Generation))
}

func (d *digest) pairs(p []wire.Pair) {
	for i := range p {
		d.pair(p[i])
	}
}

func (d *digest) unit(u bellows.Unit) {
	d.word(uint64(u.Split)<<32 | uint64(uint32(u.Clock)))
	d.word(uint64(u.Items.Begin)<<32 | uint64(u.Items.End))
}

func (d *digest) flush(f bellows.FlushID) { d.word(uint64(f.Client)<<48 | f.Seq) }

func (d *digest) need(n wire.Need) { d.word(uint64(n.Commit)<<32 | uint64(uint32(n.Clock))) }

// digestOf is the digest of a message's whole content.
func digestOf(m wire.Message) uint64 {
	var d digest
	switch m := m.(type) {
	case *wire.Pull:
		d.word(1<<56 | m.Request)
		d.need(m.Need)
		for i := range m.Parts {
			d.pair(m.Parts[i].Pair)
			d.rows(m.Parts[i].Rows)
		}
	case *wire.Rows:
		d.word(2<<56 | m.Request)
		for i := range m.Parts {
			p := &m.Parts[i]
			d.pair(wire.Pair{Ref: p.Ref})
			d.need(wire.Need{Commit: p.Commit, Clock: p.Complete})
			d.rows(p.Rows)
			d.values(p.Values)
		}
	case *wire.Push:
		d.push(m)
	case *wire.Done:
		d.word(4 << 56)
		d.flush(m.Flush)
		d.pairs(m.Pairs)
		for _, r := range m.Results {
			d.unit(r.Unit)
			for _, v := range r.Values {
				d.word(math.Float64bits(v))
			}
		}
	case *wire.Records:
		d.word(5 << 56)
		for i := range m.List {
			d.word(uint64(m.List[i].Number))
			d.flush(m.List[i].Flush)
			for _, u := range m.List[i].Units {
				d.unit(u)
			}
		}
	case *wire.Dispatch:
		d.word(6<<56 | uint64(m.Commit))
		for _, t := range m.Tasks {
			d.unit(t.Unit)
		}
	default:
		d.small(m)
	}
	return uint64(d)
}

func (d *digest) push(m *wire.Push) {
	d.word(3 << 56)
	d.flush(m.Flush)
	d.word(uint64(m.Clock))
	d.pairs(m.Pairs)
	for i := range m.Chunks {
		c := &m.Chunks[i]
		d.pair(c.Pair)
		d.word(uint64(c.Subtree.Level)<<32 | uint64(c.Subtree.Index))
		d.rows(c.Rows)
		d.values(c.Values)
	}
	for i := range m.Leases {
		d.pair(m.Leases[i].Pair)
		d.values(m.Leases[i].Values)
	}
}

func (d *digest) small(m wire.Message) {
	switch m := m.(type) {
	case *wire.Acquire:
		d.word(7<<56 | m.Request<<8 | uint64(m.Mode))
		d.pair(m.Pair)
		d.need(m.Need)
	case *wire.Granted:
		d.word(8<<56 | m.Request<<8 | uint64(m.Mode))
		d.pair(wire.Pair{Ref: m.Ref})
		d.values(m.Values)
	case *wire.Release:
		d.word(9 << 56)
		d.pair(wire.Pair{Ref: m.Ref})
	case *wire.Held:
		d.word(10 << 56)
		d.flush(m.Flush)
	case *wire.Full:
		d.word(11 << 56)
		d.flush(m.Flush)
	case *wire.Room:
		d.word(12 << 56)
		d.flush(m.Flush)
	case *wire.Committed:
		d.word(13<<56 | uint64(m.Commit))
		d.flush(m.Flush)
		if m.Waiting {
			d.word(1)
		}
	case *wire.Refused:
		d.word(14 << 56)
		d.text(m.Reason)
	case *wire.Failed:
		d.word(15 << 56)
		d.unit(m.Unit)
		d.text(m.Reason)
	case *wire.Keep:
		d.word(16<<56 | uint64(m.Commit))
	case *wire.End:
		d.word(17<<56 | uint64(m.Commit))
		d.text(m.Reason)
		for _, n := range m.Gone {
			d.word(uint64(n))
		}
	case *wire.Closed:
		d.word(18 << 56)
		d.word(uint64(m.Counts.Sent))
		d.word(uint64(m.Counts.Applied))
		d.word(uint64(m.Counts.Dropped))
	case *wire.Beat:
		d.word(19 << 56)
	case *wire.Staleness:
		d.word(20<<56 | uint64(m.Table)<<32 | uint64(uint32(m.Clocks)))
	}
}
