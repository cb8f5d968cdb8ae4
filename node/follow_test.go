package node_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bellows"
	"bellows/api"
	"bellows/core/liveness"
	"bellows/core/visits"
	"bellows/internal/require"
	"bellows/link/fabric"
	"bellows/link/transport"
	"bellows/link/transport/mem"
	"bellows/link/wire"
	"bellows/node"
	"bellows/node/archive"
	"bellows/port/blob"
	blobs "bellows/port/blob/mem"
	"bellows/train"
)

// mortal is a process's end of all its connections: when it has written so many frames it dies, and nothing that it writes leaves it any more.
type mortal struct {
	left  atomic.Int64
	slabs atomic.Int64 // it dies of the one that makes them none
	full  atomic.Bool  // nothing more is kept of what it writes
	once  sync.Once
	dead  chan struct{} // closed when it has died
	transport.Listener
	mu  sync.Mutex
	all []transport.Conn
}

// mortal makes a connection one of the process's.
func (m *mortal) mortal(c transport.Conn) transport.Conn {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all = append(m.all, c)
	select {
	case <-m.dead:
		c.Close()
	default:
	}
	return mortalConn{c, m}
}

// Accept takes a call, as from a node whose connection has broken.
func (m *mortal) Accept(ctx context.Context) (transport.Conn, error) {
	c, err := m.Listener.Accept(ctx)
	if err == nil {
		c = m.mortal(c)
	}
	return c, err
}

// mortalConn is one of them.
type mortalConn struct {
	transport.Conn
	of *mortal
}

var (
	errDead = errors.New("the process has died")
	errFull = errors.New("there is no room")
)

func (c mortalConn) WriteFrames(buffers [][]byte) error {
	if c.of.left.Add(-1) <= 0 {
		c.of.dies()
		return errDead
	}
	return c.Conn.WriteFrames(buffers)
}

// ReadFrame makes the process die in the midst of the model's collection, if it is to.
func (c mortalConn) ReadFrame() (wire.Header, []byte, error) {
	h, payload, err := c.Conn.ReadFrame()
	if err == nil && strings.HasPrefix(h.String(), "slab ") && c.of.slabs.Add(-1) == 0 {
		c.of.dies()
		return h, nil, errDead
	}
	return h, payload, err
}

func (m *mortal) lives() bool {
	select {
	case <-m.dead:
		return false
	default:
		return true
	}
}

func (m *mortal) dies() {
	m.once.Do(func() {
		m.left.Store(0) // a writer must not report that all others are gone
		m.Close()       // before a node calls again
		m.mu.Lock()
		defer m.mu.Unlock()
		close(m.dead)
		for _, c := range m.all {
			c.Close()
		}
	})
}

// mortalStore is where a process keeps checkpoints until it dies.
type mortalStore struct {
	blob.Store
	of *mortal
}

func (s mortalStore) Create(ctx context.Context, name string) (blob.Writer, error) {
	if !s.of.lives() {
		return nil, errDead
	}
	if s.of.full.Load() {
		return nil, errFull
	}
	return s.Store.Create(ctx, name)
}

func (s mortalStore) Delete(ctx context.Context, name string) error {
	if !s.of.lives() {
		return errDead
	}
	return s.Store.Delete(ctx, name)
}

// succession is a job led by one process after the other.
type succession struct {
	t       *testing.T
	network *mem.Network
	members []node.Member
	left    []bellows.NodeID // of these
	store   blob.Store       // nil: no checkpoints are taken
	gates   map[bellows.Clock]chan struct{}
	cuts    int // processes that began to lead from one
	told    []visits.Batch
	epochs  []int
	seen    *visitsSeen                                // by all processes
	adapt   func(bellows.Term, *mortal, *node.Options) // nil: the leader is not changed further
	numbers int                                        // that each task returns
}

// gated is an executor whose task of a clock waits until it may continue.
type gated struct {
	train.Executor
	gates   map[bellows.Clock]chan struct{}
	numbers int
}

func (g gated) RunTask(t *train.Task) error {
	if open, some := g.gates[t.Clock()]; some {
		<-open
	}
	err := g.Executor.RunTask(t)
	if g.numbers > 0 {
		t.SignalTaskCompletion(make([]float64, g.numbers)...)
	}
	return err
}

