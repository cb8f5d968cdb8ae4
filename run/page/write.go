package page

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"bellows"
	"bellows/app"
	"bellows/chart"
	"bellows/core/audit"
	"bellows/core/tally"
	"bellows/data"
	"bellows/figures"
	"bellows/run/event"
)

// Mark is in the first bytes of every page, and in no other file.
const Mark = `<meta name="generator" content="bellows report">`

//go:embed page.html
var files embed.FS

// sheet parses the template when the first page is written: other commands start without it.
var sheet = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page.html").ParseFS(files, "page.html"))
})

// view is the page's words and pictures, in its order.
type view struct {
	Mark, Style  template.HTML
	Title, Run   string
	State, Badge string // and what colour it has
	Sub          []string
	Tiles        []tile
	Figures      []figure
	Input        []pair
	Inputs       [][]string
	Settings     [][]string
	Order        []pair
	Stages       [][]string
	Time         [][]string
	Traffic      string
	Audit        string
	Wrong        []string // what the audit holds against the run
	Ledgers      [][]string
	Tensors      [][]string
	Files        [][]string
	Damage       string
	Nodes        [][]string
	Tried        [][]string
	Happened     [][]string
	Steps        []Step
	Foot         string
}

type tile struct{ Name, Value, More string }

type pair struct{ Name, Value string }

// figure is a chart in the two widths that it is shown at.
type figure struct {
	Title, Says  string
	Legend       template.HTML
	Wide, Narrow template.HTML
	Note         string // beneath
	Command      string // at the end of the note
}

// The widths of charts: of a window from 760 pixels on, and of a narrower one.
const (
	wide, narrow = 720, 340
	high, low    = 300, 240
)

// drawn returns a chart in both widths. Package chart escapes what it is given.
func drawn(title, says string, svg func(width, height int) string) figure {
	return figure{Title: title, Says: says, Wide: template.HTML(svg(wide, high)), Narrow: template.HTML(svg(narrow, low))}
}

// Write writes the page.
func (r *Run) Write(to io.Writer) error {
	v := &view{Mark: Mark, Run: r.Dir, Steps: r.Steps}
	v.Style = template.HTML("<style>:root{" + chart.Light + "}\n@media (prefers-color-scheme: dark){:root{" + chart.Dark + "}}\n" + chart.Style + style + "</style>")
	r.head(v)
	r.tiles(v)
	r.curves(v)
	r.speed(v)
	r.spent(v)
	r.shapes(v)
	r.stages(v)
	r.input(v)
	r.order(v)
	r.traffic(v)
	r.audit(v)
	r.saved(v)
	r.nodes(v)
	r.tried(v)
	r.happened(v)
	v.Foot = "made by " + r.Program + " on " + when(r.Made)
	if r.Skipped > 0 {
		v.Foot += fmt.Sprintf("; %s of %s could not be read and are not here", figures.Plural(r.Skipped, "line"), event.File)
	}
	if r.Unread != nil {
		v.Foot += "; the job's figures could not be read and are not here: " + bellows.Printable(r.Unread.Error(), 1<<10)
	}
	if r.Every > 1 {
		v.Foot += fmt.Sprintf("; of the epochs, every %dth is drawn", r.Every)
	}
	return sheet().Execute(to, v)
}

// when returns a time for people, with its zone.
func when(t time.Time) string { return t.Format("2 January 2006, 15:04 MST") }

// state returns how the run ended, and the class of its badge.
func (r *Run) state() (words, class string) {
	switch {
	case r.Finished:
		return "finished", "good"
	case r.Busy:
		return "running", "live"
	case r.Kept:
		return "interrupted, can be resumed", "warn"
	}
	for _, e := range slices.Backward(r.Happened) {
		switch e.Kind {
		case event.Lost, event.Failed:
			return "failed", "bad"
		case event.Interrupted:
			return "interrupted", "warn"
		}
	}
	return "ended without a word: killed, or the machine went down", "bad"
}

