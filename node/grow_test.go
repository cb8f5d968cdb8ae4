package node_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"bellows"
	"bellows/api"
	"bellows/app"
	"bellows/app/lda"
	"bellows/app/linear"
	"bellows/app/mf"
	"bellows/app/mlr"
	"bellows/core/liveness"
	"bellows/data/demo"
	"bellows/internal/require"
	"bellows/link/fabric"
	"bellows/link/transport"
	"bellows/link/transport/mem"
	"bellows/node"
	"bellows/train"
	"bellows/train/traintest"
)

// growth is a job that begins on one node, all in this process, joined by memory: others join it, and splits go here and there, as a script says.
type growth struct {
	t        *testing.T
	job      func() train.Job
	network  *mem.Network
	commands node.Commands
	script   []func() // by step: what is commanded in it
	changes  []node.Change

	mu        sync.Mutex // guards what follows
	addresses map[bellows.NodeID]string
	next      int // step
	moving    []<-chan error

	others sync.WaitGroup
}

// Every node has a slot more than the script, which waits in one: a task that leases what is to move, and had no slot, would wait for the script and the script for it.
var members = []node.Member{{Slots: 2, Lanes: 1}}

// listen opens a node's transport.
func (g *growth) listen(n bellows.NodeID, token byte) (transport.Transport, transport.Listener) {
	tr, err := g.network.Join(transport.Config{Self: transport.Hello{Node: n, Token: transport.Token{token}}})
	require.NoError(g.t, err)
	l, err := tr.Listen(inMemory(int(n)))
	require.NoError(g.t, err)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.addresses == nil {
		g.addresses = map[bellows.NodeID]string{}
	}
	g.addresses[n] = l.Address()
	return tr, l
}

// below returns the addresses of the nodes of lower number.
func (g *growth) below(n bellows.NodeID) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := make([]string, n)
	for i := range list {
		list[i] = g.addresses[bellows.NodeID(i)]
	}
	return list
}

// serve returns a node that has been invited, to its end.
func (g *growth) serve(ctx context.Context, i node.Invitation, job train.Job, token byte) error {
	if err := i.Await(ctx); err != nil {
		return err
	}
	c := node.Cluster{Members: members}.Accept(i)
	tr, l := g.listen(i.Node, token)
	defer l.Close()
	conns, err := fabric.Connect(ctx, tr, l, c.Joining(), g.below(i.Node), liveness.Times{}, func(string) {})
	if err != nil {
		return err
	}
	return node.Serve(context.Background(), job, c, conns, node.Options{Links: &fabric.Links{Transport: tr, Listener: l, Addresses: g.below(i.Node)}})
}

// come makes an invited node come, which stays until the end.
func (g *growth) come(ctx context.Context, i node.Invitation) {
	g.others.Go(func() {
		if err := g.serve(ctx, i, g.scripted(), 1); err != nil {
			g.t.Errorf("node %d: %v", i.Node, err)
		}
	})
}

// add makes a node join, which stays until the end.
func (g *growth) add(slots, lanes int) bellows.NodeID {
	n, err := g.commands.Add(context.Background(), slots, lanes, func(ctx context.Context, i node.Invitation) error {
		g.come(ctx, i)
		return nil
	})
	if err != nil {
		g.t.Errorf("node %d does not join: %v", n, err)
	}
	return n
}

