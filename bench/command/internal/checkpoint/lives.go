package checkpoint

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"bellows/bench/internal/pair"
	"bellows/node"
)

// lived is what a recording tells of machines that were sold to be taken away: how long they were seen to be there in all, and how many of them went.
type lived struct {
	name   string
	there  time.Duration
	losses int
}

func (l *lived) average() time.Duration { return l.there / time.Duration(max(1, l.losses)) }

// lives shows the mean lifetime of such machines, from recordings: their total time by the number of those that ended.
// That is the likeliest mean if a machine's end does not depend on its age, and it counts machines that were there at a
// recording's end for as long as they were seen. Folder has archives as published: of skypilot-org/spot-traces (whether
// a machine was available, or how many, every few minutes), and the logs of machines that
// stanford-futuredata/training_on_a_dime kept.
func (c *check) lives(folder string) {
	archives := pair.Must(filepath.Glob(filepath.Join(folder, "*.tar.gz")))
	var all []lived
	for _, name := range archives {
		list, err := recordings(name)
		pair.Check(err)
		all = append(all, list...)
	}
	if len(all) == 0 {
		pair.Check(fmt.Errorf("--traces: no archive in %q has recordings of machines", folder))
	}
	var one, many lived
	var logs []float64
	c.Section("how long machines live that are sold to be taken away")
	for _, l := range all {
		c.Note("%-50s %8.0f h there, %5d losses: %.2f h at the mean", l.name, l.there.Hours(), l.losses, l.average().Hours())
		one.there, one.losses = one.there+l.there, one.losses+l.losses
		logs = append(logs, math.Log(max(1, l.average().Seconds())))
	}
	many = one
	middle := time.Duration(math.Exp(pair.Median(logs).Value) * float64(time.Second))
	c.Note("%d recordings, %.0f h, %d losses: %.2f h at the mean of all, %.2f h in the middle of the recordings", len(all), many.there.Hours(), many.losses, many.average().Hours(), middle.Hours())
	c.AddFact(pair.Fact{Figure: "the life that intervals are made for, in times of the mean of all", Ours: node.FailureTime.Hours() / many.average().Hours(), Exact: true})
}

// recordings returns those in an archive.
func recordings(name string) (list []lived, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	files := tar.NewReader(z)
	for {
		h, err := files.Next()
		if err == io.EOF {
			return list, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		l := lived{name: path.Join(path.Base(path.Dir(h.Name)), path.Base(h.Name))}
		switch {
		case path.Ext(h.Name) == ".json" && strings.Contains(h.Name, "availability/"):
			err = l.series(files)
		case path.Ext(h.Name) == ".out" && strings.Contains(h.Name, "/availability/"):
			l.name = path.Base(path.Dir(path.Dir(h.Name))) + " " + path.Base(h.Name)
			err = l.log(files)
		default:
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", name, h.Name, err)
		}
		list = append(list, l)
	}
}

// series reads how many machines there were, at equal times.
func (l *lived) series(from io.Reader) error {
	var r struct {
		Metadata struct {
			Gap float64 `json:"gap_seconds"`
		}
		Data []int
	}
	if err := json.NewDecoder(from).Decode(&r); err != nil {
		return err
	}
	if r.Metadata.Gap <= 0 || len(r.Data) < 2 {
		return errors.New("it has no series")
	}
	for i, n := range r.Data[:len(r.Data)-1] {
		l.there += time.Duration(float64(n) * r.Metadata.Gap * float64(time.Second))
		l.losses += max(0, n-r.Data[i+1])
	}
	return nil
}

var logForm = regexp.MustCompile(`^\[([^\]]+)\] (?:Created instance|Instance) (\S+) (with|running|not running)`)

// log reads what was seen of machines, each by its name: that it was made, runs, or does no longer.
func (l *lived) log(from io.Reader) error {
	seen := map[string]time.Time{} // those that are there
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		m := logForm.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		at, err := time.Parse(time.RFC3339, m[1])
		if err != nil {
			return err
		}
		last, there := seen[m[2]]
		if there && m[3] != "with" {
			l.there += at.Sub(last)
		}
		if m[3] != "not running" {
			seen[m[2]] = at
		} else if there {
			l.losses++
			delete(seen, m[2])
		}
	}
	return lines.Err()
}
