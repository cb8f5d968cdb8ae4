package pair

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
)

// Row is one figure: ours, what it is held against, and what we want of it.
type Row struct {
	Figure string // what was measured, with sizes
	Unit   string // of work per second, such as "flop/s"; of the cost when Cost is set, such as "s"
	Cost   bool   // show seconds per unit of work instead of work per second
	Clock  Clock  // the clock that the figures and the verdict go by
	Ours   Series
	// Peer is measured in the same run. Without turns there is no ratio.
	Peer Series
	// Recorded is a figure of the peer from another day, shown as such when Peer has no turns; 0 is none.
	Recorded float64
	Target   float64 // the least ratio that we want; 0 is none
}

// Fact is a row that is no race: a count, a size or an accuracy, held against a bound.
type Fact struct {
	Figure string
	Unit   string
	Ours   float64
	Peer   string  // the source of Against: "limit", "LIBMF", "recorded scikit-learn"
	Bound  float64 // 0 with an empty Peer is none
	Least  bool    // Ours is to be at least Bound, not at most
	Exact  bool    // print all digits that matter instead of three
}

// Table prints rows as they are measured and counts those that miss their target.
type Table struct {
	out         io.Writer
	asJSON      bool
	rows, below int
	titled      bool
}

// NewTable writes a table to out, or one JSON object a row.
func NewTable(out io.Writer, asJSON bool) *Table { return &Table{out: out, asJSON: asJSON} }

// Section prints a title line; JSON output has none.
func (t *Table) Section(title string) {
	if !t.asJSON {
		fmt.Fprintf(t.out, "\n%s\n", title)
		t.titled = false
	}
}

// Note prints a sentence; JSON output has it as an object.
func (t *Table) Note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if t.asJSON {
		t.Object(map[string]any{"note": text})
		return
	}
	fmt.Fprintf(t.out, "  %s\n", text)
}

// Add prints a row.
func (t *Table) Add(r Row) {
	t.rows++
	ours, peer := r.figures(r.Ours), r.figures(r.Peer)
	ratio := Spread{}
	measured := len(r.Peer.Turns) > 0
	if measured {
		ratio = Ratio(r.Ours, r.Peer, r.Clock)
	}
	missed := measured && r.Target > 0 && ratio.Median < r.Target
	if missed {
		t.below++
	}
	if t.asJSON {
		t.Object(r.object(ours, peer, ratio, measured, missed))
		return
	}
	peerText, ratioText := r.peerText(peer), "-"
	if measured {
		ratioText = r.ratioText(ratio)
	}
	t.line(r.Figure, amount(ours, r.Unit), peerText, ratioText, targetText(r.Target, measured), missed)
}

// ratioText returns the ratio by the row's clock, and by the other one where both sides have it.
func (r Row) ratioText(ratio Spread) string {
	text := fmt.Sprintf("%.3f %s", ratio.Median, r.Clock)
	other := CPU - r.Clock
	if by := Ratio(r.Ours, r.Peer, other).Median; by > 0 && !math.IsInf(by, 0) {
		text += fmt.Sprintf(" (%.3f %s)", by, other)
	}
	return text
}

func (r Row) figures(s Series) Spread {
	if r.Cost {
		return s.Costs(r.Clock)
	}
	return s.Rates(r.Clock)
}

func (r Row) peerText(peer Spread) string {
	switch {
	case len(r.Peer.Turns) > 0:
		return r.Peer.Name + " " + amount(peer, r.Unit)
	case r.Recorded > 0:
		return "recorded " + r.Peer.Name + " " + amount(Spread{Median: r.Recorded}, r.Unit)
	}
	return "-"
}

func (r Row) object(ours, peer, ratio Spread, measured, missed bool) map[string]any {
	o := map[string]any{"figure": r.Figure, "unit": r.Unit, "clock": r.Clock.String(), "ours": ours}
	switch {
	case measured:
		o["peer"], o["peer_name"], o["ratio"] = peer, r.Peer.Name, ratio
		if r.Target > 0 {
			o["target"], o["below"] = r.Target, missed
		}
	case r.Recorded > 0:
		o["recorded"], o["peer_name"] = r.Recorded, r.Peer.Name
	}
	return o
}

