// Command scaleout repeats Litz's Figures 3 to 5 in the laboratory: jobs that get twice the nodes in the middle of
// their training. To a job on 4 nodes come 4 (mlr), and to one on 12 come 12 (lda). Each is compared with the job on 4
// or 12 nodes, with that on 8 or 24, and with the ideal: a job that has all nodes at work the instant they are asked
// for.
//
// Protocol and mathematics are the real ones (package sim/lab); machines and links are virtual. They are those of the
// paper, made smaller: the model here is some thousand times smaller than Litz's, and so are, by the same factor, the
// links, what a byte costs, and the data that go to a new node before a split does. So a message or a copy takes the
// part of the job that it would take there; what does not shrink with it, latency and the cost of a message, weighs
// more than there.
//
// When nodes are asked for decides what of an epoch is left, so that there are several moments: the beginning, the
// middle and the end of the epoch in which Litz asks.
package main

import (
	"flag"
	"fmt"
	"sort"
	"strconv"
	"time"

	"bellows"
	"bellows/chart"
	"bellows/experiments/internal/report"
	"bellows/experiments/internal/subject"
	"bellows/sim/lab"
	"bellows/table"
)

// job is an experiment of Litz's.
type job struct {
	order       subject.Order
	first, last int           // nodes
	takes       time.Duration // on the first nodes, as Litz says
	asked       float64       // for more nodes after so much of that
	model       float64       // Litz's bytes of tables, and of what executors keep
	data        float64       // Litz's bytes of data
	link        float64       // Litz's bytes a second of a machine, in each direction
	wanted      float64       // completion over the ideal, at most
	// hurry is how much sooner everything happens here. It gives back what the size takes from the links, so that the
	// heartbeats of nodes, which do not shrink, are not most of what the links carry.
	hurry float64
}

// plan is what is run.
type plan struct {
	cores, splits int // of a machine, and for each of the cores that there are in the end
	start         time.Duration
	gigabits      float64 // of a link, a second; 0: as in the paper
	only          string
}

func main() {
	var p plan
	flag.IntVar(&p.cores, "cores", 4, "cores of a machine")
	flag.IntVar(&p.splits, "splits", 4, "splits for each core that there is in the end")
	flag.DurationVar(&p.start, "start", 10*time.Second, "from the start of a new process until it dials the others")
	flag.Float64Var(&p.gigabits, "gigabits", 0, "of a machine's link, a second, at full size (default: as in the paper)")
	flag.StringVar(&p.only, "app", "", "mlr or lda alone")
	report.Main("scaleout", p.run)
}

const (
	gigabyte = 1 << 30
	gigabit  = 1e9 / 8
)

// jobs returns those of Litz's §5.1.
func (p *plan) jobs(quick bool) []job {
	list := []job{
		// 1.2 million images of 21,000 features and 1,000 classes, 81 GB, on links of 40 Gbit/s.
		{order: subject.Order{App: "mlr", Size: 25_600, Epochs: 20, Settings: map[string]string{"clocks": "10", "batch": "16"}}, first: 4, last: 8,
			takes: 157 * time.Minute, asked: 40. / 157, model: 21_000 * 1000 * 4, data: 81e9, link: 40 * gigabit, wanted: 0.01, hurry: 1},
		// 10 billion tokens, 88 GB; 4.6 GiB of state at each of 24 nodes and 6 GiB of counts, on links that carry 2.0 Gbit/s.
		{order: subject.Order{App: "lda", Size: 4, Epochs: 34, Settings: map[string]string{"topics": "12", "alpha": "0.1"}}, first: 12, last: 24,
			takes: 183 * time.Minute, asked: 55. / 183, model: (24*4.6 + 6) * gigabyte, data: 88e9, link: 2 * gigabit, wanted: 0.03, hurry: 300},
	}
	var chosen []job
	for _, j := range list {
		if quick {
			j.first, j.last, j.order.Epochs = 2, 4, 6
			j.order.Size = map[string]int{"mlr": 800, "lda": 1}[j.order.App]
		}
		if p.gigabits > 0 {
			j.link = p.gigabits * gigabit
		}
		j.order.Settings["splits"] = strconv.Itoa(p.splits * p.cores * j.last)
		if p.only == "" || p.only == j.order.App {
			chosen = append(chosen, j)
		}
	}
	return chosen
}

