package chart

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
)

// TestTicksAreRound looks at axes of many ranges.
func TestTicksAreRound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		low, high float64
		n         int
		may       bool
		want      string
	}{
		{0, 1, 5, true, "0.0 0.2 0.4 0.6 0.8 1.0"},
		{0.87, 1.21, 4, true, "0.8 0.9 1.0 1.1 1.2 1.3"},
		{-7.7108, -7.01, 4, true, "-7.8 -7.6 -7.4 -7.2 -7.0"},
		{3, 3, 4, true, "2.6 2.8 3.0 3.2 3.4"},
		{0, 0.00012, 3, false, "0 5e-05 0.0001 0.00015"},
		{0, 101_150_000, 3, false, "0 50M 100M 150M"},
		{0.9, 25, 4, true, "0 10 20 30"},
		{0.9, 90, 4, true, "1 2 5 10 20 50"},
		{0.001, 1000, 4, true, "0.001 0.01 0.1 1 10 100 1k"},
		{0.9, 90, 4, false, "0 50 100"},
	} {
		a := newAxis(c.low, c.high, c.n, c.may)
		var words []string
		for _, tick := range a.ticks {
			words = append(words, a.words(tick))
		}
		if got := strings.Join(words, " "); got != c.want {
			t.Errorf("from %g to %g: %s, not %s", c.low, c.high, got, c.want)
		}
		if a.low > c.low || a.high < c.high || a.position(a.low) != 0 || math.Abs(a.position(a.high)-1) > 1e-12 {
			t.Errorf("from %g to %g the axis is %+v", c.low, c.high, a)
		}
	}
}

// parsed wants an SVG to be well-formed, and returns its texts.
func parsed(t *testing.T, svg string) (texts []string) {
	t.Helper()
	dec := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return texts
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
		if text, ok := token.(xml.CharData); ok {
			texts = append(texts, strings.TrimSpace(string(text)))
		}
	}
}

// TestLinesAreDrawn wants names escaped, marks only where they have room, points that are not finite left out, and a
// sentence for an empty chart.
func TestLinesAreDrawn(t *testing.T) {
	t.Parallel()
	c := &Lines{Title: `"<t>`, X: "seconds", Above: "epoch", Lines: []Line{
		{Name: "test <b>", Points: []Point{{1, 2}, {2, math.NaN()}, {3, 1.5}, {4, math.Inf(1)}}},
		{Name: "train", Points: []Point{{1, 2}, {3, 1.51}}},
		{Name: "none", Points: []Point{{1, math.NaN()}}},
	}, Marks: []Mark{{1, "first"}, {1.001, "near"}, {3, "far"}}}
	svg := c.SVG(340, 240)
	texts := parsed(t, svg)
	for _, want := range []string{"test <b> 1.5", "train 1.51", "seconds", "epoch", "first", "far"} {
		if !slices.Contains(texts, want) {
			t.Errorf("%q is not among %q", want, texts)
		}
	}
	if slices.Contains(texts, "near") || strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") || strings.Count(svg, `class="line `) != 2 {
		t.Errorf("drawn is\n%s", svg)
	}
	if strings.Contains(svg, "<b>") || !strings.Contains(svg, `aria-label="&#34;&lt;t&gt;"`) {
		t.Errorf("not escaped:\n%s", svg)
	}
	if texts := parsed(t, (&Lines{}).SVG(340, 240)); !slices.Contains(texts, "nothing to draw yet") {
		t.Errorf("of nothing it says %q", texts)
	}
	if file := c.File(720, 300); !strings.Contains(file, "prefers-color-scheme: dark") || len(parsed(t, file)) == 0 {
		t.Error("a standalone file has no colours for dark pages")
	}
}

// TestBandsAreCut wants a band without a known end to stop at the top, one that is known inside the axis, and the names
// of spots apart from each other.
func TestBandsAreCut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		high float64
		ends string // of the axis
		top  string // of the band at its right end, in pixels
	}{{math.Inf(1), "3", "14.0"}, {8, "8", "14.0"}, {3, "3", "14.0"}, {2.5, "3", "45.0"}} {
		l := &Lines{X: "workers", Zero: true, Whole: true, Lines: []Line{{Name: "apart", Points: []Point{{1, 3}, {2, 1}},
			Band: []Range{{1, 2.5, 3}, {2, 0.5, c.high}}}}, Spots: []Spot{{Point{1, 3}, "<now>"}, {Point{1, 2.9}, "then"}}}
		svg := l.SVG(340, 240)
		texts := parsed(t, svg)
		_, band, _ := strings.Cut(svg, `class="band c0" d="`)
		band, _, _ = strings.Cut(band, `"`)
		if points := strings.Split(band, "L"); len(points) != 8 || !strings.HasSuffix(points[3], " "+c.top) {
			t.Errorf("to %g the band is %s", c.high, band)
		}
		for _, want := range []string{c.ends, "1", "2", "<now>", "then"} {
			if !slices.Contains(texts, want) {
				t.Errorf("to %g: %q is not among %q", c.high, want, texts)
			}
		}
		var at []float64
		for part := range strings.SplitSeq(svg, `class="spotted"`) {
			var x, y float64
			if n, _ := fmt.Sscanf(part, ` x="%g" y="%g"`, &x, &y); n == 2 {
				at = append(at, y)
			}
		}
		if len(at) != 2 || math.Abs(at[0]-at[1]) < lineApart || slices.Min(at) < 12 || strings.Count(svg, `class="spot"`) != 2 {
			t.Errorf("to %g the names of the spots are at %g", c.high, at)
		}
	}
}

