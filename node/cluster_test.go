package node_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"bellows"
	"bellows/core/liveness"
	"bellows/internal/require"
	"bellows/link/fabric"
	"bellows/link/transport"
	"bellows/link/transport/mem"
	"bellows/node"
	"bellows/table"
	"bellows/train"
)

// shapes are clusters: node 0 leads, and works too where it has slots.
var shapes = map[string][]node.Member{
	"leader works":      {{Slots: 1, Lanes: 1}, {Node: 1, Slots: 2, Lanes: 1}},
	"leader leads":      {{}, {Node: 1, Slots: 1, Lanes: 2}, {Node: 2, Slots: 1, Lanes: 1}},
	"server apart":      {{}, {Node: 1, Slots: 1}, {Node: 2, Slots: 2}, {Node: 3, Lanes: 2}},
	"four of each kind": {{}, {Node: 1, Slots: 1, Lanes: 1}, {Node: 2, Slots: 1, Lanes: 1}, {Node: 3, Slots: 1, Lanes: 1}, {Node: 4, Slots: 1, Lanes: 1}},
}

// gangEra is the era of a gang, where it says none: that of any life but the first.
const gangEra = 7

// gang runs a job on the nodes of a cluster, all in this process, joined by memory.
type gang struct {
	members []node.Member
	job     func(n bellows.NodeID) train.Job
	wrap    func(from, to bellows.NodeID, c transport.Conn) transport.Conn // nil: as it is
	lead    node.Options
	resume  train.Saved
	// connections of each pair; 0: one
	connections int
	// open and address are another network than memory
	open    func(transport.Config) (transport.Transport, error)
	address func(n int) string
	// redial remakes connections that break; dial is how nodes call each other, nil: as the network has it
	redial bool
	dial   func(transport.Transport) transport.Transport
	// part and message are the bytes that these may have; 0: as the format has it
	part, message int
	// left is called when a node has left, by several at a time; nil: it is not
	left func(n bellows.NodeID)
}

// cluster returns it as a node sees it.
func (g gang) cluster(self bellows.NodeID) node.Cluster {
	return node.Cluster{Self: self, Members: g.members, Connections: g.connections}
}

// run returns what Lead and the others return.
func (g gang) run(ctx context.Context, t *testing.T) (*node.Result, []error, error) {
	t.Helper()
	token := transport.Token{1}
	if g.lead.Era == 0 {
		g.lead.Era = gangEra
	}
	if g.open == nil {
		g.open, g.address = mem.New().Join, inMemory
	}
	addresses := make([]string, len(g.members))
	links := make([]*fabric.Links, len(g.members))
	listeners := make([]transport.Listener, len(g.members))
	connects := make([]func() ([]transport.Conn, error), len(g.members))
	for n := range g.members {
		self := bellows.NodeID(n)
		tr, err := g.open(transport.Config{Self: transport.Hello{Node: self, Token: token, Era: g.lead.Era}})
		require.NoError(t, err)
		l, err := tr.Listen(g.address(n))
		require.NoError(t, err)
		t.Cleanup(func() { l.Close() })
		addresses[n], listeners[n] = l.Address(), l
		if g.dial != nil {
			tr = g.dial(tr)
		}
		if g.redial {
			links[n] = &fabric.Links{Transport: tr, Listener: l, Addresses: addresses}
		}
		connects[n] = func() ([]transport.Conn, error) {
			conns, err := fabric.Connect(ctx, tr, l, g.cluster(self).Joining(), addresses, liveness.Times{}, func(string) {})
			for i, c := range conns {
				if c != nil && g.wrap != nil {
					conns[i] = g.wrap(self, c.Peer().Node, c)
				}
			}
			return conns, err
		}
	}
	errs := make([]error, len(g.members))
	var others sync.WaitGroup
	for n := 1; n < len(g.members); n++ {
		others.Go(func() {
			conns, err := connects[n]()
			if err == nil {
				err = node.Serve(context.Background(), g.job(bellows.NodeID(n)),
					g.cluster(bellows.NodeID(n)), conns,
					node.Options{Era: g.lead.Era, Resume: g.resume, Times: g.lead.Times, Links: links[n], Wire: g.lead.Wire}.Shorten(g.part, g.message))
			}
			if g.left != nil {
				g.left(bellows.NodeID(n))
			}
			errs[n] = errors.Join(err, listeners[n].Close())
		})
	}
	conns, err := connects[0]()
	require.NoError(t, err)
	opt := g.lead.Shorten(g.part, g.message)
	opt.Resume, opt.Links = g.resume, links[0]
	r, err := node.Lead(ctx, g.job(0), g.cluster(0), conns, opt)
	if g.left != nil {
		g.left(0)
	}
	err = errors.Join(err, listeners[0].Close())
	others.Wait()
	return r, errs[1:], err
}

