package lab

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"bellows"
	"bellows/core/heartbeat"
	"bellows/core/join"
	"bellows/core/shell"
	"bellows/link/wire"
	"bellows/train"
)

// Arrival is a node that joins while the job runs, with the machine that it is on.
type Arrival struct {
	Node Node
	At   time.Duration // when node 0 is asked to invite it
	// Start is the time of its process from its invitation until it dials the others: its start, and reading and
	// preparing its own data.
	Start time.Duration
}

// Arrived is what became of an Arrival. All times are virtual, since the job began.
type Arrived struct {
	Node      bellows.NodeID
	Invited   time.Duration
	TakesPart time.Duration // its actors are recorded; 0: the job was over before
	Splits    int           // that moved to it
	Copied    int64         // bytes of their data that came first
	Told      time.Duration // when the last of them was ordered to move; 0: not all were
	Moved     time.Duration // when the last of them had; 0: not all had
}

// growth is the state of the nodes that are to join. They are invited in the order of their times, and several may be
// on their way. A node that takes part gets its share of the splits, counted with all nodes that were called by then:
// so no split moves twice.
type growth struct {
	waiting  []*newcomer // not invited yet
	calling  *newcomer   // the one that may call the others now; nil: none
	invited  []*newcomer // all that were, in order
	promised []bellows.NodeID
}

// newcomer is a node on its way into the job.
type newcomer struct {
	Arrival
	Arrived
	node   *node
	up     bool // its process has started, and has read its data
	who    join.Newcomer
	joins  *join.Joining
	copies []*copying // those that have not ended; of one source the first is under way
	left   int        // splits that have not been ordered to move
}

// copying is the data of a split on its way to another node. Of those between two nodes one goes at a time.
type copying struct {
	split  bellows.SplitID
	from   *node
	to     *newcomer
	unsent int // bytes
	coming int // bytes that are not there
}

// copyPiece is how many bytes of data go in one frame, and copyPieces how many frames of a split are under way: a link is shared with
// what training sends between them, and does not wait for the other link on the way.
const (
	copyPiece  = 256 << 10
	copyPieces = 2
)

// addGrowth makes places for the nodes that are to come. Their numbers follow those of the site, in the order in which they are called.
func (w *world) addGrowth() {
	list := slices.Clone(w.cfg.Growth)
	slices.SortStableFunc(list, func(a, b Arrival) int { return cmp.Compare(a.At, b.At) })
	for _, a := range list {
		n := w.addNode(a.Node)
		c := &newcomer{Arrival: a, node: n}
		w.growth.waiting = append(w.growth.waiting, c)
		w.agenda.After(int64(max(0, a.At-w.life.start)), event{what: nodeCalled})
	}
	w.growth.promised = make([]bellows.NodeID, w.cfg.Job.Splits)
	for s := range w.growth.promised {
		w.growth.promised[s] = w.route.Node(bellows.SplitID(s))
	}
}

// invite invites the nodes that are due, as many as may be on their way.
func (w *world) invite() {
	g := &w.growth
	for len(g.waiting) > 0 && g.waiting[0].At <= w.elapsed() {
		c := g.waiting[0]
		who, err := w.nodes[0].lead.Invite(c.Arrival.Node.Slots, c.Arrival.Node.Lanes)
		if bellows.KindOf(err) == bellows.Unavailable {
			break // until another takes part
		}
		if err != nil {
			w.fail(err)
			return
		}
		g.waiting, g.invited = g.waiting[1:], append(g.invited, c)
		c.who, c.Arrived.Node, c.Invited = who, who.Node, w.elapsed()
		w.agenda.After(int64(c.Start), event{what: nodeStarts, node: c.node})
	}
	w.turn()
}

// turn finds the node that may call the others now.
func (w *world) turn() {
	lead := w.nodes[0].lead
	for _, call := range lead.Calls {
		for _, c := range w.growth.invited {
			if c.who == call.Newcomer {
				w.growth.calling = c
			}
		}
	}
	lead.Calls = lead.Calls[:0]
	if c := w.growth.calling; c != nil && c.up && c.joins == nil {
		w.calls(c)
	}
}

