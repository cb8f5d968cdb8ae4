package lab

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"bellows"
	"bellows/core"
	"bellows/core/join"
	"bellows/core/route"
	"bellows/core/server"
	"bellows/core/shell"
	"bellows/link/wire"
	"bellows/node/measure"
	"bellows/sim/internal/msgcopy"
	"bellows/sim/internal/reshaping"
	"bellows/sim/internal/virtual"
	"bellows/sim/lab/link"
	"bellows/train"
)

// world is one life of a job on a site, and all that happens there. Its time is in nanoseconds.
type world struct {
	account
	progress
	cfg        *Config
	life       life
	agenda     virtual.Agenda[event]
	common     core.Job     // what the actors are made of, and the route that the life began with
	route      *route.Route // the current one of node 0
	growth     growth
	happen     happenings
	cuts       cuts
	shape      *reshaping.Shaper // nil: no node was asked to leave or to switch
	feed       measure.Feed
	complete   bellows.Clock // the last that the feed knows
	members    int           // nodes that take part
	measured   *route.Route  // the last that the feed knows
	advising   advising
	machines   []*machine
	nodes      []*node
	coroutines []*taskCoroutine // per split
	links      *link.Net[*frame]
	codec      codec
	goroutines sync.WaitGroup
	err        error
}

// codec encodes and decodes what passes between nodes.
type codec struct {
	batch  wire.Batch
	joiner wire.Joiner
}

// account is counted over all attempts of a job.
type account struct {
	sum    msgcopy.Hash // of everything that happened
	events int64
	work   float64 // nanoseconds of cores that were asked for
	epochs []Epoch
	before Epoch // what epochs are counted from
}

// progress shows whether a job hangs.
type progress struct {
	under     int           // messages and computing tasks that are under way, but for signs of life
	stirred   int64         // how often that has changed
	seen      int64         // stirred, at the last tick
	stirredAt time.Duration // when it last has
}

// event is something that is due.
type event struct {
	what    what
	machine *machine
	node    *node
	frame   *frame
	link    link.Event[*frame]
	storing *storing
	cut     *cut
	do      func()
	stamp   uint32
}

// what is a kind of event.
type what uint8

const (
	machineTick what = iota // a job of the machine is done, or its speed changes
	linkEvent               // something is due on the links
	frameIn                 // the frame is at the receiver, on the same machine
	nodeWakes               // the node looks at its mail again
	allTick                 // all nodes receive the time
	nodeCalled              // node 0 is asked to invite another node
	nodeStarts              // the process of a node that joins is up
	nodeAnswers             // the node answers its call
	scriptEvent             // an event of the script
	nodeLost                // node 0 learns of a death
	cutDue                  // a cut is to be taken
	partStored              // a node has stored a partition of a cut
	cutStored               // a cut is safe
	leadObeys               // node 0 carries out what its shell wants
	later                   // do is called
)

// Run runs an experiment to its end. An error says why the job ended early, as it would in production; or what is
// wrong with the Config; or that the job hangs.
func Run(cfg Config) (*Result, error) {
	cfg.Site.Machines = slices.Clone(cfg.Site.Machines)
	for i := range cfg.Site.Machines {
		if m := &cfg.Site.Machines[i]; m.Speed == 0 {
			m.Speed = 1
		}
	}
	cfg.Limit = cmp.Or(cfg.Limit, limitDefault)
	cfg.Tick = cmp.Or(cfg.Tick, shell.TickMillis*time.Millisecond)
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg.Job = shared(cfg.Job)
	w, err := newWorld(&cfg, nil, life{})
	if err != nil {
		return nil, err
	}
	for {
		w.begin()
		w.run()
		next, err := w.next()
		if closed := w.close(); err == nil {
			err = closed
		}
		if err != nil {
			return nil, err
		}
		if next == nil {
			return w.result()
		}
		w = next
	}
}

