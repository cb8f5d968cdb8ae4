package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bellows"
	"bellows/app"
	"bellows/app/lda"
	"bellows/app/mlr"
	"bellows/data"
	"bellows/model"
)

var update = flag.Bool("update", false, "write the golden files anew")

// tableModel returns one of mlr, of a table with the columns a and b, which says no where a is large. bias tells models apart.
func tableModel(t testing.TB, bias float32) *Opened {
	t.Helper()
	input := `{"format":"csv","separator":"comma","header":true,"label":{"name":"y","number":3},"text_labels":true,
		"features":[{"name":"a","number":1,"fill":0.5},{"name":"b","number":2,"fill":0}]}`
	m := &model.Model{App: "mlr", Input: json.RawMessage(input), Details: json.RawMessage(`{"index_base":0,"l2":0}`),
		Tensors: []model.Tensor{{Name: "weights", Shape: []int{2, 2}, Floats: []float32{2, 0, -2, 0}}, {Name: "bias", Shape: []int{2}, Floats: []float32{0, bias}}},
		IDs:     []model.IDs{{File: "labels.txt", Names: []string{"no", "yes"}}, {File: "columns.txt", Names: []string{"a", "b"}}},
		Files:   []model.File{{Name: "model.safetensors", SHA256: fmt.Sprint(bias)}}}
	return opened(t, m)
}

func opened(t testing.TB, m *model.Model) *Opened {
	t.Helper()
	p, err := mlr.New().Open(m)
	if err != nil {
		t.Fatal(err)
	}
	kind, opt := p.Read()
	if opt.As, err = data.ParseReading(m.Input); err != nil {
		t.Fatal(err)
	}
	if opt.As.IndexBase == nil {
		opt.IndexBase = ""
	}
	return &Opened{Model: m, Predictor: p, Kind: kind, Options: opt}
}

// newServer serves what open returns, and reports only to the list.
func newServer(t testing.TB, l Limits, open func() (*Opened, error), told *events) *Server {
	t.Helper()
	s, err := New(t.TempDir(), l, true, open, told.add)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

type events struct {
	mu   sync.Mutex
	list []Event
}

func (e *events) add(one Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, one)
}

func (e *events) kinds() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var kinds []string
	for _, one := range e.list {
		kinds = append(kinds, one.Kind)
	}
	return strings.Join(kinds, " ")
}

func always(o *Opened) func() (*Opened, error) { return func() (*Opened, error) { return o, nil } }

