package padding

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestFind checks which padding is left out.
func TestFind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		width, padding int
		want           Columns
	}{
		{64, 0, Columns{}}, {64, 13, Columns{51, 13}}, {8, 7, Columns{1, 7}}, {9, 8, Columns{}}, {16, 14, Columns{2, 14}},
		{64, 16, Columns{}}, {4096, 1, Columns{4095, 1}}, {4097, 1, Columns{}},
	} {
		if got := Find(c.width, c.padding); got != c.want {
			t.Errorf("of %d values %d are padding: %v, want %v", c.width, c.padding, got, c.want)
		}
	}
}

// TestDecode checks that a number is refused, or is the code of its columns, within the limit of memory.
func TestDecode(t *testing.T) {
	t.Parallel()
	taken := 0
	for x := range 1 << 16 {
		c, ok := Decode(uint16(x))
		if !ok {
			continue
		}
		taken++
		if all, _ := c.Whole(int(c.Sent)); c.Code() != uint16(x) || all > 8*int(c.Sent) {
			t.Errorf("%#x is read as %v, rows of %d values", x, c, all)
		}
	}
	if want := 1 + 7*sentMost + 7*(sentMost-1) + sentMost - 2; taken != want {
		t.Errorf("%d numbers are taken, want %d", taken, want)
	}
}

// TestPackedRowsComeBack packs rows with padding of every width up to 20.
func TestPackedRowsComeBack(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for width := 1; width <= 20; width++ {
		for gap := range width {
			c := Find(width, gap)
			if gap > 0 && c.Padding == 0 {
				continue
			}
			rows := make([]float32, 5*width)
			for i := range rows {
				if i%width < width-gap {
					rows[i] = r.Float32()
				}
			}
			checkRows(t, c, rows)
		}
	}
}

func checkRows(t *testing.T, c Columns, rows []float32) {
	t.Helper()
	if !c.Check(rows) {
		t.Fatalf("%v: rows are refused", c)
	}
	if c.Padding == 0 {
		return
	}
	sent, back := make([]float32, c.Sending(len(rows))), make([]float32, len(rows))
	for i := range back {
		back[i] = 9
	}
	c.Pack(sent, rows)
	if c.Unpack(back, sent); !slices.Equal(back, rows) {
		t.Errorf("%v: %v came back as %v", c, rows, back)
	}
	if all, ok := c.Whole(len(sent)); all != len(rows) || !ok {
		t.Errorf("%v: %d values are %d, want %d", c, len(sent), all, len(rows))
	}
	if _, ok := c.Whole(len(sent) - 1); ok && c.Sent > 1 {
		t.Errorf("%v: %d values are whole rows", c, len(sent)-1)
	}
}

// TestPaddingInUseIsRefused checks that no value is lost because it stands where its table has padding.
func TestPaddingInUseIsRefused(t *testing.T) {
	t.Parallel()
	for name, values := range map[string][]float32{
		"a value in the padding": {1, 2, 0, 3, 4, 5},
		"a negative zero":        {1, 2, float32(math.Copysign(0, -1))},
		"no whole rows":          {1, 2, 0, 3},
	} {
		if Find(3, 1).Check(values) {
			t.Errorf("%s is taken", name)
		}
	}
}
