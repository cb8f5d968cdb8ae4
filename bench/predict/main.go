// Command predict measures the predictions of a saved model: `bellows predict`, `bellows eval` and `bellows
// serve-model`. Rows have the shape of a9a: text in, lines or figures out; the server answers questions for
// predictions.
//
// It builds the command, makes rows of 14 of 123 features that are 0 or 1 from a seed (with --data, of a9a itself, over and over), and trains a linear
// model on some of them. Rows a second by the wall clock are those of the machine, by CPU time those of one core: where others work on the machine,
// the latter tells more.
package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"bellows/bench/internal/pair"
	"bellows/bench/internal/sets"
)

// wanted is how many rows a second two cores predict.
const wanted = 500_000

func main() {
	only := flag.String("only", "", "one part: rows, eval, memory or serve")
	folder := flag.String("data", "", "`folder` with a9a.test.libsvm.gz; without it rows are made")
	seconds := flag.Duration("for", 3*time.Second, "how `long` questions are asked in each turn")
	pair.Main(3, 7, func(b *pair.Bench) {
		b.Header("predict: text in, predictions out")
		shelf := sets.Open(*folder)
		defer shelf.Close()
		m := &measure{Bench: b, shelf: shelf, program: shelf.Bellows()}
		m.train()
		b.Parts(*only, pair.Part{Name: "rows", Run: m.rates}, pair.Part{Name: "eval", Run: m.eval}, pair.Part{Name: "memory", Run: m.memory}, pair.Part{Name: "serve", Run: func() { m.serve(*seconds) }})
	})
}

type measure struct {
	*pair.Bench
	shelf   *sets.Shelf
	program string
	model   string
	lines   [][]byte // rows, each with its line end
}

// train makes rows and a model of the first of them.
func (m *measure) train() {
	if m.shelf.Generated() {
		m.lines = madeRows(60_000)
	} else {
		text := pair.Must(os.ReadFile(m.shelf.Plain(m.shelf.Find("a9a").Test)))
		m.lines = slices.Collect(bytes.Lines(text))
	}
	train := m.file("train.libsvm", min(len(m.lines), 30_000))
	m.model = m.shelf.Path("model")
	pair.RunProgram("bellows train", m.program, nil, "train", "linear", train, "--cache", "off", "--out", m.model)
}

// madeRows returns rows of the shape of a9a: a label and 14 of 123 features, one of each group, as text.
func madeRows(n int) [][]byte {
	groups := []int{5, 8, 5, 16, 7, 14, 6, 5, 2, 2, 2, 5, 5, 41} // values of each
	r := rand.New(rand.NewPCG(9, 9))
	rows := make([][]byte, n)
	for i := range rows {
		var line []byte
		first, score := 1, -12.0
		for g, values := range groups {
			at := int(float64(values) * r.Float64() * r.Float64())
			line = fmt.Appendf(line, " %d:1", first+at)
			score += float64((at*7+g)%5) / 2
			first += values
		}
		label := "-1"
		if score+3*r.NormFloat64() > 0 {
			label = "+1"
		}
		rows[i] = append([]byte(label), append(line, '\n')...)
	}
	return rows
}

// file writes so many rows, repeating them.
func (m *measure) file(name string, rows int) string {
	path := m.shelf.Path(name)
	sets.Write(path, func(w *bufio.Writer) {
		for i := range rows {
			w.Write(m.lines[i%len(m.lines)]) // Write tells what came of it
		}
	})
	return path
}

// side runs a whole command on a file of so many rows, its start included.
func (m *measure) side(verb, path string, rows int, args ...string) pair.Side {
	return pair.Side{Name: verb, Run: func() pair.Turn {
		_, t := pair.RunProgram("bellows "+verb, m.program, nil, append([]string{verb, m.model, path}, args...)...)
		t.Work = float64(rows)
		return t
	}}
}

// rows returns how many are predicted or scored in a turn.
func (m *measure) rows() int {
	if m.Full {
		return 10_000_000
	}
	return 2_000_000
}

// rates shows rows a second: the whole command, its start included.
func (m *measure) rates() {
	m.Section("bellows predict")
	rows := m.rows()
	path := m.file("rows.libsvm", rows)
	for _, form := range []struct {
		name string
		args []string
	}{{"lines", nil}, {"JSON lines", []string{"--json"}}} {
		series := m.Interleave(m.side("predict", path, rows, append([]string{"--out", m.shelf.Path("out")}, form.args...)...))
		target := pair.Fact{Figure: fmt.Sprintf("%d rows to %s, %d cores", rows, form.name, runtime.NumCPU()), Unit: "rows/s", Ours: series[0].Rates(pair.Wall).Median, Least: true}
		if form.args == nil {
			target.Peer, target.Bound = "wanted", wanted
		}
		m.AddFact(target)
		m.AddFact(pair.Fact{Figure: fmt.Sprintf("%d rows to %s, by CPU time", rows, form.name), Unit: "rows/s", Ours: series[0].Rates(pair.CPU).Median})
	}
	m.Note("load %s at the end", pair.Load())
}

