package chart

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// Range is where the value of a curve lies at one X.
type Range struct{ X, Low, High float64 } // High is +Inf where no end is known: the band then ends with the chart

// Spot is a value that is marked, with its name.
type Spot struct {
	Point
	Name string
}

// bandEdge is how far a band goes beyond its first and last value, in pixels, so that one value has a band too.
const bandEdge = 4

// bands draws the bands of the lines.
func (f *frame) bands(b *strings.Builder, lines []Line) {
	for i, l := range lines {
		if len(l.Band) == 0 {
			continue
		}
		var above, below []Point
		add := func(x float64, r Range) {
			above = append(above, Point{x, max(f.top, f.py(min(r.High, math.MaxFloat32)))})
			below = append(below, Point{x, f.py(r.Low)})
		}
		first, last := l.Band[0], l.Band[len(l.Band)-1]
		add(f.px(first.X)-bandEdge, first)
		for _, r := range l.Band {
			add(f.px(r.X), r)
		}
		add(f.px(last.X)+bandEdge, last)
		var path strings.Builder
		for n, p := range above {
			fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(n, 1)], p.X, p.Y)
		}
		for n := len(below) - 1; n >= 0; n-- {
			fmt.Fprintf(&path, "L%.1f %.1f", below[n].X, below[n].Y)
		}
		fmt.Fprintf(b, `<path class="band c%d" d="%sZ"/>`+"\n", i%colours, path.String())
	}
}

// lineApart is how far the names of two spots stand from each other, at least.
const lineApart = 16

// spots draws rings with their names: above, or in the nearest place below or above without another name.
func (f *frame) spots(b *strings.Builder, spots []Spot) {
	type box struct{ left, right, y float64 }
	var drawn []box
	free := func(at box) bool {
		return at.y >= lineApart && at.y < f.bottom && !slices.ContainsFunc(drawn, func(d box) bool {
			return at.left < d.right && d.left < at.right && math.Abs(at.y-d.y) < lineApart
		})
	}
	for _, s := range spots {
		x, y := f.px(s.X), f.py(s.Y)
		half := float64(letter*utf8.RuneCountInString(s.Name)) / 2
		at := box{x - half, x + half, y - 10}
		if over := at.right - f.right; over > 0 {
			at.left, at.right = at.left-over, at.right-over
		}
		if over := f.left - at.left; over > 0 {
			at.left, at.right = at.left+over, at.right+over
		}
		for n := 0.0; n <= float64(2*len(spots)); n++ {
			if at.y = y - 10 - n*lineApart; free(at) {
				break
			}
			if at.y = y + 20 + n*lineApart; free(at) {
				break
			}
		}
		drawn = append(drawn, at)
		fmt.Fprintf(b, `<circle class="spot" cx="%.1f" cy="%.1f" r="6"/>`, x, y)
		fmt.Fprintf(b, `<text class="spotted" x="%.1f" y="%.1f" text-anchor="middle">%s</text>`+"\n",
			(at.left+at.right)/2, at.y, html.EscapeString(s.Name))
	}
}
