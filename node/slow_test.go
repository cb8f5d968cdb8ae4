package node_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bellows"
	"bellows/core/liveness"
	"bellows/internal/require"
	"bellows/link/transport"
	"bellows/node"
	"bellows/table"
	"bellows/train"
)

// These tests run whole jobs in virtual time: slow links and tasks that hang cost nothing. One node is a gang of one,
// whose idle slots sleep: those of Train look for work first, and time would stand still.

// alone is a cluster of one node.
var alone = []node.Member{{Slots: 4, Lanes: 2}}

// linkConn is a link of so many bytes a second.
type linkConn struct {
	transport.Conn
	perSecond int
}

func (c linkConn) WriteFrames(buffers [][]byte) error {
	for b := range slices.Values(buffers) {
		for piece := range slices.Chunk(b, max(1, c.perSecond/8)) {
			<-time.After(time.Duration(len(piece)) * time.Second / time.Duration(c.perSecond))
			if err := c.Conn.WriteFrames([][]byte{piece}); err != nil {
				return err
			}
		}
	}
	return nil
}

// slowFrom lets what a node sends leave at so many bytes a second.
func slowFrom(n bellows.NodeID, perSecond int) func(from, to bellows.NodeID, c transport.Conn) transport.Conn {
	return func(from, _ bellows.NodeID, c transport.Conn) transport.Conn {
		if from == n {
			return linkConn{c, perSecond}
		}
		return c
	}
}

// notices collects sentences.
type notices struct {
	mu   sync.Mutex
	list []string
}

func (n *notices) take(s string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, s)
}

func (n *notices) text() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.list, "\n")
}

// expect wants a text to be part of the sentences.
func (n *notices) expect(t *testing.T, want string) {
	t.Helper()
	if said := n.text(); !strings.Contains(said, want) {
		t.Errorf("nobody says %q: %s", want, said)
	}
}

// closing is an executor that does something when it is closed.
type closing struct {
	train.Executor
	close func() error
}

func (c closing) Close() error { return c.close() }

// onClose makes the executors of a job do something when they are closed.
func onClose(j train.Job, f func(s bellows.SplitID)) train.Job {
	run := j.NewExecutor
	j.NewExecutor = func(s bellows.SplitID) (train.Executor, error) {
		e, err := run(s)
		return closing{e, func() error { f(s); return nil }}, err
	}
	return j
}

// wide returns a job whose table has so many rows of one value.
func wide(rows, partitions int, run func(t *train.Task) error) train.Job {
	j := job(3, run)
	j.Tables[0].Rows, j.Tables[0].Width, j.Tables[0].Partitions = rows, 1, partitions
	return j
}

func pushOne(t *train.Task) error {
	t.PushRange(0, 0, []float32{1})
	return nil
}

// TestALargeModelIsCollected makes a model that takes longer than a lease to travel.
func TestALargeModelIsCollected(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := gang{members: []node.Member{{}, {Node: 1, Slots: 1, Lanes: 1}}, wrap: slowFrom(1, 64<<10), // 16 s for the model
			lead: node.Options{Times: liveness.Times{Lease: 2000}}, // and 2 s for each partition
			job:  func(bellows.NodeID) train.Job { return wide(1<<18, 8, pushOne) }}.done(t)
		if r.Tables[0][0] != 12 || len(r.Tables[0]) != 1<<18 || r.Total < 16*time.Second {
			t.Errorf("%d values, the first %v, after %v", len(r.Tables[0]), r.Tables[0][0], r.Total)
		}
	})
}

// TestSlowLinkIsNotSilence uses a link that takes longer than a lease for one part of a message: heartbeats wait for
// it.
func TestSlowLinkIsNotSilence(t *testing.T) {
	t.Parallel()
	for from := range bellows.NodeID(2) { // either end
		synctest.Test(t, func(t *testing.T) {
			deltas := make([]float32, 1<<18) // 16 s
			r := gang{members: []node.Member{{Slots: int(from), Lanes: 1 - int(from)}, {Node: 1, Slots: 1 - int(from), Lanes: int(from)}},
				wrap: slowFrom(1, 64<<10), lead: node.Options{Times: liveness.Times{Lease: 2000}},
				job: func(bellows.NodeID) train.Job {
					return wide(1<<18, 1, func(t *train.Task) error {
						if t.Split() == 0 {
							t.PushRange(0, 0, deltas)
						}
						return nil
					})
				}}.done(t)
			if r.Total < 16*time.Second {
				t.Errorf("it took %v", r.Total)
			}
		})
	}
}

