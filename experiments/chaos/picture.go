package main

import "bellows/chart"

// picture is how what the logs have counted adds up while jobs follow each other.
type picture struct{ kills, inClock, leading, migrations []chart.Point }

// point adds where the figures are now.
func (p *picture) point(f *figures) {
	at := func(n int) chart.Point { return chart.Point{X: f.Seconds, Y: float64(n)} }
	p.kills, p.inClock = append(p.kills, at(f.total())), append(p.inClock, at(f.InClock))
	p.leading, p.migrations = append(p.leading, at(f.Kills[aLeader])), append(p.migrations, at(f.Migrations))
}

func (p *picture) lines() *chart.Lines {
	from := func(list []chart.Point) []chart.Point { return append([]chart.Point{{}}, list...) }
	return &chart.Lines{Title: "what was done to jobs, as their event logs count it, by seconds", X: "seconds", Zero: true, Lines: []chart.Line{
		{Name: "migrations", Points: from(p.migrations)}, {Name: "kills", Points: from(p.kills)},
		{Name: "in a clock", Points: from(p.inClock)}, {Name: "who leads", Points: from(p.leading)},
	}}
}