// move makes a split go, between two of its clocks. No other step is taken before it has.
func (g *growth) move(s bellows.SplitID, to bellows.NodeID) {
	moved, err := g.commands.MoveSplit(context.Background(), s, to)
	if err != nil {
		g.t.Errorf("split %d to node %d: %v", s, to, err)
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.moving = append(g.moving, moved)
}

// shift moves every partition to a node, by its place among them, and returns when they have moved. The caller has
// leased nothing and leaves others a slot, so that nothing waits for it.
func (g *growth) shift(to func(i int) bellows.NodeID) {
	now, err := g.commands.Layout(context.Background())
	if err != nil || len(now.Partitions) == 0 {
		g.t.Errorf("%d partitions: %v", len(now.Partitions), err)
	}
	var all []<-chan error
	for i, p := range now.Partitions {
		moved, err := g.commands.MovePartition(context.Background(), p.PartitionRef, to(i))
		if err != nil {
			g.t.Errorf("partition %v to node %d: %v", p.PartitionRef, to(i), err)
			continue
		}
		all = append(all, moved)
	}
	for _, moved := range all {
		if err := <-moved; err != nil {
			g.t.Error(err)
		}
	}
}

// rests reports whether all splits have gone that were to. Its caller holds the lock.
func (g *growth) rests() bool {
	g.moving = slices.DeleteFunc(g.moving, func(moved <-chan error) bool {
		select {
		case err := <-moved:
			if err != nil {
				g.t.Error(err)
			}
			return true
		default:
			return false
		}
	})
	return len(g.moving) == 0
}

// scripted returns the job with the script in it: a step is taken at the beginning of a task of a node that is in another clock
// than the step before.
func (g *growth) scripted() train.Job {
	return traintest.Before(g.job(), func(t *train.Task) {
		if t.Split() == 0 {
			g.step(int(t.Clock()))
		}
	})
}

func (g *growth) step(clock int) {
	g.mu.Lock()
	var do func()
	if g.next < len(g.script) && clock > g.next && g.rests() {
		do = g.script[g.next]
		g.next++
	}
	g.mu.Unlock()
	if do != nil {
		do()
	}
}

// run leads the job to its end.
func (g *growth) run(opt node.Options) (*node.Result, error) {
	g.network = mem.New()
	tr, l := g.listen(0, 1)
	opt.Commands, opt.Links = &g.commands, &fabric.Links{Transport: tr, Listener: l}
	opt.OnChange = func(c node.Change) { g.changes = append(g.changes, c) }
	r, err := node.Lead(context.Background(), g.scripted(), node.Cluster{Members: members}, nil, opt)
	err = errors.Join(err, l.Close()) // or a node that has missed its leave would call again
	g.others.Wait()
	return r, err
}

// oneToThree grows a job of so many splits from one node to three, two of them with lanes, and moves splits and
// partitions there and back.
func (g *growth) oneToThree(splits int) {
	g.script = []func(){
		func() { g.add(2, 0) },
		func() {
			for s := range splits / 2 {
				g.move(bellows.SplitID(s), 1)
			}
		},
		func() { g.add(2, 1) },
		func() {
			for s := range splits {
				g.move(bellows.SplitID(s), bellows.NodeID(s%3))
			}
			g.shift(func(i int) bellows.NodeID { return bellows.NodeID(2 * (i % 2)) })
		},
		func() {
			for s := range splits {
				g.move(bellows.SplitID(s), bellows.NodeID((s+1)%3))
			}
			g.shift(func(int) bellows.NodeID { return 2 })
		},
		func() { g.shift(func(i int) bellows.NodeID { return bellows.NodeID(2 - 2*(i%2)) }) },
		func() {
			for s := range splits {
				g.move(bellows.SplitID(s), 0)
			}
		},
	}
}

// check holds the result against that of a quiet run.
func (g *growth) check(quiet *node.Result, splits int) {
	g.t.Helper()
	seen := watchVisits(g.t, g.job())
	r, err := g.run(node.Options{OnVisits: seen.take, OnEpoch: seen.epoch})
	require.NoError(g.t, err)
	if seen.epochs == 0 { // the driver tells of none: each clock is one
		seen.epochs = 40
	}
	seen.ended(g.t)
	for i := range quiet.Tables {
		if !slices.Equal(r.Tables[i], quiet.Tables[i]) {
			g.t.Errorf("table %d is not that of a job in which no node came or went", i)
		}
	}
	checkAudit(g.t, r)
	count, shifted := map[node.ChangeKind]int{}, 0
	for _, c := range g.changes {
		if c.Sentence == "" || c.Kind == node.Joined && c.Process != os.Getpid() || c.Kind == node.Moved && len(c.Splits)+len(c.Partitions) == 0 {
			g.t.Errorf("told is %+v", c)
		}
		if shifted += len(c.Partitions); len(c.Partitions) == 0 {
			count[c.Kind] += max(1, len(c.Splits))
		}
	}
	if g.next != len(g.script) || count[node.Joined] != 2 || count[node.Moved] < 2*splits {
		g.t.Errorf("%d steps of %d were taken: %d nodes came and %d splits moved", g.next, len(g.script), count[node.Joined], count[node.Moved])
	}
	if shifted < len(quiet.Tables) {
		g.t.Errorf("%d partitions moved, of %d tables", shifted, len(quiet.Tables))
	}
}

// TestAJobGrowsAndItsSplitsMove lets two nodes join a job of one, and its splits go there and back: the result is that of the
// quiet job, bit for bit.
func TestAJobGrowsAndItsSplitsMove(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func() train.Job{
		"tables": func() train.Job { return job(40, drift) },
		"loop": func() train.Job {
			j := job(0, nil)
			train.Loop(&j, 40, func(w *train.Worker) error {
				for clock := w.CurrentClock(); clock < 40; clock++ {
					if err := drift(w.Task); err != nil {
						return err
					}
					w.Clock()
				}
				return nil
			})
			return j
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			quiet := runAlone(t, make(), node.Options{})
			g := &growth{t: t, job: make}
			g.oneToThree(4)
			g.check(quiet, 4)
		})
	}
}

