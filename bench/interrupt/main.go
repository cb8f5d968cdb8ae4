// Command interrupt shows how long `bellows train mf` takes to answer Ctrl-C: it sends the signal to real runs at moments that a seed chooses, evenly
// over a whole run, and prints by what the run was doing when the first word came, and when the process had ended.
//
// It makes its ratings and builds the program. A run that was training saves what is needed to go on, and its model; one that had finished saves
// its model: both end when that is on the disk.
package main

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
	epochs        = "12"
	answerSeconds = 0.2
)

func main() {
	pair.Main(30, 100, func(b *pair.Bench) {
		ratings := ratingsQuick
		if b.Full {
			ratings = ratingsFull
		}
		b.Header("interrupt: from Ctrl-C to the first word, and to the end; %d ratings", ratings)
		scratch := pair.Must(os.MkdirTemp("", "bellows-interrupt-"))
		defer os.RemoveAll(scratch)
		shelf := sets.Open("")
		defer shelf.Close()
		r := &runs{program: filepath.Join(scratch, "bellows"), folder: scratch, file: shelf.Ratings(users, items, ratings).Train}
		pair.Check(pair.Build(r.program))
		whole := r.run(0).ended
		b.Note("a whole run takes %.2f s", whole.Seconds())
		random := rand.New(rand.NewPCG(1, 2))
		by := map[string][]answer{}
		for range b.Turns {
			a := r.run(time.Duration(random.Float64() * float64(whole)))
			by[a.doing] = append(by[a.doing], a)
		}
		for _, doing := range []string{"reading", "preparing", "training", "scoring or saving"} {
			show(b, doing, by[doing])
		}
		b.Note("%d runs had ended before the signal", len(by[""]))
	})
}

// answer is what became of one run: what it was doing when the signal came, "" for a run that had ended, and how long after that
// it said its first word and ended. Of a run without a signal ended is its whole time.
type answer struct {
	doing       string
	said, ended time.Duration
}

// runs are of one program on one file, each in a folder of its own.
type runs struct {
	program, folder, file string
	number                int
}

// run starts the program, and sends the signal after a while; 0 sends none.
func (r *runs) run(after time.Duration) answer {
	r.number++
	cmd := exec.Command(r.program, "train", "mf", r.file, "--epochs", epochs, "--cache", "off", "--out", filepath.Join(r.folder, fmt.Sprint("run", r.number)))
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
	return a
}

// doingOf is what a run says that it was doing.
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
func show(b *pair.Bench, doing string, list []answer) {
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
		b.AddFact(pair.Fact{Figure: doing + ": " + figure.name + ", most of " + fmt.Sprint(len(took)), Unit: "s", Ours: at(1), Peer: "limit", Bound: answerSeconds})
	}
}