// TestIdleNodeMayDieAtEnd kills a node, as its starter reports, while another sends the state.
func TestIdleNodeMayDieAtEnd(t *testing.T) {
	t.Parallel()
	for _, dead := range []bellows.NodeID{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			deaths := make(chan node.Death, 1)
			r, others, err := gang{members: []node.Member{{}, {Node: 1, Slots: 1}, {Node: 2, Slots: 1}, {Node: 3, Lanes: 1}}, wrap: slowFrom(3, 64<<10),
				lead: node.Options{Deaths: deaths},
				job: func(n bellows.NodeID) train.Job {
					return onClose(wide(1<<18, 8, pushOne), func(s bellows.SplitID) {
						if s == 0 {
							<-time.After(3 * time.Second) // the state takes 16
							deaths <- node.Death{Node: dead, Reason: fmt.Sprintf("node %d (process 4711) ended with signal: killed", dead)}
						}
					})
				}}.run(context.Background(), t)
			switch {
			case dead == 1 && (err != nil || r.Tables[0][0] != 12):
				t.Errorf("all had been trained, and the only server is up: %v; others %v", err, others)
			case dead == 3 && (err == nil || !strings.Contains(err.Error(), "collect the model: node 3 (process 4711) ended with signal: killed") || bellows.KindOf(err) != bellows.Lost):
				t.Errorf("the server is dead, and the model is there: %v", err)
			case dead == 3 && r.Total > 4*time.Second:
				t.Errorf("it took %v", r.Total)
			}
		})
	}
}

// TestExecutorsMayTakeTheirTimeToClose closes one for several leases, at node 0 and elsewhere.
func TestExecutorsMayTakeTheirTimeToClose(t *testing.T) {
	t.Parallel()
	for slow := range bellows.SplitID(4) {
		synctest.Test(t, func(t *testing.T) {
			var said notices
			r := gang{members: shapes["leader works"], lead: node.Options{Notice: said.take}, job: func(bellows.NodeID) train.Job {
				return onClose(job(3, drift), func(s bellows.SplitID) {
					if s == slow {
						<-time.After(45 * time.Second)
					}
				})
			}}.done(t)
			if r.Total < 45*time.Second || r.Total > 46*time.Second {
				t.Errorf("it took %v", r.Total)
			}
			want := "node 1 has waited 2.1 s for its executors to close"
			if slow < 2 { // split 1 and 2 are the leader's
				want = "node 0 has waited"
			}
			if !strings.Contains(said.text(), want) {
				t.Errorf("split %d: no message says %q: %s", slow, want, said.text())
			}
		})
	}
}

// TestTasksThatNeverReturnAreGivenUp makes a task hang at node 0 when another has failed: node 0 ends all the same, and the others with it.
func TestTasksThatNeverReturnAreGivenUp(t *testing.T) {
	t.Parallel()
	for _, members := range [][]node.Member{alone, shapes["leader works"]} {
		synctest.Test(t, func(t *testing.T) {
			release, hangs := make(chan struct{}), make(chan struct{})
			defer close(release)
			var said notices
			began := time.Now()
			_, others, err := gang{members: members, lead: node.Options{Notice: said.take, Times: liveness.Times{Tasks: 5000}}, job: func(bellows.NodeID) train.Job {
				return job(3, func(t *train.Task) error {
					switch {
					case t.Split() == 0 && t.Clock() == 1:
						close(hangs)
						<-release
					case t.Split() == 3 && t.Clock() == 1:
						<-hangs
						return errors.New("item 7 is broken")
					}
					return drift(t)
				})
			}}.run(context.Background(), t)
			if took := time.Since(began); took > 6*time.Second {
				t.Errorf("it took %v", took)
			}
			if err == nil || !strings.Contains(err.Error(), "node 0 waits no longer: its tasks have not returned 5.0 s after the job's end: split 0 clock 1 items [0,10)") || !strings.Contains(err.Error(), "item 7 is broken") {
				t.Errorf("%d nodes: %v", len(members), err)
			}
			if errors.Join(others...) != nil {
				t.Errorf("the others are not let go: %v", others)
			}
			said.expect(t, "node 0 has waited 2.1 s for split 0 clock 1 items [0,10) to return; the job is over")
		})
	}
}