// done fails the test unless all nodes ended in peace.
func (g gang) done(t *testing.T) *node.Result {
	t.Helper()
	r, errs, err := g.run(context.Background(), t)
	if err != nil || errors.Join(errs...) != nil {
		t.Fatalf("node 0: %v; others: %v", err, errs)
	}
	return r
}

func TestManyNodesGiveTheBitsOfOne(t *testing.T) {
	t.Parallel()
	one := runAlone(t, job(20, drift), node.Options{})
	for name, members := range shapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := gang{members: members, job: func(bellows.NodeID) train.Job { return job(20, drift) }}.done(t)
			sameTable(t, r, one)
			checkAudit(t, r)
		})
	}
}

// TestLeasesCrossNodes runs tasks that hold two partitions, most of them at other nodes.
func TestLeasesCrossNodes(t *testing.T) {
	t.Parallel()
	const splits, clocks = 8, 24
	for name, members := range shapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := gang{members: members, job: func(bellows.NodeID) train.Job { return leaseJob(splits, clocks) }}.done(t)
			for tab, values := range r.Tables {
				for i, v := range values {
					if v != clocks {
						t.Errorf("table %d row %d ends at %v, not %d", tab, i, v, clocks)
					}
				}
			}
		})
	}
}

func TestStalenessAcrossNodes(t *testing.T) {
	t.Parallel()
	for _, c := range []table.Consistency{table.SSP(2), table.Async} {
		j := func(bellows.NodeID) train.Job {
			j := job(30, func(t *train.Task) error {
				if got, least := t.PullRange(0, 0, 1)[0], float32(4*(int(t.Clock())-2)); c != table.Async && got < least {
					return fmt.Errorf("split %d clock %d sees %v, must see %v", t.Split(), t.Clock(), got, least)
				}
				t.PushRange(0, 0, []float32{1, 0})
				return nil
			})
			j.Tables[0].Consistency = c
			return j
		}
		if r := (gang{members: shapes["leader leads"], job: j}).done(t); r.Tables[0][0] != 4*30 {
			t.Errorf("consistency %v: ends at %v", c, r.Tables[0][0])
		}
	}
}

// TestInterruptAndResumeAcrossNodes stops a job of many nodes and resumes it on one, and the other way round.
func TestInterruptAndResumeAcrossNodes(t *testing.T) {
	t.Parallel()
	const rounds = 12
	whole := runAlone(t, job(rounds, drift), node.Options{})
	members := shapes["leader leads"]
	for stop := range 8 {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		stopping := func(bellows.NodeID) train.Job {
			return job(rounds, func(t *train.Task) error {
				if int(t.Clock()) == stop {
					cancel()
				}
				return drift(t)
			})
		}
		var r *node.Result
		var err error
		seen := watchVisits(t, job(rounds, drift))
		if stop%2 == 0 {
			r, _, err = gang{members: members, job: stopping, lead: node.Options{OnVisits: seen.take}}.run(ctx, t)
		} else {
			r, err = node.Train(ctx, stopping(0), node.Options{OnVisits: seen.take})
		}
		require.NoError(t, err)
		switch {
		case r.Image == nil: // it had ended before it heard of the interruption
		case stop%2 == 0:
			seen.goesOn(t, r.Image)
			r = runAlone(t, job(rounds, drift), node.Options{Resume: r.Image, OnVisits: seen.take})
		default:
			seen.goesOn(t, r.Image)
			r = gang{members: members, job: func(bellows.NodeID) train.Job { return job(rounds, drift) }, resume: r.Image, lead: node.Options{OnVisits: seen.take}}.done(t)
		}
		if !slices.Equal(r.Tables[0], whole.Tables[0]) {
			t.Errorf("stopped in clock %d: ends at %v, not %v", stop, r.Tables[0], whole.Tables[0])
		}
		seen.epochs = rounds
		seen.ended(t)
	}
}

func TestATaskThatFailsElsewhereIsNamed(t *testing.T) {
	t.Parallel()
	_, _, err := gang{members: shapes["leader leads"], job: func(n bellows.NodeID) train.Job {
		return job(10, func(t *train.Task) error {
			if t.Split() == 3 && t.Clock() == 4 {
				return bellows.Errorf(bellows.BadData, "read", "items", "item 7 is broken")
			}
			return drift(t)
		})
	}}.run(context.Background(), t)
	if err == nil || !strings.Contains(err.Error(), "split 3 clock 4") || !strings.Contains(err.Error(), "on node 2 failed") ||
		!strings.Contains(err.Error(), "item 7 is broken") || bellows.KindOf(err) != bellows.BadData {
		t.Fatalf("error %v", err)
	}
}