// starts takes note that the process of a node is up, which calls the others when it is its turn.
func (w *world) starts(n *node) {
	for _, c := range w.growth.invited {
		if c.node == n {
			c.up = true
		}
	}
	w.turn()
}

// calls lets a node dial all others.
func (w *world) calls(c *newcomer) {
	job := join.Cluster{Self: c.who.Node, Nodes: int(c.who.Node) + 1, Connections: 1}
	c.joins = join.New(job, make([]string, c.who.Node), w.common.Times, w.millis())
	w.step(c, c.joins.Begin)
}

func (w *world) millis() int64 { return int64(w.elapsed() / time.Millisecond) }

// step carries out what the newcomer's way into the cluster wants. A call takes a frame there and one back.
func (w *world) step(c *newcomer, do func(*join.Effects)) {
	var fx join.Effects
	do(&fx)
	switch {
	case fx.Over != nil && fx.Over.Err != nil:
		w.fail(fx.Over.Err)
	case fx.Over != nil:
		w.ready(c)
	case fx.Dial != nil:
		to := w.nodes[fx.Dial.Node]
		way := w.cfg.Site.Latency
		if to.machine == c.node.machine {
			way = w.cfg.Site.LocalLatency
		}
		w.stirs(1)
		w.agenda.After(fx.Dial.AfterMillis*int64(time.Millisecond)+2*int64(way), event{what: nodeAnswers, node: to})
	}
}

// answers lets a node answer the call of the one that is on the way.
func (w *world) answers(to *node) {
	c := w.growth.calling
	w.stirs(-1)
	if e := to.newcomers.Called(c.who.Node, 0, 1); !e.Keep {
		w.fail(bellows.Errorf(bellows.Bug, "run experiment", "", "node %d turns node %d away", to.id, c.who.Node))
		return
	}
	w.step(c, func(fx *join.Effects) { c.joins.Answered(to.id, fx) })
}

// ready makes the actors of a node that is joined to all others, and lets it say so.
func (w *world) ready(c *newcomer) {
	n := c.node
	if err := n.addLanes(c.who.Lanes); err != nil {
		w.fail(err)
		return
	}
	if c.who.Slots > 0 {
		if err := n.addClient(c.who.Slots); err != nil {
			w.fail(err)
			return
		}
		n.meter.Compute(w.elapsed(), 0) // slots are idle from now on
	}
	n.shell = shell.NewGuest(w.common, c.who)
	n.member(func(fx *heartbeat.Effects) { n.shell.Start(bellows.Fingerprint{}, fx) })
	n.settle()
}

// admitted lets the node that has called the others have its share of the splits, and the next call.
func (w *world) admitted(o join.Outcome) {
	c := w.growth.calling
	switch {
	case bellows.KindOf(o.Err) == bellows.Interrupted:
		return // the job is over
	case o.Err != nil:
		w.fail(o.Err)
		return
	}
	c.TakesPart, w.growth.calling = w.elapsed(), nil
	if c.who.Slots > 0 {
		w.share(c)
	}
	w.invite()
}

// share chooses the splits that a newcomer gets, and begins to copy their data. The node with the most splits gives its
// last.
func (w *world) share(c *newcomer) {
	count := make(map[bellows.NodeID]int)
	for _, n := range w.growth.promised {
		count[n]++
	}
	workers := len(count) + 1
	for _, other := range slices.Concat(w.growth.invited, w.growth.waiting) {
		if other.At <= w.elapsed() && other.TakesPart == 0 && other.Arrival.Node.Slots > 0 {
			workers++
		}
	}
	for range len(w.growth.promised) / workers {
		most := 0
		for s, n := range w.growth.promised {
			if count[n] >= count[w.growth.promised[most]] {
				most = s
			}
		}
		from := w.growth.promised[most]
		count[from]--
		w.growth.promised[most] = c.who.Node
		w.copy(c, bellows.SplitID(most))
	}
}

