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
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
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
	if width, bare := strings.CutPrefix(os.Args[len(os.Args)-1], bareFlag); bare {
		serveBare(pair.Must(strconv.Atoi(width)))
		return
	}
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

// bareMost is the CPU time of our server in times of that of a bare one, where a question has one row.
const bareMost = 1.6

// serve asks a server for some time, with one row in each question and with many, from some clients at once, in a loop: each asks again when it has its answer.
// Its CPU time is set against that of a server of net/http that reads the question and sends an answer of the same length without looking at it.
func (m *measure) serve(long time.Duration) {
	m.Section("bellows serve-model")
	const clients = 8
	for _, rows := range []int{1, 100, 1000} {
		body := bytes.Join(m.lines[:rows], nil)
		var took []time.Duration
		side := func(name, program string, args ...string) pair.Side {
			idle := start(program, args...).stop() // of starting and ending
			return pair.Side{Name: name, Run: func() pair.Turn {
				s := start(program, args...)
				some, wall := ask(s.address, body, rows, clients, long)
				if name == "ours" {
					took = append(took, some...)
				}
				return pair.Turn{Work: float64(len(some)), Wall: wall, CPU: s.stop() - idle}
			}}
		}
		answer := fmt.Sprintf("%s%d", bareFlag, m.answerBytes(body))
		series := m.Interleave(side("ours", m.program, "serve-model", m.model, "--listen", "127.0.0.1:0"), side("bare net/http", os.Args[0], answer))
		slices.Sort(took)
		at := func(share float64) float64 { return took[int(share*float64(len(took)-1))].Seconds() }
		name := fmt.Sprintf("%d rows a question, %d clients", rows, clients)
		row := pair.Row{Figure: name + ", CPU time of the server", Unit: "s", Cost: true, Clock: pair.CPU, Ours: series[0], Peer: series[1]}
		if rows == 1 {
			row.Target = 1 / bareMost
		}
		m.Add(row)
		m.AddFact(pair.Fact{Figure: name + ", by CPU time", Unit: "rows/s", Ours: series[0].Rates(pair.CPU).Median * float64(rows)})
		m.AddFact(pair.Fact{Figure: name, Unit: "questions/s", Ours: series[0].Rates(pair.Wall).Median})
		m.AddFact(pair.Fact{Figure: name, Unit: "rows/s", Ours: series[0].Rates(pair.Wall).Median * float64(rows)})
		m.AddFact(pair.Fact{Figure: name + ", median", Unit: "s", Ours: at(0.5)})
		m.AddFact(pair.Fact{Figure: name + ", 99th percentile", Unit: "s", Ours: at(0.99)})
	}
	m.Note("the clients are on the same %d cores; load %s at the end", runtime.NumCPU(), pair.Load())
}

// answerBytes returns the mean length of a line of our answer.
func (m *measure) answerBytes(body []byte) int {
	s := start(m.program, "serve-model", m.model, "--listen", "127.0.0.1:0")
	defer s.stop()
	text := pair.Must(post(http.DefaultClient, s.address, body))
	http.DefaultClient.CloseIdleConnections()
	return len(text) / bytes.Count(text, []byte{'\n'})
}

// A server is a process that answers questions.
type server struct {
	cmd     *exec.Cmd
	address string
}

// start starts a server and waits until it says where it answers.
func start(program string, args ...string) *server {
	s := &server{cmd: exec.Command(program, args...)}
	talk := pair.Must(s.cmd.StderrPipe())
	pair.Check(s.cmd.Start())
	in := bufio.NewReader(talk)
	line := pair.Must(in.ReadString('\n'))
	_, s.address, _ = strings.Cut(strings.TrimSpace(line), " answers at ")
	go io.Copy(io.Discard, in) // what else it says
	return s
}

// stop ends the server and returns its CPU time.
func (s *server) stop() time.Duration {
	s.cmd.Process.Signal(syscall.SIGTERM) // Wait says what came of it
	pair.Check(s.cmd.Wait())
	return s.cmd.ProcessState.UserTime() + s.cmd.ProcessState.SystemTime()
}

// bareFlag begins the argument by which this program is the bare server: bytes a line of the answer follow it.
const bareFlag = "bare-server="

// serveBare answers each line of a question by a line of so many bytes, until SIGTERM.
func serveBare(width int) {
	line := append(bytes.Repeat([]byte{'1'}, width-1), '\n')
	l := pair.Must(net.Listen("tcp", "127.0.0.1:0"))
	h := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := pair.Must(io.ReadAll(r.Body))
		answer := bytes.Repeat(line, bytes.Count(body, []byte{'\n'}))
		w.Header().Set("Content-Type", "text/tab-separated-values")
		w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
		w.Write(answer) // a client that has gone needs no answer
	})}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	go h.Serve(l) // until the process ends
	fmt.Fprintf(os.Stderr, "it answers at http://%s\n", l.Addr())
	<-ended
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
	text, err := post(client, address, body)
	if err == nil && bytes.Count(text, []byte{'\n'}) != rows {
		err = fmt.Errorf("the answer to %d rows is %s", rows, text)
	}
	return err
}

// post asks one question and returns the answer.
func post(client *http.Client, address string, body []byte) ([]byte, error) {
	r, err := client.Post(address+"/predict", "text/x-libsvm", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err == nil && r.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", r.Status, text)
	}
	return text, err
}