// TestNodeZeroStopsTasksWithModel makes an executor of node 0, which holds tables, not close: the model is lost by name, and the others are let go.
func TestNodeZeroStopsTasksWithModel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		began := time.Now()
		r, others, err := gang{members: shapes["leader works"], lead: node.Options{Notice: func(string) {}, Times: liveness.Times{Tasks: 5000}}, job: func(bellows.NodeID) train.Job {
			return onClose(job(3, drift), func(s bellows.SplitID) {
				if s == 0 {
					<-release
				}
			})
		}}.run(context.Background(), t)
		const want = "collect the model: node 0 waits no longer: its executors have not closed 5.0 s after the job's end"
		if took := time.Since(began); took > 6*time.Second || r == nil || r.Tables != nil || err == nil || !strings.Contains(err.Error(), want) || bellows.KindOf(err) != bellows.Lost {
			t.Errorf("after %v: %+v, %v", took, r, err)
		}
		if errors.Join(others...) != nil {
			t.Errorf("the others are not let go: %v", others)
		}
	})
}

// TestFailedExecutorCloseLosesNothing fails the close of an executor after training: the model is complete, and the
// failure is reported.
func TestFailedExecutorCloseLosesNothing(t *testing.T) {
	t.Parallel()
	whole := runAlone(t, job(3, drift), node.Options{})
	for split := range bellows.SplitID(4) {
		synctest.Test(t, func(t *testing.T) {
			var said notices
			r, others, err := gang{members: shapes["leader works"], lead: node.Options{Notice: said.take}, job: func(bellows.NodeID) train.Job {
				j := job(3, drift)
				run := j.NewExecutor
				j.NewExecutor = func(s bellows.SplitID) (train.Executor, error) {
					e, err := run(s)
					return closing{e, func() error {
						if s == split {
							return errors.New("the disk is full")
						}
						return nil
					}}, err
				}
				return j
			}}.run(context.Background(), t)
			if r == nil || !slices.Equal(r.Tables[0], whole.Tables[0]) || errors.Join(others...) != nil {
				t.Errorf("split %d: result %+v, errors %v, %v", split, r, err, others)
			}
			if told := err != nil && strings.Contains(err.Error(), "the disk is full"); !told && !strings.Contains(said.text(), "an executor did not close: the disk is full") {
				t.Errorf("split %d: error %v, and said is %q", split, err, said.text())
			}
		})
	}
}

// TestExecutorsCloseBeforeTheirNodeLeaves makes those of nodes without tables take their time to close, and node 0 wait for nothing of
// theirs.
func TestExecutorsCloseBeforeTheirNodeLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var closed atomic.Int64
		_, others, err := gang{members: shapes["server apart"], job: func(bellows.NodeID) train.Job {
			return onClose(job(3, drift), func(bellows.SplitID) {
				<-time.After(time.Second)
				closed.Add(1)
			})
		}}.run(context.Background(), t)
		if closed.Load() != 4 || err != nil || errors.Join(others...) != nil {
			t.Errorf("%d executors have closed; errors %v, %v", closed.Load(), err, others)
		}
	})
}

// TestANodeWhoseTasksHangLeaves makes an executor of node 1, which holds tables, not close: the node gives it up, and the model is lost by name.
func TestANodeWhoseTasksHangLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		var said notices
		_, others, err := gang{members: shapes["leader works"], lead: node.Options{Notice: said.take, Times: liveness.Times{Tasks: 5000}}, job: func(bellows.NodeID) train.Job {
			return onClose(job(3, drift), func(s bellows.SplitID) {
				if s == 3 {
					<-release
				}
			})
		}}.run(context.Background(), t)
		if err == nil || !strings.Contains(err.Error(), "collect the model: node 1 leaves: its executors have not closed 5.0 s after the job's end") || bellows.KindOf(err) != bellows.Lost {
			t.Errorf("node 0: %v", err)
		}
		if others[0] == nil || !strings.Contains(others[0].Error(), "its executors have not closed 5.0 s after the job's end") || bellows.KindOf(others[0]) != bellows.Lost {
			t.Errorf("node 1: %v", others[0])
		}
		said.expect(t, "node 1 has waited 2.1 s for its executors to close; the job is over, and this is given up after 5.0 s")
	})
}