func (r *Run) head(v *view) {
	v.Title = r.about() + " · " + r.named()
	v.State, v.Badge = r.state()
	if r.Start != nil {
		v.Sub = append(v.Sub, "started "+when(r.Start.Time))
	} else if r.Figures != nil {
		v.Sub = append(v.Sub, "started "+when(r.Figures.Started))
	}
	if r.Figures != nil {
		v.Sub = append(v.Sub, figures.Duration(r.Figures.Elapsed)+" s in all")
	}
}

// about returns the application's title.
func (r *Run) about() string {
	if r.About.Title != "" {
		return r.About.Title
	}
	return r.Config.App
}

// named returns the data as the run's command names it.
func (r *Run) named() string {
	if len(r.Config.Data) == 0 {
		return "demo"
	}
	return strings.Join(r.Config.Data, " ")
}

// last returns the last epoch, nil before there is one.
func (r *Run) last() *Moment {
	if len(r.Course) == 0 {
		return nil
	}
	return &r.Course[len(r.Course)-1]
}

func (r *Run) tiles(v *view) {
	add := func(name, value, more string) { v.Tiles = append(v.Tiles, tile{name, value, more}) }
	last := r.last()
	if last == nil {
		add("epochs", "0", "it ended before the first was over")
	} else {
		metrics, of := last.Metrics, "of the last epoch"
		if r.Model != nil {
			metrics, of = r.Model.Metrics, "of the model that was saved"
		}
		for _, name := range r.ranked(metrics) {
			add(figures.Metric(name), number(metrics[name]), of+r.compared(name))
			if len(v.Tiles) == 2 {
				break
			}
		}
		add("training", figures.Duration(last.Seconds)+" s", figures.Plural(last.Number, "epoch"))
		if last.Seconds > 0 {
			add(r.counted()+" a second", figures.Rate(float64(last.Examples)/last.Seconds), figures.Grouped(last.Examples)+" visited")
		}
	}
	if r.Model != nil {
		bytes, values := int64(0), int64(0)
		for _, f := range r.Model.Files {
			bytes += f.Bytes
		}
		for _, t := range r.Model.Tensors {
			values += size(t.Shape)
		}
		add("model", figures.Bytes(uint64(bytes)), figures.Grouped(values)+" values")
	}
}

// compared returns what a metric is compared with, behind a semicolon; nothing where that is not known.
func (r *Run) compared(metric string) string {
	if r.Start == nil || r.Start.Baseline == nil || r.Start.Baseline.Metric != metric {
		return ""
	}
	return fmt.Sprintf("; %s %s", r.Start.Baseline.Name, number(r.Start.Baseline.Value))
}

// counted returns what the application counts.
func (r *Run) counted() string {
	if r.About.Unit != "" {
		return r.About.Unit
	}
	return "items"
}

// ranked returns names of metrics: those of test rows first, in the order of the run's table, so that the first is that of the terminal's last line.
func (r *Run) ranked(metrics map[string]float64) []string {
	columns := r.About.Metrics
	if r.Start != nil && r.Start.Start != nil && len(r.Start.Columns) > 0 {
		columns = r.Start.Columns
	}
	names := slices.Sorted(maps.Keys(metrics))
	rank := func(name string) int {
		at := slices.Index(columns, name)
		if at < 0 {
			at = len(names) + len(columns)
		}
		if !strings.HasPrefix(name, "test_") {
			at += 1000
		}
		return at
	}
	slices.SortStableFunc(names, func(a, b string) int { return rank(a) - rank(b) })
	return names
}

// number returns a score with as many digits as tell something.
func number(v float64) string {
	if size := max(v, -v); size != 0 && (size < 1e-3 || size >= 1e5) {
		return fmt.Sprintf("%.4g", v)
	}
	return fmt.Sprintf("%.4f", v)
}

func size(shape []int) int64 {
	n := int64(1)
	for _, d := range shape {
		n *= int64(d)
	}
	return n
}

// curves draws each sort of metric.
func (r *Run) curves(v *view) {
	for _, c := range r.charts() {
		says := r.subtitle(c)
		if len(c.Marks) > 0 {
			says = strings.TrimPrefix(says+"; epochs above", "; ")
		}
		v.Figures = append(v.Figures, drawn(capital(c.Title), says, c.SVG))
	}
}