// AddFact prints a fact.
func (t *Table) AddFact(f Fact) {
	t.rows++
	bounded := f.Peer != ""
	missed := bounded && (f.Least && f.Ours < f.Bound || !f.Least && f.Ours > f.Bound)
	if missed {
		t.below++
	}
	if t.asJSON {
		o := map[string]any{"figure": f.Figure, "unit": f.Unit, "ours": f.Ours}
		if bounded {
			o["peer_name"], o["bound"], o["below"] = f.Peer, f.Bound, missed
		}
		t.Object(o)
		return
	}
	number := func(x float64) string { return amount(Spread{Median: x}, f.Unit) }
	if f.Exact {
		number = func(x float64) string { return strings.TrimRight(fmt.Sprintf("%.4f %s", x, f.Unit), " ") }
	}
	peer, target := "-", "-"
	if bounded {
		peer, target = f.Peer+" "+number(f.Bound), "at most"
		if f.Least {
			target = "at least"
		}
	}
	t.line(f.Figure, number(f.Ours), peer, "", target, missed)
}

// Close prints how many rows missed their target.
func (t *Table) Close() {
	if t.asJSON {
		t.Object(map[string]any{"rows": t.rows, "below": t.below})
		return
	}
	fmt.Fprintf(t.out, "\n%d figures, %d below target\n", t.rows, t.below)
}

// Verdict returns an error if a row missed its target, for commands that end with its status.
func (t *Table) Verdict() error {
	if t.below == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d figures are below target", t.below, t.rows)
}

func (t *Table) line(figure, ours, peer, ratio, target string, missed bool) {
	const form = "%-38s  %-32s  %-50s  %-26s  %s"
	if !t.titled {
		t.titled = true
		fmt.Fprintf(t.out, form+"\n", "figure", "ours: median (least-most)", "peer or limit", "ratio", "target")
	}
	if missed {
		target += "  below"
	}
	fmt.Fprintln(t.out, strings.TrimRight(fmt.Sprintf(form, figure, ours, peer, ratio, target), " "))
}

// Object prints an object of a command's own as a line of JSON.
func (t *Table) Object(o any) {
	// Numbers and strings always encode, and a closed output fails at the next flush.
	text, err := json.Marshal(o)
	if err != nil {
		text = []byte(`{"error":"a figure is not a number"}`)
	}
	fmt.Fprintf(t.out, "%s\n", text)
}

func targetText(target float64, measured bool) string {
	if target == 0 || !measured {
		return "-"
	}
	return fmt.Sprintf("%.3g", target)
}

// amount returns a spread and its unit with one prefix for all three figures: "127 (119-137) M ratings/s".
func amount(s Spread, unit string) string {
	factor, prefix := prefixOf(s.Median)
	text := digits(s.Median * factor)
	if s.Min != s.Max {
		text += fmt.Sprintf(" (%s-%s)", digits(s.Min*factor), digits(s.Max*factor))
	}
	return strings.TrimRight(text+" "+withUnit(prefix, unit), " ")
}

// withUnit joins a prefix to the symbol of a unit, and sets it before a word: "GB/s", "M ratings/s".
func withUnit(prefix, unit string) string {
	if prefix == "" || unit == "s" || strings.HasPrefix(unit, "s/") || strings.HasPrefix(unit, "B") || strings.HasPrefix(unit, "flop") {
		return prefix + unit
	}
	return prefix + " " + unit
}

// prefixOf returns the prefix that leaves a figure between 1 and 1000, and what to multiply by.
func prefixOf(x float64) (factor float64, prefix string) {
	size := math.Abs(x)
	if size == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return 1, ""
	}
	prefixes := []string{"n", "u", "m", "", "k", "M", "G", "T"}
	at := 3
	for factor = 1; size*factor >= 999.5 && at < len(prefixes)-1; at++ {
		factor /= 1000
	}
	for ; size*factor < 0.9995 && at > 0; at-- {
		factor *= 1000
	}
	return factor, prefixes[at]
}

// digits writes a figure of about 1 to 1000 with three digits.
func digits(x float64) string {
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return fmt.Sprint(x)
	}
	return fmt.Sprintf("%.*f", min(4, max(0, 2-int(math.Floor(math.Log10(math.Abs(x)*1.0005))))), x)
}