// TestATaskThatHangsIsNamed runs a slow task: it is named, and the job continues. A task that does not end ends the
// job.
func TestATaskThatHangsIsNamed(t *testing.T) {
	t.Parallel()
	for takes, ends := range map[time.Duration]bool{6 * time.Second: true, 2 * time.Minute: false} {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			defer close(release)
			var said notices
			_, _, err := gang{members: shapes["four of each kind"], lead: node.Options{Notice: said.take, Times: liveness.Times{Task: 60_000, Tasks: 120_000}}, job: func(bellows.NodeID) train.Job {
				return job(3, func(t *train.Task) error {
					if t.Split() == 2 && t.Clock() == 1 {
						select {
						case <-time.After(takes):
						case <-release: // the node has left
						}
					}
					return drift(t)
				})
			}}.run(context.Background(), t)
			said.expect(t, "s for split 2 clock 1 on node 3, and gives up after 60.0 s")
			// Its own node and the controller see it at the same time, and either may be the first to say so.
			named := err != nil && (strings.Contains(err.Error(), "split 2 clock 1 on node 3 has not ended") ||
				strings.Contains(err.Error(), "split 2 clock 1 items [0,10) on node 3 failed: it has computed for 60."))
			if ends && err != nil || !ends && !named {
				t.Errorf("a task takes %v: %v", takes, err)
			}
		})
	}
}

// TestTrainedCountsVisitTime runs three clocks whose tasks end one second after the other, the second without items:
// two of them are training, each until its last task has ended.
func TestTrainedCountsVisitTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := gang{members: []node.Member{{Slots: 4, Lanes: 1}}, job: func(bellows.NodeID) train.Job {
			j := job(3, func(t *train.Task) error {
				<-time.After(time.Duration(t.Split()) * time.Second)
				return drift(t)
			})
			items := j.Items
			j.Items = func(s bellows.SplitID, c bellows.Clock) bellows.Range {
				if c == 1 {
					return bellows.Range{}
				}
				return items(s, c)
			}
			return j
		}}.done(t)
		if r.Trained != 6*time.Second || r.Total != 9*time.Second {
			t.Errorf("trained for %v of %v", r.Trained, r.Total)
		}
	})
}

// TestRemoteWaitIsNamed delays a split of node 0 by five seconds in its first clock: splits of node 1 wait for it
// before they read, and node 0 reports that.
func TestRemoteWaitIsNamed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var said notices
		gang{members: shapes["leader works"], lead: node.Options{Notice: said.take}, job: func(n bellows.NodeID) train.Job {
			j := job(2, func(t *train.Task) error {
				if n == 0 && t.Clock() == 0 {
					<-time.After(5 * time.Second)
				}
				return drift(t)
			})
			j.Driver = &train.Clocks{Splits: j.Splits, Count: 2}
			return j
		}}.done(t)
		said.expect(t, "after clock 0 of every split, after commit 0, behind split 0 on node 0")
	})
}

// TestEndWaitNamesTask fails one task while another continues for a while.
func TestEndWaitNamesTask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var said notices
		hangs := make(chan struct{})
		_, _, err := gang{members: alone, lead: node.Options{Notice: said.take}, job: func(bellows.NodeID) train.Job {
			return job(3, func(t *train.Task) error {
				switch {
				case t.Split() == 2 && t.Clock() == 1:
					close(hangs)
					<-time.After(5 * time.Second)
				case t.Split() == 1 && t.Clock() == 1:
					<-hangs
					return errors.New("item 7 is broken")
				}
				return drift(t)
			})
		}}.run(context.Background(), t)
		if err == nil || !strings.Contains(err.Error(), "item 7 is broken") {
			t.Error(err)
		}
		said.expect(t, "node 0 has waited 2.1 s for split 2 clock 1 items [0,10) to return; the job is over")
	})
}

