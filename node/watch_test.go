package node_test

import (
	"context"
	"maps"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bellows"
	"bellows/api"
	"bellows/core/tally"
	"bellows/internal/require"
	"bellows/link/transport"
	"bellows/link/wire"
	"bellows/node"
	"bellows/train"
)

// far is a connection whose frames are slow in one direction.
type far struct {
	transport.Conn
	takes  time.Duration
	frames chan arrival
}

type arrival struct {
	at      time.Time
	header  wire.Header
	payload []byte
	err     error
}

// newFar delays what comes over a connection.
func newFar(c transport.Conn, takes time.Duration) transport.Conn {
	f := far{c, takes, make(chan arrival, 1<<12)}
	go func() {
		for {
			h, payload, err := c.ReadFrame()
			f.frames <- arrival{time.Now().Add(takes), h, payload, err}
			if err != nil {
				return
			}
		}
	}()
	return f
}

func (f far) ReadFrame() (wire.Header, []byte, error) {
	a := <-f.frames
	if a.err == nil {
		<-time.After(time.Until(a.at))
	}
	return a.header, a.payload, a.err
}

// near compares seconds by phase.
func near(got map[string]float64, want map[string]float64) bool {
	return maps.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-6 })
}

// TestEveryWaitHasItsPhase runs one split on a worker whose servers and controller are far away, in virtual time, where
// nothing else takes any: every second of each clock is known. It changes rows of both servers, or of one.
func TestEveryWaitHasItsPhase(t *testing.T) {
	t.Parallel()
	const clocks = 7
	distance := map[[2]bellows.NodeID]time.Duration{
		{1, 2}: 1 * time.Second, {1, 3}: 1 * time.Second, // questions and pushes
		{0, 2}: 2 * time.Second, {0, 3}: 2 * time.Second, // records
		{0, 1}: 3 * time.Second, // dispatches, and the end
	}
	// The second read subscribes to the rows, which are sent without requests from then on.
	for name, want := range map[string]map[string]float64{
		"two servers": {"compute": 2 * clocks, "pull_wait": 2, "push_wait": clocks, "commit_wait": 2 * clocks, "idle": clocks},
		// Whether all is held, only the record tells.
		"one server": {"compute": 2 * clocks, "pull_wait": 2, "push_wait": 3 * clocks, "commit_wait": 0, "idle": clocks},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var watch node.Watch
				g := gang{members: []node.Member{{}, {Node: 1, Slots: 1}, {Node: 2, Lanes: 1}, {Node: 3, Lanes: 1}}, lead: node.Options{Watch: &watch},
					job: func(bellows.NodeID) train.Job {
						j := job(clocks, func(t *train.Task) error {
							t.PullRange(0, 0, 2)
							<-time.After(2 * time.Second)
							t.PushRange(0, 0, []float32{1, 1})
							if name == "two servers" {
								t.PushRange(0, 2, []float32{1, 1})
							}
							return nil
						})
						j.Splits, j.Driver = 1, &train.Clocks{Splits: 1, Count: clocks}
						return j
					},
					wrap: func(self, peer bellows.NodeID, c transport.Conn) transport.Conn {
						return newFar(c, distance[[2]bellows.NodeID{peer, self}])
					}}
				g.done(t)
				p, err := watch.Look(t.Context())
				require.NoError(t, err)
				if !near(p.Phases, want) || !near(p.Nodes[1].Phases, want) {
					t.Errorf("phases %v, of node 1 %v, not %v", p.Phases, p.Nodes[1].Phases, want)
				}
				if p.Clock != clocks-1 || p.Furthest != clocks-1 || p.Commit != clocks || p.Splits != 1 {
					t.Errorf("clock %d, furthest %d, commit %d", p.Clock, p.Furthest, p.Commit)
				}
				if got := p.Staleness[0]; got != clocks {
					t.Errorf("%d fresh reads, not %d: %v", got, clocks, p.Staleness)
				}
				checkTraffic(t, p, clocks, name == "two servers")
				checkWork(t, p, clocks, name == "two servers")
			})
		})
	}
}