// TestManyPointsAreThinned wants a line of any length drawn in bounded room, with its spikes and its end.
func TestManyPointsAreThinned(t *testing.T) {
	t.Parallel()
	points := make([]Point, 100_000)
	for i := range points {
		points[i] = Point{float64(i), 1}
	}
	points[77_777].Y, points[5].Y = 9, -9
	thinned := thin(points)
	if len(thinned) > pointsMost+1 || thinned[len(thinned)-1].X != 99_999 {
		t.Errorf("%d points, the last %v", len(thinned), thinned[len(thinned)-1])
	}
	for _, want := range []Point{{77_777, 9}, {5, -9}} {
		if !slices.Contains(thinned, want) {
			t.Errorf("the spike %v has gone", want)
		}
	}
	if !slices.IsSortedFunc(thinned, func(a, b Point) int { return int(a.X - b.X) }) {
		t.Error("the points are out of order")
	}
	if few := points[:10]; len(thin(few)) != 10 {
		t.Error("few points were thinned")
	}
}

// TestBarsAreStacked wants many steps added up without loss, and a legend with every part.
func TestBarsAreStacked(t *testing.T) {
	t.Parallel()
	c := &Bars{Title: "time", X: "epoch", First: 1, Names: []string{"compute", "a&b"}}
	for i := range 1000 {
		c.Steps = append(c.Steps, []float64{1, float64(i % 2)})
	}
	steps, each := c.merged()
	sum := 0.0
	for _, parts := range steps {
		sum += parts[0] + parts[1]
	}
	if len(steps) > barsMost || each*len(steps) < 1000 || sum != 1500 {
		t.Errorf("%d steps of %d, %g in all", len(steps), each, sum)
	}
	parsed(t, c.SVG(720, 300))
	if n := strings.Count(c.SVG(720, 300), "<rect"); n != 2*len(steps) {
		t.Errorf("%d rectangles for %d steps", n, len(steps))
	}
	if legend := c.Legend(); !strings.Contains(legend, "a&amp;b") || !strings.Contains(legend, "swatch c1") {
		t.Error(legend)
	}
	if texts := parsed(t, (&Bars{}).SVG(340, 240)); !slices.Contains(texts, "nothing to draw yet") {
		t.Error(fmt.Sprint(texts))
	}
}
