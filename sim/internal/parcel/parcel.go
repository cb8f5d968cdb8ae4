// Package parcel is messages as they travel between nodes of the simulation: copied as a codec would
// copy them, and hashed, so that a change on the way shows.
//
// Clone a message where it arrives; compare Digest where it was sent and where it is taken; Describe it to who reads a trace. The package
// refuses a message that it does not know: a codec would have to be written for it too.
package parcel

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"bellows"
	"bellows/wire"
)

// Clone is a message as it arrives on another node: what a codec would make of it, sharing no memory
// with the original.
func Clone(m wire.Message) wire.Message {
	switch m := m.(type) {
	case *wire.Pull:
		n := wire.New[wire.Pull]()
		n.Request, n.Need = m.Request, m.Need
		for _, p := range m.Parts {
			p.Rows, p.Keys = slices.Clone(p.Rows), slices.Clone(p.Keys)
			n.Parts = append(n.Parts, p)
		}
		return n
	case *wire.Rows:
		return cloneRows(m)
	case *wire.Acquire:
		n := wire.New[wire.Acquire]()
		*n = *m
		return n
	case *wire.Granted:
		n := wire.New[wire.Granted]()
		n.Request, n.Ref, n.Mode = m.Request, m.Ref, m.Mode
		n.Copy(m.Values)
		return n
	case *wire.Push:
		return clonePush(m)
	case *wire.Done:
		return cloneDone(m)
	case *wire.Records:
		n := wire.New[wire.Records]()
		for _, r := range m.List {
			n.List = append(n.List, wire.Record{Number: r.Number, Flush: r.Flush, Units: slices.Clone(r.Units)})
		}
		return n
	case *wire.Dispatch:
		n := wire.New[wire.Dispatch]()
		n.Commit = m.Commit
		for _, t := range m.Tasks {
			n.Append(t.Unit, t.Args)
		}
		return n
	}
	return cloneSmall(m)
}

func cloneRows(m *wire.Rows) *wire.Rows {
	n := wire.New[wire.Rows]()
	n.Request = m.Request
	for i := range m.Parts {
		p := &m.Parts[i]
		q := n.Extend()
		q.Ref, q.Commit, q.Complete = p.Ref, p.Commit, p.Complete
		q.Rows, q.Keys, q.Values = slices.Clone(p.Rows), slices.Clone(p.Keys), append(q.Values, p.Values...)
	}
	return n
}

func cloneDone(m *wire.Done) *wire.Done {
	n := wire.New[wire.Done]()
	n.Flush, n.Clock, n.Pairs, n.Barred = m.Flush, m.Clock, append(n.Pairs, m.Pairs...), m.Barred
	for _, r := range m.Results {
		n.Append(r.Unit, r.Values)
	}
	return n
}

func clonePush(m *wire.Push) *wire.Push {
	n := wire.New[wire.Push]()
	n.Flush, n.Clock, n.Pairs = m.Flush, m.Clock, append(n.Pairs, m.Pairs...)
	for _, c := range m.Chunks {
		c.Rows, c.Keys, c.Values = slices.Clone(c.Rows), slices.Clone(c.Keys), slices.Clone(c.Values)
		n.Chunks = append(n.Chunks, c)
	}
	for _, l := range m.Leases {
		l.Values = slices.Clone(l.Values)
		n.Leases = append(n.Leases, l)
	}
	if m.Done != nil {
		n.Done = cloneDone(m.Done)
	}
	return n
}

