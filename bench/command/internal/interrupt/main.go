// Package interrupt measures how long after Ctrl-C `bellows train` answers and ends. It sends the signal to real runs
// at moments that a seed chooses, evenly over a whole run. It prints when the first answer came and when the process
// had ended, by what the run was doing.
//
// It makes its data and builds the program. A run that was training finishes the clocks that have begun, saves its
// model and what it needs to resume; one that had finished saves its model. Both end when that is on the disk. Until
// then the live line on a terminal says so. Thus the bound is on the first answer; the end has one only while reading
// and preparing, when nothing must be kept.
package interrupt

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bellows/bench/internal/pair"
	"bellows/bench/internal/sets"
)

// The sizes of the quick and of the full form, and what is wanted.
const (
	ratingsQuick  = 1_000_000
	ratingsFull   = 10_000_000
	users, items  = 60_000, 20_000
	answerSeconds = 0.2
)

// kind is runs of one kind: the words behind `bellows`.
type kind struct {
	name  string
	words []string
}

// Program is the measurement.
var Program = pair.Program{Name: "interrupt", Turns: [2]int{30, 100}, Run: run}

func run(b *pair.Bench) {
	b.Header("interrupt: from Ctrl-C to the first word, and to the end")
	shelf := sets.Open("")
	defer shelf.Close()
	r := &runs{program: shelf.Bellows(), folder: shelf.Path("runs")}
	for _, k := range kinds(b, shelf) {
		measure(b, r, k)
	}
}

// kinds returns what is interrupted: small and, in the full form, large data and models.
func kinds(b *pair.Bench, shelf *sets.Shelf) []kind {
	mf := func(ratings int, more ...string) kind {
		return kind{fmt.Sprintf("mf, %d million ratings", ratings/1_000_000),
			append([]string{"train", "mf", shelf.Ratings(users, items, ratings).Train}, more...)}
	}
	list := []kind{
		mf(ratingsQuick, "--epochs", "12"),
		{"mlr, images", []string{"train", "mlr", shelf.Images(20_000, 100, 28).Train, "--epochs", "12"}},
		{"lda, demo", []string{"demo", "lda", "--epochs", "12"}},
	}
	if b.Full {
		large := mf(ratingsQuick, "--epochs", "3", "--set", "rank=512")
		large.name = "mf, a model of 160 MB"
		list = append(list, mf(ratingsFull, "--epochs", "12"), large)
	}
	return list
}

// measure interrupts runs of one kind.
func measure(b *pair.Bench, r *runs, k kind) {
	r.words = k.words
	whole := r.run(0).ended
	b.Note("%s: a whole run takes %.2f s", k.name, whole.Seconds())
	random := rand.New(rand.NewPCG(1, 2))
	by := map[string][]answer{}
	for range b.Turns {
		a := r.run(time.Duration(random.Float64() * float64(whole)))
		by[a.doing] = append(by[a.doing], a)
	}
	for _, doing := range []string{"starting", "reading", "preparing", "training", "scoring or saving"} {
		show(b, k.name, doing, by[doing])
	}
	b.Note("%d runs had ended before the signal", len(by[""]))
}

// answer is what became of one run: what it was doing when the signal came, "" for a run that had ended, and how long
// after that it said its first word and ended. Of a run without a signal ended is its whole time.
type answer struct {
	doing       string
	said, ended time.Duration
}

// runs holds the runs of one program, each in a folder of its own.
type runs struct {
	program, folder string
	words           []string
	number          int
}

// run starts the program, and sends the signal after a while; 0 sends none.
func (r *runs) run(after time.Duration) answer {
	r.number++
	cmd := exec.Command(r.program, append(slices.Clone(r.words), "--out", filepath.Join(r.folder, fmt.Sprint("run", r.number)))...)
	if r.words[0] == "train" {
		cmd.Args = append(cmd.Args, "--cache", "off")
	}
	talk := pair.Must(cmd.StderrPipe())
	began := time.Now()
	pair.Check(cmd.Start())
	var sent time.Time
	signalled := make(chan bool, 1)
	timer := time.AfterFunc(max(after, time.Nanosecond), func() {
		if after > 0 {
			sent = time.Now()
			signalled <- cmd.Process.Signal(os.Interrupt) == nil
		}
	})
	var a answer
	var words []string
	for lines := bufio.NewScanner(talk); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "stopping at a safe point") {
			a.said = time.Since(sent)
		}
		words = append(words, lines.Text())
	}
	failed := cmd.Wait() != nil
	end := time.Now()
	pair.Check(os.RemoveAll(filepath.Join(r.folder, fmt.Sprint("run", r.number))))
	if timer.Stop() || after == 0 || !<-signalled {
		a.ended = end.Sub(began)
		return a
	}
	a.ended, a.doing = end.Sub(sent), doingOf(strings.Join(words, "\n"), failed)
	if a.said == 0 { // the system ended it, before it had come to listen
		a.said, a.doing = a.ended, "starting"
	}
	return a
}

// doingOf returns what a run says that it was doing.
func doingOf(words string, failed bool) string {
	for _, doing := range []string{"reading", "preparing"} {
		if strings.Contains(words, "while "+doing) {
			return doing
		}
	}
	if failed {
		return "training"
	}
	return "scoring or saving"
}

// show prints the distribution of the answers of one kind.
func show(b *pair.Bench, kind, doing string, list []answer) {
	if len(list) == 0 {
		b.Note("no signal came while %s", doing)
		return
	}
	for _, figure := range []struct {
		name string
		of   func(a answer) time.Duration
	}{{"first word", func(a answer) time.Duration { return a.said }}, {"end", func(a answer) time.Duration { return a.ended }}} {
		var took []time.Duration
		for _, a := range list {
			took = append(took, figure.of(a))
		}
		slices.Sort(took)
		at := func(share float64) float64 { return took[int(share*float64(len(took)-1))].Seconds() }
		b.Note("%s, %s: %d signals, median %.3f s, nine in ten %.3f s, most %.3f s", doing, figure.name, len(took), at(0.5), at(0.9), at(1))
		fact := pair.Fact{Figure: fmt.Sprintf("%s, %s: %s, most of %d", kind, doing, figure.name, len(took)), Unit: "s", Ours: at(1)}
		if figure.name == "first word" || doing != "training" && doing != "scoring or saving" {
			fact.Peer, fact.Bound = "limit", answerSeconds
		}
		b.AddFact(fact)
	}
}
