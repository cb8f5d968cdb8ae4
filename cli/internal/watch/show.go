package watch

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"bellows"
	"bellows/api"
	"bellows/core/tally"
	"bellows/figures"
	"bellows/run/event"
)

// view is a job as text: its figures up to now, or with before those of the time since.
type view struct {
	now    *api.Status
	before *api.Status // nil: the beginning
	width  int         // of a line at most; 0: any
	lines  []string
}

// render returns a job in lines for a terminal of some width, 0 being none. With an earlier status, shares and
// traffic are of the time between the two.
func render(now, before *api.Status, width int) []string {
	v := &view{now: now, before: before, width: width}
	v.head()
	v.totals()
	v.nodes()
	v.plan()
	v.moves()
	v.events()
	return v.lines
}

func (v *view) line(parts ...string) { v.lines = append(v.lines, join(parts...)) }

// join returns a line of all parts that say something.
func join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " · ")
}

func (v *view) head() {
	s := v.now
	v.line(s.Job, s.App, fmt.Sprintf("%s, started %s s ago", s.State, figures.Duration(s.Elapsed)),
		fmt.Sprintf("process %d", s.PID), s.Model)
	epoch := "before the end of the first epoch"
	if s.Epoch > 0 {
		var list []string
		for _, name := range slices.Sorted(maps.Keys(s.Metrics)) {
			list = append(list, figures.Metric(name)+" "+figures.Value(name, s.Metrics[name]))
		}
		epoch = fmt.Sprintf("epoch %d: %s", s.Epoch, strings.Join(list, ", "))
	}
	v.line(epoch, figures.Duration(s.Seconds)+" s of training", clocks(s), fmt.Sprintf("commit %d", s.Commit))
}

// clocks says how far the splits are.
func clocks(s *api.Status) string {
	switch {
	case s.Furthest < 0:
		return ""
	case s.Clock < 0:
		return fmt.Sprintf("no clock complete, %d begun", s.Furthest)
	}
	return fmt.Sprintf("clock %d complete, %d begun", s.Clock, s.Furthest)
}

func (v *view) totals() {
	v.line("slots: " + v.shares())
	if idle := surplus(v.now); idle != "" {
		v.line(idle)
	}
	if t := v.traffic(); t != "" {
		v.line("between nodes: " + t)
	}
	if r := staleness(v.now.Staleness); r != "" {
		v.line("read staleness in clocks: " + r)
	}
	if c := v.now.Checkpoint; c != nil && (c.Commit > 0 || c.Units > 0) {
		v.line(checkpointed(c))
	}
}

// surplus says how many nodes run no tasks since the data has too few parts; empty: none.
func surplus(s *api.Status) string {
	workers := 0
	for i := range s.Nodes {
		if n := &s.Nodes[i]; n.Slots > 0 && n.State == api.Running {
			workers++
		}
	}
	return figures.Surplus(workers, s.Splits)
}

// checkpointed describes the checkpoint from which a job would resume, and the work that a death would cost now.
func checkpointed(c *api.Checkpoint) string {
	lost := fmt.Sprintf("a restart would lose %s and %s s of training", figures.Plural(int(c.Units), "unit"), figures.Duration(c.Seconds))
	if c.Commit == 0 {
		return "no checkpoint yet; " + lost
	}
	return fmt.Sprintf("last checkpoint: record %s of era %d, %s, %s s ago; %s", figures.Grouped(int64(c.Commit)), c.Era, figures.Bytes(uint64(c.Bytes)), figures.Duration(c.Age), lost)
}

// phaseNames returns the phases as JSON names them, in order.
func phaseNames() (list []string) {
	for p := range tally.Phases {
		list = append(list, tally.Phase(p).String())
	}
	return list
}

// spent returns slot time in seconds, since before if that is not nil.
func spent(now, before *api.Counters) (byPhase map[string]float64, total float64) {
	byPhase = maps.Clone(now.Phases)
	for name := range byPhase {
		if before != nil {
			byPhase[name] = max(0, byPhase[name]-before.Phases[name])
		}
		total += byPhase[name]
	}
	return byPhase, total
}

