package flush

import (
	"slices"

	"bellows"
	"bellows/core/audit"
	"bellows/core/delta"
	"bellows/link/wire"
	"bellows/vec"
)

// The audit compares what clients have sent with what lanes took or dropped, table by table: rows in every clock, and
// in a sample of the clocks the bits of the values (docs/decisions/0027). Here is the sending side. It counts when a
// flush leaves, once: what is sent again, since it was stale or found no room, is the same flush.

// counter is what a node has sent, as the audit counts it.
type counter struct {
	rows    int64 // of deltas
	ledgers []audit.Ledger
	sixteen []uint16  // scratch: of narrowed
	rounded []float32 // scratch: of narrowed
}

// Sent returns the rows of deltas that have been sent, and what the audit has of each table. The list is the
// counter's.
func (c *counter) Sent() (rows int64, ledgers []audit.Ledger) { return c.rows, c.ledgers }

// count counts what a flush takes of deltas, from the buffers and not from the chunks made of them: a count must not
// come from the code that it judges.
func (c *counter) count(f *flush, u *delta.Set, partitions []partition) {
	for _, n := range u.Touched() {
		b, p := u.Find(n), &partitions[n]
		f.values += b.Len() * p.width
		sum := audit.Sum(0)
		if p.sample.Contains(f.clock) {
			rows, values := b.Chunk()
			switch {
			case p.format != vec.Float32:
				sum = c.narrowed(p, b)
			case p.sparse:
				sum = audit.Keys(p.pair.Ref.Partition, p.width, b.Keys(), values)
			default:
				sum = audit.Rows(p.pair.Ref.Partition, p.width, rows, values)
			}
		}
		c.add(f, p, b.Len(), sum)
	}
}

// countLease counts the end of an exclusive lease.
func (c *counter) countLease(f *flush, l Lease, p *partition) {
	sum := audit.Sum(0)
	if p.sample.Contains(f.clock) {
		sum = audit.Range(p.pair.Ref.Partition, 0, l.Granted.Values)
	}
	c.add(f, p, p.rows, sum)
}

// add adds rows and the sum of their bits to what a flush and the node have sent of a partition's table.
func (c *counter) add(f *flush, p *partition, rows int, sum audit.Sum) {
	t := p.pair.Ref.Table
	entry := f.sentOf(t)
	entry.Rows += int64(rows)
	entry.Bits += sum
	c.rows += int64(rows)
	c.ledgers[t].Sent += sum
}

// sentOf returns what a flush has sent of a table.
func (f *flush) sentOf(t bellows.TableID) *audit.Sent {
	for i := range f.sent {
		if f.sent[i].Table == t {
			return &f.sent[i]
		}
	}
	f.sent = append(f.sent, audit.Sent{Table: t})
	return &f.sent[len(f.sent)-1]
}

// addSent adds what the flush has of each table to what the controller learns of it, so that its record has it: this
// node's own report at the job's end does not come if the node is lost.
func (f *flush) addSent(d *wire.Done) { d.Sent = append(d.Sent[:0], f.sent...) }

// roundedMost is how many values are rounded at a time, while they are near.
const roundedMost = 4 << 10

// narrowed returns the audit's sum over a buffer as its lane will see it, rounded on its way
// (TestTheLedgerHasWhatLanesWillSee). Values are rounded twice, here and where they are sent, so that the count does
// not come from the code that it judges.
func (c *counter) narrowed(p *partition, b *delta.Buffer) (sum audit.Sum) {
	rows, values := b.Chunk()
	w, ref := p.width, p.pair.Ref.Partition
	step := max(1, roundedMost/w)
	c.sixteen, c.rounded = slices.Grow(c.sixteen[:0], step*w), slices.Grow(c.rounded[:0], step*w)
	for first := 0; first < b.Len(); first += step {
		end := min(first+step, b.Len())
		n := (end - first) * w
		_ = p.format.Narrow(c.sixteen[:n], values[first*w:end*w]) // what does not fit ends the job where it is sent
		p.format.Widen(c.rounded[:n], c.sixteen[:n])
		switch {
		case p.sparse:
			sum += audit.Keys(ref, w, b.Keys()[first:end], c.rounded[:n])
		case rows == nil:
			sum += audit.Range(ref, first*w, c.rounded[:n])
		default:
			sum += audit.Rows(ref, w, rows[first:end], c.rounded[:n])
		}
	}
	return sum
}
