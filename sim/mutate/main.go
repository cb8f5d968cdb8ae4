// Command mutate measures tests: it makes small changes in a package, one at a time, and counts those that tests or
// short schedules notice.
//
//	./dev mutate [--seed N] [--count N] [--files NAME,...] [--budget MINUTES] [--jobs N] PACKAGE...
//
// A mutant is one change of one expression or statement (site.go says which). Mutants are drawn by a seed; those that do not
// compile are none. Each is judged by the package's own tests with -short, and if they pass, by 300 schedules, where the
// simulation plays the package. What becomes of it is written to a results file at once: the same command goes on where it
// was ended. The tree is not touched.
//
// sim/testdata/mutants.md explains mutants that change nothing (equivalent, left out of the score) and those that may
// survive. It refuses to guess: a mutant that runs out of time counts as killed only where the sound tests, timed anew, take
// less than a fifth of it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// config is what a run is told.
type config struct {
	root     string
	packages []string
	seed     uint64
	count    int           // mutants of each package
	files    []string      // whose mutants are drawn, by their names in the package; none: all
	budget   time.Duration // after which no mutant is begun
	results  string
	accepted string
	workers  int
	sim      string        // the folder of the simulation, if the tree has one
	again    bool          // those that survived are judged again
	shortest time.Duration // the least time that a mutant's tests get
}

// Of a hundred mutants, so many may be called equivalent; and of a hundred others, so many must be killed.
const (
	equivalentMost = 8
	killedLeast    = 85
)

// togetherLeast is how many mutants are worth a program of their own.
const togetherLeast = 4