// job returns that of all processes: in some clocks its tasks wait, with nothing gathered, so that a checkpoint is sure to come.
func (s *succession) job() train.Job {
	j := busy(rounds)
	j.Driver = &train.Rounds{Splits: j.Splits, Each: func(r int, _ [][]float64, to *train.Dispatcher) bool {
		to.ShowEpoch(train.Epoch{Number: r + 1})
		return r+1 < rounds
	}}
	plain := j.NewExecutor
	j.NewExecutor = func(split bellows.SplitID) (train.Executor, error) {
		e, err := plain(split)
		return gated{e, s.gates, s.numbers}, err
	}
	return j
}

// archive returns that of a process.
func (s *succession) archive(store blob.Store) *archive.Archive {
	a, err := archive.Open(store, archive.ID{1}, busy(1).Tables)
	require.NoError(s.t, err)
	return a
}

func (s *succession) cluster(self bellows.NodeID) node.Cluster {
	return node.Cluster{Self: self, Members: s.members}
}

const rounds = 60

// gateOf returns the clock whose tasks wait until the process that leads in a term has taken a checkpoint, and died.
func gateOf(term bellows.Term) bellows.Clock { return bellows.Clock(15 * term) }

var successionTimes = liveness.Times{Successor: 60_000}

// serves begins the nodes that do not lead, and returns what waits for their end.
func (s *succession) serves() (ended func() error) {
	var others sync.WaitGroup
	errs := make([]error, len(s.members))
	here, letGo := context.WithCancel(context.Background()) // as the end of its standard input lets a process go: it waits for no other leader
	for n := 1; n < len(s.members); n++ {
		others.Go(func() {
			self := bellows.NodeID(n)
			links, conns, err := s.joins(self)
			if err == nil {
				opt := node.Options{Times: successionTimes, Links: links}
				if s.store != nil {
					opt.Era, opt.Checkpoints = 1, &node.Checkpoints{Archive: s.archive(s.store)}
				}
				err = node.Serve(here, s.job(), s.cluster(self), conns, opt)
				links.Listener.Close()
			}
			errs[n] = err
		})
	}
	return func() error {
		letGo()
		others.Wait()
		return errors.Join(errs...)
	}
}

// joins connects a node to the others.
func (s *succession) joins(self bellows.NodeID) (*fabric.Links, []transport.Conn, error) {
	tr, err := s.network.Join(transport.Config{Self: transport.Hello{Node: self, Token: transport.Token{1}}})
	if err != nil {
		return nil, nil, err
	}
	l, err := tr.Listen(inMemory(int(self)))
	if err != nil {
		return nil, nil, err
	}
	addresses := make([]string, len(s.members))
	for n := range addresses {
		addresses[n] = inMemory(n)
	}
	c := s.cluster(self).Joining()
	c.Gone = s.left
	conns, err := fabric.Connect(context.Background(), tr, l, c, addresses, liveness.Times{}, func(string) {})
	return &fabric.Links{Transport: tr, Listener: l, Addresses: addresses}, conns, err
}