// shares returns what part of slot time went into each phase: "compute 61 %".
func (v *view) shares() string {
	var before *api.Counters
	if v.before != nil {
		before = &v.before.Counters
	}
	byPhase, total := spent(&v.now.Counters, before)
	var list []string
	for _, name := range phaseNames() {
		list = append(list, strings.ReplaceAll(name, "_", " ")+" "+percent(byPhase[name], total))
	}
	return strings.Join(list, ", ")
}

func percent(part, whole float64) string {
	if whole <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f %%", 100*part/whole)
}

// traffic returns what travels by class, largest first; nothing where nothing does.
func (v *view) traffic() string {
	passed := map[string]int64{}
	for class, f := range v.now.Bytes {
		n := f.Bytes
		if v.before != nil {
			n -= v.before.Bytes[class].Bytes
		}
		if n > 0 {
			passed[class] = n
		}
	}
	var words []string
	for _, class := range slices.SortedFunc(maps.Keys(passed), func(a, b string) int {
		return cmp.Or(cmp.Compare(passed[b], passed[a]), cmp.Compare(a, b))
	}) {
		words = append(words, class+" "+v.amount(passed[class]))
	}
	return strings.Join(words, ", ")
}

// amount returns bytes, of all the time or in a second.
func (v *view) amount(n int64) string {
	if v.before == nil {
		return figures.Bytes(uint64(max(0, n)))
	}
	seconds := v.now.Elapsed - v.before.Elapsed
	if seconds <= 0 {
		return "-"
	}
	return figures.Bytes(uint64(float64(max(0, n))/seconds)) + "/s"
}

// staleness returns the histogram in words: "0: 93 %, 1: 7 %".
func staleness(reads []int64) string {
	total := int64(0)
	for _, n := range reads {
		total += n
	}
	var list []string
	for missed, n := range reads {
		if n == 0 {
			continue
		}
		name := fmt.Sprint(missed)
		if missed == len(reads)-1 {
			name += " and more"
		}
		list = append(list, name+": "+percent(float64(n), float64(total)))
	}
	return strings.Join(list, ", ")
}

// movesMost is how many moves are shown; more are counted.
const movesMost = 8

// plan shows the running change of the job's shape: how far it is, and at which rate.
func (v *view) plan() {
	p := v.now.Plan
	if p == nil {
		return
	}
	rate, bytes := "", ""
	if p.Rate > 0 {
		rate = speed(p.Rate)
	}
	if p.All > 0 {
		bytes = share(p.Bytes, p.All, "moved")
	}
	v.line(bellows.Printable(p.Reason, 200), fmt.Sprintf("%d of %d steps", p.Steps, p.Of), bytes, rate, figures.Duration(p.Seconds)+" s")
}

// moves shows what is moving now: how much of each is there, and how fast it arrives.
func (v *view) moves() {
	for i, m := range v.now.Moves {
		if i == movesMost {
			v.line(fmt.Sprintf("  and %d more on their way", len(v.now.Moves)-i))
			break
		}
		copied, rate := "", ""
		if m.Bytes > 0 {
			copied, rate = share(m.Copied, m.Bytes, "copied"), speed(m.Rate)
		}
		v.line(fmt.Sprintf("  %s from %s to %s", bellows.Printable(m.What, 80), m.From, m.To), copied, rate, figures.Duration(m.Seconds)+" s")
	}
}

// moving returns all that is on its way, in a few words.
func moving(moves []api.Move) string {
	if len(moves) == 0 {
		return ""
	}
	var all api.Move
	for _, m := range moves {
		all.Bytes, all.Copied, all.Rate = all.Bytes+m.Bytes, all.Copied+m.Copied, all.Rate+m.Rate
	}
	text := figures.Plural(len(moves), "move") + " under way"
	if all.Bytes > 0 {
		text += ", " + share(all.Copied, all.Bytes, "copied") + ", " + speed(all.Rate)
	}
	return text
}

// share returns a part of some bytes: "1.0 MiB of 4.0 MiB copied (25 %)".
func share(part, whole int64, verb string) string {
	return fmt.Sprintf("%s of %s %s (%s)", figures.Bytes(uint64(max(0, part))), figures.Bytes(uint64(max(0, whole))), verb, percent(float64(part), float64(whole)))
}