// cutConn ends a connection after some frames have been read, as the death of the peer would.
type cutConn struct {
	transport.Conn
	mu   sync.Mutex
	left int
}

func (c *cutConn) WriteFrames(b [][]byte) error {
	c.mu.Lock()
	c.left--
	dead := c.left < 0
	c.mu.Unlock()
	if dead {
		return errors.Join(errors.New("cut by the test"), c.Close())
	}
	return c.Conn.WriteFrames(b)
}

// TestALostNodeEndsTheJob cuts the connection between two nodes after any number of writes.
func TestALostNodeEndsTheJob(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]bellows.NodeID{{0, 2}, {2, 0}, {1, 2}} {
		for _, writes := range []int{0, 3} {
			t.Run(fmt.Sprintf("%d to %d after %d", pair[0], pair[1], writes), func(t *testing.T) {
				t.Parallel()
				r, _, err := gang{members: shapes["leader leads"], job: func(bellows.NodeID) train.Job { return job(1<<20, drift) },
					wrap: func(from, to bellows.NodeID, c transport.Conn) transport.Conn {
						if from == pair[0] && to == pair[1] {
							return &cutConn{Conn: c, left: writes}
						}
						return c
					}}.run(context.Background(), t)
				if err == nil || bellows.KindOf(err) != bellows.Lost || !strings.Contains(err.Error(), "node 2") {
					t.Fatalf("error %v", err)
				}
				if r.Audit.Applied > r.Audit.Sent+4*8 {
					t.Errorf("audit %+v", r.Audit)
				}
			})
		}
	}
}

// deafConn takes what is written and passes nothing on, as a stopped process does.
type deafConn struct {
	transport.Conn
	deaf <-chan struct{}
}

func (c deafConn) WriteFrames(b [][]byte) error {
	select {
	case <-c.deaf:
		return nil
	default:
		return c.Conn.WriteFrames(b)
	}
}

// TestASilentNodeIsDeclaredGone makes a node from which nothing comes any more, though its connections stand.
func TestASilentNodeIsDeclaredGone(t *testing.T) {
	t.Parallel()
	for _, shape := range []string{"leader leads", "server apart"} {
		members := shapes[shape]
		silent := bellows.NodeID(len(members) - 1)
		deaf := make(chan struct{})
		var once sync.Once
		_, _, err := gang{members: members, lead: node.Options{Times: liveness.Times{Lease: 700}}, job: func(bellows.NodeID) train.Job {
			return job(1<<20, func(t *train.Task) error {
				if t.Clock() == 3 {
					once.Do(func() { close(deaf) })
				}
				return drift(t)
			})
		}, wrap: func(from, _ bellows.NodeID, c transport.Conn) transport.Conn {
			if from == silent {
				return deafConn{c, deaf}
			}
			return c
		}}.run(context.Background(), t)
		want := fmt.Sprintf("node %d has been silent for", silent)
		if err == nil || !strings.Contains(err.Error(), want) || bellows.KindOf(err) != bellows.Lost {
			t.Errorf("%s: error %v, want %q", shape, err, want)
		}
	}
}

// TestNodesEndWithoutNodeZero makes a node 0 from which nothing comes any more, though its connections stand.
func TestNodesEndWithoutNodeZero(t *testing.T) {
	t.Parallel()
	mute := make(chan struct{})
	var once sync.Once
	_, errs, err := gang{members: shapes["server apart"], lead: node.Options{Times: liveness.Times{Lease: 700}}, job: func(bellows.NodeID) train.Job {
		return job(1<<20, func(t *train.Task) error {
			if t.Clock() == 3 {
				once.Do(func() { close(mute) })
			}
			return drift(t)
		})
	}, wrap: func(from, _ bellows.NodeID, c transport.Conn) transport.Conn {
		if from == 0 {
			return deafConn{c, mute}
		}
		return c
	}}.run(context.Background(), t)
	for n, e := range errs {
		if e == nil || !strings.Contains(e.Error(), "node 0 is gone") || bellows.KindOf(e) != bellows.Lost {
			t.Errorf("node %d: error %v", n+1, e)
		}
	}
	if all := fmt.Sprint(errs); !strings.Contains(all, "it has been silent for") {
		t.Errorf("no message says that node 0 was silent: %s", all)
	}
	if bellows.KindOf(err) != bellows.Lost {
		t.Errorf("node 0: error %v", err)
	}
}