func main() {
	c := config{root: ".", workers: runtime.NumCPU(), sim: "sim", shortest: 10 * time.Second}
	flag.Uint64Var(&c.seed, "seed", 1, "draws the mutants")
	flag.IntVar(&c.count, "count", 25, "mutants of each package")
	files := flag.String("files", "", "draw mutants of these files of the package only, as in saving.go,resume.go")
	minutes := flag.Float64("budget", 60, "minutes after which no mutant is begun")
	flag.StringVar(&c.results, "results", "runs/mutate.jsonl", "what is known so far")
	flag.StringVar(&c.accepted, "accepted", "sim/testdata/mutants.md", "mutants that are explained")
	flag.BoolVar(&c.again, "again", false, "judge those that survived again")
	flag.IntVar(&c.workers, "jobs", c.workers, "mutants judged at a time: more than processors where many of them hang")
	flag.Parse()
	c.packages, c.budget = flag.Args(), time.Duration(*minutes*float64(time.Minute))
	if *files != "" {
		c.files = strings.Split(*files, ",")
	}
	if len(c.packages) == 0 || c.count < 1 || c.workers < 1 {
		fmt.Fprintln(os.Stderr, "usage: mutate [--seed N] [--count N] [--files NAME,...] [--budget MINUTES] [--jobs N] PACKAGE...")
		os.Exit(64)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := measure(ctx, c, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		stop()
		os.Exit(1)
	}
}

// measure runs the mutants of all packages and prints the score.
func measure(ctx context.Context, c config, out io.Writer) error {
	root, err := filepath.Abs(c.root)
	if err != nil {
		return err
	}
	c.root = root
	entries, err := readAccepted(c.accepted)
	if err != nil {
		return err
	}
	book, err := openLedger(c.results)
	if err != nil {
		return err
	}
	defer book.file.Close()
	scratch, err := os.MkdirTemp("", "bellows-mutate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	r := &round{config: c, out: out, book: book, entries: entries, until: time.Now().Add(c.budget),
		judge: judge{root: root, scratch: scratch, megabytes: 8 << 10, shortest: c.shortest}}
	fmt.Fprintf(out, "mutants by seed %d, %d of each package\n", c.seed, c.count)
	var all score
	for _, dir := range c.packages {
		s, err := r.pack(ctx, dir)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: %s\n\n", dir, s)
		all.add(s)
	}
	if len(c.packages) > 1 {
		fmt.Fprintf(out, "all: %s\n", all)
	}
	for _, id := range slices.Sorted(slices.Values(stale(root, entries))) {
		fmt.Fprintf(out, "%s explains a mutant that the tree no longer has: %s\n", c.accepted, id)
	}
	return all.judge()
}

// round is a run over several packages.
type round struct {
	config
	judge   judge
	out     io.Writer
	until   time.Time
	entries map[string]explained
	simDone *suite // the simulation without a mutant, once it is built

	mu   sync.Mutex
	book *ledger
}

// score counts the mutants of a package.
type score struct{ killed, survived, explained, equivalent, open, wanted int }

func (s *score) add(o score) {
	s.killed, s.survived, s.explained = s.killed+o.killed, s.survived+o.survived, s.explained+o.explained
	s.equivalent, s.open, s.wanted = s.equivalent+o.equivalent, s.open+o.open, s.wanted+o.wanted
}

func (s score) String() string {
	judged := s.killed + s.survived
	text := fmt.Sprintf("%d of %d killed (%.0f %%)", s.killed, judged, 100*float64(s.killed)/float64(max(1, judged)))
	if s.survived > 0 {
		text += fmt.Sprintf(", %d survived (%d of them accepted)", s.survived, s.explained)
	}
	if s.equivalent > 0 {
		text += fmt.Sprintf(", %d equivalent", s.equivalent)
	}
	if s.open > 0 {
		text += fmt.Sprintf(", %d not judged: run the same command again", s.open)
	}
	return text
}

// judge refuses a score that says more than it may.
func (s score) judge() error {
	if all := s.killed + s.survived + s.equivalent; 100*s.equivalent > equivalentMost*all {
		return fmt.Errorf("%d of %d mutants are called equivalent; at most %d %% may be", s.equivalent, all, equivalentMost)
	}
	if s.open > 0 {
		return errors.New("some mutants were not judged")
	}
	if judged := s.killed + s.survived; 100*s.killed < killedLeast*judged {
		return fmt.Errorf("%d of %d mutants are killed; at least %d %% must be", s.killed, judged, killedLeast)
	}
	return nil
}

// pack judges the mutants of one package, several at a time, and prints each as it is judged.
func (r *round) pack(ctx context.Context, dir string) (score, error) {
	p, err := load(r.root, dir, r.files, r.seed)
	if err != nil {
		return score{}, err
	}
	fmt.Fprintf(r.out, "%s: %d changes are possible\n", p.dir, len(p.drawn))
	var counted []result
	byID := map[string]*mutant{}
	for len(counted) < r.count && len(p.drawn) > 0 {
		some := p.drawn[:min(len(p.drawn), r.count-len(counted))]
		p.drawn = p.drawn[len(some):]
		found, err := r.batch(ctx, p, some)
		if err != nil {
			return score{}, err
		}
		for i, f := range found {
			byID[f.Mutant] = some[i]
			if f.Verdict != notGo {
				counted = append(counted, f)
			}
		}
	}
	return r.report(p, counted, byID), nil
}

// ready builds what judges a package, once a mutant is not known yet: its own tests, then schedules if the simulation plays
// it. It returns the mutants that are in one program.
func (r *round) ready(ctx context.Context, p *pack, todo []*mutant) (*together, error) {
	var all *together
	own := &suite{dir: p.dir, name: "tests"}
	if len(todo) >= togetherLeast && !p.apart {
		var err error
		if all, err = r.judge.join(ctx, p, todo, own); err != nil {
			return nil, err
		}
	}
	if len(p.suites) > 0 {
		return all, nil
	}
	took, err := r.judge.prepare(ctx, own, all)
	if err != nil && all != nil && ctx.Err() == nil {
		fmt.Fprintf(r.out, "%s: its mutants are built one by one: %s\n", p.dir, strings.SplitN(err.Error(), "\n", 2)[0])
		all, p.apart = nil, true
		took, err = r.judge.prepare(ctx, own, nil)
	}
	if err != nil {
		return nil, err
	}
	p.suites = own.parts(took)
	if r.sim == "" || !exists(r.root, r.sim) || p.dir == r.sim {
		return all, nil
	}
	list := exec.CommandContext(ctx, "go", "list", "-deps", "-f", "{{.Dir}}", "./"+r.sim)
	list.Dir, list.Env = r.root, append(os.Environ(), "GOWORK=off")
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("what the simulation plays: %w", err)
	}
	if !slices.Contains(strings.Split(string(out), "\n"), filepath.Join(r.root, filepath.FromSlash(p.dir))) {
		return all, nil
	}
	if r.simDone == nil {
		r.simDone = &suite{dir: r.sim, name: "schedules",
			args: []string{"-test.run", "^(TestSchedules|TestSplitsRunAhead)$", "-sim.schedules", "300"}}
		if _, err := r.judge.prepare(ctx, r.simDone, nil); err != nil {
			return nil, err
		}
	}
	p.suites = append(p.suites, r.simDone)
	return all, nil
}