// leads makes a process lead, replacing the previous one if there is one. It ends after so many written frames, or
// after so many pieces of the model read (0: no such limit), or with the job.
func (s *succession) leads(term bellows.Term, frames, slabs int64) (r *node.Result, err error, died bool) {
	links, conns, err := s.joins(0)
	require.NoError(s.t, err)
	m := &mortal{dead: make(chan struct{}), Listener: links.Listener}
	links.Listener = m
	m.left.Store(frames)
	m.slabs.Store(slabs)
	for i, c := range conns {
		if c != nil {
			conns[i] = m.mortal(c)
		}
	}
	deaths := make(chan node.Death, len(s.members))
	opt := node.Options{Links: links, Times: successionTimes, Deaths: deaths}
	var cut *archive.Manifest
	if s.store != nil {
		a := s.archive(mortalStore{s.store, m})
		if cut, _, err = a.Latest(context.Background()); err != nil {
			s.t.Fatal(err)
		}
		opt.Era, opt.Checkpoints = 1, &node.Checkpoints{Archive: a, Every: time.Millisecond, OnCut: func(node.Checkpoint) {
			if gate := s.gates[gateOf(term)]; gate != nil && m.lives() {
				m.dies()
				close(gate)
			}
		}}
	}
	opt.OnVisits = func(b visits.Batch) {
		if m.lives() {
			s.told = append(s.told, b)
			s.seen.take(b)
		}
	}
	opt.OnEpoch = func(e train.Epoch, so node.Spent) {
		if m.lives() {
			s.epochs = append(s.epochs, e.Number)
			s.seen.epoch(e, so)
		}
	}
	if term > 1 {
		opt.Follow = &node.Follow{Term: term, Members: s.members, Nodes: len(s.members)}
		if cut != nil {
			s.cuts++
			opt.Follow.Saved = cut.Saved()
		}
		if n := len(s.told); n > 0 {
			opt.Follow.Told = s.told[n-1].Last
			for _, b := range s.told {
				if len(b.List) > 0 {
					opt.Follow.Counted = b.Last
				}
			}
		}
		if n := len(s.epochs); n > 0 {
			opt.Follow.Epochs = s.epochs[n-1]
		}
	}
	if s.adapt != nil {
		s.adapt(term, m, &opt)
	}
	go func() {
		<-m.dead
		for n := 1; n < len(s.members); n++ { // as far as it knows, no node is left
			deaths <- node.Death{Node: bellows.NodeID(n), Reason: fmt.Sprintf("node %d is gone", n)}
		}
	}()
	r, err = node.Lead(context.Background(), s.job(), s.cluster(0), conns, opt)
	died = !m.lives()
	m.dies()
	return r, err, died
}

// TestAnotherProcessLeads kills the leading process of a job again and again, at random moments, after a checkpoint, or
// while it collects the model, and another one takes its place. The other nodes continue. The job ends with the bits of
// one process; commits are reported once and in order, and so are its epochs.
func TestAnotherProcessLeads(t *testing.T) {
	t.Parallel()
	visited := int64(0)
	one := runAlone(t, busy(rounds), node.Options{OnVisits: func(b visits.Batch) { visited += visits.Items(b.List) }})
	for seed := range uint64(5) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 7))
			s := &succession{t: t, network: mem.New(), members: shapes["leader leads"]}
			s.seen = watchVisits(t, s.job())
			collects := seed == 4
			if seed%2 == 0 && !collects {
				s.store, s.gates = blobs.New("a"), map[bellows.Clock]chan struct{}{gateOf(1): make(chan struct{}), gateOf(2): make(chan struct{}), gateOf(3): make(chan struct{})}
			}
			ended := s.serves()
			var r *node.Result
			var err error
			died, leaders := true, 0
			for died && leaders < 5 {
				leaders++
				frames, slabs := 3+rng.Int64N(60), int64(0)
				if leaders == 5 || s.store != nil || collects {
					frames = 1 << 40
				}
				if collects && leaders < 3 {
					slabs = int64(leaders)
				}
				r, err, died = s.leads(bellows.Term(leaders), frames, slabs)
			}
			if others := ended(); err != nil || others != nil {
				t.Fatalf("node 0: %v; others: %v", err, others)
			}
			if s.store != nil && s.cuts != 3 {
				t.Errorf("of %d processes %d began at a checkpoint", leaders, s.cuts)
			}
			if leaders < 3 {
				t.Errorf("%d processes have led: they died too late", leaders)
			}
			for i := range one.Tables {
				if !slices.Equal(r.Tables[i], one.Tables[i]) {
					t.Errorf("table %d ends at %v, one node at %v", i, r.Tables[i], one.Tables[i])
				}
			}
			if r.Audit.Sent == 0 || r.Audit.Sent != r.Audit.Applied || r.Audit.Dropped != 0 {
				t.Errorf("audit %+v", r.Audit)
			}
			last, counted, items := bellows.CommitNumber(0), bellows.CommitNumber(0), int64(0)
			for _, b := range s.told {
				if b.Last <= last || len(b.List) > 0 && b.First != counted+1 {
					t.Errorf("told of records %d to %d behind %d", b.First, b.Last, last)
				}
				last = b.Last
				if len(b.List) > 0 {
					counted = b.Last
				}
				items += visits.Items(b.List)
			}
			if items != visited {
				t.Errorf("told of %d items, %d were visited", items, visited)
			}
			for i, n := range s.epochs {
				if n != i+1 {
					t.Fatalf("told of epochs %v", s.epochs)
				}
			}
			if len(s.epochs) != rounds {
				t.Errorf("told of %d epochs of %d", len(s.epochs), rounds)
			}
			s.seen.ended(t)
		})
	}
}