// cloneSmall copies the messages that hold no slices.
func cloneSmall(m wire.Message) wire.Message {
	switch m := m.(type) {
	case *wire.Release:
		n := wire.New[wire.Release]()
		*n = *m
		return n
	case *wire.Held:
		n := wire.New[wire.Held]()
		*n = *m
		return n
	case *wire.Committed:
		n := wire.New[wire.Committed]()
		n.List = append(n.List, m.List...)
		return n
	case *wire.Unsubscribe:
		return &wire.Unsubscribe{Ref: m.Ref}
	case *wire.Full:
		return &wire.Full{Flush: m.Flush}
	case *wire.Room:
		return &wire.Room{Flush: m.Flush}
	case *wire.Refused:
		return &wire.Refused{Flush: m.Flush, Kind: m.Kind, Reason: m.Reason}
	case *wire.Failed:
		return &wire.Failed{Unit: m.Unit, Reason: m.Reason, Kind: m.Kind}
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
	case *wire.Ready:
		return &wire.Ready{}
	case *wire.Severed:
		return &wire.Severed{Node: m.Node, Reason: m.Reason}
	case *wire.Collect:
		return &wire.Collect{Whole: m.Whole}
	case *wire.Slab:
		return &wire.Slab{Ref: m.Ref, Kept: m.Kept, Slot: m.Slot, Keys: slices.Clone(m.Keys), Values: slices.Clone(m.Values)}
	case *wire.Collected:
		return &wire.Collected{Reason: m.Reason}
	}
	panic(fmt.Sprintf("parcel: no codec for %T", m))
}

// Hash is a running hash of 64-bit words. The zero Hash is ready.
type Hash uint64

// Word adds a word.
func (d *Hash) Word(x uint64) {
	*d = Hash(bits.RotateLeft64(uint64(*d)^x, 27) * 0x9e3779b97f4a7c15)
}

// Text adds a string.
func (d *Hash) Text(s string) {
	for i := range len(s) {
		d.Word(uint64(s[i]))
	}
	d.Word(uint64(len(s)) | 1<<32)
}

// Values adds floats by their bits.
func (d *Hash) Values(v []float32) {
	for _, x := range v {
		d.Word(uint64(math.Float32bits(x)))
	}
	d.Word(uint64(len(v)) | 1<<33)
}

func (d *Hash) rows(r []uint32) {
	if r == nil { // all
		d.Word(1 << 35)
	}
	for _, x := range r {
		d.Word(uint64(x))
	}
	d.Word(uint64(len(r)) | 1<<34)
}

func (d *Hash) keys(list []bellows.Key) {
	for _, k := range list {
		d.Word(uint64(k))
	}
	d.Word(uint64(len(list)) | 1<<35)
}

func (d *Hash) pair(p wire.Pair) {
	d.Word(uint64(p.Ref.Table)<<48 | uint64(p.Ref.Partition)<<24 | uint64(p.Generation))
}

func (d *Hash) pairs(p []wire.Pair) {
	for i := range p {
		d.pair(p[i])
	}
}

func (d *Hash) unit(u bellows.Unit) {
	d.Word(uint64(u.Split)<<32 | uint64(uint32(u.Clock)))
	d.Word(uint64(u.Items.Begin)<<32 | uint64(u.Items.End))
}

func (d *Hash) flush(f bellows.FlushID) { d.Word(uint64(f.Client)<<48 | f.Seq) }

func (d *Hash) need(n wire.Need) { d.Word(uint64(n.Commit)<<32 | uint64(uint32(n.Clock))) }

// Digest is a hash of a message's whole content.
func Digest(m wire.Message) uint64 {
	var d Hash
	switch m := m.(type) {
	case *wire.Pull:
		d.Word(1<<56 | m.Request)
		d.need(m.Need)
		for i := range m.Parts {
			d.pair(m.Parts[i].Pair)
			d.rows(m.Parts[i].Rows)
			d.keys(m.Parts[i].Keys)
			if m.Parts[i].Subscribe {
				d.Word(1)
			}
		}
	case *wire.Rows:
		d.Word(2<<56 | m.Request)
		for i := range m.Parts {
			p := &m.Parts[i]
			d.pair(wire.Pair{Ref: p.Ref})
			d.need(wire.Need{Commit: p.Commit, Clock: p.Complete})
			d.rows(p.Rows)
			d.keys(p.Keys)
			d.Values(p.Values)
		}
	case *wire.Push:
		d.push(m)
	case *wire.Done:
		d.done(m)
	case *wire.Records:
		d.Word(5 << 56)
		for i := range m.List {
			d.Word(uint64(m.List[i].Number))
			d.flush(m.List[i].Flush)
			for _, u := range m.List[i].Units {
				d.unit(u)
			}
		}
	case *wire.Dispatch:
		d.Word(6<<56 | uint64(m.Commit))
		for _, t := range m.Tasks {
			d.unit(t.Unit)
		}
	default:
		d.small(m)
	}
	return uint64(d)
}

