// Package table describes model state: tables with their rows, initial values, rule and staleness, and their division
// into partitions.
//
// A job declares its tables once, as Schemas. Validate checks them and Cut fixes the partitions, which never change
// afterwards. A dense table has rows 0 to Rows-1 from the start, in partitions of consecutive rows. A sparse table has
// a row for each 64-bit key that a committed update has touched, in the partition given by the key's hash. The package
// holds no state: rows live in package rowstore.
package table

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"bellows"
	"bellows/core/keys"
)

// DType is the type of a table's values. Every value takes four bytes.
type DType uint8

const (
	Float32 DType = iota // weights, factors
	Int32                // counts
)

// Consistency is the staleness that a read of a table may have.
type Consistency int32

const (
	// BSP reads see all clocks before their own and nothing of their own: bulk synchronous parallel.
	BSP Consistency = 0
	// Async reads have no bound on staleness.
	Async Consistency = math.MaxInt32
)

// SSP bounds staleness to s clocks: a read at clock c sees all clocks up to c-1-s (stale synchronous parallel, Bösen
// §2.2). SSP(0) is BSP.
func SSP(s int) Consistency { return Consistency(s) }

func (c Consistency) String() string {
	switch c {
	case BSP:
		return "BSP"
	case Async:
		return "async"
	}
	return fmt.Sprintf("SSP(%d)", int32(c))
}

// Needs returns the clock that must be complete, over all splits, before a read at the given clock.
func (c Consistency) Needs(at bellows.Clock) bellows.Clock {
	if c == Async {
		return bellows.NoClock
	}
	return max(bellows.NoClock, at-1-bellows.Clock(c))
}

// Rule names the numeric update of a table: how a delta changes a row. Package rule documents the parameters of each
// rule; parameters that a rule does not take stay zero.
type Rule struct {
	Name string  // "add", "sgd", "momentum", "adagrad", "adam" or "ftrl"
	Step float32 // step size η (adam: α) of all rules but add; positive
	// Epsilon is added to the root by which adagrad, adam and ftrl (there: β) divide, so that steps of a value without
	// gradients stay finite. Positive; 1e-8 (Kingma and Ba) suits adam. Too large a value makes steps small where
	// gradients are small.
	Epsilon float32
	// Momentum is the share μ of the velocity that momentum keeps in each update, from 0 to below 1; 0.9 is usual.
	// Under a steady gradient steps add up to Step/(1-Momentum) times the gradient.
	Momentum float32
	Nesterov bool // momentum takes the gradient one step ahead
	// Beta1 and Beta2 are the shares that adam's averages of gradients and of their squares keep in each
	// update, from 0 (Beta2: above 0) to below 1; 0.9 and 0.999 are usual.
	Beta1, Beta2 float32
	// L1 and L2 are the penalties on weights w in addition to the loss: L1 |w| + L2/2 w². sgd, adagrad, adam and ftrl
	// apply them by proximal steps. With either, the last value of a row is no weight but the number of updates due: a
	// delta adds there the number of updates to charge the row for.
	L1, L2 float32
}

// A Schema declares one table.
type Schema struct {
	Name string
	// Sparse names rows by 64-bit keys instead of ids. A row exists from the first committed update of its key. A read
	// before that returns the initialiser's row and takes no memory.
	Sparse bool
	// Rows is the number of rows, ids 0..Rows-1. For a sparse table it is the intended maximum and bounds its memory:
	// Cut.Most returns the limit of each partition. An update beyond the limit is refused and ends the job.
	Rows        int
	Width       int // values per row
	DType       DType
	Init        Init
	Rule        Rule // zero: add
	Consistency Consistency
	// Partitions is the number of partitions; 0 lets Cut choose. Bounds, if given, fixes the
	// partitions of a dense table instead: partition p holds rows [Bounds[p], Bounds[p+1]).
	Partitions int
	Bounds     []bellows.RowID
	// BySplit says that partition p is for tasks of split p. Its first owner is then a lane of the node that runs the
	// split, if that node has one.
	BySplit bool
	// Padding is the number of values at the end of each row of a dense table that only fill up a cache line. They are
	// zero and stay so: no task reads or writes them, and leases between nodes leave them out.
	Padding int
	// Scratch says that the job's result has no rows of the table.
	Scratch bool
}

// partitionBytesMin is the smallest useful partition of a table that is large enough (architecture, "Tables").
// partitionsDefault is the most that Cut chooses without Partitions.
const (
	partitionBytesMin = 64 << 10
	partitionsDefault = 64
)