// TestApplicationsGrow checks the same with real applications.
func TestApplicationsGrow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		app      app.Application
		settings map[string]string
	}{
		"mlr":                       {mlr.New(), nil},
		"mf":                        {mf.New(), map[string]string{"splits": "8"}},
		"lda":                       {lda.New(), map[string]string{"splits": "4", "topics": "4"}},
		"linear by Newton's method": {linear.New(), map[string]string{"loss": "squared"}},
		"linear by dual ascent":     {linear.New(), map[string]string{"loss": "svr", "solver": "dual", "clocks": "10"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set, err := demo.Make(c.app.Describe().Data, 1)
			require.NoError(t, err)
			make := func(shared bool) train.Job {
				run, err := c.app.NewRun(app.Input{Data: set, Seed: 1, Epochs: 4, Slots: 2, Settings: c.settings, Shared: shared})
				if err != nil {
					t.Error(err)
					return train.Job{}
				}
				return run.Job
			}
			quiet := runAlone(t, make(false), node.Options{})
			splits := make(false).Splits
			g := &growth{t: t, job: func() train.Job { return make(true) }}
			g.oneToThree(splits)
			g.check(quiet, splits)
		})
	}
}

// TestJoinRefusalNamesNode invites nodes that cannot take part: with another token, another job, one that dies on the
// way, and one that is not expected. The job continues, and accepts the next.
func TestJoinRefusalNamesNode(t *testing.T) {
	t.Parallel()
	g := &growth{t: t, job: func() train.Job { return job(30, drift) }}
	fails := func(want string, come func(ctx context.Context, i node.Invitation) error) func() {
		return func() {
			n, err := g.commands.Add(context.Background(), 1, 0, come)
			if err == nil || !errorSays(err, want) || !errorSays(err, fmt.Sprintf("node %d", n)) {
				t.Errorf("node %d: %v, want %q", n, err, want)
			}
		}
	}
	g.script = []func(){
		fails("token", func(ctx context.Context, i node.Invitation) error { return g.serve(ctx, i, g.scripted(), 2) }),
		fails("what differs is data", func(ctx context.Context, i node.Invitation) error {
			other := g.scripted()
			other.Data = "another"
			return g.serve(ctx, i, other, 1)
		}),
		fails("what differs is data", func(ctx context.Context, i node.Invitation) error { // it does not look itself
			other := g.scripted()
			other.Data = "another"
			i.Job = train.Fingerprint(&other, 0)
			g.others.Go(func() {
				if err := g.serve(ctx, i, other, 1); err == nil {
					t.Error("a node with another job ends in peace")
				}
			})
			return nil
		}),
		fails("it has no more", func(ctx context.Context, i node.Invitation) error {
			tr, l := g.listen(i.Node, 1)
			if err := i.Await(ctx); err != nil {
				return err
			}
			conns, err := fabric.Connect(ctx, tr, l, node.Cluster{Members: members}.Accept(i).Joining(), g.below(i.Node), liveness.Times{}, func(string) {})
			return errors.Join(errors.New("it has no more"), err, fabric.HangUp(conns), l.Close())
		}),
		g.unwanted,
		func() {
			if n := g.add(2, 1); n != 7 {
				t.Errorf("the next is node %d", n)
			}
			for s := range bellows.SplitID(4) {
				g.move(s, 7)
			}
			if _, err := g.commands.MoveSplit(context.Background(), 0, 3); err == nil {
				t.Error("a split goes to a node that takes no part")
			}
			if _, err := g.commands.MoveSplit(context.Background(), 9, 0); err == nil {
				t.Error("a split goes that there is not")
			}
		},
	}
	late := make(chan error, 1)
	g.script = append(g.script, func() {
		invited := make(chan struct{})
		go func() {
			_, err := g.commands.Add(context.Background(), 1, 0, func(context.Context, node.Invitation) error {
				close(invited)
				return nil // and does not come before the end
			})
			late <- err
		}()
		<-invited
	})
	r, err := g.run(node.Options{})
	require.NoError(t, err)
	if err := <-late; !errorSays(err, "the job is over") {
		t.Errorf("a node that has not come when the job ends: %v", err)
	}
	quiet, err := node.Train(context.Background(), job(30, drift), node.Options{})
	if err != nil || !slices.Equal(r.Tables[0], quiet.Tables[0]) || g.next != len(g.script) {
		t.Errorf("%v, ends at %v, not %v; %d steps", err, r.Tables[0], quiet.Tables[0], g.next)
	}
	if _, err := g.commands.Add(context.Background(), 1, 0, nil); bellows.KindOf(err) != bellows.Interrupted {
		t.Errorf("a node joins a job that is over: %v", err)
	}
	if _, err := g.commands.MoveSplit(context.Background(), 0, 0); bellows.KindOf(err) != bellows.Interrupted {
		t.Errorf("a split of a job that is over moves: %v", err)
	}
}

