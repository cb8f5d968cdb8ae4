package page

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"bellows/app"
	"bellows/model"
	"bellows/run"
	"bellows/run/event"
)

var update = flag.Bool("update", false, "write the golden structure of testdata/structure.txt")

const record = `{"format":"bellows run 1","state":"done","config":{"app":"mf","data":["<b>.tsv"],"seed":3,"settings":{"rank":"4","odd":"<i>"},"kernels":"go",
"reading":{"sep":"<"},"inputs":[{"path":"<b>.tsv","bytes":2048,"modified":"2026-01-02T03:04:05Z"}]},"versions":{"go":"go1"},
"progress":{"seconds":3,"stage_seconds":{"start":0.5,"read":1,"train":3,"save":0.5},"sent":12345,"applied":12345,"dropped":0,"tables":[{"name":"users","sent":"0000000000000001","taken":"0000000000000001","dropped":"0000000000000000","yielded":"0000000000000000","written":"0000000000000000"}]}}`

// folder returns a run with so many epochs, whose strings are not friendly.
func folder(t *testing.T, record string, epochs int) string {
	t.Helper()
	dir := t.TempDir()
	if err := model.Save(dir, &model.Model{App: "mf", Settings: map[string]string{"rank": "4"}, Metrics: map[string]float64{"test_rmse": 0.5, "train_rmse": 1e-9},
		Tensors: []model.Tensor{{Name: "user_factors", Shape: []int{2, 4}, Floats: make([]float32, 8)}}, IDs: []model.IDs{{File: "users.txt", Names: []string{"<u>", "v"}}}}); err != nil {
		t.Fatal(err)
	}
	log, err := event.OpenLog(dir, false)
	if err == nil {
		err = log.Begin()
	}
	if err != nil {
		t.Fatal(err)
	}
	tell := func(e event.Event) {
		if _, err := log.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	tell(event.Event{Kind: event.Started, Sentence: "<b>.tsv: 9 ratings, triples, <tab>", Start: &event.Start{App: "mf", Rows: 9, Items: 8, LoadSeconds: 0.5, Baseline: &event.Baseline{Metric: "test_rmse", Name: "mean predictor", Value: 1.25}}})
	for n := 1; n <= epochs; n++ {
		tell(event.Event{Kind: event.Epoch, Epoch: &n, Figures: &event.Figures{Metrics: map[string]float64{"train_rmse": 1 / float64(n), "test_rmse": 1.5 / float64(n)},
			Seconds: 0.5 * float64(n), Examples: int64(8 * n), ExamplesPerSecond: 16, Phases: map[string]float64{"compute": 0.4, "idle": 0.1}}})
	}
	tell(event.Event{Kind: event.Waiting, Sentence: "<script>alert(1)</script>"})
	tell(event.Event{Kind: event.Finished, Sentence: "finished"})
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "run.json"), []byte(record), 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

// written returns the page of a folder.
func written(t *testing.T, dir string) (*Run, string) {
	t.Helper()
	r, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	r.About = app.Description{Name: "mf", Title: "matrix <m>", Unit: "ratings", Metrics: []string{"train_rmse", "test_rmse"},
		Settings: []app.Setting{{Name: "rank", Default: "32", Reason: "factors > 0"}}}
	r.Steps = []Step{{"bellows predict '<b>.tsv'", "what & why"}}
	r.Program, r.Made = "bellows 1", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	return r, b.String()
}

// TestThePageHasItsStructure compares the page of a run, with its pictures and times taken out, with testdata/structure.txt.
func TestThePageHasItsStructure(t *testing.T) {
	t.Parallel()
	dir := folder(t, record, 40)
	_, text := written(t, dir)
	for _, c := range []struct{ what, with string }{
		{`(?s)<svg.*?aria-label="([^"]*)".*?</svg>`, "[chart: $1]"}, {`(?s)<style>.*</style>`, "[style]"}, {regexp.QuoteMeta(dir), "RUN"},
		{`started \d[^<]*`, "started THEN"}, {`<tr><td>\d\d:\d\d:\d\d<td>`, "<tr><td>TIME<td>"}, {`[0-9a-f]{12}…`, "SUM…"},
	} {
		text = regexp.MustCompile(c.what).ReplaceAllString(text, c.with)
	}
	const golden = "testdata/structure.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if text != string(want) {
		t.Errorf("the page is\n%s\nwanted is\n%s", text, want)
	}
}

// TestThePageNeedsNothingElse wants no address, no script, no text of others unescaped, and the page's mark where the command looks for it.
func TestThePageNeedsNothingElse(t *testing.T) {
	t.Parallel()
	_, text := written(t, folder(t, record, 40))
	for _, foreign := range []string{"<script", "src=", "href=", "url(", "@import", "://", "<b>.tsv", "<i>", "<u>", "<m>", "<tab>", "onload", `sep</dt><dd><`} {
		if strings.Contains(strings.ReplaceAll(text, "http://www.w3.org/2000/svg", ""), foreign) {
			t.Errorf("the page has %s", foreign)
		}
	}
	if at := strings.Index(text, Mark); at < 0 || at > 500 {
		t.Errorf("the mark is at %d", at)
	}
	if !strings.Contains(text, "prefers-color-scheme: dark") || strings.Contains(text, "NaN") {
		t.Error("no colours for dark screens, or no numbers")
	}
}

