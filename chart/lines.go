package chart

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// Point is one value of a line.
type Point struct{ X, Y float64 }

// Line is one curve. Its points ascend in X.
type Line struct {
	Name   string
	Points []Point
	Band   []Range // around the curve, in order of X
}

// Mark is a place on the axis above the chart.
type Mark struct {
	X    float64
	Name string
}

// Lines is a chart of curves over one axis.
type Lines struct {
	Title string // for screen readers
	X     string // what the axis below is
	Above string // what Marks are
	Marks []Mark // of the axis above; marks without room are left out
	Lines []Line // the order decides the colours
	Spots []Spot // single values, with their names
	Log   bool   // Y may be logarithmic, and is if the range needs it
	Zero  bool   // Y begins at 0
	Whole bool   // X is a number of things: ticks are whole, and the axis need not begin at 0
}

// The room around a chart, in pixels.
const (
	leftRoom, belowRoom, aboveRoom = 56, 40, 14
	marksRoom                      = 26 // more above, where there are marks
	letter                         = 7  // the width of one, on average
)

// SVG returns the chart, that many pixels wide and high.
func (c *Lines) SVG(width, height int) string {
	var b strings.Builder
	c.begin(&b, width, height)
	c.draw(&b, width, height)
	b.WriteString("</svg>\n")
	return b.String()
}

// File returns the chart as a picture that stands alone.
func (c *Lines) File(width, height int) string {
	var b strings.Builder
	c.begin(&b, width, height)
	b.WriteString("<style>svg{" + Light + "}\n@media (prefers-color-scheme: dark) {svg{" + Dark + "}}\n" + Style + "</style>\n")
	c.draw(&b, width, height)
	b.WriteString("</svg>\n")
	return b.String()
}

func (c *Lines) begin(b *strings.Builder, width, height int) {
	open(b, width, height, c.Title)
}

// open begins an SVG.
func open(b *strings.Builder, width, height int, title string) {
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s">`+"\n",
		width, height, width, height, html.EscapeString(title))
}

func (c *Lines) draw(b *strings.Builder, width, height int) {
	lines := c.finite()
	right, above := 12, aboveRoom
	for _, l := range lines {
		right = max(right, 14+letter*utf8.RuneCountInString(ending(l)))
	}
	if len(c.Marks) > 0 {
		above += marksRoom
	}
	f := frame{left: leftRoom, top: float64(above), right: float64(width - right), bottom: float64(height - belowRoom)}
	if len(lines) == 0 {
		fmt.Fprintf(b, `<text class="note" x="%d" y="%d" text-anchor="middle">nothing to draw yet</text>`+"\n", width/2, height/2)
		return
	}
	f.x, f.y = c.axes(lines, f)
	f.grid(b, c.X)
	c.marks(b, f)
	f.bands(b, lines)
	f.curves(b, lines)
	f.spots(b, c.Spots)
}

// finite returns the lines without what cannot be drawn.
func (c *Lines) finite() (lines []Line) {
	for _, l := range c.Lines {
		l.Points = slices.DeleteFunc(slices.Clone(l.Points), func(p Point) bool {
			sum := p.X + p.Y
			return math.IsNaN(sum) || math.IsInf(sum, 0)
		})
		if len(l.Points) > 0 {
			lines = append(lines, l)
		}
	}
	return lines
}

// axes fits the axes to the points.
func (c *Lines) axes(lines []Line, f frame) (x, y axis) {
	left, right, low, high := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, l := range lines {
		for _, p := range l.Points {
			left, right = min(left, p.X), max(right, p.X)
			low, high = min(low, p.Y), max(high, p.Y)
		}
		for _, r := range l.Band {
			if low = min(low, r.Low); !math.IsInf(r.High, 0) {
				high = max(high, r.High)
			}
		}
	}
	for _, s := range c.Spots {
		left, right = min(left, s.X), max(right, s.X)
		low, high = min(low, s.Y), max(high, s.Y)
	}
	if !c.Whole {
		left = min(left, 0)
	}
	if c.Zero {
		low = min(low, 0)
	}
	x = newAxis(left, right, max(2, int(f.right-f.left)/90), false)
	if left < right {
		x = x.within(left, right)
	}
	if c.Whole {
		x.ticks, x.step = whole(x.ticks), max(1, x.step)
	}
	return x, newAxis(low, high, max(2, int(f.bottom-f.top)/45), c.Log)
}

// frame is the rectangle of the curves, in pixels, with its axes.
type frame struct {
	left, top, right, bottom float64
	x, y                     axis
}

func (f *frame) px(v float64) float64 { return f.left + f.x.position(v)*(f.right-f.left) }
func (f *frame) py(v float64) float64 { return f.bottom - f.y.position(v)*(f.bottom-f.top) }