// TestNodesJoinTogether invites two nodes at a time; the first does not come before the second is invited. Both take
// part, and run splits.
func TestNodesJoinTogether(t *testing.T) {
	t.Parallel()
	g := &growth{t: t, job: func() train.Job { return job(30, drift) }}
	nodes := make(chan bellows.NodeID, 2)
	g.script = []func(){
		func() {
			both := make(chan struct{})
			invited := sync.OnceFunc(func() { close(both) })
			var all sync.WaitGroup
			all.Go(func() {
				n, err := g.commands.Add(context.Background(), 1, 0, func(ctx context.Context, i node.Invitation) error {
					<-both
					g.come(ctx, i)
					return nil
				})
				if nodes <- n; err != nil {
					t.Error(err)
				}
			})
			all.Go(func() {
				n, err := g.commands.Add(context.Background(), 1, 1, func(ctx context.Context, i node.Invitation) error {
					invited()
					g.come(ctx, i)
					return nil
				})
				invited() // also where it was refused
				if nodes <- n; err != nil {
					t.Error(err)
				}
			})
			all.Wait()
		},
		func() {
			a, b := <-nodes, <-nodes
			if a+b != 3 {
				t.Errorf("they are nodes %d and %d", a, b)
			}
			for s := range bellows.SplitID(4) {
				g.move(s, 1+bellows.NodeID(s)%2)
			}
		},
	}
	r, err := g.run(node.Options{})
	require.NoError(t, err)
	quiet, err := node.Train(context.Background(), job(30, drift), node.Options{})
	if err != nil || !slices.Equal(r.Tables[0], quiet.Tables[0]) || g.next != len(g.script) {
		t.Errorf("%v, ends at %v, not %v; %d steps", err, r.Tables[0], quiet.Tables[0], g.next)
	}
}

// unwanted sends two nodes that are not expected, the second while the first is on its way, and one that hosts nothing.
func (g *growth) unwanted() {
	ctx, cancel := context.WithCancelCause(context.Background())
	_, err := g.commands.Add(ctx, 1, 0, func(context.Context, node.Invitation) error {
		behind, leave := context.WithCancelCause(context.Background())
		_, err := g.commands.Add(behind, 1, 0, func(ctx context.Context, i node.Invitation) error {
			leave(errors.New("the second is not expected"))
			return i.Await(ctx) // its turn does not come
		})
		if !errorSays(err, "the second is not expected") {
			g.t.Errorf("a second one at a time: %v", err)
		}
		cancel(errors.New("nobody waits"))
		return nil
	})
	if !errorSays(err, "nobody waits") {
		g.t.Error(err)
	}
	if _, err := g.commands.Add(context.Background(), 0, 0, nil); err == nil {
		g.t.Error("a node joins that hosts nothing")
	}
}

func errorSays(err error, what string) bool { return err != nil && strings.Contains(err.Error(), what) }

