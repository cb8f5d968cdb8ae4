package choose

import (
	"math"
	"slices"

	"bellows/policy/cost"
	"bellows/policy/gauge"
)

// uniform deals a job evenly over machines that are alike. It looks at numbers of nodes and at no node, so that it
// takes the same time for any number: nodes with the same parts are one group.
type uniform struct {
	f      *gauge.Figures
	model  *cost.Model
	node   int // one of the machines, by its place in the figures
	tables []partsOf
	near   float64 // partitions that are near each split, in the mean
	nearBy float64 // bytes of those
	split  int64   // bytes of the largest split
	serves int     // servers of the present deal
	groups []cost.Group
	cuts   []int
}

// partsOf is the partitions of a table: those that are near no split, and those that are.
type partsOf struct {
	free, near           int
	freeBytes, nearBytes float64
	first, more, each    int // the dealing: nodes from first have one more than each, so many of them
	perFree, perNear     float64
}

func newUniform(f *gauge.Figures, model *cost.Model, node int) *uniform {
	u := &uniform{f: f, model: model, node: node, tables: make([]partsOf, len(f.Tables))}
	at := 0
	for t, n := range f.Tables {
		parts := &u.tables[t]
		for _, p := range f.Partitions[at : at+n] {
			if p.Near == nil {
				parts.free, parts.freeBytes = parts.free+1, parts.freeBytes+float64(p.Bytes)
			} else {
				parts.near, parts.nearBytes = parts.near+1, parts.nearBytes+float64(p.Bytes)
			}
		}
		u.near += float64(parts.near) / float64(len(f.Splits))
		u.nearBy += parts.nearBytes / float64(len(f.Splits))
		at += n
	}
	for i := range f.Splits {
		u.split = max(u.split, f.Splits[i].Bytes)
	}
	return u
}

// deal returns the loads of so many nodes, as package shape deals them: splits and the partitions of each table differ
// by at most one between nodes, and so do all partitions. The nodes that do both come first. A partition near a split
// of such a node is there. The result is valid until the next call.
func (u *uniform) deal(c Counts) []cost.Group {
	works, serves := c.works(), c.serves()
	u.serves = serves
	splits := len(u.f.Splits)
	each, more := splits/works, splits%works
	local := float64(each*c.Both+min(more, c.Both)) / float64(splits) // of near partitions
	u.cuts = append(u.cuts[:0], 0, c.Both, works, serves, more)
	next := 0
	for i := range u.tables {
		t := &u.tables[i]
		dealt := t.free + int(math.Round(float64(t.near)*(1-local)))
		t.first, t.each, t.more = next, dealt/serves, dealt%serves
		next = (next + t.more) % serves
		t.perFree, t.perNear = t.freeBytes/float64(max(1, dealt)), t.nearBytes*(1-local)/float64(max(1, dealt))
		u.cuts = append(u.cuts, t.first, (t.first+t.more)%serves)
	}
	slices.Sort(u.cuts)
	u.groups = u.groups[:0]
	u.run(c, 0, c.Both, each, more)
	if c.Workers > 0 {
		u.run(Counts{Workers: c.Workers}, c.Both, works, each, more)
	}
	if c.Servers > 0 {
		u.run(Counts{Servers: c.Servers}, c.Both, serves, each, more)
	}
	return u.groups
}

// run adds the groups of nodes from one number to another, all with the same roles.
func (u *uniform) run(c Counts, from, to, each, more int) {
	for i, at := range u.cuts {
		if at < from || at >= to || i > 0 && u.cuts[i-1] == at {
			continue
		}
		end := to
		if j := slices.IndexFunc(u.cuts[i:], func(cut int) bool { return cut > at }); j >= 0 {
			end = min(end, u.cuts[i+j])
		}
		g := cost.Group{Node: u.node, Count: end - at}
		if c.works() > 0 {
			if g.Splits = each; at < more {
				g.Splits++
			}
			g.Held = int64(g.Splits) * u.split
		}
		if c.serves() > 0 {
			u.hold(&g, at)
		}
		if c.Both == 0 {
			g.Borrowed = int64(math.Round(float64(g.Splits) * u.nearBy))
		} else {
			g.Parts += int(math.Round(float64(g.Splits) * u.near))
			g.Held += int64(math.Round(float64(g.Splits) * u.nearBy))
		}
		u.groups = append(u.groups, g)
	}
}

// hold adds the partitions that the server at a number holds.
func (u *uniform) hold(g *cost.Group, at int) {
	for i := range u.tables {
		t := &u.tables[i]
		n := t.each
		if (at-t.first+u.serves)%u.serves < t.more {
			n++
		}
		g.Parts += n
		g.Free += int64(math.Round(float64(n) * t.perFree))
		g.Lent += int64(math.Round(float64(n) * t.perNear))
	}
	g.Lanes = u.f.Nodes[u.node].Lanes
	g.Held += g.Free + g.Lent
}

// rows looks at every number of workers, with all other nodes as servers, and at every number of nodes that do both:
// O(N) shapes (§III.C, eq. 5). fixed counts the nodes that keep their role, and free the others.
func (u *uniform) rows(ask *Ask, fixed Counts, free int) (rows []Row) {
	add := func(c Counts) {
		if c.within(ask, u.f) {
			groups := u.deal(c)
			rows = append(rows, Row{Counts: c, Seconds: u.model.Seconds(groups), Memory: u.model.CheckMemory(groups)})
		}
	}
	most := func(b Bounds, parts int) int {
		if b.High > 0 {
			return min(b.High, parts)
		}
		return parts
	}
	for w := range free + 1 {
		c := fixed
		c.Workers += w
		c.Servers += max(0, min(free-w, most(ask.Servers, len(u.f.Partitions))-c.serves()))
		add(c)
	}
	if ask.Apart {
		return rows
	}
	for b := range free {
		c := fixed
		c.Both += b + 1
		add(c)
	}
	return rows
}

// fastest returns the best row for which there is memory, of those with nodes that do both or of the others.
func fastest(rows []Row, both bool) (best *Row) {
	for i := range rows {
		if r := &rows[i]; r.Memory == nil && r.Both > 0 == both && (best == nil || r.better(best)) {
			best = r
		}
	}
	return best
}

// trim gives back the servers without which the epoch takes no longer.
func (u *uniform) trim(ask *Ask, fixed Counts, r Row) Row {
	for r.Servers > fixed.Servers {
		c := r.Counts
		c.Servers--
		if !c.within(ask, u.f) {
			break
		}
		groups := u.deal(c)
		next := Row{Counts: c, Seconds: u.model.Seconds(groups)}
		if r.better(&next) || u.model.CheckMemory(groups) != nil {
			break
		}
		r = next
	}
	return r
}