func (d *Hash) push(m *wire.Push) {
	d.Word(3 << 56)
	d.flush(m.Flush)
	d.Word(uint64(m.Clock))
	d.pairs(m.Pairs)
	for i := range m.Chunks {
		c := &m.Chunks[i]
		d.pair(c.Pair)
		d.Word(uint64(c.Subtree.Level)<<32 | uint64(c.Subtree.Index))
		d.rows(c.Rows)
		d.keys(c.Keys)
		d.Values(c.Values)
	}
	for i := range m.Leases {
		d.pair(m.Leases[i].Pair)
		d.Values(m.Leases[i].Values)
	}
	if m.Done != nil {
		d.done(m.Done)
	}
}

func (d *Hash) done(m *wire.Done) {
	d.Word(4 << 56)
	if m.Barred {
		d.Word(1)
	}
	d.flush(m.Flush)
	d.pairs(m.Pairs)
	for _, r := range m.Results {
		d.unit(r.Unit)
		for _, v := range r.Values {
			d.Word(math.Float64bits(v))
		}
	}
}

func (d *Hash) small(m wire.Message) {
	switch m := m.(type) {
	case *wire.Acquire:
		d.Word(7<<56 | m.Request<<8 | uint64(m.Mode))
		d.pair(m.Pair)
		d.need(m.Need)
	case *wire.Granted:
		d.Word(8<<56 | m.Request<<8 | uint64(m.Mode))
		d.pair(wire.Pair{Ref: m.Ref})
		d.Values(m.Values)
	case *wire.Release:
		d.Word(9 << 56)
		d.pair(wire.Pair{Ref: m.Ref})
	case *wire.Unsubscribe:
		d.Word(27 << 56)
		d.pair(wire.Pair{Ref: m.Ref})
	case *wire.Held:
		d.Word(10 << 56)
		d.flush(m.Flush)
	case *wire.Full:
		d.Word(11 << 56)
		d.flush(m.Flush)
	case *wire.Room:
		d.Word(12 << 56)
		d.flush(m.Flush)
	case *wire.Committed:
		d.Word(13 << 56)
		for _, c := range m.List {
			d.flush(c.Flush)
			d.Word(uint64(c.Commit))
			if c.Waiting {
				d.Word(1)
			}
		}
	case *wire.Refused:
		d.Word(14<<56 | uint64(m.Kind))
		d.Text(m.Reason)
	case *wire.Failed:
		d.Word(15 << 56)
		d.unit(m.Unit)
		d.Text(m.Reason)
	case *wire.Keep:
		d.Word(16<<56 | uint64(m.Commit))
	case *wire.End:
		d.Word(17<<56 | uint64(m.Commit))
		d.Text(m.Reason)
		for _, n := range m.Gone {
			d.Word(uint64(n))
		}
	case *wire.Closed:
		d.Word(18 << 56)
		d.Word(uint64(m.Counts.Sent))
		d.Word(uint64(m.Counts.Applied))
		d.Word(uint64(m.Counts.Dropped))
	case *wire.Beat:
		d.Word(19 << 56)
	case *wire.Staleness:
		d.Word(20<<56 | uint64(m.Table)<<32 | uint64(uint32(m.Clocks)))
	case *wire.Slab:
		d.Word(21<<56 | uint64(m.Slot))
		d.pair(wire.Pair{Ref: m.Ref})
		d.keys(m.Keys)
		d.Values(m.Values)
	default:
		d.shell(m)
	}
}

// shell adds the messages of nodes about themselves.
func (d *Hash) shell(m wire.Message) {
	switch m := m.(type) {
	case *wire.Ready:
		d.Word(22 << 56)
	case *wire.Severed:
		d.Word(23<<56 | uint64(m.Node))
		d.Text(m.Reason)
	case *wire.Collect:
		d.Word(24 << 56)
	case *wire.Collected:
		d.Word(25 << 56)
		d.Text(m.Reason)
	}
}