// begin sets the nodes of the site going; others come later.
func (w *world) begin() {
	here := len(w.cfg.Site.Nodes)
	for _, n := range w.nodes[:here] {
		n.meter.Compute(w.elapsed(), 0) // slots are idle from the beginning on
	}
	for _, n := range w.nodes[:here] {
		n.begin()
	}
	w.agenda.After(int64(w.cfg.Tick), event{what: allTick})
}

// newWorld makes a life of a job; before is the previous one, nil for the first.
func newWorld(cfg *Config, before *world, l life) (*world, error) {
	w := &world{cfg: cfg, life: l, coroutines: make([]*taskCoroutine, cfg.Job.Splits)}
	w.cuts.open = map[bellows.CommitNumber]*cut{}
	if before != nil {
		w.account, w.happen, w.cuts.last, w.cuts.taken = before.account, before.happen, before.cuts.last, before.cuts.taken
		w.before = Epoch{}
	}
	for _, m := range cfg.Site.Machines {
		w.addMachine(m)
	}
	w.links = link.New(cfg.Site.links(), w.agenda.Time, func(delay int64, e link.Event[*frame]) {
		w.agenda.After(delay, event{what: linkEvent, link: e})
	}, func(f *frame) { f.to.arrives(f) })
	var workers []bellows.NodeID
	var counts []int // of lanes
	for _, n := range cfg.Site.Nodes {
		at := w.addNode(n)
		counts = append(counts, n.Lanes)
		if n.Slots > 0 {
			workers = append(workers, at.id)
		}
	}
	lanes := route.Lanes(counts)
	first, err := w.firstRoute(lanes, workers)
	if err != nil {
		return nil, err
	}
	w.common = core.Job{Controller: wire.ControllerAt(), Nodes: len(w.nodes), Lanes: lanes, Clients: route.Clients(workers),
		Tables: cfg.Job.Tables, Route: first, Items: cfg.Job.Items, Units: cfg.Job.Units,
		Times: cfg.patience(), NodesMost: len(cfg.Site.Nodes) + len(cfg.Growth)}
	w.route = w.common.Route
	if err := w.nodes[0].addLead(); err != nil {
		return nil, err
	}
	for i, n := range cfg.Site.Nodes {
		if err := w.nodes[i].addLanes(n.Lanes); err != nil {
			return nil, err
		}
		if n.Slots == 0 {
			continue
		}
		if err := w.nodes[i].addClient(n.Slots); err != nil {
			return nil, err
		}
	}
	w.addGrowth()
	for i := range cfg.Script {
		if err := cfg.Script[i].Check(len(cfg.Site.Nodes), cfg.Job.Splits, w.route.Partitions()); err != nil {
			return nil, bellows.Errorf(bellows.Config, "run experiment", "", "event %d of the script: %w", i, err)
		}
	}
	w.addScript()
	if before != nil {
		return w, w.restore(w.cuts.last)
	}
	return w, nil
}

// addNode makes a node that has nothing yet.
func (w *world) addNode(n Node) *node {
	first, all := len(w.cfg.Site.Nodes), len(w.cfg.Site.Nodes)+len(w.cfg.Growth)
	at := &node{w: w, id: bellows.NodeID(len(w.nodes)), machine: w.machines[n.Machine], heard: make([]uint64, all)}
	at.newcomers = join.NewNewcomers(max(bellows.NodeID(first), at.id+1), 1)
	at.service = job{Owner: owner{node: at}, Woken: true}
	w.nodes = append(w.nodes, at)
	w.links.AddNode(n.Machine, n.Budget)
	return at
}

// elapsed returns the time since the job began.
func (w *world) elapsed() time.Duration { return w.life.start + time.Duration(w.agenda.Time()) }

// run lets everything happen until the job is over.
func (w *world) run() {
	lead := w.nodes[0].lead
	for lead.outcome == nil && w.err == nil {
		e, ok := w.agenda.Next()
		switch {
		case !ok:
			panic("the next tick is always due")
		case w.elapsed() > w.cfg.Limit:
			w.fail(bellows.Errorf(bellows.Config, "run experiment", "", "the job is not over after %v of virtual time; set a higher limit", w.cfg.Limit))
			return
		}
		w.events++
		w.happenNext(&e)
	}
}