// TestMoreNodesThanSplits runs four splits on six workers: two run no tasks, and the result has the bits of one process.
func TestMoreNodesThanSplits(t *testing.T) {
	t.Parallel()
	const rounds = 12
	members := []node.Member{{}}
	for n := range bellows.NodeID(6) {
		members = append(members, node.Member{Node: n + 1, Slots: 1, Lanes: 1})
	}
	want := runAlone(t, job(rounds, drift), node.Options{})
	got := gang{members: members, job: func(bellows.NodeID) train.Job { return job(rounds, drift) }}.done(t)
	if !reflect.DeepEqual(got.Tables, want.Tables) {
		t.Error("the tables have other bits than those of one process")
	}
}

// TestNodesOfDifferentJobsAreRefused gives node 1 a job that differs from node 0's in one thing, which the end names.
func TestNodesOfDifferentJobsAreRefused(t *testing.T) {
	t.Parallel()
	for part, change := range map[string]func(j *train.Job){
		"tables":           func(j *train.Job) { j.Tables[0].Init = table.Init{Kind: table.Fixed, Low: 1} },
		"splits":           func(j *train.Job) { j.Splits *= 2 },
		"data or settings": func(j *train.Job) { j.Data = "of yesterday" },
	} {
		g := gang{members: shapes["leader works"], job: func(n bellows.NodeID) train.Job {
			j := job(2, drift)
			if n == 1 {
				change(&j)
			}
			return j
		}}
		_, _, err := g.run(context.Background(), t)
		if err == nil || bellows.KindOf(err) != bellows.Config || !strings.Contains(err.Error(), "node 1 has made another job") ||
			!strings.Contains(err.Error(), "what differs is "+part) {
			t.Errorf("node 1 has other %s, and the job ends with %v", part, err)
		}
	}
}

// TestAFailureElsewhereIsPrintable makes a task of another node fail with an error that would clear the screen.
func TestAFailureElsewhereIsPrintable(t *testing.T) {
	t.Parallel()
	_, _, err := gang{members: shapes["leader leads"], job: func(bellows.NodeID) train.Job {
		return job(2, func(*train.Task) error { return errors.New("disk\x1b[2J is\rfull") })
	}}.run(context.Background(), t)
	if err == nil || !strings.Contains(err.Error(), "disk?[2J is?full") || strings.ContainsAny(err.Error(), "\x1b\r") {
		t.Errorf("the job ends with %q", err)
	}
}

// TestTablePlacement places tables of as many partitions as members have lanes, and of fewer; a job without tables; and a node that is alone.
func TestTablePlacement(t *testing.T) {
	two := []node.Member{{}, {Node: 1, Slots: 1, Lanes: 2}, {Node: 2, Lanes: 1}}
	one := []node.Member{{}, {Node: 1, Slots: 1, Lanes: 1}}
	alone := []node.Member{{Slots: 1, Lanes: 3}}
	of := func(partitions int) []table.Schema {
		return []table.Schema{{Rows: 8, Width: 1, Partitions: partitions}}
	}
	for _, c := range []struct {
		what    string
		members []node.Member
		tables  []table.Schema
		stay    bool
	}{
		{"as many", two, of(2), true}, {"fewer", two, of(1), false}, {"none for one", one, nil, false}, {"one for one", one, of(1), true}, {"none, alone", alone, nil, true},
	} {
		want := c.members
		if !c.stay {
			want = slices.Clone(c.members)
			for i := range want {
				want[i].Lanes = 0
			}
			want[0].Lanes = 1
		}
		if got := node.Place(c.members, c.tables, false); !slices.Equal(got, want) {
			t.Errorf("%s: %+v, want %+v", c.what, got, want)
		}
		if !c.stay { // another process may take the place of node 0, which has nothing then
			want[0].Lanes, want[1].Lanes = 0, 1
		}
		if got := node.Place(c.members, c.tables, true); !slices.Equal(got, want) {
			t.Errorf("%s, followed: %+v, want %+v", c.what, got, want)
		}
	}
}