// row is a job that grows.
type row struct {
	App     string        `json:"app"`
	Moment  string        `json:"asked_at"` // of the epoch
	First   int           `json:"nodes_at_first"`
	Last    int           `json:"nodes_at_last"`
	Minutes minutes       `json:"minutes"`
	Over    float64       `json:"over_ideal"` // what is above the ideal, as a part of it
	Wanted  float64       `json:"wanted_at_most"`
	Shorter float64       `json:"shorter_than_first"` // than on the first nodes, as a part of that
	Nodes   []lab.Arrived `json:"arrivals"`           // in the laboratory's time
}

// minutes are of virtual time.
type minutes struct {
	First  float64 `json:"first_nodes"`
	Last   float64 `json:"last_nodes"`
	Asked  float64 `json:"asked"`
	Ideal  float64 `json:"ideal"`
	Actual float64 `json:"actual"`
	Moved  float64 `json:"last_split_moved"`
}

// moments are when nodes are asked for, in the epoch in which Litz asks.
var moments = []struct {
	name string
	part float64
}{{"beginning", 0.02}, {"middle", 0.5}, {"end", 0.98}}

func (p *plan) run(r *report.Run) (*report.Outcome, error) {
	jobs := p.jobs(r.Quick)
	if len(jobs) == 0 || p.cores < 1 || p.splits < 1 {
		return nil, fmt.Errorf("app %q, %d cores and %d splits for each: it must be mlr or lda, and one of each at least", p.only, p.cores, p.splits)
	}
	o := &report.Outcome{}
	var rows []row
	for _, j := range jobs {
		of, picture, err := p.grow(r, j)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", j.order.App, err)
		}
		rows = append(rows, of...)
		o.Pictures = append(o.Pictures, report.Picture{Name: j.order.App, Lines: picture})
	}
	o.Figures = rows
	return o, nil
}

// grow runs a job on its first nodes, on its last, and once for each moment from the ones to the others.
func (p *plan) grow(r *report.Run, j job) ([]row, *chart.Lines, error) {
	few, err := p.train(j, j.first, j.first, 0)
	if err != nil {
		return nil, nil, err
	}
	many, err := p.train(j, j.last, j.last, 0)
	if err != nil {
		return nil, nil, err
	}
	before, after := j.progress(few), j.progress(many)
	r.Say("%s: %.1f minutes on %d nodes, %.1f on %d", j.order.App, before.end().Minutes(), j.first, after.end().Minutes(), j.last)
	picture := &chart.Lines{Title: j.order.App + ": epochs done by minutes", X: "minutes", Zero: true,
		Lines: []chart.Line{before.line(fmt.Sprintf("%d nodes", j.first)), after.line(fmt.Sprintf("%d nodes", j.last))}}
	var rows []row
	epoch := float64(int(before.done(time.Duration(j.asked * float64(before.end())))))
	for _, m := range moments {
		done := epoch + m.part
		asked := before.timeOf(done)
		grown, err := p.train(j, j.first, j.last, time.Duration(float64(asked)/j.hurry))
		if err != nil {
			return nil, nil, err
		}
		actual, ideal := j.progress(grown), asked+after.end()-after.timeOf(done)
		x := row{App: j.order.App, Moment: m.name, First: j.first, Last: j.last, Wanted: j.wanted, Nodes: grown.Arrivals,
			Over: actual.end().Seconds()/ideal.Seconds() - 1, Shorter: 1 - actual.end().Seconds()/before.end().Seconds(),
			Minutes: minutes{before.end().Minutes(), after.end().Minutes(), asked.Minutes(), ideal.Minutes(), actual.end().Minutes(), 0}}
		for _, a := range grown.Arrivals {
			x.Minutes.Moved = max(x.Minutes.Moved, j.hurry*a.Moved.Minutes())
		}
		r.Say("%s: asked at %.1f minutes, the %s of an epoch, all moved at %.1f: %.2f minutes, ideal %.2f, %+.2f %% (at most %.0f %%)", j.order.App, x.Minutes.Asked,
			m.name, x.Minutes.Moved, x.Minutes.Actual, x.Minutes.Ideal, 100*x.Over, 100*j.wanted)
		rows = append(rows, x)
		if m.part == 0.5 {
			picture.Lines = append(picture.Lines, actual.line(fmt.Sprintf("%d to %d", j.first, j.last)))
		}
	}
	return rows, picture, nil
}