// speed returns bytes a second.
func speed(rate float64) string { return figures.Bytes(uint64(max(0, rate))) + "/s" }

// nodes shows the table of nodes.
func (v *view) nodes() {
	if len(v.now.Nodes) == 0 {
		return
	}
	rows := [][]string{{"node", "process", "roles", "state", "slots", "splits", "partitions", "compute", "pull", "push", "commit", "idle", "sent", "received"}}
	for i := range v.now.Nodes {
		rows = append(rows, v.node(i))
	}
	left := 4
	for _, dear := range leastDear {
		if v.width == 0 || widest(align(rows, left)) <= v.width {
			break
		}
		at := slices.Index(rows[0], dear)
		if at < left {
			left--
		}
		for i := range rows {
			rows[i] = slices.Delete(rows[i], at, at+1)
		}
	}
	v.lines = append(v.lines, align(rows, left)...)
}

// leastDear are the columns to drop if there is too little room, in that order. What a node is, computes, waits for,
// sends and receives stays.
var leastDear = []string{"partitions", "splits", "process", "slots", "roles", "commit", "push", "idle", "pull"}

func widest(lines []string) (n int) {
	for _, line := range lines {
		n = max(n, utf8.RuneCountInString(line))
	}
	return n
}

// silentAfter is how many seconds old a node's counters are before that is shown: they come ten times a second.
const silentAfter = 2

func (v *view) node(i int) []string {
	n := &v.now.Nodes[i]
	var before *api.Counters
	var sent map[string]api.Flow
	if v.before != nil && i < len(v.before.Nodes) {
		before, sent = &v.before.Nodes[i].Counters, v.before.Nodes[i].Sent
	}
	row := []string{n.ID, fmt.Sprint(n.PID), strings.Join(n.Roles, " "), string(n.State),
		fmt.Sprint(n.Slots), fmt.Sprint(n.Splits), fmt.Sprint(n.Partitions)}
	if n.Heard < 0 {
		row[1] = "-"
	}
	if n.Heard > silentAfter && n.State == api.Running {
		row[3] = fmt.Sprintf("silent for %.0f s", n.Heard)
	}
	byPhase, total := spent(&n.Counters, before)
	for _, name := range phaseNames() {
		row = append(row, percent(byPhase[name], total))
	}
	received := map[string]api.Flow{}
	if before != nil {
		received = before.Bytes
	}
	return append(row, v.amount(sum(n.Sent)-sum(sent)), v.amount(sum(n.Bytes)-sum(received)))
}

func sum(flows map[string]api.Flow) (bytes int64) {
	for _, f := range flows {
		bytes += f.Bytes
	}
	return bytes
}

// align puts rows into columns, the first ones to the left.
func align(rows [][]string, left int) (lines []string) {
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if i > 0 {
				b.WriteString("  ")
			}
			if i < left {
				b.WriteString(cell + pad)
			} else {
				b.WriteString(pad + cell)
			}
		}
		lines = append(lines, strings.TrimRight(b.String(), " "))
	}
	return lines
}

// eventMost is how many bytes of a sentence a line shows.
const eventMost = 1 << 10

// events shows the last sentences.
func (v *view) events() {
	for _, text := range v.now.Events {
		var e event.Event
		if json.Unmarshal(text, &e) == nil {
			v.lines = append(v.lines, e.Time.Local().Format("15:04:05")+"  "+bellows.Printable(strings.ReplaceAll(e.Sentence, "\n", " "), eventMost))
		}
	}
}

// brief returns a job in one line.
func brief(s *api.Status) string {
	return join(fmt.Sprintf("%s.%d", s.Job, s.PID), string(s.State), fmt.Sprintf("epoch %d", s.Epoch), clocks(s), figures.Duration(s.Elapsed)+" s", s.Model)
}

// pulse returns what a job has done since before, in one line.
func pulse(now, before *api.Status) string {
	v := &view{now: now, before: before}
	return join(figures.Duration(now.Elapsed)+" s", string(now.State), fmt.Sprintf("epoch %d", now.Epoch), clocks(now), v.shares(), v.traffic(), moving(now.Moves))
}