// secondsLeast is the time of training from which a chart is drawn against seconds. Below it they show the machine's hiccups, and epochs say more.
const secondsLeast = 0.1

// charts returns a chart for each sort of metric, on training and on test rows, against time with the epochs above, or by epoch. The first is of the
// metric that the run's table lists first.
func (r *Run) charts() (list []*chart.Lines) {
	byEpoch := r.last() != nil && r.last().Seconds < secondsLeast
	names := map[string]float64{}
	for _, m := range r.Course {
		maps.Copy(names, m.Metrics)
	}
	for _, name := range r.ranked(names) {
		part, sort, _ := strings.Cut(name, "_")
		if part != "train" && part != "test" {
			part, sort = name, name
		}
		title := figures.Metric(sort) + " against time"
		if byEpoch {
			title = figures.Metric(sort) + " by epoch"
		}
		at := slices.IndexFunc(list, func(c *chart.Lines) bool { return c.Title == title })
		if at < 0 {
			at = len(list)
			falls, known := app.Falls(name) // a score that rises ends near 1, where a logarithm tells nothing apart
			c := &chart.Lines{Title: title, X: "seconds of training", Above: "epoch", Marks: r.epochs(), Log: falls || !known}
			if byEpoch {
				c.X, c.Above, c.Marks = "epoch", "", nil
			}
			list = append(list, c)
		}
		line := chart.Line{Name: part}
		for _, m := range r.Course {
			if y, there := m.Metrics[name]; there {
				at := m.Seconds
				if byEpoch {
					at = float64(m.Number)
				}
				line.Points = append(line.Points, chart.Point{X: at, Y: y})
			}
		}
		list[at].Lines = append(list[at].Lines, line)
	}
	return list
}

// subtitles are what the metrics are that are neither of training rows nor of test rows.
var subtitles = map[string]string{
	"gap":          "upper bound on how far the loss is above its minimum, as a share of it",
	"l1":           "strength of the L1 penalty, by epoch",
	"l2":           "strength of the L2 penalty, by epoch",
	"nonzero":      "weights that are not zero",
	"held_loss":    "on rows kept aside to choose the strength of the penalty",
	"held_logloss": "on rows kept aside to choose the strength of the penalty",
}

// subtitle returns which rows the lines of a chart are of, or what else they show.
func (r *Run) subtitle(c *chart.Lines) string {
	test, also := "held-out rows", ""
	if len(r.Config.Test) > 0 {
		test = "test rows"
	}
	for _, l := range c.Lines {
		switch {
		case l.Name == "train" && also == "":
			also = "on the training rows"
		case l.Name == "test" && also == "":
			also = "on " + test
		case l.Name == "train" || l.Name == "test":
			return "on the training rows (train) and on " + test + " (test)"
		case strings.HasPrefix(l.Name, "progressive_"):
			return "on each row before it is trained on"
		case l.Name == "gap" && r.changes("l1", "l2"):
			return subtitles["gap"] + "; it starts anew with each strength of the penalty"
		default:
			return subtitles[l.Name]
		}
	}
	return also
}

// changes reports whether one of some metrics differs between two epochs.
func (r *Run) changes(names ...string) bool {
	for _, name := range names {
		for i := 1; i < len(r.Course); i++ {
			if r.Course[i].Metrics[name] != r.Course[0].Metrics[name] {
				return true
			}
		}
	}
	return false
}

// marksAbout is how many epochs the axis above shows, more or less.
const marksAbout = 8

// epochs returns the marks of the axis above: the first, and those of round numbers.
func (r *Run) epochs() (marks []chart.Mark) {
	last := r.last()
	if last == nil {
		return nil
	}
	step := max(1, int(chart.Round(float64(last.Number)/marksAbout)))
	for i, m := range r.Course {
		if i == 0 || m.Number%step == 0 {
			marks = append(marks, chart.Mark{X: m.Seconds, Name: fmt.Sprint(m.Number)})
		}
	}
	return marks
}

func capital(s string) string {
	for i, r := range s {
		return strings.ToUpper(string(r)) + s[i+len(string(r)):]
	}
	return s
}