// happenNext carries out an event.
func (w *world) happenNext(e *event) {
	switch e.what {
	case machineTick:
		w.machineTicks(e.machine, e.stamp)
	case linkEvent:
		w.links.Happen(e.link)
	case frameIn:
		w.links.Flow(e.frame.from.id, e.frame.to.id).Arrive(w.agenda.Time(), e.frame.len(), 0)
		e.frame.to.arrives(e.frame)
	case nodeWakes:
		e.node.awake()
	case allTick:
		w.tick()
	case nodeCalled:
		w.invite()
	case nodeStarts:
		w.starts(e.node)
	case nodeAnswers:
		w.answers(e.node)
	case scriptEvent:
		w.happens(int(e.stamp))
	case nodeLost:
		w.lost(e.node)
	case cutDue:
		w.cuts.due = true
	case partStored:
		w.stored(e.storing)
	case cutStored:
		w.keepCut(e.cut)
	case leadObeys:
		w.nodes[0].lead.obey()
		w.nodes[0].settle()
	case later:
		e.do()
	}
}

// fail ends the experiment with its first error.
func (w *world) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// tick tells all nodes the time. A job in which nothing has come about since the last time, and nothing is under way, hangs.
func (w *world) tick() {
	if w.seen == w.stirred && (w.under == 0 && w.life.deaths == 0 || w.life.deaths > 0 && w.elapsed()-w.stirredAt > stillMost) {
		w.fail(bellows.Errorf(bellows.Bug, "run experiment", "", "the job hangs after %v: %s", w.stirredAt, w.hanging()))
		return
	}
	w.seen = w.stirred
	for _, n := range w.nodes {
		n.tick()
	}
	w.agenda.After(int64(w.cfg.Tick), event{what: allTick})
}

// stillMost is how long nothing may happen in a job that has lost nodes, and with them messages that were under way.
const stillMost = time.Hour

// stirs notes that something that others may wait for begins, or with a negative number ends.
func (w *world) stirs(by int) {
	w.under += by
	w.stirred++
	w.stirredAt = w.elapsed()
}

// posted and took note that a message is under way, and no more.
func (w *world) posted(m wire.Message) {
	if !idle(m) {
		w.stirs(1)
	}
}

func (w *world) took(m wire.Message) {
	if !idle(m) {
		w.stirs(-1)
	}
}

// idle reports whether a message only shows that time passes.
func idle(m wire.Message) bool {
	switch m.(type) {
	case *wire.Beat, *server.Tick:
		return true
	}
	return false
}

// hanging says what the job waits for.
func (w *world) hanging() string {
	asleep := 0
	var first *taskCoroutine
	for _, c := range w.coroutines {
		if c != nil && c.asleep {
			if asleep++; first == nil {
				first = c
			}
		}
	}
	if first == nil {
		return "no task waits"
	}
	return fmt.Sprintf("%d tasks wait, the first of them clock %d of split %d at node %d", asleep, first.task.Clock(), first.task.Split(), first.node.id)
}

// close ends all goroutines and closes the executors.
func (w *world) close() error {
	for _, n := range w.nodes {
		if n.runner != nil && !n.closed { // one that knows already ignores it
			n.endJob()
		}
	}
	for _, c := range w.coroutines {
		c.abandon()
	}
	w.goroutines.Wait()
	var first error
	for _, n := range w.nodes {
		if n.runner == nil || n.closed {
			continue
		}
		if err := n.runner.Close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// trace adds something that happens to the hash.
func (w *world) trace(a, b uint64) {
	w.sum.Word(uint64(w.agenda.Time()))
	w.sum.Word(a)
	w.sum.Word(b)
}

func (w *world) traceUnit(what uint64, t *train.Task) {
	w.trace(what<<56|uint64(t.Split()), uint64(t.Clock()))
}
