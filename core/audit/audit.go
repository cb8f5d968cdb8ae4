// Package audit sums the rows and bits of updates that were sent, taken, dropped and written, and checks that the sums
// of a job agree.
//
// Each step that moves updates adds them to a Ledger, one for each table: the client when it has made a chunk of a
// flush or ended an exclusive lease, the lane when it takes that, and the store inside Apply. All sums, added up at
// the job's end in an Account, must agree. Sums are over the bits of values (Rows, Keys), modulo 2^64, in any order.
//
// There are two ledgers, since sums of floats do not keep sums of bits. The first follows chunks as clients make them and lanes
// take them: Sent = Taken + Dropped. The second follows what lanes give to stores, which under BSP is a sum of chunks: Yielded
// = Written. Between the two, where chunks are added up, rows are counted: Applied is rows written and rows that were added to
// others, and it must be all that were sent.
//
// Rows are counted in every clock. Bits are summed in a Sample of the clocks, the same for all, since a sum takes a good part of
// the time that moving a value takes.
//
// The package finds mistakes of the program. It is no protection against invented figures.
package audit

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/vec"
)

// Sum is a sum over bits of values, modulo 2^64.
type Sum uint64

// MarshalText writes the sum in 16 hexadecimal digits: numbers of JSON do not reach so far.
func (s Sum) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%016x", uint64(s)), nil }

// UnmarshalText reads what MarshalText has written.
func (s *Sum) UnmarshalText(text []byte) error {
	_, err := fmt.Sscanf(string(text), "%x", (*uint64)(s))
	return err
}

// Ledger is what passed of one table.
type Ledger struct {
	Sent    Sum `json:"sent"`    // by clients: chunks, and slabs at the end of exclusive leases
	Taken   Sum `json:"taken"`   // by lanes: chunks into their sums or to the rule; slabs, as they are after the lease
	Dropped Sum `json:"dropped"` // by lanes: what never counted
	Yielded Sum `json:"yielded"` // by lanes: what they give to stores
	Written Sum `json:"written"` // by stores, inside Apply
}

// Sent counts a flush's part of a table, by its client. The record keeps it: for a client that is lost the records
// have the last figures.
type Sent struct {
	Table bellows.TableID
	Rows  int64
	Bits  Sum
}

// Add adds another ledger of the table.
func (l *Ledger) Add(o *Ledger) {
	l.Sent += o.Sent
	l.Taken += o.Taken
	l.Dropped += o.Dropped
	l.Yielded += o.Yielded
	l.Written += o.Written
}

// Add adds ledgers to those of the same tables; there may be more.
func Add(to, more []Ledger) []Ledger {
	for i := range more {
		if i == len(to) {
			to = append(to, Ledger{})
		}
		to[i].Add(&more[i])
	}
	return to
}

// TableLedger is a ledger with the name of its table.
type TableLedger struct {
	Name string `json:"name"`
	Ledger
}

// Account is the sums of a job's actors.
type Account struct {
	Sent    int64         `json:"sent"`    // row deltas in chunks, and rows of exclusive leases, that clients sent
	Applied int64         `json:"applied"` // of these: written by stores, or added to others that were
	Dropped int64         `json:"dropped"` // of these: never counted
	Tables  []TableLedger `json:"tables"`  // in the order of the job
}

// Plus returns the account of an earlier part of a job and this one together. The earlier part may have no ledgers.
func (a *Account) Plus(o *Account) Account {
	sum := Account{Sent: a.Sent + o.Sent, Applied: a.Applied + o.Applied, Dropped: a.Dropped + o.Dropped, Tables: slices.Clone(o.Tables)}
	for i := range min(len(a.Tables), len(o.Tables)) {
		sum.Tables[i].Add(&a.Tables[i].Ledger)
	}
	return sum
}

// Disagreements returns sentences about sums that do not agree. If there are none, all that was sent became part of
// the state, or was dropped because its clock never counted. A finished job has nothing to drop.
func (a *Account) Disagreements(finished bool) (list []string) {
	if a.Sent != a.Applied+a.Dropped {
		list = append(list, fmt.Sprintf("%d updates were sent, %d applied and %d dropped", a.Sent, a.Applied, a.Dropped))
	}
	if finished && a.Dropped != 0 {
		list = append(list, fmt.Sprintf("the job finished, and %d of %d updates were dropped", a.Dropped, a.Sent))
	}
	for i := range a.Tables {
		t := &a.Tables[i]
		if in := t.Taken + t.Dropped; in != t.Sent {
			list = append(list, fmt.Sprintf("table %s: the bits of what clients sent add up to %016x, of what lanes took and dropped to %016x", t.Name, uint64(t.Sent), uint64(in)))
		}
		if t.Yielded != t.Written {
			list = append(list, fmt.Sprintf("table %s: the bits of what lanes gave to stores add up to %016x, of what stores wrote to %016x", t.Name, uint64(t.Yielded), uint64(t.Written)))
		}
		if finished && t.Dropped != 0 && a.Dropped == 0 {
			list = append(list, fmt.Sprintf("table %s: the job finished, and values whose bits add up to %016x were dropped", t.Name, uint64(t.Dropped)))
		}
	}
	return list
}

// Sample has the clocks in which a partition's bits are summed: all if it is small, else one of each 16 consecutive
// ones. That one is chosen at random, so that nothing in the job keeps step with it. The first 16 clocks also have
// one.
type Sample struct {
	always bool
	seed   uint64
}

// smallMost is the most values of a partition whose sums cost nothing compared with the messages about it.
const smallMost = 256

// SampleOf returns the sample of a partition. values is its number of values, or 0 if rows come and go.
func SampleOf(p bellows.PartitionRef, values int) Sample {
	return Sample{values > 0 && values <= smallMost, uint64(p.Table)<<48 ^ uint64(p.Partition)<<32}
}

// Contains reports whether a clock is in the sample.
func (s Sample) Contains(c bellows.Clock) bool {
	return s.always || uint32(c)&15 == place(s.seed|uint64(uint32(c)>>4))>>28
}

// Rows returns the sum over rows of a partition, row after row in values, each of its width. The rows (nil: all, in
// order) are counted from the partition's first.
func Rows(p bellows.PartitionID, width int, rows []uint32, values []float32) Sum {
	if rows == nil {
		return Range(p, 0, values)
	}
	base, w, sum := place(uint64(p)), uint32(width), uint64(0)
	for i := 0; i < len(rows); {
		end := i + 1
		for end < len(rows) && rows[end] == rows[end-1]+1 {
			end++
		}
		sum += vec.Checksum(base+rows[i]*w, values[i*width:end*width])
		i = end
	}
	return Sum(sum)
}

// Range returns the sum over consecutive values of a partition, from number first on.
func Range(p bellows.PartitionID, first int, values []float32) Sum {
	return Sum(vec.Checksum(place(uint64(p))+uint32(first), values))
}

// Keys returns the sum over rows that have keys, row after row in values.
func Keys(p bellows.PartitionID, width int, keys []bellows.Key, values []float32) (sum Sum) {
	for i, k := range keys {
		sum += Key(p, k, values[i*width:(i+1)*width])
	}
	return sum
}

// Key returns the sum over the row of one key.
func Key(p bellows.PartitionID, k bellows.Key, row []float32) Sum {
	return Sum(vec.Checksum(place(uint64(p))+place(uint64(k)), row))
}

// place spreads numbers over all places, so that those that are near do not meet.
func place(n uint64) uint32 {
	n = (n + 1) * 0x9e3779b97f4a7c15
	n = (n ^ n>>32) * 0xd6e8feb86659fd93
	return uint32(n >> 32)
}