// batch judges some mutants, as many at a time as there are workers. One that the time does not suffice for is unclear.
func (r *round) batch(ctx context.Context, p *pack, some []*mutant) ([]result, error) {
	found := make([]result, len(some))
	var todo []int
	for i, m := range some {
		found[i] = result{Mutant: m.id(), Verdict: unclear, State: p.state}
		if e, ok := r.entries[m.id()]; ok && e.verdict == equivalent {
			found[i].Verdict, found[i].Why = equivalent, e.why
		} else if known, ok := r.book.find(m, p); ok && !(r.again && known.Verdict == survived) {
			found[i] = known
		} else {
			todo = append(todo, i)
		}
	}
	if len(todo) == 0 || time.Now().After(r.until) {
		return found, nil
	}
	var unknown []*mutant
	for _, i := range todo {
		unknown = append(unknown, some[i])
	}
	all, err := r.ready(ctx, p, unknown)
	if err != nil {
		return nil, err
	}
	var group sync.WaitGroup
	errs := make([]error, r.workers)
	for w := range r.workers {
		group.Go(func() {
			for _, i := range every(todo, w, r.workers) {
				if errs[w] == nil && time.Now().Before(r.until) {
					found[i], errs[w] = r.one(ctx, p, some[i], all)
				}
			}
		})
	}
	group.Wait()
	return found, errors.Join(errs...)
}

// every returns a worker's share of a list.
func every(list []int, first, step int) (out []int) {
	for i := first; i < len(list); i += step {
		out = append(out, list[i])
	}
	return out
}

func (r *round) one(ctx context.Context, p *pack, m *mutant, all *together) (result, error) {
	v, why, err := r.judge.judge(ctx, m, p.sources[m.file], p.suites, all)
	if err != nil {
		return result{}, fmt.Errorf("%s: %w", m.id(), err)
	}
	found := result{Mutant: m.id(), Verdict: v, Why: why, State: p.state}
	r.mu.Lock()
	defer r.mu.Unlock()
	return found, r.book.add(found)
}

// report prints the outcome of a package's mutants: a line for each killed one, the survivors as they would stand in
// the file of accepted ones.
func (r *round) report(p *pack, counted []result, byID map[string]*mutant) (s score) {
	s.wanted = len(counted)
	kinds := map[verdict]*int{killed: &s.killed, survived: &s.survived, equivalent: &s.equivalent, unclear: &s.open}
	for _, v := range slices.Sorted(maps.Keys(kinds)) {
		for _, f := range counted {
			if f.Verdict != v {
				continue
			}
			*kinds[v]++
			m, e := byID[f.Mutant], r.entries[f.Mutant]
			why := f.Why
			if v == survived && e.why != "" {
				s.explained++
				why = "accepted: " + e.why
			}
			fmt.Fprintf(r.out, "%-10s %s (line %d)%s\n", v, f.Mutant, m.at, strings.TrimSuffix(": "+why, ": "))
			if v == survived && e.why == "" {
				fmt.Fprint(r.out, m.diff(p.sources[m.file]))
			}
		}
	}
	return s
}
