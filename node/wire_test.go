package node_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"bellows"
	"bellows/app"
	"bellows/app/mf"
	"bellows/app/mlr"
	"bellows/data/demo"
	"bellows/internal/require"
	"bellows/link/transport"
	"bellows/node"
	"bellows/table"
	"bellows/train"
	"bellows/vec"
)

// narrow is the formats of 16 bits, and how far a value of about 1 may be off after a few hundred roundings.
var narrow = map[vec.Format]float64{vec.Float16: 0.01, vec.BFloat16: 0.08}

// TestSixteenBitsAreNearAndRepeat wants a run with 16-bit values to end near the one without, at the same bits each
// time, and with a correct audit.
func TestSixteenBitsAreNearAndRepeat(t *testing.T) {
	t.Parallel()
	one := runAlone(t, job(20, drift), node.Options{})
	for f, most := range narrow {
		var first []float32
		for range 2 {
			r := gang{members: shapes["leader leads"], job: func(bellows.NodeID) train.Job { return job(20, drift) }, lead: node.Options{Wire: f}}.done(t)
			if r.Audit.Sent == 0 || r.Audit.Disagreements(true) != nil {
				t.Errorf("%v: audit %+v", f, r.Audit)
			}
			if first == nil {
				first = r.Tables[0]
			}
			if !slices.Equal(first, r.Tables[0]) {
				t.Errorf("%v: ends at %v, and the next time at %v", f, first, r.Tables[0])
			}
		}
		off := 0.0
		for i, v := range first {
			off = max(off, math.Abs(float64(v-one.Tables[0][i]))/max(1, math.Abs(float64(one.Tables[0][i]))))
		}
		if off > most || off == 0 {
			t.Errorf("%v: ends %v away from %v", f, off, one.Tables[0])
		}
	}
}

// TestSixteenBitsKeepOwnWritesAndCounts counts the clocks of every split in its own rows: in whole numbers, which may
// not be rounded however large they are, and in floats, which must show the split's own writes at once.
func TestSixteenBitsKeepOwnWritesAndCounts(t *testing.T) {
	t.Parallel()
	const rounds = 40
	for f := range narrow {
		j := func(bellows.NodeID) train.Job {
			j := job(rounds, func(t *train.Task) error {
				s, clock := bellows.RowID(t.Split()), float32(t.Clock())
				if got := t.PullRange(1, s, s+1)[0]; got != clock {
					return errors.New("a split does not see its own writes")
				}
				if got := table.Counts(t.PullRange(2, s, s+1))[0]; got != int32(t.Clock())*70001 {
					return errors.New("counts are not what was counted")
				}
				t.PushRange(1, s, []float32{1})
				t.PushRange(2, s, []float32{math.Float32frombits(70001)})
				if got := t.PullRange(1, s, s+1)[0]; got != clock+1 {
					return errors.New("a split does not see what it wrote")
				}
				return nil
			})
			j.Tables = append(j.Tables, table.Schema{Name: "floats", Rows: 4, Width: 1, Partitions: 4, Consistency: table.Async},
				table.Schema{Name: "counts", Rows: 4, Width: 1, Partitions: 4, Consistency: table.SSP(2), DType: table.Int32})
			return j
		}
		r := gang{members: shapes["server apart"], job: j, lead: node.Options{Wire: f}}.done(t)
		for s := range 4 {
			if r.Tables[1][s] != rounds || table.Counts(r.Tables[2])[s] != rounds*70001 {
				t.Errorf("%v: split %d ends at %v and %d", f, s, r.Tables[1][s], table.Counts(r.Tables[2])[s])
			}
		}
	}
}

// countConn counts the bytes that are written.
type countConn struct {
	transport.Conn
	bytes *atomic.Int64
}

func (c countConn) WriteFrames(b [][]byte) error {
	for _, p := range b {
		c.bytes.Add(int64(len(p)))
	}
	return c.Conn.WriteFrames(b)
}