// Validate returns the first error in the declaration.
func (s *Schema) Validate() error {
	bad := func(format string, args ...any) error {
		return bellows.Errorf(bellows.Config, "declare table", s.Name, format, args...)
	}
	switch {
	case s.Name == "":
		return bad("a table needs a name")
	case s.Rows < 1 || s.Rows > math.MaxInt32:
		return bad("%d rows; must be 1 to 2^31-1", s.Rows)
	case s.Width < 1 || s.Width > 1<<20:
		return bad("rows of %d values; must be 1 to 2^20", s.Width)
	case s.Padding < 0 || s.Padding >= s.Width:
		return bad("%d values of padding in rows of %d", s.Padding, s.Width)
	case s.Padding > 0 && s.Sparse:
		return bad("rows that have keys cannot have padding")
	case s.Consistency < 0:
		return bad("staleness %d is negative", s.Consistency)
	case s.DType == Int32 && s.Rule.Name != "" && s.Rule.Name != "add":
		return bad("rule %q does not apply to counts", s.Rule.Name)
	}
	return s.validateBounds(bad)
}

func (s *Schema) validateBounds(bad func(string, ...any) error) error {
	if s.Sparse && s.Bounds != nil {
		return bad("bounds divide consecutive rows; keys are divided by their hash, so give the number of partitions")
	}
	if s.Bounds == nil {
		if s.Partitions < 0 || s.Partitions > s.Rows {
			return bad("%d partitions for %d rows", s.Partitions, s.Rows)
		}
		return nil
	}
	n := len(s.Bounds)
	if n < 2 || s.Bounds[0] != 0 || int(s.Bounds[n-1]) != s.Rows || !slices.IsSorted(s.Bounds) {
		return bad("bounds must ascend from 0 to the number of rows, %d", s.Rows)
	}
	return nil
}

// A Cut is the fixed division of a table's rows into partitions: of consecutive rows, or of keys by their hash.
type Cut struct {
	bounds []bellows.RowID // zeros if rows have keys
	most   int             // the result of Most
}

// Cut divides the table: by Bounds, if given; else into Partitions equal parts; else into as many parts as leave each
// at least 64 KiB, at most 64.
func (s *Schema) Cut() Cut {
	if s.Bounds != nil {
		return Cut{bounds: slices.Clone(s.Bounds)}
	}
	n := s.Partitions
	if n == 0 {
		n = min(partitionsDefault, s.Rows, max(1, s.Rows*s.Width*4/partitionBytesMin))
	}
	b := make([]bellows.RowID, n+1)
	if s.Sparse {
		share := (s.Rows + n - 1) / n
		return Cut{b, share + share/8 + unevenMin}
	}
	for i := range b {
		b[i] = bellows.RowID(s.Rows * i / n)
	}
	return Cut{bounds: b}
}

// unevenMin and an eighth of its share are what a partition may have beyond its share: hashes spread keys within six
// deviations of it.
const unevenMin = 128

// Len returns the number of partitions.
func (c Cut) Len() int { return len(c.bounds) - 1 }

// Rows returns the interval of rows [first, end) in partition p. It is empty if rows have keys.
func (c Cut) Rows(p bellows.PartitionID) (first, end bellows.RowID) {
	return c.bounds[p], c.bounds[p+1]
}

// Most returns the maximum number of rows of a partition of a sparse table: its share of Schema.Rows, plus an eighth of
// that and 128, so that a table is not refused below Rows because its keys spread unevenly.
func (c Cut) Most() int { return c.most }

// SubscribedMost returns the maximum number of keys of a partition of a sparse table to which a client may be
// subscribed, for rows of the given width: no more than the partition may have rows, and no more than fit into 16 MiB,
// because all of them may have to be sent in one message.
func (c Cut) SubscribedMost(width int) int { return min(c.most, subscribedBytesMax/(8+4*width)) }

// subscribedBytesMax bounds keys and values of a subscription.
const subscribedBytesMax = 16 << 20

// Find returns the partition that holds the row.
func (c Cut) Find(row bellows.RowID) bellows.PartitionID {
	if n := len(c.bounds) - 1; n == 1 {
		return 0
	}
	i := sort.Search(len(c.bounds), func(i int) bool { return c.bounds[i] > row })
	return bellows.PartitionID(i - 1)
}

// FindKey returns the partition that holds the row of the key.
func (c Cut) FindKey(key bellows.Key) bellows.PartitionID { return keys.Partition(key, c.Len()) }