// checkWork wants the ten items of each clock from the worker, and the row that it changes there from each server.
func checkWork(t *testing.T, p api.Progress, clocks int64, both bool) {
	t.Helper()
	want := map[string][2]int64{"node-1": {10 * clocks, 0}, "node-2": {0, clocks}, "node-3": {0, 0}}
	if both {
		want["node-3"] = want["node-2"]
	}
	for _, n := range p.Nodes {
		if got := [2]int64{n.Items, n.Rows}; got != want[n.ID] {
			t.Errorf("%s has visited %d items and written %d rows, wanted %v", n.ID, got[0], got[1], want[n.ID])
		}
		if n.Processor <= 0 { // of the test's process
			t.Errorf("%s has used %v s of processors", n.ID, n.Processor)
		}
	}
}

// checkTraffic wants what arrived where it was sent to, by class, and nothing of it lost.
func checkTraffic(t *testing.T, p api.Progress, clocks int64, both bool) {
	t.Helper()
	worker, one, other := p.Nodes[1], p.Nodes[2], p.Nodes[3]
	pushes := clocks
	if both {
		pushes = 2 * clocks
	}
	if f := worker.Sent["pushes"]; f.Frames != pushes {
		t.Errorf("%+v pushes, not %d", f, pushes)
	}
	for _, class := range []string{"pulls", "pushes", "leases"} {
		if s, r := worker.Sent[class], sum(one.Bytes[class], other.Bytes[class]); s != r {
			t.Errorf("%s: the worker sent %+v, the servers have %+v", class, s, r)
		}
	}
	for _, class := range []string{"rows", "receipts"} {
		if s, r := sum(one.Sent[class], other.Sent[class]), worker.Bytes[class]; s != r || s.Frames == 0 {
			t.Errorf("%s: the servers sent %+v, the worker has %+v", class, s, r)
		}
	}
	for class, all := range p.Bytes {
		if f := sum(p.Nodes[0].Bytes[class], worker.Bytes[class], one.Bytes[class], other.Bytes[class]); f != all {
			t.Errorf("%s: %+v in all, %+v by node", class, all, f)
		}
	}
	if f := p.Bytes["model"]; f.Frames != 4 || p.Bytes["leases"].Frames != 0 { // a slab for each partition
		t.Errorf("model %+v, leases %+v", f, p.Bytes["leases"])
	}
}

func sum(flows ...api.Flow) (all api.Flow) {
	for _, f := range flows {
		all.Frames += f.Frames
		all.Bytes += f.Bytes
	}
	return all
}

