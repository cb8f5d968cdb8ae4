package gauge

import (
	"cmp"
	"slices"
)

// volumes returns what nodes with each number of splits have pulled and pushed in a clock of the present shape, as if
// they held no partition. Rows are left out.
func (m *Meter) volumes() []Traffic {
	type group struct{ pulled, pushed []sample }
	by := map[int]*group{}
	for i, n := range m.nodes {
		k := m.now.places[i].splits
		keep := n.usual()
		of := func(amount func(*reading) float64) []sample {
			return n.list(keep, func(d *reading) (float64, float64) {
				if !d.moved || d.shape != m.shape {
					return 0, 0
				}
				return amount(d), d.clocks
			})
		}
		pulled := of(func(d *reading) float64 { return d.pulled })
		if k == 0 || len(pulled) < samplesLeast {
			continue
		}
		g := by[k]
		if g == nil {
			g = &group{}
			by[k] = g
		}
		g.pulled = append(g.pulled, pulled...)
		g.pushed = append(g.pushed, of(func(d *reading) float64 { return d.pushed })...)
	}
	var list []Traffic
	for k, g := range by {
		t := Traffic{Splits: k}
		t.Pulled, _ = medianOf(g.pulled)
		t.Pushed, _ = medianOf(g.pushed)
		list = append(list, t)
	}
	sortTraffic(list)
	return list
}

func sortTraffic(list []Traffic) {
	slices.SortFunc(list, func(a, b Traffic) int { return cmp.Compare(a.Splits, b.Splits) })
}

// merge adds points to those of former shapes, and replaces those with the same number of splits. If there are too
// many, points in the middle go first.
func merge(former, present []Traffic) []Traffic {
	list := slices.Clone(present)
	for _, t := range former {
		if !slices.ContainsFunc(present, func(p Traffic) bool { return p.Splits == t.Splits }) {
			list = append(list, t)
		}
	}
	sortTraffic(list)
	for len(list) > pointsMost {
		close, at := 2.0, 1
		for i := 1; i < len(list)-1; i++ {
			if ratio := float64(list[i+1].Splits) / float64(list[i-1].Splits); i == 1 || ratio < close {
				close, at = ratio, i
			}
		}
		list = slices.Delete(list, at, at+1)
	}
	return list
}

// traffic returns the points of all shapes, with the rows that servers apply. They are dealt to workers by the bytes
// that these push.
func (m *Meter) traffic(of []estimate) []Traffic {
	list := merge(m.found.traffic, m.volumes())
	whole := Interval{float64(m.now.free), 0, float64(m.now.free)}
	if len(list) == 0 { // All partitions are where the splits are. Elsewhere a node reads no more than all of them.
		list = append(list, Traffic{Splits: max(1, m.now.splits), Pulled: whole, Pushed: whole})
	}
	var rows Interval
	for i := range of {
		if of[i].applies {
			rows = rows.plus(of[i].rows)
		}
	}
	pushed, splits := 0.0, 0.0
	for i := range m.now.places {
		if k := m.now.places[i].splits; k > 0 {
			at := nearest(list, k)
			pushed, splits = pushed+list[at].Pushed.Value*float64(k)/float64(list[at].Splits), splits+float64(k)
		}
	}
	for i := range list {
		share := float64(list[i].Splits) / splits
		if pushed > 0 {
			share = list[i].Pushed.Value / pushed
		}
		if splits > 0 {
			list[i].Rows = rows.scaled(share)
		}
	}
	return list
}

// nearest returns the point with the nearest number of splits.
func nearest(list []Traffic, splits int) int {
	best := 0
	for i := range list {
		if abs(list[i].Splits-splits) < abs(list[best].Splits-splits) {
			best = i
		}
	}
	return best
}

func abs(n int) int { return max(n, -n) }

// keep keeps what the present shape has shown of traffic and links, before another one follows.
func (m *Meter) keep() {
	m.found.traffic = merge(m.found.traffic, m.volumes())
	m.remember()
}