// speed draws items a second.
func (r *Run) speed(v *view) {
	var line chart.Line
	for _, m := range r.Course {
		if m.ExamplesPerSecond > 0 {
			line.Points = append(line.Points, chart.Point{X: float64(m.Number), Y: m.ExamplesPerSecond})
		}
	}
	if len(line.Points) < 2 {
		return
	}
	c := &chart.Lines{Title: "throughput by epoch", X: "epoch", Lines: []chart.Line{line}, Zero: true}
	v.Figures = append(v.Figures, drawn("Throughput", r.counted()+" a second, by epoch", c.SVG))
}

// kinds returns the phases of a compute slot as JSON names them, and as people do.
func kinds() (keys, names []string) {
	for p := range tally.Phases {
		keys = append(keys, tally.Phase(p).String())
		names = append(names, strings.ReplaceAll(tally.Phase(p).String(), "_", " "))
	}
	return keys, names
}

// spent draws where the time of compute slots went.
func (r *Run) spent(v *view) {
	keys, names := kinds()
	c := &chart.Bars{Title: "slot time by phase and epoch", X: "epoch", Names: names}
	total := map[string]float64{}
	for _, m := range r.Course {
		parts := make([]float64, len(keys))
		for i, key := range keys {
			parts[i] = max(0, m.Phases[key])
			total[key] += parts[i]
		}
		if len(c.Steps) == 0 {
			c.First = m.Number
		}
		c.Steps = append(c.Steps, parts)
	}
	if len(c.Steps) > 1 && r.Every == 1 {
		f := drawn("Where the time went", "seconds of compute slots, by epoch", c.SVG)
		f.Legend = template.HTML(c.Legend())
		v.Figures = append(v.Figures, f)
	}
	if r.Figures != nil {
		total = r.Figures.Phases
	}
	sum := 0.0
	for _, key := range keys {
		sum += total[key]
	}
	if sum == 0 {
		return
	}
	for i, key := range keys {
		v.Time = append(v.Time, []string{names[i], figures.Duration(total[key]) + " s", fmt.Sprintf("%.1f %%", 100*total[key]/sum)})
	}
}

// stages fills in the times of the last command, in the order of its stages.
func (r *Run) stages(v *view) {
	total := 0.0
	for _, seconds := range r.Progress.Stages {
		total += seconds
	}
	order := []string{"start", "read", "prepare", "train", "score", "save"}
	for _, name := range order {
		if seconds, there := r.Progress.Stages[name]; there && total > 0 {
			v.Stages = append(v.Stages, []string{name, figures.Duration(seconds) + " s", fmt.Sprintf("%.1f %%", 100*seconds/total)})
		}
	}
}

func (r *Run) input(v *view) {
	if r.Start != nil {
		_, detected, _ := strings.Cut(r.Start.Sentence, ": ")
		v.Input = append(v.Input, pair{"detected", detected})
		v.Input = append(v.Input, pair{"rows", figures.Grouped(int64(r.Start.Rows))})
		v.Input = append(v.Input, pair{r.counted() + " to train on", figures.Grouped(r.Start.Items) + " in each epoch"})
		v.Input = append(v.Input, pair{"read in", figures.Duration(r.Start.LoadSeconds) + " s"})
	}
	held := fmt.Sprintf("%d %% of the rows (seed %d)", data.HeldAlone, r.Config.Seed)
	if len(r.Config.Test) > 0 {
		held = strings.Join(r.Config.Test, " ")
	}
	v.Input = append(v.Input, pair{"held out", held})
	for _, name := range slices.Sorted(maps.Keys(r.Config.Reading)) {
		v.Input = append(v.Input, pair{"--" + name, r.Config.Reading[name]})
	}
	for _, in := range r.Config.Inputs {
		v.Inputs = append(v.Inputs, []string{in.Path, figures.Bytes(uint64(max(0, in.Bytes))), when(in.Modified)})
	}
}

