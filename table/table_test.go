package table_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/table"
)

func TestCutCoversEveryRowOnce(t *testing.T) {
	for _, s := range []table.Schema{
		{Name: "a", Rows: 1, Width: 1},
		{Name: "b", Rows: 7, Width: 3, Partitions: 7},
		{Name: "c", Rows: 1000, Width: 1, Partitions: 13},
		{Name: "d", Rows: 100000, Width: 64},
		{Name: "e", Rows: 5, Width: 2, Bounds: []bellows.RowID{0, 0, 3, 5}},
	} {
		if err := s.Validate(); err != nil {
			t.Fatal(err)
		}
		c := s.Cut()
		next := bellows.RowID(0)
		for p := range c.Len() {
			first, end := c.Rows(bellows.PartitionID(p))
			if first != next {
				t.Fatalf("%s: partition %d begins at %d, not %d", s.Name, p, first, next)
			}
			for r := first; r < end; r++ {
				if got := c.Find(r); got != bellows.PartitionID(p) {
					t.Fatalf("%s: row %d found in partition %d, is in %d", s.Name, r, got, p)
				}
			}
			next = end
		}
		if int(next) != s.Rows {
			t.Errorf("%s: partitions end at row %d of %d", s.Name, next, s.Rows)
		}
	}
}

func TestMinimumPartitionSize(t *testing.T) {
	s := table.Schema{Name: "w", Rows: 17562, Width: 20}
	c := s.Cut()
	for p := range c.Len() {
		first, end := c.Rows(bellows.PartitionID(p))
		if bytes := int(end-first) * s.Width * 4; bytes < 64<<10 {
			t.Errorf("partition %d of %d has %d bytes", p, c.Len(), bytes)
		}
	}
	if c.Len() < 2 {
		t.Error("1.4 MB in one partition")
	}
}

// TestSparseCutTakesRowsKeys fills sparse tables up to Rows: every key has one partition, and none gets
// more than Most.
func TestSparseCutTakesRowsKeys(t *testing.T) {
	for _, rows := range []int{1, 100, 5000, 200000} {
		s := table.Schema{Name: "k", Sparse: true, Rows: rows, Width: 16}
		if err := s.Validate(); err != nil {
			t.Fatal(err)
		}
		c := s.Cut()
		load := make([]int, c.Len())
		for i := range rows {
			load[c.FindKey(bellows.Key(i)*0x10001)]++
		}
		for p, n := range load {
			if first, end := c.Rows(bellows.PartitionID(p)); n > c.Most() || first != end {
				t.Errorf("%d rows: partition %d has %d of at most %d keys, and rows [%d,%d)", rows, p, n, c.Most(),
					first, end)
			}
		}
		if total := c.Most() * c.Len(); total > rows+rows/8+c.Len()*130 {
			t.Errorf("%d rows: the partitions take %d", rows, total)
		}
	}
}

func TestKeyInitEqualsRowInit(t *testing.T) {
	in := table.Init{Kind: table.Uniform, Seed: 3, Low: -1, High: 1}
	row, key, far := make([]float32, 4), make([]float32, 4), make([]float32, 4)
	in.Fill(12, row)
	in.FillKey(12, key)
	in.FillKey(12|1<<40, far)
	if !slices.Equal(row, key) || slices.Equal(key, far) {
		t.Errorf("row 12 starts at %v, key 12 at %v, a key with other upper bits at %v", row, key, far)
	}
}

func TestValidateNamesWhatIsWrong(t *testing.T) {
	for want, s := range map[string]table.Schema{
		"needs a name":       {Rows: 1, Width: 1},
		"0 rows":             {Name: "x", Width: 1},
		"rows of 0 values":   {Name: "x", Rows: 1},
		"staleness -2":       {Name: "x", Rows: 1, Width: 1, Consistency: -2},
		"not apply to count": {Name: "x", Rows: 1, Width: 1, DType: table.Int32, Rule: table.Rule{Name: "sgd"}},
		"9 partitions for 3": {Name: "x", Rows: 3, Width: 1, Partitions: 9},
		"divided by their h": {Name: "x", Sparse: true, Rows: 3, Width: 1, Bounds: []bellows.RowID{0, 3}},
		"3 values of paddin": {Name: "x", Rows: 1, Width: 3, Padding: 3},
		"cannot have paddin": {Name: "x", Sparse: true, Rows: 1, Width: 3, Padding: 1},
		"ascend from 0":      {Name: "x", Rows: 3, Width: 1, Bounds: []bellows.RowID{0, 2}},
	} {
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error about %q, got %v", want, err)
		} else if bellows.KindOf(err) != bellows.Config {
			t.Errorf("%v has kind %d", err, bellows.KindOf(err))
		}
	}
}