// eval shows rows a second that are scored: the whole command, compared with the one that predicts.
func (m *measure) eval() {
	m.Section("bellows eval")
	rows := m.rows()
	path := m.file("rows.libsvm", rows)
	series := m.Interleave(m.side("eval", path, rows), m.side("predict", path, rows, "--out", m.shelf.Path("out")))
	m.AddFact(pair.Fact{Figure: fmt.Sprintf("%d rows, %d cores", rows, runtime.NumCPU()), Unit: "rows/s", Ours: series[0].Rates(pair.Wall).Median, Peer: "wanted", Bound: wanted, Least: true})
	m.AddFact(pair.Fact{Figure: fmt.Sprintf("%d rows, by CPU time", rows), Unit: "rows/s", Ours: series[0].Rates(pair.CPU).Median})
	m.Add(pair.Row{Figure: "eval beside predict, by CPU time", Unit: "rows/s", Clock: pair.CPU, Ours: series[0], Peer: series[1]})
	m.Note("load %s at the end", pair.Load())
}

// memory shows that a longer input takes no more.
func (m *measure) memory() {
	m.Section("memory")
	const short, long = 500_000, 4_000_000
	peaks := map[string]map[int]float64{"predict": {}, "eval": {}}
	for _, rows := range []int{short, long} {
		path := m.file("rows.libsvm", rows)
		for _, series := range m.Interleave(m.side("predict", path, rows, "--out", os.DevNull), m.side("eval", path, rows)) {
			peaks[series.Name][rows] = series.Peak()
			m.AddFact(pair.Fact{Figure: fmt.Sprintf("%s: peak of memory, %d rows (%d MB)", series.Name, rows, pair.Must(os.Stat(path)).Size()>>20), Unit: "B", Ours: series.Peak()})
		}
	}
	for _, verb := range []string{"predict", "eval"} {
		m.AddFact(pair.Fact{Figure: fmt.Sprintf("%s: peak of %d rows over that of %d", verb, long, short), Unit: "times", Ours: peaks[verb][long] / peaks[verb][short], Peer: "limit", Bound: 1.2})
	}
}

// serve asks a server for some time, with one row in each question and with many, from some clients at once, in a loop: each asks again when it has its answer.
func (m *measure) serve(long time.Duration) {
	m.Section("bellows serve-model")
	address, stop := m.start()
	defer stop()
	const clients = 8
	for _, rows := range []int{1, 100, 1000} {
		var body bytes.Buffer
		for i := range rows {
			body.Write(m.lines[i])
		}
		var took []time.Duration
		var rates []float64
		for range m.Turns {
			some, wall := ask(address, body.Bytes(), rows, clients, long)
			took, rates = append(took, some...), append(rates, float64(len(some))/wall.Seconds())
		}
		slices.Sort(took)
		at := func(share float64) float64 { return took[int(share*float64(len(took)-1))].Seconds() }
		name := fmt.Sprintf("%d rows a question, %d clients", rows, clients)
		m.AddFact(pair.Fact{Figure: name, Unit: "questions/s", Ours: pair.SpreadOf(rates).Median})
		m.AddFact(pair.Fact{Figure: name, Unit: "rows/s", Ours: pair.SpreadOf(rates).Median * float64(rows)})
		m.AddFact(pair.Fact{Figure: name + ", median", Unit: "s", Ours: at(0.5)})
		m.AddFact(pair.Fact{Figure: name + ", 99th percentile", Unit: "s", Ours: at(0.99)})
	}
	m.Note("the clients are on the same %d cores; load %s at the end", runtime.NumCPU(), pair.Load())
}

// start starts a server and waits until it says where it answers.
func (m *measure) start() (address string, stop func()) {
	cmd := exec.Command(m.program, "serve-model", m.model, "--listen", "127.0.0.1:0")
	talk := pair.Must(cmd.StderrPipe())
	pair.Check(cmd.Start())
	in := bufio.NewReader(talk)
	line := pair.Must(in.ReadString('\n'))
	_, address, _ = strings.Cut(strings.TrimSpace(line), " answers at ")
	go io.Copy(io.Discard, in) // what else it says
	return address, func() {
		cmd.Process.Signal(syscall.SIGTERM) // Wait says what came of it
		pair.Check(cmd.Wait())
	}
}

// ask runs clients that ask until the time is over. It returns the time of each request, and of all.
func ask(address string, body []byte, rows, clients int, long time.Duration) (took []time.Duration, wall time.Duration) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	defer client.CloseIdleConnections()
	start, times := time.Now(), make([][]time.Duration, clients)
	var all sync.WaitGroup
	var failed atomic.Pointer[error]
	for k := range clients {
		all.Go(func() {
			for time.Since(start) < long && failed.Load() == nil {
				began := time.Now()
				if err := one(client, address, body, rows); err != nil {
					failed.Store(&err)
				}
				times[k] = append(times[k], time.Since(began))
			}
		})
	}
	all.Wait()
	if err := failed.Load(); err != nil {
		pair.Check(*err)
	}
	return slices.Concat(times...), time.Since(start)
}

// one asks one question and wants a line for each row.
func one(client *http.Client, address string, body []byte, rows int) error {
	r, err := client.Post(address+"/predict", "text/x-libsvm", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err == nil && (r.StatusCode != http.StatusOK || bytes.Count(text, []byte{'\n'}) != rows) {
		err = fmt.Errorf("%s: %s", r.Status, text)
	}
	return err
}