// TestPhasesOfManyNodes makes every split compute for as many seconds as its number plus one, so that each node
// waits for the slowest at the end of every clock.
func TestPhasesOfManyNodes(t *testing.T) {
	t.Parallel()
	const clocks = 3
	members := []node.Member{{}, {Node: 1, Slots: 1, Lanes: 1}, {Node: 2, Slots: 1, Lanes: 1}, {Node: 3, Slots: 2, Lanes: 1}}
	synctest.Test(t, func(t *testing.T) {
		var watch node.Watch
		var mu sync.Mutex
		var spent []tally.Spent
		computed := make([]float64, len(members))
		g := gang{members: members,
			job: func(n bellows.NodeID) train.Job {
				j := job(clocks, func(t *train.Task) error {
					seconds := int(t.Split()) + 1
					<-time.After(time.Duration(seconds) * time.Second)
					mu.Lock()
					computed[n] += float64(seconds)
					mu.Unlock()
					return drift(t)
				})
				j.Driver = &train.Rounds{Splits: 4, Each: func(r int, _ [][]float64, to *train.Dispatcher) bool {
					to.ShowEpoch(train.Epoch{Number: r + 1})
					return r+1 < clocks
				}}
				return j
			},
			lead: node.Options{Watch: &watch, OnEpoch: func(_ train.Epoch, so node.Spent) { spent = append(spent, so.Slots) }}}
		g.done(t)
		p, err := watch.Look(t.Context())
		require.NoError(t, err)
		lasts := p.Seconds // every clock as long as the busiest node
		if least := slices.Max(computed[:3]); lasts < least {
			t.Errorf("%v s of training, though one node computed for %v s", lasts, least)
		}
		for n, v := range p.Nodes[1:] {
			total := 0.
			for _, s := range v.Phases {
				total += s
			}
			if got, want := v.Phases["compute"], computed[n+1]; math.Abs(got-want) > 1e-6 {
				t.Errorf("%s computed for %v s, not %v", v.ID, got, want)
			}
			if want := lasts * float64(v.Slots); math.Abs(total-want) > 1e-6 {
				t.Errorf("the phases of %s take %v s, not %v: %v", v.ID, total, want, v.Phases)
			}
			if v.PID == 0 || v.State != api.Ended || v.Splits == 0 || v.Partitions == 0 || v.Tier != api.Reliable {
				t.Errorf("%+v", v)
			}
		}
		for i := range spent {
			if want := float64(1+2+3+4) * float64(i+1); math.Abs(spent[i][tally.Compute].Seconds()-want) > 1e-6 {
				t.Errorf("after epoch %d %v was computed, not %v s", i+1, spent[i][tally.Compute], want)
			}
		}
		if len(spent) != clocks {
			t.Errorf("%d epochs", len(spent))
		}
	})
}

// TestLookWhileItRuns asks from within a task, when every split of the round but its own may have any state.
func TestLookWhileItRuns(t *testing.T) {
	t.Parallel()
	var watch node.Watch
	if p, err := watch.Look(context.Background()); err != nil || p.Clock != -1 || len(p.Nodes) != 0 {
		t.Errorf("before the job: %+v, %v", p, err)
	}
	j := job(5, func(t *train.Task) error {
		p, err := watch.Look(context.Background())
		if err != nil {
			return err
		}
		if n := p.Nodes[0]; p.Clock != int(t.Clock())-1 || p.Furthest != int(t.Clock()) || n.State != api.Running || n.Heard != 0 {
			return bellows.Errorf(bellows.Bug, "look", "", "in clock %d: %+v", t.Clock(), p)
		}
		return drift(t)
	})
	if _, err := node.Train(context.Background(), j, node.Options{Slots: 2, Watch: &watch}); err != nil {
		t.Fatal(err)
	}
	p, err := watch.Look(context.Background())
	if err != nil || p.Clock != 4 || p.Commit < 5 || p.Nodes[0].State != api.Ended || p.Nodes[0].Phases["compute"] <= 0 {
		t.Errorf("after the job: %+v, %v", p, err)
	}
	if !slices.Equal(p.Nodes[0].Roles, []string{"controller", "worker", "server"}) || p.Nodes[0].Splits != 4 || p.Nodes[0].Partitions != 4 {
		t.Errorf("%+v", p.Nodes[0])
	}
}

// TestALookAtAFailedJob: the figures outlive the job.
func TestALookAtAFailedJob(t *testing.T) {
	t.Parallel()
	var watch node.Watch
	g := gang{members: shapes["leader leads"], lead: node.Options{Watch: &watch},
		job: func(bellows.NodeID) train.Job {
			return job(1000, func(t *train.Task) error {
				if t.Clock() == 3 && t.Split() == 0 {
					return bellows.Errorf(bellows.BadData, "read", "items", "broken")
				}
				return drift(t)
			})
		}}
	if _, _, err := g.run(context.Background(), t); err == nil {
		t.Fatal("the job did not fail")
	}
	p, err := watch.Look(context.Background())
	if err != nil || p.Clock > 3 || p.Nodes[0].State != api.Ended {
		t.Errorf("after a job that failed: %+v, %v", p, err)
	}
}