// TestOldAttemptNodeIsIgnored wakes a node of an attempt whose other nodes are gone. It calls the nodes of the next
// attempt, with its token and at its addresses. It is rejected by name, and ends; the attempt ends with the bits of an
// undisturbed one, and an exact audit (P11).
func TestOldAttemptNodeIsIgnored(t *testing.T) {
	t.Parallel()
	const rounds, before, now = 30, 6, 7
	network := mem.New()
	quiet := runAlone(t, job(rounds, drift), node.Options{})
	open := func(n bellows.NodeID, address string) (transport.Transport, transport.Listener) {
		tr, err := network.Join(transport.Config{Self: transport.Hello{Node: n, Token: transport.Token{1}, Era: before}})
		require.NoError(t, err)
		l, err := tr.Listen(address)
		require.NoError(t, err)
		return tr, l
	}
	_, dead := open(0, "its node 0")
	left, listener := open(1, "the node that is left")
	accepted := make(chan transport.Conn, 1)
	go func() {
		conn, err := dead.Accept(t.Context())
		if err != nil {
			t.Error(err)
		}
		accepted <- conn
	}()
	conn, err := left.Dial(t.Context(), dead.Address())
	require.NoError(t, err)
	wakes, ended := make(chan struct{}), make(chan error, 1)
	go func() { // its node 0 has died
		<-wakes
		if err := errors.Join((<-accepted).Close(), dead.Close()); err != nil {
			t.Error(err)
		}
	}()
	go func() {
		ended <- errors.Join(node.Serve(t.Context(), job(rounds, drift), node.Cluster{Self: 1, Members: []node.Member{{}, {Node: 1, Slots: 1, Lanes: 1}}}, []transport.Conn{conn, nil},
			node.Options{Era: before, Links: &fabric.Links{Transport: left, Listener: listener, Addresses: []string{inMemory(0)}}}), listener.Close())
	}()
	var why error
	g := gang{members: []node.Member{{Lanes: 1}, {Node: 1, Slots: 1, Lanes: 1}, {Node: 2, Slots: 1, Lanes: 1}}, open: network.Join, address: inMemory, redial: true, lead: node.Options{Era: now},
		job: func(bellows.NodeID) train.Job {
			return job(rounds, func(task *train.Task) error {
				if task.Split() == 0 && task.Clock() == rounds/2 {
					close(wakes)
					why = <-ended
				}
				return drift(task)
			})
		}}
	r := g.done(t)
	if why == nil || !strings.Contains(why.Error(), "node 1 is of era 6 of the job, but node 0 of era 7: what is left of an era that a rollback has ended is not heard") {
		t.Errorf("the node of the former life ends: %v", why)
	}
	if !slices.Equal(r.Tables[0], quiet.Tables[0]) || r.Audit.Disagreements(true) != nil {
		t.Errorf("the tables are not those of an undisturbed job, or the audit is not: %v", r.Audit.Disagreements(true))
	}
}

// mute is a connection over which nothing passes.
type mute struct {
	transport.Conn
	node bellows.NodeID
}

func (c mute) Peer() transport.Hello { return transport.Hello{Node: c.node} }
func (c mute) Close() error          { return nil }

// TestFailedNodeDisconnects makes nodes that cannot make their part of a job: the others are not left to wait for them.
func TestFailedNodeDisconnects(t *testing.T) {
	t.Parallel()
	members := []node.Member{{Slots: 1, Lanes: 1}, {Node: 1, Slots: 1, Lanes: 1}}
	for name, serve := range map[string]func(j train.Job, c transport.Conn) error{
		"who leads": func(j train.Job, c transport.Conn) error {
			_, err := node.Lead(context.Background(), j, node.Cluster{Members: members}, []transport.Conn{nil, c}, node.Options{})
			return err
		},
		"another": func(j train.Job, c transport.Conn) error {
			return node.Serve(context.Background(), j, node.Cluster{Self: 1, Members: members}, []transport.Conn{c, nil}, node.Options{})
		},
	} {
		var closings atomic.Int32
		bad := job(1, drift)
		bad.Splits = 0
		other := mute{node: 1}
		if name == "another" {
			other.node = 0
		}
		if err := serve(bad, closeConn{other, &closings}); bellows.KindOf(err) != bellows.Config {
			t.Errorf("%s: %v", name, err)
		}
		if closings.Load() != 1 {
			t.Errorf("%s: the connection is closed %d times", name, closings.Load())
		}
	}
}

// TestIdleNodeLeavesCleanly makes a node without slots and lanes, as Place makes of one that would only hold tables.
func TestIdleNodeLeavesCleanly(t *testing.T) {
	t.Parallel()
	gang{members: []node.Member{{Lanes: 1}, {Node: 1, Slots: 1}, {Node: 2}}, job: func(bellows.NodeID) train.Job { return job(3, drift) }}.done(t)
}