// train runs a job on so many nodes, to which others come at a time, up to so many.
func (p *plan) train(j job, first, last int, at time.Duration) (*lab.Result, error) {
	run, err := j.order.Make()
	if err != nil {
		return nil, err
	}
	p.cut(run.Job.Tables, j)
	small := bytesOf(run.Job.Tables) / j.model
	link := j.link * small * j.hurry
	site := lab.Cluster(last, last, lab.Machine{Cores: p.cores, Up: link, Down: link})
	site.Latency = 50 * time.Microsecond
	cfg := lab.Config{Seed: 1, Job: run.Job, Costs: p.costs(j, run.Items, run.Job.Splits, small), Jitter: 0.02,
		SplitBytes: func(bellows.SplitID) int { return int(j.data * small / float64(run.Job.Splits)) }}
	for _, n := range site.Nodes[first+1:] {
		cfg.Growth = append(cfg.Growth, lab.Arrival{Node: n, At: at, Start: time.Duration(float64(p.start) / j.hurry)})
	}
	site.Nodes = site.Nodes[:first+1]
	cfg.Site = site
	return lab.Run(cfg)
}

// The cost of messages and their bytes on each side, at full size (bench/protocol --only wire).
const (
	messageNanoseconds = 3000
	byteNanoseconds    = 0.25
)

// costs makes the job take on its first nodes about as long as Litz says, if only its items took time.
func (p *plan) costs(j job, items int64, splits int, small float64) lab.Costs {
	item := float64(j.takes) / j.hurry * float64(j.first*p.cores) / (float64(items) * float64(j.order.Epochs))
	each := byteNanoseconds / (small * j.hurry)
	return lab.Costs{Item: item, Score: 0.02 * item * float64(items) / float64(splits), Send: messageNanoseconds, Receive: messageNanoseconds,
		SendByte: each, ReceiveByte: each}
}

// cut divides tables that are too small here to be divided as in the paper, where the parts are spread over all
// machines.
func (p *plan) cut(tables []table.Schema, j job) {
	for i := range tables {
		if s := &tables[i]; s.Cut().Len() == 1 {
			s.Bounds, s.Partitions = nil, min(s.Rows, p.cores*j.last)
		}
	}
}

// bytesOf returns the size of tables.
func bytesOf(tables []table.Schema) (bytes float64) {
	for i := range tables {
		bytes += 4 * float64(tables[i].Rows) * float64(tables[i].Width)
	}
	return bytes
}

// progress is when each epoch of a run ended, its beginning first, in the paper's time.
type progress []time.Duration

func (j *job) progress(r *lab.Result) progress {
	p := progress{0}
	for _, e := range r.Epochs {
		p = append(p, time.Duration(float64(e.Time)*j.hurry))
	}
	return p
}

func (p progress) end() time.Duration { return p[len(p)-1] }

// timeOf returns when so many epochs were done: in between as if an epoch progressed evenly.
func (p progress) timeOf(done float64) time.Duration {
	n := min(int(done), len(p)-2)
	return p[n] + time.Duration((done-float64(n))*float64(p[n+1]-p[n]))
}

// done returns how many epochs are at a time.
func (p progress) done(at time.Duration) float64 {
	n := min(max(0, sort.Search(len(p), func(i int) bool { return p[i] > at })-1), len(p)-2)
	return float64(n) + float64(at-p[n])/float64(p[n+1]-p[n])
}

func (p progress) line(name string) chart.Line {
	l := chart.Line{Name: name}
	for n, at := range p {
		l.Points = append(l.Points, chart.Point{X: at.Minutes(), Y: float64(n)})
	}
	return l
}