// TestFollowerKnowsDepartedNodes makes a node give away its splits and leave after the leader's last checkpoint; then
// the leader dies. The next one begins with the route of that checkpoint, learns of the leave from lanes, and reports
// the new owners.
func TestFollowerKnowsDepartedNodes(t *testing.T) {
	t.Parallel()
	const leaves = 2
	s := &succession{t: t, network: mem.New(), members: []node.Member{{}, {Node: 1, Slots: 1, Lanes: 1}, {Node: leaves, Slots: 1}}, store: blobs.New("a"),
		gates: map[bellows.Clock]chan struct{}{15: make(chan struct{}), 30: make(chan struct{})}}
	s.seen = watchVisits(t, s.job())
	away := func(commands *node.Commands) error {
		splits, err := commands.Splits(t.Context())
		var moves []<-chan error
		for i, n := range splits {
			if n == leaves && err == nil {
				var moved <-chan error
				moved, err = commands.MoveSplit(t.Context(), bellows.SplitID(i), 1)
				moves = append(moves, moved)
			}
		}
		close(s.gates[15])
		for _, moved := range moves {
			if err == nil {
				err = <-moved
			}
		}
		if err != nil {
			return err
		}
		return commands.Remove(t.Context(), leaves)
	}
	var began []api.Node
	s.adapt = func(term bellows.Term, m *mortal, opt *node.Options) {
		if term > 1 {
			opt.Follow.Members = s.members[:leaves]
			opt.OnStart = func(nodes []api.Node) { began = nodes }
			opt.Checkpoints.OnCut = nil // it leads to the end, and its gate is open already
			return
		}
		opt.Commands = &node.Commands{}
		var once sync.Once
		opt.Checkpoints.OnCut = func(node.Checkpoint) {
			m.full.Store(true)
			go once.Do(func() {
				if err := away(opt.Commands); err != nil {
					t.Error(err)
				}
				m.dies()
				close(s.gates[30])
			})
		}
	}
	ended := s.serves()
	_, err, died := s.leads(1, 1<<40, 0)
	if !died {
		t.Fatalf("who led did not die: %v", err)
	}
	next := *s
	next.left = []bellows.NodeID{leaves} // not waited for
	_, err, _ = next.leads(2, 1<<40, 0)
	if others := ended(); err != nil || others != nil {
		t.Fatalf("node 0: %v; others: %v", err, others)
	}
	if len(began) != 2 || began[1].ID != "node-1" || began[1].Splits != s.job().Splits {
		t.Errorf("it begins with %+v", began)
	}
	s.seen.ended(t)
}

// TestEarlyCheckpoint lets tasks return so many numbers that half of the lanes' tails is used long before the first checkpoint is due. A checkpoint is taken early, and after the death of the leading process
// another resumes from it.
func TestEarlyCheckpoint(t *testing.T) {
	t.Parallel()
	s := &succession{t: t, network: mem.New(), members: shapes["leader leads"], store: blobs.New("a"), gates: map[bellows.Clock]chan struct{}{gateOf(1): make(chan struct{})}, numbers: 8500}
	s.seen = watchVisits(t, s.job())
	s.adapt = func(_ bellows.Term, _ *mortal, opt *node.Options) { opt.Checkpoints.Every = time.Hour }
	ended := s.serves()
	if _, err, died := s.leads(1, 1<<40, 0); !died {
		t.Fatalf("it ends without a checkpoint: %v", err)
	}
	r, err, _ := s.leads(2, 1<<40, 0)
	if others := ended(); err != nil || others != nil {
		t.Fatalf("node 0: %v; others: %v", err, others)
	}
	one, err := node.Train(context.Background(), busy(rounds), node.Options{})
	if err != nil || !slices.Equal(r.Tables[0], one.Tables[0]) || s.cuts != 1 {
		t.Errorf("from %d checkpoints it comes to %v, and one process to %v: %v", s.cuts, r.Tables[0], one.Tables[0], err)
	}
}