// order fills in the request: settings with their reasons, and flags.
func (r *Run) order(v *view) {
	known := map[string]string{}
	for _, s := range r.About.Settings {
		known[s.Name] = s.Default
		if value, there := r.Config.Settings[s.Name]; there {
			from := "default"
			if value != s.Default {
				from = "the default is " + s.Default
			}
			v.Settings = append(v.Settings, []string{s.Name, value, from, s.Reason})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Config.Settings)) {
		if _, there := known[name]; !there {
			v.Settings = append(v.Settings, []string{name, r.Config.Settings[name], "", ""})
		}
	}
	epochs := "until the held-out figure stops getting better"
	if r.Config.Epochs > 0 {
		epochs = fmt.Sprint(r.Config.Epochs)
	}
	v.Order = append(v.Order, pair{"application", r.Config.App}, pair{"seed", fmt.Sprint(r.Config.Seed)}, pair{"epochs", epochs})
	for _, p := range []pair{{"until", r.Config.Until}, {"staleness", r.Config.Staleness}, {"kernels", r.Config.Kernels}} {
		if p.Value != "" {
			v.Order = append(v.Order, p)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Versions)) {
		if value := r.Versions[name]; value != "" && name != "kernels" {
			v.Order = append(v.Order, pair{name, value})
		}
	}
}

func (r *Run) traffic(v *view) {
	if r.Figures == nil {
		return
	}
	bytes := int64(0)
	for _, f := range r.Figures.Bytes {
		bytes += f.Bytes
	}
	if bytes > 0 {
		v.Traffic = figures.Bytes(uint64(bytes)) + " travelled between nodes"
	}
}

// audit says what was sent and what became of it.
func (r *Run) audit(v *view) {
	a := &r.Progress.Account
	if len(a.Tables) == 0 && a.Sent == 0 {
		v.Audit = "the run left none: it is made when a run ends or is interrupted"
		return
	}
	v.Wrong = a.Disagreements(r.Finished)
	sign := "="
	if len(v.Wrong) > 0 {
		sign = "≠"
	}
	v.Audit = fmt.Sprintf("updates sent %s %s applied %s", figures.Grouped(a.Sent), sign, figures.Grouped(a.Applied))
	if a.Dropped > 0 {
		v.Audit += fmt.Sprintf(" + dropped %s, with a clock that never counted", figures.Grouped(a.Dropped))
	}
	for _, t := range a.Tables {
		v.Ledgers = append(v.Ledgers, []string{t.Name, sum(t.Sent), sum(t.Taken), sum(t.Dropped), sum(t.Yielded), sum(t.Written)})
	}
}

// sum returns a sum over bits as the audit shows it.
func sum(s audit.Sum) string { return fmt.Sprintf("%016x", uint64(s)) }

func (r *Run) saved(v *view) {
	if r.Damage != nil {
		v.Damage = bellows.Printable(r.Damage.Error(), 1<<10)
	}
	if r.Model == nil {
		return
	}
	for _, t := range r.Model.Tensors {
		v.Tensors = append(v.Tensors, []string{t.Name, t.DType(), strings.Trim(strings.ReplaceAll(fmt.Sprint(t.Shape), " ", " × "), "[]")})
	}
	for _, f := range r.Model.Files {
		v.Files = append(v.Files, []string{f.Name, figures.Bytes(uint64(f.Bytes)), f.SHA256[:min(12, len(f.SHA256))] + "…"})
	}
}

func (r *Run) nodes(v *view) {
	if r.Figures == nil || len(r.Figures.Nodes) < 2 {
		return
	}
	for _, n := range r.Figures.Nodes {
		v.Nodes = append(v.Nodes, []string{n.ID, strings.Join(n.Roles, " "), string(n.State), fmt.Sprint(n.Slots), fmt.Sprint(n.Splits), fmt.Sprint(n.Partitions)})
	}
}

func (r *Run) happened(v *view) {
	for _, e := range r.Happened {
		v.Happened = append(v.Happened, []string{e.Time.Format("15:04:05"), string(e.Kind), bellows.Printable(e.Sentence, 1<<10)})
	}
}

// Loss returns the curves of the metric that counts, as a picture that stands alone.
func (r *Run) Loss() string {
	charts := r.charts()
	if len(charts) == 0 {
		return (&chart.Lines{}).File(wide, high)
	}
	return charts[0].File(wide, high)
}
