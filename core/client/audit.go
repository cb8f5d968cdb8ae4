package client

import (
	"slices"

	"bellows"
	"bellows/core/audit"
	"bellows/core/delta"
	"bellows/link/wire"
	"bellows/vec"
)

// The audit compares what clients have sent with what lanes took or dropped, table by table: rows
// in every clock, and in a sample of the clocks the bits of the values (docs/decisions/0027). Here
// is the sending side. It is told when a flush leaves, once: what is sent again, since it was stale
// or found no room, is the same flush.

// account counts for the audit what a flush takes of an update, from the buffers and not from the
// chunks made of them: a count must not come from the code that it judges.
func (c *Client) account(f *flush, u *update) {
	for _, n := range u.touched {
		b, p := u.buffers[n], &c.partitions[n]
		c.counts.Sent += int64(b.Len())
		said := f.of(p.ref.Table)
		said.Rows += int64(b.Len())
		f.values += b.Len() * p.schema.Width
		if !p.sample.Has(f.clock) {
			continue
		}
		rows, values := b.Chunk()
		sum := audit.Sum(0)
		switch {
		case p.format != vec.Float32:
			sum = c.narrowed(p, b)
		case p.schema.Sparse:
			sum = audit.Keys(p.ref.Partition, p.schema.Width, b.Keys(), values)
		default:
			sum = audit.Rows(p.ref.Partition, p.schema.Width, rows, values)
		}
		c.counts.Ledgers[p.ref.Table].Sent += sum
		said.Bits += sum
	}
}

// accountLease counts the end of an exclusive lease.
func (c *Client) accountLease(f *flush, l leaseGrant) {
	p := &c.partitions[l.number]
	c.counts.Sent += int64(p.rows)
	said := f.of(p.ref.Table)
	said.Rows += int64(p.rows)
	if p.sample.Has(f.clock) {
		sum := audit.Range(p.ref.Partition, 0, l.grant.Values)
		c.counts.Ledgers[p.ref.Table].Sent += sum
		said.Bits += sum
	}
}

// of is what a flush says of a table.
func (f *flush) of(t bellows.TableID) *audit.Sent {
	for i := range f.sent {
		if f.sent[i].Table == t {
			return &f.sent[i]
		}
	}
	f.sent = append(f.sent, audit.Sent{Table: t})
	return &f.sent[len(f.sent)-1]
}

// say adds what the flush has of each table to what the controller is told of it, so that its record has it: this node's
// own word at the job's end does not come if the node is lost.
func (f *flush) say(d *wire.Done) { d.Sent = append(d.Sent[:0], f.sent...) }

// roundedMost is how many values are rounded at a time, while they are near.
const roundedMost = 4 << 10

// narrowed is the audit's sum over a buffer as its lane will see it, rounded on its way
// (TestTheLedgerHasWhatLanesWillSee). Values are rounded twice, here and where they are sent, for
// the same reason.
func (c *Client) narrowed(p *partition, b *delta.Buffer) (sum audit.Sum) {
	rows, values := b.Chunk()
	w := p.schema.Width
	step := max(1, roundedMost/w)
	c.sixteen, c.rounded = slices.Grow(c.sixteen[:0], step*w), slices.Grow(c.rounded[:0], step*w)
	for first := 0; first < b.Len(); first += step {
		end := min(first+step, b.Len())
		n := (end - first) * w
		_ = p.format.Narrow(c.sixteen[:n], values[first*w:end*w]) // what does not fit ends the job where it is sent
		p.format.Widen(c.rounded[:n], c.sixteen[:n])
		switch {
		case p.schema.Sparse:
			sum += audit.Keys(p.ref.Partition, w, b.Keys()[first:end], c.rounded[:n])
		case rows == nil:
			sum += audit.Range(p.ref.Partition, first*w, c.rounded[:n])
		default:
			sum += audit.Rows(p.ref.Partition, w, rows[first:end], c.rounded[:n])
		}
	}
	return sum
}