// copy begins to copy the data of a split, which is ordered to move when the data has come.
func (w *world) copy(c *newcomer, s bellows.SplitID) {
	c.Splits++
	c.left++
	bytes := 0
	if w.cfg.SplitBytes != nil {
		bytes = w.cfg.SplitBytes(s)
	}
	if bytes == 0 {
		w.tellMove(c, s)
		return
	}
	k := &copying{split: s, from: w.nodes[w.route.Node(s)], to: c, unsent: bytes, coming: bytes}
	busy := slices.ContainsFunc(c.copies, func(o *copying) bool { return o.from == k.from })
	c.copies = append(c.copies, k)
	if !busy {
		w.pieces(k, copyPieces)
	}
}

// pieces sends the next pieces of a split's data from where the split runs.
func (w *world) pieces(k *copying, count int) {
	for ; count > 0 && k.unsent > 0; count-- {
		bytes := min(k.unsent, copyPiece)
		f := &frame{copying: k, lengths: []int{wire.HeaderSize + bytes}, from: k.from, to: k.to.node}
		k.unsent -= bytes
		w.stirs(1)
		k.from.outbox = append(k.from.outbox, f)
	}
	k.from.settle()
}

// pieceCame continues with the next piece, or orders the split to move and continues with another split's data.
func (w *world) pieceCame(f *frame) {
	k := f.copying
	w.stirs(-1)
	bytes := f.len() - wire.HeaderSize
	k.to.Copied += int64(bytes)
	if k.coming -= bytes; k.coming > 0 {
		w.pieces(k, 1)
		return
	}
	k.to.copies = slices.DeleteFunc(k.to.copies, func(o *copying) bool { return o == k })
	if next := slices.IndexFunc(k.to.copies, func(o *copying) bool { return o.from == k.from }); next >= 0 {
		w.pieces(k.to.copies[next], copyPieces)
	}
	w.tellMove(k.to, k.split)
}

// tellMove tells the controller that a split is to run at a newcomer.
func (w *world) tellMove(c *newcomer, s bellows.SplitID) {
	n := w.nodes[0]
	if err := n.lead.MoveSplit(s, c.who.Node, &n.lead.fx); bellows.KindOf(err) == bellows.Interrupted {
		return // the job is over, and nothing moves any more
	} else if err != nil {
		w.fail(err)
		return
	}
	if c.left--; c.left == 0 {
		c.Told = w.elapsed()
	}
	n.lead.obey()
	n.settle()
}

// followMoves takes note of newcomers to which the last of their splits has gone.
func (w *world) followMoves() {
	for _, c := range w.growth.invited {
		if c.Told == 0 || c.Moved != 0 {
			continue
		}
		at := 0
		for s := range w.growth.promised {
			if w.route.Node(bellows.SplitID(s)) == c.who.Node {
				at++
			}
		}
		if at >= c.Splits {
			c.Moved = w.elapsed()
		}
	}
}

// arrivals returns the outcomes of the invited nodes.
func (w *world) arrivals() (list []Arrived) {
	for _, c := range w.growth.invited {
		list = append(list, c.Arrived)
	}
	return list
}

// shared returns a job that several nodes share in one process: the application is asked one question at a time, each
// split is prepared once, and nothing of it is released while another node may have it.
func shared(job train.Job) train.Job {
	var mu sync.Mutex
	prepared, begun := make([]bool, job.Splits), false
	if prepare := job.Prepare; prepare != nil {
		job.Prepare = func(active []bellows.SplitID) error {
			mu.Lock()
			defer mu.Unlock()
			rest := slices.DeleteFunc(slices.Clone(active), func(s bellows.SplitID) bool { return prepared[s] })
			if begun && len(rest) == 0 {
				return nil
			}
			for _, s := range rest {
				prepared[s] = true
			}
			begun = true
			return prepare(rest)
		}
	}
	newExecutor := job.NewExecutor
	job.NewExecutor = func(s bellows.SplitID) (train.Executor, error) {
		mu.Lock()
		defer mu.Unlock()
		return newExecutor(s)
	}
	job.Release = nil
	return job
}