// TestSixteenBitsHalveWhatTravels compares the bytes of one job in each format.
func TestSixteenBitsHalveWhatTravels(t *testing.T) {
	t.Parallel()
	const rows, width = 2000, 8
	sent := map[vec.Format]int64{}
	for _, f := range []vec.Format{vec.Float32, vec.Float16, vec.BFloat16} {
		var bytes atomic.Int64
		j := func(bellows.NodeID) train.Job {
			delta := make([]float32, rows*width)
			j := job(10, func(t *train.Task) error {
				t.PullRange(0, 0, rows)
				t.PushRange(0, 0, delta)
				return nil
			})
			j.Tables = []table.Schema{{Name: "w", Rows: rows, Width: width, Partitions: 4}}
			return j
		}
		gang{members: shapes["leader leads"], job: j, lead: node.Options{Wire: f},
			wrap: func(from, to bellows.NodeID, c transport.Conn) transport.Conn {
				if to == 0 { // the model travels there in full
					return c
				}
				return countConn{c, &bytes}
			}}.done(t)
		sent[f] = bytes.Load()
	}
	for f := range narrow {
		if ratio := float64(sent[f]) / float64(sent[vec.Float32]); ratio < 0.45 || ratio > 0.55 {
			t.Errorf("%v: %d bytes, in full %d", f, sent[f], sent[vec.Float32])
		}
	}
}

func TestInvalidValueEndsJob(t *testing.T) {
	t.Parallel()
	j := func(bellows.NodeID) train.Job {
		return job(10, func(t *train.Task) error {
			t.PushRange(0, 0, slices.Repeat([]float32{3e4 * float32(t.Clock())}, 16))
			return nil
		})
	}
	_, _, err := gang{members: shapes["leader leads"], job: j, lead: node.Options{Wire: vec.Float16}}.run(context.Background(), t)
	if err == nil || bellows.KindOf(err) != bellows.Config || !strings.Contains(err.Error(), "fp16 ends at 65504") || !strings.Contains(err.Error(), "bf16") {
		t.Errorf("error %v", err)
	}
	if _, _, err = (gang{members: shapes["leader leads"], job: j, lead: node.Options{Wire: vec.BFloat16}}).run(context.Background(), t); err != nil {
		t.Error(err)
	}
}

// course is an application's training on made data, in three processes.
type course struct {
	app      app.Application
	settings map[string]string
	metric   string
	worse    float64 // what the metric may lose in 16 bits, as a share
}

// train returns the metric after the last epoch.
func (c course) train(t *testing.T, f vec.Format) float64 {
	t.Helper()
	set, err := demo.Make(c.app.Describe().Data, 1)
	require.NoError(t, err)
	epochs := 3
	if testing.Short() {
		epochs = 1
	}
	last := math.NaN()
	gang{members: shapes["leader leads"], job: func(bellows.NodeID) train.Job {
		run, err := c.app.NewRun(app.Input{Data: set, Seed: 1, Epochs: epochs, Slots: 2, Settings: c.settings})
		if err != nil {
			t.Error(err)
			return train.Job{}
		}
		return run.Job
	}, lead: node.Options{Wire: f, OnEpoch: func(e train.Epoch, _ node.Spent) {
		for _, m := range e.Metrics {
			if m.Name == c.metric {
				last = m.Value
			}
		}
	}}}.done(t)
	return last
}

// TestSixteenBitsTrainAlmostAsWell wants the error of an application to be hardly larger.
func TestSixteenBitsTrainAlmostAsWell(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]course{
		"mlr": {mlr.New(), nil, "test_logloss", 0.02},
		"mf":  {mf.New(), map[string]string{"schedule": "ssp", "splits": "4"}, "test_rmse", 0.03},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			full := c.train(t, vec.Float32)
			for f := range narrow {
				got := c.train(t, f)
				t.Logf("%v: %s is %v, in full %v", f, c.metric, got, full)
				if !(got <= full*(1+c.worse)) {
					t.Errorf("%v: %s is %v, in full %v", f, c.metric, got, full)
				}
			}
		})
	}
}
