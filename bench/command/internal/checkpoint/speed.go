package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"bellows"
	"bellows/bench/internal/pair"
	"bellows/core/coord"
	"bellows/core/rowstore"
	"bellows/node/archive"
	"bellows/port/blob/file"
	"bellows/table"
)

// wantedSpeed is the part of the disk's speed at which a checkpoint is to be written, and width the values of a row of its table.
const (
	wantedSpeed = 0.7
	width       = 256
)

// tableOf returns a table of so many bytes.
func tableOf(size int64) table.Schema {
	return table.Schema{Name: "model", Rows: int(max(1, size/(4*width))), Width: width, Init: table.Init{Kind: table.Uniform, Seed: 1, Low: -1, High: 1}}
}

// speed writes cuts, and plain files of the same bytes and sizes, each synced and given its name as those are, in turns.
func (c *check) speed() {
	sizes := []int64{8 << 20, 64 << 20}
	if c.Full {
		sizes = append(sizes, 1<<30)
	}
	for _, size := range sizes {
		c.writes(size)
	}
}

func (c *check) writes(size int64) {
	schema, ctx := tableOf(size), context.Background()
	cut := schema.Cut()
	images := make([]*rowstore.Image, cut.Len())
	for p := range images {
		first, end := cut.Rows(bellows.PartitionID(p))
		images[p] = &rowstore.Image{Slots: [][]float32{}, Values: pair.Random(int(end-first)*width, uint64(p))}
	}
	folder := pair.Must(os.MkdirTemp(c.shelf.Path("."), "cuts-"))
	defer os.RemoveAll(folder)
	a := pair.Must(archive.Open(file.InFolder(filepath.Join(folder, "ours")), archive.ID{1}, []table.Schema{schema}))
	plain := filepath.Join(folder, "plain")
	pair.Check(os.Mkdir(plain, 0o777))

	var shards []int64 // the sizes of the files of a cut
	var safe []float64 // seconds for the manifest, for reading back and for removing what is old
	commit := bellows.CommitNumber(0)
	ours := pair.Side{Name: "checkpoint", Run: func() pair.Turn {
		commit++
		turn := pair.Measure(func() float64 {
			w := pair.Must(a.Begin(archive.At{Era: 1, Commit: commit}))
			putAll(ctx, w, images)
			began := time.Now()
			m, old, err := w.Publish(ctx, &coord.Saved{State: coord.State{Complete: []bellows.Clock{0}}}, nil, time.Now())
			pair.Check(errors.Join(err, old))
			safe = append(safe, time.Since(began).Seconds())
			shards = shards[:0]
			for i := range m.Shards {
				shards = append(shards, m.Shards[i].Bytes)
			}
			return float64(w.Written())
		})()
		turn.Wall -= pair.Seconds(safe[len(safe)-1]) // a note shows it
		return turn
	}}
	b := make([]byte, 256<<10)
	for i, x := range pair.Random(len(b), 1) {
		b[i] = byte(x * 127)
	}
	peer := pair.Side{Name: "plain files", Run: pair.Measure(func() (sum float64) {
		for i, n := range shards {
			writePlain(plain, i, n, b)
			sum += float64(n)
		}
		return sum
	})}
	c.Section(fmt.Sprintf("a model of %d MiB in %d partitions, to %s", size>>20, len(images), folder))
	row := pair.Row{Figure: fmt.Sprintf("writing %d MiB", size>>20), Unit: "B/s", Clock: pair.Wall, Target: wantedSpeed}
	c.Race(row, ours, peer)
	c.Note("after that the manifest, reading everything back, and removing what is old: %.3f s", pair.Median(safe).Value)
}

// putAll writes shards as a node does, so many at a time.
func putAll(ctx context.Context, w *archive.Cut, images []*rowstore.Image) {
	next := make(chan int, len(images))
	for p := range images {
		next <- p
	}
	close(next)
	pair.RunTogether(archive.Together, func(int) {
		for p := range next {
			pair.Check(w.Put(ctx, bellows.PartitionRef{Partition: bellows.PartitionID(p)}, images[p], nil))
		}
	})
}

// writePlain writes a file under a hidden name, syncs it, gives it its name, and syncs the folder: the least that keeps it, whenever power is cut.
func writePlain(folder string, number int, size int64, b []byte) {
	draft := filepath.Join(folder, fmt.Sprintf(".%d.part", number))
	f := pair.Must(os.Create(draft))
	for size > 0 {
		n := min(size, int64(len(b)))
		pair.Must(f.Write(b[:n]))
		size -= n
	}
	pair.Check(errors.Join(f.Sync(), f.Close()))
	pair.Check(os.Rename(draft, filepath.Join(folder, fmt.Sprint(number))))
	d := pair.Must(os.Open(folder))
	pair.Check(errors.Join(d.Sync(), d.Close()))
}

// files returns those below a folder, and their bytes.
func files(folder string) (list []string, size int64) {
	pair.Check(filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			list, size = append(list, path), size+info.Size()
		}
		return err
	}))
	return list, size
}
