package screen

import (
	"strings"

	"bellows/app"
	"bellows/figures"
)

// FoldTable is the table of a cross-validation: a line for each fold when it is scored, and then what all come to. Its first lines are like those
// of an EpochTable.
type FoldTable struct{ EpochTable }

// NewFoldTable returns the table of an application that describes itself so, on a terminal of so many characters; 0
// is no terminal.
func NewFoldTable(c *Console, l *Live, d app.Description, width int) *FoldTable {
	t := &FoldTable{EpochTable{c: c, live: l, terminal: width}}
	t.Measure(d)
	return t
}

// Measure makes the columns those of a description, before the headline.
func (t *FoldTable) Measure(d app.Description) {
	t.metrics = d.Metrics
	titles, sort := metricColumns(d.Metrics)
	t.sort = sort
	all := append([]column{{title: "fold", width: 5, keep: keepAlways}}, metricsOf(d.Metrics, titles)...)
	t.fit(append(all, column{title: "rows", width: 9, keep: keepWait}, column{title: "epochs", width: 8, keep: keepRate}, column{title: "time", width: 9, keep: keepTime}))
}

// Line writes a line: its name, metrics, and the cells of the columns after them, or none.
func (t *FoldTable) Line(of string, metrics map[string]float64, rest ...string) {
	cells := []string{of}
	for _, name := range t.metrics {
		cell := "-"
		if v, known := metrics[name]; known {
			cell = figures.Value(name, v)
		}
		cells = append(cells, cell)
	}
	cells = append(cells, rest...)
	for range 3 - len(rest) {
		cells = append(cells, "")
	}
	t.c.Printf("%s\n", strings.TrimRight(t.row(t.shown(cells)), " "))
}
