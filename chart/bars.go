package chart

import (
	"fmt"
	"html"
	"strings"
)

// Bars is a chart of stacked bars, one for each step from left to right.
type Bars struct {
	Title string      // for screen readers
	X     string      // what the steps are
	First int         // the number of the first step
	Names []string    // of the parts, the lowest first; the order decides the colours
	Steps [][]float64 // the parts of each step, none below 0
}

// barsMost is how many bars are drawn: of more steps, neighbours are added up.
const barsMost = 80

// SVG returns the chart, that many pixels wide and high.
func (c *Bars) SVG(width, height int) string {
	var b strings.Builder
	open(&b, width, height, c.Title)
	steps, each := c.merged()
	high := 0.0
	for _, parts := range steps {
		sum := 0.0
		for _, v := range parts {
			sum += v
		}
		high = max(high, sum)
	}
	if high == 0 {
		fmt.Fprintf(&b, `<text class="note" x="%d" y="%d" text-anchor="middle">nothing to draw yet</text></svg>`+"\n", width/2, height/2)
		return b.String()
	}
	f := frame{left: leftRoom, top: aboveRoom, right: float64(width - 12), bottom: float64(height - belowRoom)}
	f.y = newAxis(0, high, max(2, int(f.bottom-f.top)/45), false)
	low, end := float64(c.First), float64(c.First+each*len(steps))
	f.x = newAxis(low, end, max(2, int(f.right-f.left)/90), false).within(low, end)
	f.x.ticks = whole(f.x.ticks)
	f.grid(&b, c.X)
	for i, parts := range steps {
		from, to := f.px(float64(c.First+i*each)), f.px(float64(c.First+(i+1)*each))
		gap := min(2, (to-from)/6)
		bottom := 0.0
		for p, v := range parts {
			if y, h := f.py(bottom+v), f.py(bottom)-f.py(bottom+v); h > 0.05 {
				fmt.Fprintf(&b, `<rect class="bar c%d" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, p%colours, from+gap/2, y, to-from-gap, h)
			}
			bottom += v
		}
		b.WriteByte('\n')
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// whole leaves out ticks between two steps.
func whole(ticks []float64) (out []float64) {
	for _, t := range ticks {
		if t == float64(int(t)) {
			out = append(out, t)
		}
	}
	return out
}

// merged returns at most barsMost steps, each the sum of so many.
func (c *Bars) merged() (steps [][]float64, each int) {
	each = (len(c.Steps) + barsMost - 1) / barsMost
	each = max(1, each)
	for i, parts := range c.Steps {
		if i%each == 0 {
			steps = append(steps, make([]float64, len(c.Names)))
		}
		for p, v := range parts {
			steps[len(steps)-1][p] += v
		}
	}
	return steps, each
}

// Legend returns the names of the parts with their colours.
func (c *Bars) Legend() string {
	var b strings.Builder
	b.WriteString(`<p class="legend">`)
	for i, name := range c.Names {
		fmt.Fprintf(&b, `<span><i class="swatch c%d"></i>%s</span> `, i%colours, html.EscapeString(name))
	}
	b.WriteString("</p>\n")
	return b.String()
}