// TestRunsThatDidNotEnd makes a page too, which says what became of them.
func TestRunsThatDidNotEnd(t *testing.T) {
	t.Parallel()
	unfinished := strings.Replace(record, `"done"`, `"running"`, 1)
	for _, c := range []struct {
		name, want string
		change     func(dir string)
	}{
		{"killed", "ended without a word", func(string) {}},
		{"interrupted", "interrupted, can be resumed", func(dir string) { put(t, dir, "checkpoint/cuts/e0000000000-c00000000000000000001.json", "x") }},
		{"failed", ">failed<", func(dir string) { add(t, dir, event.Event{Kind: event.Lost, Sentence: "node 2 is lost"}) }},
		{"damaged model", "model.safetensors: it is truncated", func(dir string) { put(t, dir, "model.safetensors", "x") }},
		{"no model", "none was saved yet", func(dir string) { remove(t, dir, "manifest.json") }},
		{"no log", "it ended before the first was over", func(dir string) { remove(t, dir, event.File) }},
		{"cut log", "1 line of events.jsonl could not be read", func(dir string) { add(t, dir, event.Event{}); cut(t, dir) }},
		{"odd figures", "matrix &lt;m&gt;", func(dir string) { put(t, dir, "metrics.json", "{") }},
	} {
		dir := folder(t, unfinished, 3)
		c.change(dir)
		if _, text := written(t, dir); !strings.Contains(text, c.want) {
			t.Errorf("%s: no %q in\n%s", c.name, c.want, text)
		}
	}
	wrong := strings.Replace(record, `"applied":12345`, `"applied":12344`, 1)
	if _, text := written(t, folder(t, wrong, 3)); !strings.Contains(text, "sent 12 345 ≠ applied 12 344") || !strings.Contains(text, `class="wrong">12345 updates were sent`) {
		t.Error("an audit that does not agree is not shown")
	}
}

// TestLongLogsAreThinned reads more epochs than are kept: the last is there, and the file is small.
func TestLongLogsAreThinned(t *testing.T) {
	t.Parallel()
	r, text := written(t, folder(t, record, 3*momentsMost+1))
	if len(r.Course) > momentsMost || r.last().Number != 3*momentsMost+1 || r.Every != 4 {
		t.Errorf("%d moments, every %d, the last %d", len(r.Course), r.Every, r.last().Number)
	}
	if len(text) > 150_000 || !strings.Contains(text, "every 4th is drawn") {
		t.Errorf("the page has %d bytes", len(text))
	}
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	name = filepath.Join(dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, []byte(text), 0o666)); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

// add appends an event to the log.
func add(t *testing.T, dir string, e event.Event) {
	t.Helper()
	log, err := event.OpenLog(dir, true)
	if err == nil {
		err = log.Begin()
	}
	if err == nil {
		_, err = log.Append(e)
	}
	if err == nil {
		err = log.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// cut takes the last bytes of the log away, as a crash does.
func cut(t *testing.T, dir string) {
	t.Helper()
	name := filepath.Join(dir, event.File)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, event.File, string(text[:len(text)-5]))
}

// TestCharts: subtitles say what each chart shows, a short run is drawn by epoch, a score that rises has a linear axis, and the metric of the terminal's last
// line comes first.
func TestCharts(t *testing.T) {
	t.Parallel()
	r := &Run{Past: &run.Past{}, About: app.Description{Metrics: []string{"train_accuracy", "test_accuracy"}},
		Start: &event.Event{Start: &event.Start{Columns: []string{"train_rmse", "test_rmse", "test_r2", "gap", "l1", "nonzero", "held_loss"}}}}
	for n := range 5 {
		e := event.Figures{Seconds: 0.001 * float64(n), Metrics: map[string]float64{}}
		for _, name := range append([]string{"test_mae"}, r.Start.Columns...) {
			e.Metrics[name] = 1 / float64(n+1)
		}
		e.Metrics["test_r2"] = 0.001 + 0.2*float64(n)
		r.Course = append(r.Course, Moment{Number: n + 1, Figures: e})
	}
	want := map[string]string{
		"RMSE by epoch":      "on the training rows (train) and on held-out rows (test)",
		"R² by epoch":        "on held-out rows",
		"MAE by epoch":       "on held-out rows",
		"gap by epoch":       "upper bound on how far the loss is above its minimum, as a share of it; it starts anew with each strength of the penalty",
		"l1 by epoch":        "strength of the L1 penalty, by epoch",
		"nonzero by epoch":   "weights that are not zero",
		"held loss by epoch": "on rows kept aside to choose the strength of the penalty",
	}
	charts := r.charts()
	for _, c := range charts {
		if says, known := want[c.Title]; !known || r.subtitle(c) != says {
			t.Errorf("%s: %q, not %q", c.Title, r.subtitle(c), says)
		}
		if c.Log == strings.HasPrefix(c.Title, "R²") || c.X != "epoch" || c.Lines[0].Points[4].X != 5 {
			t.Errorf("%s: %+v", c.Title, c)
		}
	}
	if len(charts) != len(want) || charts[0].Title != "RMSE by epoch" {
		t.Errorf("%d charts, the first is %s", len(charts), charts[0].Title)
	}
	if names := r.ranked(r.Course[0].Metrics); names[0] != "test_rmse" || names[1] != "test_r2" {
		t.Errorf("ranked %v", names)
	}
	r.Course[4].Seconds, r.Config.Test = 3, []string{"held.csv"}
	if c := r.charts()[0]; c.Title != "RMSE against time" || r.subtitle(c) != "on the training rows (train) and on test rows (test)" {
		t.Errorf("a longer run has %s, %s", c.Title, r.subtitle(c))
	}
}