// grid draws the axes.
func (f *frame) grid(b *strings.Builder, title string) {
	for _, t := range f.y.ticks {
		y := f.py(t)
		fmt.Fprintf(b, `<path class="grid" d="M%.1f %.1fH%.1f"/><text class="tick" x="%.1f" y="%.1f" text-anchor="end">%s</text>`+"\n",
			f.left, y, f.right, f.left-6, y+4, f.y.words(t))
	}
	for _, t := range f.x.ticks {
		x := f.px(t)
		fmt.Fprintf(b, `<path class="axis" d="M%.1f %.1fv4"/><text class="tick" x="%.1f" y="%.1f" text-anchor="middle">%s</text>`+"\n",
			x, f.bottom, x, f.bottom+17, f.x.words(t))
	}
	fmt.Fprintf(b, `<path class="axis" d="M%.1f %.1fH%.1f"/><text class="tick" x="%.1f" y="%.1f" text-anchor="middle">%s</text>`+"\n",
		f.left, f.bottom, f.right, (f.left+f.right)/2, f.bottom+34, html.EscapeString(title))
}

// marks draws the axis above. A mark too close to the previous one is left out.
func (c *Lines) marks(b *strings.Builder, f frame) {
	if len(c.Marks) == 0 {
		return
	}
	fmt.Fprintf(b, `<text class="tick" x="%.1f" y="%.1f" text-anchor="end">%s</text>`+"\n", f.left-6, f.top-14, html.EscapeString(c.Above))
	free := 0.0
	for _, m := range c.Marks {
		half := float64(letter*utf8.RuneCountInString(m.Name)) / 2
		x := f.px(m.X)
		if x-half < free || x > f.right+1 {
			continue
		}
		free = x + half + 10
		fmt.Fprintf(b, `<path class="grid" d="M%.1f %.1fv-6"/><text class="tick" x="%.1f" y="%.1f" text-anchor="middle">%s</text>`+"\n",
			x, f.top, x, f.top-14, html.EscapeString(m.Name))
	}
}

// curvesApart is how far the names of two curves stand from each other.
const curvesApart = 16

// curves draws the lines, each with its name and last value at its end.
func (f *frame) curves(b *strings.Builder, lines []Line) {
	ends := make([]int, len(lines))
	for i := range lines {
		ends[i] = i
	}
	last := func(i int) Point { return lines[i].Points[len(lines[i].Points)-1] }
	slices.SortStableFunc(ends, func(i, j int) int {
		switch a, b := f.py(last(i).Y), f.py(last(j).Y); {
		case a < b:
			return -1
		case a > b:
			return 1
		}
		return 0
	})
	at := make([]float64, len(lines))
	for n, i := range ends {
		at[i] = f.py(last(i).Y) + 4
		if n > 0 {
			at[i] = max(at[i], at[ends[n-1]]+curvesApart)
		}
	}
	for n := len(ends) - 1; n >= 0; n-- { // back up from below the chart
		limit := f.bottom
		if n+1 < len(ends) {
			limit = at[ends[n+1]] - curvesApart
		}
		at[ends[n]] = min(at[ends[n]], limit)
	}
	for i, l := range lines {
		var path strings.Builder
		for n, p := range thin(l.Points) {
			fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(n, 1)], f.px(p.X), f.py(p.Y))
		}
		end := last(i)
		fmt.Fprintf(b, `<path class="line c%d" d="%s"/><circle class="dot c%d" cx="%.1f" cy="%.1f" r="3"/>`+"\n", i%colours, path.String(), i%colours, f.px(end.X), f.py(end.Y))
		fmt.Fprintf(b, `<text class="name c%d" x="%.1f" y="%.1f">%s</text>`+"\n", i%colours, f.right+8, at[i], html.EscapeString(ending(l)))
	}
}

// ending returns the label after a curve.
func ending(l Line) string {
	v := l.Points[len(l.Points)-1].Y
	words := short(v)
	if size := math.Abs(v); size >= 1e-3 && size < 1e3 {
		words = trim(fmt.Sprintf("%.4f", v))
	}
	return l.Name + " " + words
}

// pointsMost is how many points of a curve are drawn.
const pointsMost = 600

// thin keeps of many points the lowest and highest of each stretch, so that no spike is lost.
func thin(points []Point) []Point {
	if len(points) <= pointsMost {
		return points
	}
	var out []Point
	n := pointsMost / 2
	for i := range n {
		part := points[i*len(points)/n : (i+1)*len(points)/n]
		low, high := 0, 0
		for j := range part {
			if part[j].Y < part[low].Y {
				low = j
			}
			if part[j].Y > part[high].Y {
				high = j
			}
		}
		out = append(out, part[min(low, high)])
		if low != high {
			out = append(out, part[max(low, high)])
		}
	}
	return append(out, points[len(points)-1])
}