func TestNeeds(t *testing.T) {
	for _, c := range []struct {
		consistency table.Consistency
		at, want    bellows.Clock
	}{
		{table.BSP, 0, -1}, {table.BSP, 5, 4}, {table.SSP(1), 5, 3}, {table.SSP(3), 2, -1}, {table.Async, 9, -1},
	} {
		if got := c.consistency.Needs(c.at); got != c.want {
			t.Errorf("%v at clock %d needs %d, want %d", c.consistency, c.at, got, c.want)
		}
	}
}

func TestInitDependsOnSeedAndRowAlone(t *testing.T) {
	for _, in := range []table.Init{
		{Kind: table.Zero}, {Kind: table.Fixed, Low: 2.5},
		{Kind: table.Uniform, Seed: 3, Low: -1, High: 2}, {Kind: table.Normal, Seed: 3, Low: 1, High: 0.5},
	} {
		long, short := make([]float32, 64), make([]float32, 16)
		in.Fill(12, long)
		in.Fill(12, short)
		if !slices.Equal(long[:16], short) {
			t.Errorf("%+v: a row's start depends on its width", in)
		}
		in.Fill(13, short)
		if in.Kind >= table.Uniform && in.Kind != table.Fixed && slices.Equal(long[:16], short) {
			t.Errorf("%+v: two rows start alike", in)
		}
	}
}

func TestInitDistributions(t *testing.T) {
	const rows, width = 2000, 32
	for _, c := range []struct {
		in             table.Init
		mean, variance float64
	}{
		{table.Init{Kind: table.Uniform, Seed: 9, Low: -1, High: 3}, 1, 16.0 / 12},
		{table.Init{Kind: table.Normal, Seed: 9, Low: 2, High: 0.5}, 2, 0.25},
	} {
		sum, squares := 0.0, 0.0
		row := make([]float32, width)
		for r := range rows {
			c.in.Fill(bellows.RowID(r), row)
			for _, v := range row {
				if c.in.Kind == table.Uniform && (v < c.in.Low || v >= c.in.High) {
					t.Fatalf("%v is outside [%v, %v)", v, c.in.Low, c.in.High)
				}
				sum += float64(v)
				squares += float64(v) * float64(v)
			}
		}
		n := float64(rows * width)
		mean := sum / n
		if variance := squares/n - mean*mean; math.Abs(mean-c.mean) > 0.02 || math.Abs(variance-c.variance) > 0.03 {
			t.Errorf("%+v: mean %.3f variance %.3f, want %.3f %.3f", c.in, mean, variance, c.mean, c.variance)
		}
	}
}

// The start of a row is part of every saved run: these bits must not change.
func TestInitGolden(t *testing.T) {
	row := make([]float32, 3)
	table.Init{Kind: table.Uniform, Seed: 1, Low: 0, High: 1}.Fill(5, row)
	uniform := [3]uint32{math.Float32bits(row[0]), math.Float32bits(row[1]), math.Float32bits(row[2])}
	table.Init{Kind: table.Normal, Seed: 1, Low: 0, High: 1}.Fill(5, row)
	normal := [3]uint32{math.Float32bits(row[0]), math.Float32bits(row[1]), math.Float32bits(row[2])}
	if want := ([3]uint32{0x3f05e7bb, 0x3e922e30, 0x3f4b435c}); uniform != want {
		t.Errorf("uniform: %#x, want %#x", uniform, want)
	}
	if want := ([3]uint32{0x3eaf61ae, 0xbf92ab8e, 0x3f4a68dc}); normal != want {
		t.Errorf("normal: %#x, want %#x", normal, want)
	}
}

func TestCountsAreTheSameMemory(t *testing.T) {
	words := make([]float32, 3)
	table.Counts(words)[1] = -7
	if int32(math.Float32bits(words[1])) != -7 || table.Counts(nil) != nil {
		t.Error("counts are not a view")
	}
}
