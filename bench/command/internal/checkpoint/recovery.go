package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"bellows"
	"bellows/bench/internal/follow"
	"bellows/bench/internal/pair"
	"bellows/node"
	"bellows/node/archive"
	"bellows/port/blob/file"
	"bellows/table"
	"bellows/train"
)

// The two attempts of the recovered job.
const (
	first  = "first"
	second = "second"
)

// recoverySeconds is what a recovery may take beside reading.
const recoverySeconds = 5

// recovery kills a job after its first checkpoint, starts it again, and shows when it has committed something new. The
// written files are dropped from the page cache before, so that they come from the disk.
func (c *check) recovery(size int64) {
	if size == 0 {
		size = 64 << 20
		if c.Full {
			size = 1_000_000_000
		}
	}
	turns := max(1, min(c.Turns, 5))
	program := pair.Must(os.Executable())
	c.Section(fmt.Sprintf("a job of a model of %.3g MB is killed, and resumes", float64(size)/1e6))
	var took, bounds, reading []float64
	for range turns {
		folder := pair.Must(os.MkdirTemp(c.shelf.Path("."), "killed-"))
		play(program, first, folder, size)
		list, bytes := files(folder)
		forget(list)
		began := time.Now()
		readAll(list)
		read := time.Since(began).Seconds()
		forget(list)
		took = append(took, play(program, second, folder, size).Seconds())
		reading = append(reading, float64(bytes)/read/1e6)
		bounds = append(bounds, read*float64(size)/float64(bytes)+recoverySeconds)
		pair.Check(os.RemoveAll(folder))
	}
	c.Note("the disk reads %.0f MB/s (least %.0f, most %.0f)", pair.SpreadOf(reading).Median, pair.SpreadOf(reading).Min, pair.SpreadOf(reading).Max)
	all := pair.SpreadOf(took)
	c.Note("start to first new commit: median %.2f s, least %.2f, most %.2f of %d", all.Median, all.Min, all.Max, turns)
	c.AddFact(pair.Fact{Figure: fmt.Sprintf("%.3g MB, from start to first new commit, most of %d", float64(size)/1e6, turns), Unit: "s", Ours: all.Max, Peer: "5 s and bytes by read speed",
		Bound: pair.SpreadOf(bounds).Median})
}

// play starts a life of the job, and kills it when it has said what is waited for: that it is saved, or that it resumes. It returns how long that took.
func play(program, life, folder string, size int64) time.Duration {
	began := time.Now()
	c := follow.Start(nil, program, pair.RoleArgs("checkpoint", life, folder, strconv.FormatInt(size, 10))...)
	defer c.Kill()
	c.Await("word of the "+life+" life", lifeWithin, func(e follow.Event) bool { return e.Text == life })
	return time.Since(began)
}

// lifeWithin bounds a life of the job.
const lifeWithin = 10 * time.Minute

// forget takes files that are on the disk out of the system's memory, where that can be done.
func forget(list []string) {
	for _, name := range list {
		f := pair.Must(os.Open(name))
		pair.Check(errors.Join(f.Sync(), forgetFile(f), f.Close()))
	}
}

func readAll(list []string) {
	b := make([]byte, 1<<20)
	for _, name := range list {
		f := pair.Must(os.Open(name))
		pair.Must(io.CopyBuffer(io.Discard, struct{ io.Reader }{f}, b)) // the file alone would be read in another way
		pair.Check(f.Close())
	}
}

// some is how many rows a task reads and changes.
const some = 64

// live plays a life of the job, in this process: the first until it is killed, and says when it is saved; the second from there, and says when something new is
// committed. Its arguments are the life, the folder of its checkpoints and the bytes of its model.
func live(args []string) {
	life, folder, schema := args[0], args[1], tableOf(pair.Must(strconv.ParseInt(args[2], 10, 64)))
	ctx, say := context.Background(), sync.OnceFunc(func() { fmt.Println(life) })
	a := pair.Must(archive.Open(file.InFolder(filepath.Join(folder, "checkpoint")), archive.ID{1}, []table.Schema{schema}))
	opt := node.Options{Slots: 2, Era: 1, Checkpoints: &node.Checkpoints{Archive: a, Every: 100 * time.Millisecond}}
	if life == first {
		opt.Checkpoints.OnCut = func(node.Checkpoint) { say() }
	} else {
		m, passed, err := a.Latest(ctx)
		if err == nil && m == nil {
			err = fmt.Errorf("no checkpoint: %v", passed)
		}
		pair.Check(err)
		opt.Era, opt.Checkpoints.Every, opt.Resume = m.Era+1, time.Hour, a.Saved(ctx, m)
	}
	pair.Must(node.Train(ctx, train.Job{
		Tables: []table.Schema{schema},
		Splits: 2,
		Items:  func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{Begin: 0, End: 1} },
		Driver: &train.Rounds{Splits: 2, Each: func(int, [][]float64, *train.Dispatcher) bool {
			if life == second { // a round that has begun in this life has ended
				say()
			}
			return true
		}},
		NewExecutor: func(split bellows.SplitID) (train.Executor, error) { return toucher{int(split), schema.Rows}, nil },
	}, opt))
}

// toucher is the executor of a split: each task reads and changes other rows than the previous one.
type toucher struct{ split, rows int }

// RunTask reads and changes some rows.
func (s toucher) RunTask(t *train.Task) error {
	n := min(some, s.rows)
	from := bellows.RowID((2*int(t.Clock()) + s.split) * n % (s.rows - n + 1))
	t.PullRange(0, from, from+bellows.RowID(n))
	t.PushRange(0, from, make([]float32, n*width))
	return nil
}
