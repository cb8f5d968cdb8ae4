package node_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"bellows"
	"bellows/node"
	"bellows/policy/cost"
	"bellows/policy/gauge"
	"bellows/table"
	"bellows/train"
)

// figured runs a job at three nodes, and the last one only holds partitions. A task calls look in each clock, until
// that ends the job.
func figured(t *testing.T, clocks int, look func(*node.Commands, bellows.Clock) (done bool, err error)) {
	t.Helper()
	var commands node.Commands
	var over atomic.Bool
	const splits = 3
	job := func(bellows.NodeID) train.Job {
		return train.Job{
			Tables: []table.Schema{{Name: "weights", Rows: 40, Width: 2, Partitions: 4},
				{Name: "own", Rows: splits, Width: 1, Partitions: splits, BySplit: true}},
			Splits: splits,
			Items: func(s bellows.SplitID, _ bellows.Clock) bellows.Range {
				return bellows.Range{End: 10 + int(s)}
			},
			Driver: &train.Clocks{Splits: splits, Count: clocks,
				Each: func(int, [][]float64) ([]train.Metric, bool) { return nil, !over.Load() }},
			NewExecutor: func(split bellows.SplitID) (train.Executor, error) {
				return executing(func(task *train.Task) error {
					task.PullRange(0, 0, 40)
					task.PushRow(0, bellows.RowID(split), []float32{1, 2})
					if split != 0 {
						return nil
					}
					done, err := look(&commands, task.Clock())
					over.Store(over.Load() || done)
					return err
				}), nil
			},
		}
	}
	g := gang{members: []node.Member{{Slots: 1, Lanes: 1}, {Node: 1, Slots: 2}, {Node: 2, Lanes: 2}},
		lead: node.Options{Commands: &commands}, job: job}
	r, errs, err := g.run(context.Background(), t)
	if err = errors.Join(append(errs, err)...); err != nil {
		t.Fatal(err)
	}
	checkAudit(t, r)
	if _, err := commands.Figures(context.Background()); err == nil {
		t.Error("a job that is over gives figures")
	}
}

// executing is an executor of one function.
type executing func(*train.Task) error

func (f executing) RunTask(t *train.Task) error { return f(t) }

// TestControllerKnowsTheFiguresOfItsJob: what is not measured is in the figures.
func TestControllerKnowsTheFiguresOfItsJob(t *testing.T) {
	t.Parallel()
	figured(t, 60, func(c *node.Commands, clock bellows.Clock) (bool, error) {
		if clock == 40 {
			return true, checkKnown(c)
		}
		return false, nil
	})
}

func checkKnown(c *node.Commands) error {
	f, err := node.KnownFigures(context.Background(), c)
	if err != nil {
		return err
	}
	if f.Items != 10+11+12 || f.Clocks.Epoch != 1 || f.Clocks.Passed != 40 || f.Clocks.Expected != 20 {
		return fmt.Errorf("%d items in %+v", f.Items, f.Clocks)
	}
	if !slices.Equal(f.Tables, []int{4, 3}) || len(f.Partitions) != 7 || f.Partitions[0].Bytes != 80 {
		return fmt.Errorf("partitions %+v of tables %v", f.Partitions, f.Tables)
	}
	for i, p := range f.Partitions {
		if near := p.Near != nil; near != (i >= 4) || near && *p.Near != i-4 {
			return fmt.Errorf("partition %d is %+v", i, p)
		}
	}
	want := []gauge.Node{{Works: true, Serves: true, Slots: 1, Lanes: 1}, {ID: 1, Works: true, Slots: 2},
		{ID: 2, Serves: true, Lanes: 2}}
	if !slices.Equal(f.Nodes, want) {
		return fmt.Errorf("nodes %+v, not %+v", f.Nodes, want)
	}
	s := f.Shape()
	return s.Validate()
}

// TestJobMeasuresItself: figures are there when enough clocks were measured, can be read again, and predict a time.
func TestJobMeasuresItself(t *testing.T) {
	t.Parallel()
	figured(t, 1<<20, func(c *node.Commands, clock bellows.Clock) (bool, error) {
		f, err := c.Figures(context.Background())
		if bellows.KindOf(err) == bellows.Unavailable && strings.Contains(err.Error(), "clocks more") {
			return false, nil // it takes as many reports as clocks allow
		}
		if err != nil {
			return false, err
		}
		if f.Clocks.Measured < gauge.ClocksLeast || f.Clocks.Measured >= int(clock) {
			return false, fmt.Errorf("in clock %d: %+v", clock, f.Clocks)
		}
		text, err := json.Marshal(f)
		if err != nil {
			return false, err
		}
		again, err := gauge.Read(text)
		if err != nil || !reflect.DeepEqual(f, again) {
			return false, fmt.Errorf("%s is read as %+v, %w", text, again, err)
		}
		if p := cost.Times(f); len(p) == 0 {
			return false, fmt.Errorf("%s predicts nothing", text)
		}
		return true, nil
	})
}