// gap returns a job on a table with a partition without rows.
func gap(rounds int, run func(t *train.Task) error) train.Job {
	j := job(rounds, run)
	j.Tables[0].Partitions, j.Tables[0].Bounds = 0, []bellows.RowID{0, 3, 3, 8}
	return j
}

// TestAnEmptyPartitionIsKept keeps tables, one with a partition without rows, interrupts the job, and resumes it: the
// job returns the kept state.
func TestAnEmptyPartitionIsKept(t *testing.T) {
	t.Parallel()
	keeping := func(at func(clock bellows.Clock)) train.Job {
		j := gap(6, func(t *train.Task) error {
			if t.Split() == 0 {
				at(t.Clock())
			}
			return drift(t)
		})
		j.Driver = &train.Rounds{Splits: 4, Each: func(r int, _ [][]float64, to *train.Dispatcher) bool {
			if r == 1 {
				to.Keep()
			}
			return r+1 < 6
		}}
		return j
	}
	synctest.Test(t, func(t *testing.T) {
		want := gang{members: shapes["leader leads"], job: func(bellows.NodeID) train.Job { return keeping(func(bellows.Clock) {}) }}.done(t)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		r, others, err := gang{members: shapes["leader leads"], job: func(bellows.NodeID) train.Job {
			return keeping(func(clock bellows.Clock) {
				if clock == 3 {
					cancel()
					<-time.After(time.Second) // until it is heard of
				}
			})
		}}.run(ctx, t)
		if err != nil || r.Image == nil || r.Image.Kept == nil {
			t.Fatalf("%v %v, others %v", r, err, others)
		}
		sameTable(t, r, want)
		r = gang{members: shapes["server apart"], job: func(bellows.NodeID) train.Job { return keeping(func(bellows.Clock) {}) }, resume: r.Image}.done(t)
		sameTable(t, r, want)
	})
}

// TestAnEmptyPartitionIsLeasedFromAfar leases partitions of another node, one of them without rows.
func TestAnEmptyPartitionIsLeasedFromAfar(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := gang{members: []node.Member{{Lanes: 1}, {Node: 1, Slots: 1}}, job: func(bellows.NodeID) train.Job {
			j := gap(2, func(t *train.Task) error {
				for p := range bellows.PartitionID(3) {
					if slab := t.Lease(0, p, train.Exclusive); (len(slab) == 0) != (p == 1) {
						return fmt.Errorf("partition %d has %d values", p, len(slab))
					} else if p != 1 {
						slab[0]++
					}
				}
				return nil
			})
			j.Tables[0].Consistency = table.Async
			return j
		}}.done(t)
		if r.Tables[0][0] != 8 || r.Tables[0][6] != 8 {
			t.Errorf("ends at %v", r.Tables[0])
		}
	})
}

// TestPullOfZeroRows reads and changes the rows [n, n).
func TestPullOfZeroRows(t *testing.T) {
	t.Parallel()
	_, err := node.Train(context.Background(), job(1, func(t *train.Task) error {
		for n := range bellows.RowID(9) {
			if v := t.PullRange(0, n, n); len(v) != 0 {
				return fmt.Errorf("%d values of no rows", len(v))
			}
			t.PushRange(0, n, nil)
		}
		return nil
	}), node.Options{})
	require.NoError(t, err)
}

// TestASplitFarAheadContinues dispatches splits that wait for no other far ahead, and one slow task.
func TestASplitFarAheadContinues(t *testing.T) {
	t.Parallel()
	const clocks = 200
	synctest.Test(t, func(t *testing.T) {
		j := job(1, func(t *train.Task) error {
			if t.Split() == 3 && t.Clock() == 0 {
				<-time.After(300 * time.Millisecond)
			}
			t.PushRange(0, 0, []float32{1, 0})
			return nil
		})
		j.Tables[0].Consistency, j.Driver = table.Async, &ahead{clocks: clocks}
		r := gang{members: alone, job: func(bellows.NodeID) train.Job { return j }}.done(t)
		if r.Tables[0][0] != 4*clocks || r.Total > time.Second {
			t.Errorf("ends at %v after %v", r.Tables[0][0], r.Total)
		}
	})
}