// remove makes a node leave.
func (g *growth) remove(n bellows.NodeID) {
	if err := g.commands.Remove(context.Background(), n); err != nil {
		g.t.Error(err)
	}
}

// refused wants the removal of a node to be refused.
func (g *growth) refused(n bellows.NodeID, want string) {
	if err := g.commands.Remove(context.Background(), n); bellows.KindOf(err) != bellows.Config || !errorSays(err, want) {
		g.t.Errorf("node %d: %v, want %q", n, err, want)
	}
}

// TestNodesLeaveAJobThatRuns lets two nodes join a job of one and leave, and another one come and go at once. Each
// serves to its end without an error, and the result is that of the quiet job, bit for bit. A node that owns something
// stays.
func TestNodesLeaveAJobThatRuns(t *testing.T) {
	t.Parallel()
	quiet := runAlone(t, job(60, drift), node.Options{})
	g := &growth{t: t, job: func() train.Job { return job(60, drift) }}
	all := func(to ...bellows.NodeID) func() {
		return func() {
			for s := range bellows.SplitID(4) {
				g.move(s, to[int(s)%len(to)])
			}
		}
	}
	g.script = []func(){
		func() { g.add(2, 0); g.add(2, 2) },
		all(1, 2),
		func() {
			g.refused(1, "it has splits 0 and 2")
			g.refused(0, "it leads the job")
			g.refused(7, "it takes no part")
			all(0, 0, 2)()
			g.refused(2, "a split is on its way to it")
		},
		func() { g.remove(1); g.refused(1, "it takes no part") },
		func() {
			g.refused(2, "it has split 2")
			if n := g.add(2, 1); n != 3 {
				t.Errorf("the next is node %d", n)
			}
			all(3)()
		},
		func() { g.remove(2) },
		all(0),
		func() { g.remove(3) },
	}
	r, err := g.run(node.Options{})
	require.NoError(t, err)
	if !slices.Equal(r.Tables[0], quiet.Tables[0]) || r.Audit.Sent == 0 || r.Audit.Disagreements(true) != nil {
		t.Errorf("it ends at %v, not %v; audit %+v", r.Tables[0], quiet.Tables[0], r.Audit)
	}
	var left []bellows.NodeID
	for _, c := range g.changes {
		if c.Kind == node.Left && c.Sentence != "" {
			left = append(left, c.Node)
		}
	}
	if g.next != len(g.script) || !slices.Equal(left, []bellows.NodeID{1, 2, 3}) {
		t.Errorf("%d steps of %d were taken, and %v left", g.next, len(g.script), left)
	}
	if err := g.commands.Remove(context.Background(), 1); bellows.KindOf(err) != bellows.Interrupted {
		t.Errorf("a node leaves a job that is over: %v", err)
	}
}

// TestStartIsReportedOnce starts a job of a leader, two workers and a server: before anything else, the roles and the
// process of each node are reported.
func TestStartIsReportedOnce(t *testing.T) {
	t.Parallel()
	var told []string
	gang{members: shapes["server apart"], lead: node.Options{
		OnStart: func(nodes []api.Node) {
			for _, n := range nodes {
				told = append(told, fmt.Sprintf("%s %v %s: %d slots, %d splits, %d partitions, known process %v", n.ID, n.Roles, n.State, n.Slots, n.Splits, n.Partitions, n.PID > 0))
			}
		},
		OnEpoch: func(e train.Epoch, _ node.Spent) { told = append(told, fmt.Sprintf("epoch %d", e.Number)) },
	}, job: func(bellows.NodeID) train.Job {
		j := job(2, drift)
		j.Driver.(*train.Rounds).Each = func(round int, _ [][]float64, to *train.Dispatcher) bool {
			to.ShowEpoch(train.Epoch{Number: round + 1})
			return round == 0
		}
		return j
	}}.done(t)
	want := []string{
		"node-0 [controller] running: 0 slots, 0 splits, 0 partitions, known process true",
		"node-1 [worker] running: 1 slots, 2 splits, 0 partitions, known process true",
		"node-2 [worker] running: 2 slots, 2 splits, 0 partitions, known process true",
		"node-3 [server] running: 0 slots, 0 splits, 4 partitions, known process true",
		"epoch 1", "epoch 2",
	}
	if !slices.Equal(told, want) {
		t.Errorf("told\n%q, want\n%q", told, want)
	}
}