// asked returns the answer to one question.
func asked(h http.Handler, method, path, form, body string, more ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "localhost"
	if form != "" {
		r.Header.Set("Content-Type", form)
	}
	for i := 0; i < len(more); i += 2 {
		r.Header.Set(more[i], more[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestEveryFormHasOneAnswer asks for the same two rows in each form that is read, and in each form that is written.
func TestEveryFormHasOneAnswer(t *testing.T) {
	t.Parallel()
	h := newServer(t, Default(), always(tableModel(t, 0)), &events{}).Handler()
	text := "no\t0.982014\t0.0179862\nyes\t0.119203\t0.880797\n"
	lines := `{"row":1,"prediction":"no","probabilities":{"no":0.982014,"yes":0.0179862}}` + "\n" + `{"row":2,"prediction":"yes","probabilities":{"no":0.119203,"yes":0.880797}}` + "\n"
	object := `"predictions":[` + strings.Replace(strings.TrimSpace(lines), "\n", ",", 1) + `],"unknown":{},"missing":MISSING}` + "\n"
	for _, c := range []struct{ form, body, accept, want string }{
		{"application/json", `{"rows":[{"a":1,"b":2},{"b":null,"a":-0.5}]}`, "", object},
		{"", `{"rows":[[1,2],[-0.5,null]]}`, "application/json, */*", object},
		{"application/x-www-form-urlencoded", `{"rows":[[1,2],[-0.5,null]]}`, "*/*", object},
		{"application/json; charset=UTF-8", `{"rows":["1,2","-0.5,"]}`, "", object},
		{"application/json", `{"rows":[[1,2],[-0.5,null]]}`, "text/plain", text},
		{"application/jsonl", `{"a":1,"b":2}` + "\n" + `{"a":-0.5,"b":3}`, "", lines},
		{"application/x-ndjson", `{"a":1,"b":2}` + "\n" + `{"a":-0.5,"b":3}` + "\n", "*/*", lines},
		{"text/csv", "b,a\n2,1\n2,-0.5\n", "", text},
		{"text/csv", "1,2\n-0.5,0\n", "", text},
		{"text/tab-separated-values", "1\t2\n-0.5\t0\n", "", text},
		{"text/plain", "1,2\n-0.5,0\n", "application/jsonl", lines},
	} {
		w := asked(h, "POST", "/predict", c.form, c.body, "Accept", c.accept)
		got := w.Body.String()
		if at := strings.Index(got, `"predictions"`); at >= 0 {
			got = got[at:]
		}
		none := `{"b":1}`
		if strings.Contains(c.body, "3}") {
			none = "{}"
		}
		if w.Code != http.StatusOK || got != strings.Replace(c.want, "MISSING", none, 1) {
			t.Errorf("%s %q for %q: %d %s\nnot %s", c.form, c.body, c.accept, w.Code, w.Body, c.want)
		}
	}
}

// bad are questions that have no answer; what is said to them is in testdata/refused.txt.
var bad = []struct{ form, body string }{
	{"application/json", ``},
	{"application/json", `  `},
	{"application/json", `{`},
	{"application/json", `[1,2]`},
	{"application/json", `"1,2"`},
	{"application/json", `{"rows":{}}`},
	{"application/json", `{"rows":[]}`},
	{"application/json", `{}`},
	{"application/json", `{"row":[[1,2]]}`},
	{"application/json", `{"rows":[[1,2]]} {}`},
	{"application/json", `{"rows":[[1,2],"1,2"]}`},
	{"application/json", `{"rows":[7]}`},
	{"application/json", `{"rows":[null]}`},
	{"application/json", `{"rows":[[]]}`},
	{"application/json", `{"rows":[[1,2]`},
	{"application/json", `{"rows":[[1,2]],"more":1}`},
	{"application/json", `{"rows":[[1,2],[1,2],[1,2],[1,2],[1,2],`},
	{"application/json", `{"rows":[[1,[2]]]}`},
	{"application/json", `{"rows":[[1,true]]}`},
	{"application/json", `{"rows":[[1]]}`},
	{"application/json", `{"rows":[[1,2],[1,2,3]]}`},
	{"application/json", `{"rows":[[1,2],["x",2]]}`},
	{"application/json", `{"rows":[["1\n2",2]]}`},
	{"application/json", `{"rows":[[1e99,2]]}`},
	{"application/json", `{"rows":["1,2\n3,4"]}`},
	{"application/json", `{"rows":[""]}`},
	{"application/json", `{"rows":["a,b","1,2"]}`},
	{"application/json", `{"rows":["1,2","inf,2"]}`},
	{"application/json", `{"rows":[{"a":1,"b":2},{"a":1,"c":2}]}`},
	{"application/json", `{"rows":[{"c":1}]}`},
	{"application/json", `{"rows":[{"a":1,"b":{"c":2}}]}`},
	{"application/json", `{"rows":[{"a":1,"a":2,"b":3}]}`},
	{"application/json", `{"rows":[[1,2],[1,2],[1,2],[1,2],[1,2]]}`},
	{"application/json", `{"rows":["` + strings.Repeat("1", 400) + `"]}`},
	{"application/jsonl", "{\"a\":1,\"b\":2}\n{\"a\":1,\n"},
	{"application/jsonl", "[1,2]\n"},
	{"text/csv", "a,c\n1,2\n"},
	{"text/csv", "1,2\n1;2\n"},
	{"text/csv", "a,b\n"},
	{"text/csv", "1,2\n\x00,2\n"},
	{"text/csv", "1,2\n1,2\n1,2\n1,2\n1,2\n"},
	{"text/x-libsvm", "0 1:2\n"},
	{"text/x-vw", "1 | a\n"},
	{"text/html", "<p>"},
	{"image/png", "\x89PNG"},
	{"text/csv; charset=latin1", "1,2\n"},
	{"nonsense/", "1,2\n"},
}

// TestBadQuestionsAreRefused compares what is said with the golden file, and asks a good question in the end.
func TestBadQuestionsAreRefused(t *testing.T) {
	t.Parallel()
	l := Default()
	l.Rows, l.Body = 4, 300
	s := newServer(t, l, always(tableModel(t, 0)), &events{})
	h := s.Handler()
	var got bytes.Buffer
	say := func(what string, w *httptest.ResponseRecorder) {
		var answer struct {
			Error struct {
				Status  int
				Row     int
				Message string
			}
		}
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || answer.Error.Status != w.Code || answer.Error.Message == "" {
			t.Errorf("%s: %d %s is no refusal", what, w.Code, w.Body)
		}
		fmt.Fprintf(&got, "%s\n%d, row %d: %s\n\n", what, w.Code, answer.Error.Row, answer.Error.Message)
	}
	for _, c := range bad {
		say(fmt.Sprintf("%s %.60q", c.form, c.body), asked(h, "POST", "/predict", c.form, c.body))
	}
	say("an answer of a form that is not written", asked(h, "POST", "/predict", "", `{"rows":[[1,2]]}`, "Accept", "image/png"))
	say("a body that is packed", asked(h, "POST", "/predict", "", `{"rows":[[1,2]]}`, "Content-Encoding", "gzip"))
	r := httptest.NewRequest("GET", "/model", nil)
	r.Host = "evil.example"
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	say("a name that is not of this machine", w)
	golden := filepath.Join("testdata", "refused.txt")
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("go test -update shows the difference:\n%s", got.String())
	}
	if w := asked(h, "POST", "/predict", "", `{"rows":[[1,2]]}`); w.Code != http.StatusOK {
		t.Errorf("a good question behind bad ones: %d %s", w.Code, w.Body)
	}
	for _, c := range []struct{ method, path, allow string }{{"GET", "/predict", "POST"}, {"DELETE", "/model", "GET, HEAD"}, {"POST", "/metrics", "GET, HEAD"}, {"GET", "/", ""}, {"POST", "/predict/", ""}, {"POST", "//predict", ""}, {"OPTIONS", "/nowhere", ""}} {
		w := asked(h, c.method, c.path, "", "")
		var answer problemAnswer
		want := http.StatusNotFound
		if c.allow != "" {
			want = http.StatusMethodNotAllowed
		}
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != want || answer.Error.Status != want || answer.Error.Message == "" || w.Header().Get("Allow") != c.allow || w.Header().Get("Content-Type") != jsonForm {
			t.Errorf("%s %s: %d %v %s", c.method, c.path, w.Code, w.Header(), w.Body)
		}
	}
}

// TestServerEvents looks at the three places that say something of the server.
func TestServerEvents(t *testing.T) {
	t.Parallel()
	s := newServer(t, Default(), always(tableModel(t, 0)), &events{})
	h := s.Handler()
	asked(h, "POST", "/predict", "", `{"rows":[[1,2],[3,4]]}`)
	asked(h, "POST", "/predict", "", `{"rows":[]}`)
	if w := asked(h, "GET", "/health", "", ""); w.Code != http.StatusOK || w.Body.String() != `{"status":"ok"}`+"\n" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	var a about
	if w := asked(h, "GET", "/model", "", ""); json.Unmarshal(w.Body.Bytes(), &a) != nil || a.App != "mlr" || a.Data != "examples" || strings.Join(a.Fields, " ") != "prediction no yes" || a.Limits.Rows != 10_000 || a.Digest == "" {
		t.Errorf("%s", w.Body)
	}
	w := asked(h, "GET", "/metrics", "", "")
	for _, line := range []string{`bellows_serve_requests_total{code="200"} 1`, `bellows_serve_requests_total{code="400"} 1`, "bellows_serve_rows_total 2", "bellows_serve_in_flight 0",
		`bellows_serve_request_seconds_count 2`, `bellows_serve_reloads_total{result="failed"} 0`, `bellows_serve_model_info{app="mlr",digest="` + a.Digest + `",model="`} {
		if !strings.Contains(w.Body.String(), "\n"+line) {
			t.Errorf("no %s in\n%s", line, w.Body)
		}
	}
}

// slow is a predictor that waits in the middle of each call.
type slow struct {
	app.Predictor
	in, on chan struct{}
}

func (p slow) Predict(set *data.Set, out io.Writer) error {
	p.in <- struct{}{}
	<-p.on
	return p.Predictor.Predict(set, out)
}

func (p slow) Share() app.Predictor { return slow{p.Predictor.(app.Shared).Share(), p.in, p.on} }

// TestConcurrencyLimit: requests beyond it are told to retry, and the places become free again.
func TestConcurrencyLimit(t *testing.T) {
	t.Parallel()
	o := tableModel(t, 0)
	p := slow{o.Predictor, make(chan struct{}), make(chan struct{})}
	o.Predictor = p
	l := Default()
	l.Requests = 2
	h := newServer(t, l, always(o), &events{}).Handler()
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			if w := asked(h, "POST", "/predict", "", `{"rows":[[1,2]]}`); w.Code != http.StatusOK {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
		<-p.in
	}
	if w := asked(h, "POST", "/predict", "", `{"rows":[[1,2]]}`); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "1" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	if w := asked(h, "GET", "/health", "", ""); w.Code != http.StatusOK {
		t.Errorf("health: %d", w.Code)
	}
	close(p.on)
	all.Wait()
	go func() { <-p.in }()
	if w := asked(h, "POST", "/predict", "", `{"rows":[[1,2]]}`); w.Code != http.StatusOK {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// fragile is a predictor that panics.
type fragile struct{ app.Predictor }

func (fragile) Predict(*data.Set, io.Writer) error { panic("a bug") }

// TestABugEndsOneQuestion, and not the server, nor the place of the question.
func TestABugEndsOneQuestion(t *testing.T) {
	t.Parallel()
	o := tableModel(t, 0)
	o.Predictor = fragile{o.Predictor}
	l := Default()
	l.Requests = 1
	h := newServer(t, l, always(o), &events{}).Handler()
	for range 3 {
		if w := asked(h, "POST", "/predict", "", `{"rows":[[1,2]]}`); w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), "a bug") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
}

// spoiled is what breaks once, and leaves its scratch as it was then.
type spoiled struct {
	app.Predictor
	broken *bool // nothing is broken yet
	mine   bool
}

func (p *spoiled) Share() app.Predictor {
	return &spoiled{p.Predictor.(app.Shared).Share(), p.broken, false}
}

func (p *spoiled) Predict(set *data.Set, out io.Writer) error {
	if p.mine {
		_, err := io.WriteString(out, "of the question before\n")
		return err
	}
	if !*p.broken {
		*p.broken, p.mine = true, true
		panic("a bug")
	}
	return p.Predictor.Predict(set, out)
}

// TestABrokenPredictorIsNotAskedAgain: what it has left in its scratch would be in other answers.
func TestABrokenPredictorIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	o := tableModel(t, 0)
	o.Predictor = &spoiled{o.Predictor, new(bool), false}
	h := newServer(t, Default(), always(o), &events{}).Handler()
	if w := asked(h, "POST", "/predict", "", `{"rows":[[1,2]]}`); w.Code != http.StatusInternalServerError {
		t.Errorf("a bug is %d", w.Code)
	}
	for range 20 {
		if w := asked(h, "POST", "/predict", "text/csv", "a,b\n1,2\n"); w.Code != http.StatusOK || strings.Contains(w.Body.String(), "before") {
			t.Fatalf("behind a bug: %d, %s", w.Code, w.Body)
		}
	}
}

// TestHeadersPromiseNoMemory: a question of some bytes that says how many documents follow is held against the rows that are allowed before there is room for
// them.
func TestHeadersPromiseNoMemory(t *testing.T) {
	t.Parallel()
	m := &model.Model{App: "lda", Details: json.RawMessage(`{"alpha":[0.1,0.2],"beta":0.05}`), IDs: []model.IDs{{File: "vocab.txt", Names: []string{"1", "2"}}},
		Tensors: []model.Tensor{{Name: "word_topic", Shape: []int{2, 2}, Counts: []int32{1, 0, 0, 1}}, {Name: "topic", Shape: []int{2}, Counts: []int32{1, 1}}}}
	p, err := lda.New().Open(m)
	if err != nil {
		t.Fatal(err)
	}
	kind, opt := p.Read()
	h := newServer(t, Default(), always(&Opened{Model: m, Predictor: p, Kind: kind, Options: opt}), &events{}).Handler()
	if w := asked(h, "POST", "/predict", "text/plain", "2\n2\n2\n1 1 3\n2 2 1\n"); w.Code != http.StatusOK || strings.Count(w.Body.String(), "\n") != 2 {
		t.Errorf("two documents: %d, %s", w.Code, w.Body)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	w := asked(h, "POST", "/predict", "text/plain", "400000000\n2\n1\n1 1 1\n")
	if runtime.ReadMemStats(&after); w.Code != http.StatusBadRequest || after.TotalAlloc-before.TotalAlloc > 1<<30 {
		t.Errorf("%d, and %d bytes were taken: %s", w.Code, after.TotalAlloc-before.TotalAlloc, w.Body)
	}
}

// TestABadModelChangesNothing: it is named, and the one from before answers on; a good one takes its place; one of another application does not.
func TestABadModelChangesNothing(t *testing.T) {
	t.Parallel()
	next := tableModel(t, 0)
	var fault error
	told := &events{}
	s := newServer(t, Default(), func() (*Opened, error) { return next, fault }, told)
	said := func() string {
		return asked(s.Handler(), "POST", "/predict", "", `{"rows":[[0,0]]}`, "Accept", "text/plain").Body.String()
	}
	before := said()
	fault = errors.New("model.safetensors is cut short")
	s.reload(false)
	if said() != before || told.kinds() != "reload-failed" || !strings.Contains(told.list[0].Sentence, "cut short") {
		t.Errorf("%s %s %v", before, said(), told.list)
	}
	fault, next = nil, tableModel(t, 5)
	s.reload(false)
	if after := said(); after == before || told.kinds() != "reload-failed reloaded" {
		t.Errorf("%s %v", after, told.list)
	}
	s.reload(false) // nothing is new
	next = tableModel(t, 6)
	next.Model.App = "lda"
	after := said()
	s.reload(true)
	if said() != after || told.kinds() != "reload-failed reloaded reload-failed" {
		t.Errorf("%v", told.list)
	}
	w := asked(s.Handler(), "GET", "/metrics", "", "").Body.String()
	if !strings.Contains(w, `reloads_total{result="ok"} 1`) || !strings.Contains(w, `reloads_total{result="failed"} 2`) || strings.Count(w, "\nbellows_serve_model_info{") != 1 {
		t.Error(w)
	}
}

// TestTheFolderIsLookedAt in virtual time: files that are still being written are left until they are complete, a bad
// model is not read again before it changes, and Reload does not wait. Changes while the model was opened for the first
// time are also seen.
func TestTheFolderIsLookedAt(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "manifest.json")
	put := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Error(err)
		}
	}
	put("1")
	synctest.Test(t, func(t *testing.T) {
		l := Default()
		l.Look = time.Second
		var mu sync.Mutex // of both
		opens, fault := 0, error(nil)
		breaks := func(err error) {
			mu.Lock()
			defer mu.Unlock()
			fault = err
		}
		models := []*Opened{tableModel(t, 1), tableModel(t, 2)}
		told := &events{}
		s, err := New(dir, l, true, func() (*Opened, error) {
			mu.Lock()
			defer mu.Unlock()
			if opens++; opens == 1 {
				put("another")
			}
			return models[opens%2], fault
		}, told.add)
		if err != nil {
			t.Fatal(err)
		}
		ctx, end := context.WithCancel(t.Context())
		var looking sync.WaitGroup
		looking.Go(func() { s.look(ctx) })
		pass := func(seconds, want int, what string) {
			t.Helper()
			<-time.After(time.Duration(seconds) * time.Second)
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if opens != want {
				t.Errorf("%s: the model was opened %d times, not %d", what, opens, want)
			}
		}
		<-time.After(time.Second / 2)
		pass(2, 2, "it changed while it was opened")
		pass(5, 2, "nothing has changed")
		put("12")
		pass(1, 2, "it may still be written")
		put("123")
		pass(1, 2, "it was")
		pass(1, 3, "it has settled")
		pass(5, 3, "nothing has changed since")
		breaks(errors.New("cut short"))
		put("1234")
		pass(2, 4, "it is bad")
		pass(5, 4, "and stays so")
		s.Reload()
		pass(0, 5, "somebody asks")
		breaks(nil)
		put("12345")
		pass(2, 6, "it is good again")
		if k := told.kinds(); k != "reloaded reloaded reload-failed reload-failed reloaded" {
			t.Error(k)
		}
		end()
		looking.Wait()
	})
}

// TestServeDrains on loopback: requests in progress when the context ends are answered, health reports that, and then
// the port is closed.
func TestServeDrains(t *testing.T) {
	t.Parallel()
	for _, patient := range []bool{true, false} {
		o := tableModel(t, 0)
		p := slow{o.Predictor, make(chan struct{}), make(chan struct{})}
		o.Predictor = p
		l := Default()
		if !patient {
			l.Drain = 0
		}
		told := &events{}
		s := newServer(t, l, always(o), told)
		at, near, err := Listen("127.0.0.1:0")
		if err != nil || !near {
			t.Fatal(err, near)
		}
		ctx, end := context.WithCancel(t.Context())
		served, answered := make(chan error), make(chan error)
		go func() { served <- s.Serve(ctx, at) }()
		go func() {
			r, err := http.Post("http://"+at.Addr().String()+"/predict", "application/json", strings.NewReader(`{"rows":[[1,2]]}`))
			if err == nil {
				r.Body.Close()
				if r.StatusCode != http.StatusOK {
					err = errors.New(r.Status)
				}
			}
			answered <- err
		}()
		<-p.in
		end()
		if patient {
			for !s.draining.Load() { // it is set before the wait
				select {
				case err := <-served:
					t.Fatalf("it ended before its question: %v", err)
				case <-time.After(time.Millisecond):
				}
			}
			if w := asked(s.Handler(), "GET", "/health", "", ""); w.Code != http.StatusServiceUnavailable {
				t.Errorf("health: %d", w.Code)
			}
			close(p.on)
		}
		if err := <-answered; patient != (err == nil) {
			t.Errorf("patient %v: %v", patient, err)
		}
		if !patient {
			close(p.on)
		}
		if err := <-served; err != nil || told.kinds() != "serving stopped" {
			t.Errorf("%v: %v", err, told.kinds())
		}
		if c, err := net.Dial("tcp", at.Addr().String()); err == nil {
			c.Close()
			t.Error("somebody still listens")
		}
	}
}

// TestSlowQuestionsAreGivenUp: a caller that sends its body slowly has until the limit.
func TestSlowQuestionsAreGivenUp(t *testing.T) {
	t.Parallel()
	l := Default()
	l.Timeout = 100 * time.Millisecond
	s := newServer(t, l, always(tableModel(t, 0)), &events{})
	at, _, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- s.Serve(ctx, at) }()
	c, err := net.Dial("tcp", at.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\nContent-Length: 100\r\n\r\n1,")
	answer, err := io.ReadAll(c) // until the server ends it
	if err != nil || !strings.Contains(string(answer), "408 Request Timeout") || !strings.Contains(string(answer), "did not come within 100ms") {
		t.Errorf("%v %q", err, answer)
	}
	end()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// TestConnectionsAreBounded: the next one is taken when one has gone.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	in, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := bounded(in, 1)
	for range 2 {
		c, err := net.Dial("tcp", in.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	first, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	second := make(chan error)
	go func() {
		c, err := l.Accept()
		if err == nil {
			err = c.Close()
		}
		second <- err
	}()
	if n := len(l.(*boundedListener).places); n != 1 {
		t.Errorf("%d places are taken", n)
	}
	first.Close()
	first.Close() // gives one place back
	if err := <-second; err != nil {
		t.Error(err)
	}
	if n := len(l.(*boundedListener).places); n != 0 {
		t.Errorf("%d places are taken without a request", n)
	}
	l.Close()
	if _, err := l.Accept(); err == nil {
		t.Error("a closed listener accepts")
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "s")
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for address, near := range map[string]bool{"127.0.0.1:0": true, "localhost:0": true, ":0": false, "unix:" + path: true} {
		l, is, err := Listen(address)
		if err != nil || is != near {
			t.Errorf("%s: %v, near %v", address, err, is)
			continue
		}
		if strings.HasPrefix(address, "unix:") && Address(l) != address {
			t.Errorf("%s is %s", address, Address(l))
		}
		l.Close()
	}
	for address, says := range map[string]string{"8080": "HOST:PORT", "localhost:": "HOST:PORT", "unix:": "no path", "127.0.0.1:99999": "--listen"} {
		if _, _, err := Listen(address); err == nil || !strings.Contains(err.Error(), says) || bellows.KindOf(err) == bellows.Bug {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestLimitsThatCannotBe(t *testing.T) {
	t.Parallel()
	if f := Default().Check(); f != nil {
		t.Error(f)
	}
	for flag, set := range map[string]func(*Limits){
		"max-body": func(l *Limits) { l.Body = 0 }, "max-rows": func(l *Limits) { l.Rows = -1 }, "max-requests": func(l *Limits) { l.Requests = 1 << 20 },
		"max-connections": func(l *Limits) { l.Connections = 0 }, "timeout": func(l *Limits) { l.Timeout = time.Millisecond },
		"drain": func(l *Limits) { l.Drain = -1 }, "look": func(l *Limits) { l.Look = time.Millisecond },
	} {
		l := Default()
		set(&l)
		if f := l.Check(); f == nil || f.Flag != flag {
			t.Errorf("%s: %v", flag, f)
		}
	}
}

// TestQuestionsAtOnce share nothing: each gets the answer to its own rows, while models take each other's place.
func TestQuestionsAtOnce(t *testing.T) {
	t.Parallel()
	models := []*Opened{tableModel(t, 0), tableModel(t, 0)}
	models[1].Model.Files[0].SHA256 = "another"
	at := 0
	s := newServer(t, Default(), func() (*Opened, error) { at++; return models[at%2], nil }, &events{})
	h := s.Handler()
	var all sync.WaitGroup
	for k := range 8 {
		all.Go(func() {
			want, rows := "no", `[1,0]`
			if k%2 == 1 {
				want, rows = "yes", `[-1,0]`
			}
			body := `{"rows":[` + strings.TrimSuffix(strings.Repeat(rows+",", k+1), ",") + `]}`
			for range 50 {
				w := asked(h, "POST", "/predict", "", body, "Accept", "text/plain")
				if got := w.Body.String(); w.Code != http.StatusOK || strings.Count(got, want+"\t") != k+1 || strings.Count(got, "\n") != k+1 {
					t.Errorf("%d %q", w.Code, got)
					return
				}
			}
		})
	}
	for range 50 {
		s.reload(true)
	}
	all.Wait()
}

// FuzzQuestions: whatever is asked, the answer is one for each row or a refusal, never a bug.
func FuzzQuestions(f *testing.F) {
	for _, c := range bad {
		f.Add(c.form, []byte(c.body))
	}
	f.Add("application/json", []byte(`{"rows":[{"a":1,"b":2}]}`))
	f.Add("text/csv", []byte("a,b\n1,2\n"))
	l := Default()
	l.Rows, l.Body = 100, 4096
	h := newServer(f, l, always(tableModel(f, 0)), &events{}).Handler()
	f.Fuzz(func(t *testing.T, form string, body []byte) {
		r := httptest.NewRequest("POST", "/predict", bytes.NewReader(body))
		r.Host = "localhost"
		r.Header.Set("Content-Type", form)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code >= http.StatusInternalServerError || w.Code == http.StatusOK && w.Header().Get("Content-Type") == jsonForm && !json.Valid(w.Body.Bytes()) || w.Code != http.StatusOK && !json.Valid(w.Body.Bytes()) {
			t.Errorf("%q: %d %s", body, w.Code, w.Body)
		}
	})
}
