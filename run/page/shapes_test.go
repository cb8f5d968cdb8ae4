package page

import (
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"bellows/policy/advise"
	"bellows/policy/choose"
	"bellows/policy/gauge"
	"bellows/policy/gauge/gaugetest"
	"bellows/run/event"
)

// gauged returns a run that measured a job of five nodes. Its links were never full, so that no time has an upper bound
// if unbounded.
func gauged(t *testing.T, unbounded bool) string {
	t.Helper()
	dir := folder(t, record, 40)
	f := gaugetest.Uniform(gaugetest.Size{Nodes: 5, Splits: 12, Partitions: 8})
	f.Leads = f.Nodes[0].ID
	for i := range f.Nodes {
		n := &f.Nodes[i]
		n.Item = gauge.Interval{Value: 1e-5, Low: 0.9e-5, High: 1.2e-5}
		if unbounded {
			n.In = gauge.Interval{Value: 1e8, Low: 1, High: math.Inf(1)}
			n.Out = n.In
		}
	}
	text, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, "figures.json", string(text))
	return dir
}

// ticks finds the values at the left of a chart.
var ticks = regexp.MustCompile(`class="tick"[^>]*text-anchor="end">([^<]*)<`)

// TestThePageHasPredictedTimes wants the picture if the job measured itself, with its sentence, and the axis of the
// likely times even if the intervals have no upper bound.
func TestThePageHasPredictedTimes(t *testing.T) {
	t.Parallel()
	const picture = "Predicted time by number of workers"
	if _, text := written(t, folder(t, record, 40)); strings.Contains(text, picture) {
		t.Error("a picture without figures")
	}
	ends := map[bool]float64{}
	for _, unbounded := range []bool{false, true} {
		r, _ := written(t, gauged(t, unbounded))
		r.Explain = "bellows plan shape --job 'a <b>'"
		var b strings.Builder
		if err := r.Write(&b); err != nil {
			t.Fatal(err)
		}
		_, text, there := strings.Cut(b.String(), picture)
		text, _, _ = strings.Cut(text, "</figure>")
		for _, want := range []string{"present", "chosen", "apart 0", "both 0", `class="band c0"`, `class="band c1"`,
			"The present shape, 2 workers and 3 servers, is limited by the processor of node-0: with the chosen one, ",
			" less; for more, run <code>bellows plan shape --job &#39;a &lt;b&gt;&#39;</code>"} {
			if !there || !strings.Contains(text, want) {
				t.Errorf("unbounded %v: no %q in\n%s", unbounded, want, text)
			}
		}
		odd := strings.Contains(text, "Inf") || strings.Contains(text, "NaN")
		if strings.Contains(text, "cut at the top") != unbounded || odd {
			t.Errorf("unbounded %v: the bands are\n%s", unbounded, text)
		}
		for _, m := range ticks.FindAllStringSubmatch(text, -1) {
			v, err := strconv.ParseFloat(m[1], 64)
			if err != nil {
				t.Fatal(err)
			}
			ends[unbounded] = max(ends[unbounded], v)
		}
	}
	if ends[true] == 0 || ends[true] > ends[false] {
		t.Errorf("without upper bounds the axis ends at %g, otherwise at %g", ends[true], ends[false])
	}
	dir := gauged(t, false)
	put(t, dir, "figures.json", `{"items":1,"<odd>":2}`)
	_, text := written(t, dir)
	named := strings.Contains(text, "figures could not be read")
	if strings.Contains(text, picture) || strings.Contains(text, "<odd>") || !named {
		t.Errorf("damaged figures are not named in\n%s", text)
	}
}

// TestThePageHasShapesThatWereTried wants the shapes of the last event that remembers them, and whether the predictions
// came true.
func TestThePageHasShapesThatWereTried(t *testing.T) {
	t.Parallel()
	dir := folder(t, record, 3)
	tell := func(tried ...choose.Trial) {
		state := advise.State{Memory: choose.Memory{Tried: tried}}
		add(t, dir, event.Event{Kind: event.Plan, Sentence: "it is faster", Decision: &event.Decision{Advice: &state}})
	}
	seconds := func(v float64) *gauge.Interval { return &gauge.Interval{Value: v, Low: v / 2, High: 2 * v} }
	first := choose.Trial{Shape: "node-1:2+0 node-2:0+4", Measured: seconds(4)}
	tell(first)
	if _, text := written(t, dir); strings.Contains(text, "Shapes that the job had") {
		t.Error("a job that kept its shape has a table")
	}
	tell(first, choose.Trial{Shape: "node-1:1+4 node-2:1+0", Predicted: seconds(2), Measured: seconds(3)},
		choose.Trial{Shape: "node-1:2+4", Predicted: seconds(1), Measured: seconds(9)},
		choose.Trial{Shape: "node-2:2+4", Predicted: seconds(1)}, choose.Trial{Shape: "<odd>"})
	_, text := written(t, dir)
	_, text, _ = strings.Cut(text, "Shapes that the job had")
	const want = `
<tr><td>1 worker and 1 server<td class="n">-<td class="n">4.00 s<td>-</tr>
<tr><td>2 workers and 1 server (1 node with both roles)<td class="n">2.00 s<td class="n">3.00 s<td>yes</tr>
<tr><td>1 worker and 1 server (1 node with both roles)<td class="n">1.00 s<td class="n">9.00 s<td>no</tr>
<tr><td>1 worker and 1 server (1 node with both roles)<td class="n">1.00 s<td class="n">-<td>-</tr>
</table>`
	if !strings.Contains(text, want) {
		t.Errorf("the table is\n%s\nnot\n%s", text, want)
	}
}
