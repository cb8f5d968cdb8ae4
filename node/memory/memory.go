// Package memory estimates how much memory a training run will need, and compares it with what the machine can give.
//
// A caller calls Job.Check once the data are read and the job is made. It measures what the process has, and counts what is
// still to come:
//
//   - rows: the copy that an application lays out for its tasks, where it does not give back what was read;
//   - model: tables with the state of their rules, the copy that the best epoch keeps, and the one for a checkpoint; or,
//     at the end, the one that is saved;
//   - working copies: the rows of tables that tasks have read, and updates that have not been applied.
//
// The larger of training and its end counts. The heap grows beyond what is alive as LimitGrowth lets it. Processes of one machine share the pages of mapped rows, and divide the tables.
//
// Sparse tables grow while the job runs and are not counted. Without /proc nothing is estimated.
package memory

import (
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"bellows"
	"bellows/core/rule"
	"bellows/data"
	"bellows/figures"
	"bellows/node/cgroup"
	"bellows/table"
)

// files gives the content of a file, by its absolute path.
type files func(path string) (string, error)

// Process is the memory of this process, in bytes.
type Process struct {
	Resident uint64 // now
	Peak     uint64 // the most that was resident
	File     uint64 // of Resident: pages of files, such as the program
	Live     uint64 // of the heap: objects, those included that nothing refers to any more
	Heap     uint64 // what the heap takes
	Pointed  uint64 // what a collection looks at for pointers; unlimited where GOGC is set, which lets the heap double
}

// Measure reads the memory of this process. Resident is 0 where it is unknown.
func Measure(file func(path string) (string, error)) Process {
	status, err := file("/proc/self/status")
	if err != nil {
		return Process{}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	_, pointed := collected()
	if growthSet() {
		pointed = unlimited
	}
	return Process{Pointed: pointed, Resident: kilobytes(status, "VmRSS:"), Peak: kilobytes(status, "VmHWM:"), File: kilobytes(status, "RssFile:"), Live: m.HeapInuse, Heap: m.HeapSys - m.HeapReleased}
}

// kilobytes returns the bytes that a line of a file in /proc states in kB; 0 without such a line.
func kilobytes(text, name string) uint64 {
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == name {
			n, _ := strconv.ParseUint(fields[1], 10, 54)
			return n << 10
		}
	}
	return 0
}

// Job has what decides how much more memory a run needs.
type Job struct {
	Tables    []table.Schema
	Data      *data.Set // the rows that are trained on
	LaidOut   bool      // the application copies the rows of a split for its tasks
	Rows      int64     // that are trained on in an epoch
	Splits    int
	Items     func(split bellows.SplitID, clock bellows.Clock) bellows.Range // see train.Job; nil: all rows in each clock
	Kept      bool                                                           // the best epoch is kept, in case that it is not the last
	Processes int                                                            // other than this one
}

// Estimate is how much memory a run will need, in bytes.
type Estimate struct {
	Now, Rows, Model, Working uint64 // what it has, and what is to come
	Total                     uint64 // the peak, of all processes of this machine
	More                      uint64 // beyond Now
}

const (
	beside  = 6 << 20  // stacks and tables of the Go runtime
	later   = 4 << 20  // pages of the program that no run has used before it trains
	process = 24 << 20 // of a process before it reads data
	spread  = 1.3      // several processes, over one (bench/command --only memory)
)

// Estimate estimates the peak of a run. It is 0 where the memory of this process is unknown.
func (j *Job) Estimate(now Process) Estimate {
	if now.Resident == 0 {
		return Estimate{}
	}
	e := Estimate{Now: now.Resident, Rows: j.rows(), Working: j.working()}
	alive := float64(now.Live) + float64(e.Rows)
	tables, saved, names := j.model()
	training := grown(alive+float64(tables)+float64(e.Working), now.Pointed)
	atEnd := grown(alive+float64(saved), now.Pointed+names)
	if e.Model = tables; atEnd > training {
		e.Model, e.Working = saved, 0
	}
	peak := max(float64(now.File)+max(training, atEnd, float64(now.Heap)), float64(now.Peak)) + beside + later
	if j.Processes > 0 {
		peak = spread*peak + float64(j.Processes)*process + float64(j.leased())
	}
	e.Total = uint64(min(peak, math.MaxInt64))
	e.More = e.Total - min(e.Total, now.Resident)
	return e
}

// rows returns the bytes of the rows as tasks have them.
func (j *Job) rows() uint64 {
	if !j.LaidOut {
		return 0
	}
	switch {
	case j.Data.Examples != nil:
		e := j.Data.Examples
		return 4 * uint64(len(e.Dense)+len(e.Index)+len(e.Value)+len(e.Label))
	case j.Data.Documents != nil:
		return 8 * uint64(len(j.Data.Documents.Word))
	}
	return 0
}

// values returns the bytes of a table's values; 0 of one that grows.
func values(s *table.Schema, rows int) uint64 {
	if s.Sparse {
		return 0
	}
	return 4 * uint64(min(s.Rows, rows)) * uint64(s.Width)
}

// name is the memory of a feature's name, in bytes: of a model that has only the features that occur.
const (
	name        = 24
	namePointed = 16 // of these
)

// model returns the bytes of all tables with the state of their rules: while they are trained, with the copies that are
// kept and written to checkpoints; and at the end, with the rows that are collected and saved. Names is what a
// collection looks at for pointers then.
func (j *Job) model() (training, atEnd, names uint64) {
	for i := range j.Tables {
		s := &j.Tables[i]
		state := values(s, math.MaxInt)
		if r, err := rule.For(s); err == nil && !s.Sparse {
			for _, width := range r.Slots() {
				state += 4 * uint64(s.Rows) * uint64(width)
			}
		}
		if j.Kept {
			state *= 2
		}
		training, atEnd = training+state, atEnd+state
		if j.Data.Kind != data.Ratings { // which a task changes in place under a lease: they are written when it ends
			training += values(s, math.MaxInt)
		}
		if !s.Scratch {
			atEnd += 2 * values(s, math.MaxInt)
		}
	}
	if e := j.Data.Examples; e != nil && len(j.Tables) > 0 && j.Tables[0].Rows < e.Features {
		rows := uint64(j.Tables[0].Rows)
		return training, atEnd + name*rows, namePointed * rows
	}
	return training, atEnd, 0
}

// heldMost is the most of leased partitions that a node keeps copies of, in bytes (client.Limits.HeldValues).
const heldMost = 4 * 64 << 20

// leased returns the bytes of the copies of leased partitions on all nodes but the one that owns them.
func (j *Job) leased() (bytes uint64) {
	if j.Data.Kind != data.Ratings {
		return 0
	}
	for i := range j.Tables {
		bytes += values(&j.Tables[i], math.MaxInt)
	}
	return uint64(j.Processes) * min(bytes, heldMost)
}

// working returns the bytes of the rows of tables that tasks have read, and of updates that wait for the end of their
// clock. The factors were measured by bench/command --only memory/estimate.
//
// Tasks of ratings change their blocks in place. A split of examples keeps what it reads of a table, what it computes
// from it and what it adds, until all splits have ended; if a clock visits a small part of sparse rows, that is the
// rows of the table that they use. Tasks of documents read their common table, and add what their tokens change.
func (j *Job) working() (bytes uint64) {
	switch {
	case j.Data.Examples != nil:
		touched, copies := math.MaxInt, 1.25
		if e := j.Data.Examples; e.Sparse() || e.Released > 0 {
			if copies = 2.5; j.clockShare() < 0.5 {
				touched = max(len(e.Index), e.Released)/max(1, j.Splits) + 1
				copies = min(1.25, 4*j.clockShare())
			}
		}
		for i := range j.Tables {
			bytes += values(&j.Tables[i], touched)
		}
		return uint64(copies * float64(bytes) * float64(j.Splits))
	case j.Data.Documents != nil:
		for i := range j.Tables {
			s := &j.Tables[i]
			bytes = max(bytes, min(7*values(s, math.MaxInt)/2, 3*4*uint64(s.Width)*uint64(max(0, j.Rows))))
		}
		return bytes
	}
	return 0
}

// clocksSeen is how many of the first clocks of a job show how an epoch is divided.
const clocksSeen = 8

// clockShare returns the part of the rows of an epoch that splits visit in one clock.
func (j *Job) clockShare() float64 {
	most := 0
	if j.Items != nil {
		for clock := range bellows.Clock(clocksSeen) {
			most = max(most, j.Items(0, clock).Len())
		}
	}
	if most == 0 || j.Rows == 0 {
		return 1
	}
	return min(1, float64(most)*float64(j.Splits)/float64(j.Rows))
}

// Check estimates the peak of a run of an application, and refuses it if this machine has not got the memory, unless tried is set. It collects garbage
// first: what reading the data has left is much of a heap, and counts as alive until then.
func (j *Job) Check(app string, tried bool) (Estimate, error) {
	Collect()
	e, limit := j.Estimate(Measure(readFile)), Available(readFile)
	if e.More <= limit.Bytes || tried {
		return e, nil
	}
	return e, bellows.Errorf(bellows.Refused, "train", app, "it would need about %s of memory, %s more than it has (rows %s, model %s, working copies %s, and room for the collector), and %s has %s left",
		figures.Bytes(e.Total), figures.Bytes(e.More), figures.Bytes(e.Rows), figures.Bytes(e.Model), figures.Bytes(e.Working), limit.Bound, figures.Bytes(limit.Bytes)).
		Hinted("train on fewer rows, make the model smaller with --set, give fewer --workers or --processes, or add --ignore-memory to try it all the same")
}

// Use is what a run needed of this machine's memory, in bytes.
type Use struct {
	Estimated uint64 `json:"estimated"` // the peak of all its processes, before training
	Peak      uint64 `json:"peak"`      // of this process, until now
}

// Use returns the estimate and what this process has needed so far; nil if that is unknown.
func (e Estimate) Use() *Use {
	if e.Total == 0 {
		return nil
	}
	return &Use{e.Total, Measure(readFile).Peak}
}

// readFile reads a file of the system.
func readFile(path string) (string, error) {
	text, err := os.ReadFile(path)
	return string(text), err
}

// Limit is how much memory can still be had, and what bounds it.
type Limit struct {
	Bytes uint64 // math.MaxUint64: unknown
	Bound string // "this machine", "its control group"
}

// Available finds how much more memory this process can have: of the machine, and of its control group, where pages that only
// cache files are given back.
func Available(file func(path string) (string, error)) Limit {
	limit := Limit{Bytes: math.MaxUint64}
	if text, err := files(file)("/proc/meminfo"); err == nil {
		if n := kilobytes(text, "MemAvailable:"); n > 0 {
			limit = Limit{n, "this machine"}
		}
	}
	if g := cgroup.Read(file); g.Memory > 0 {
		used := g.Used - min(g.Used, g.Cached)
		if left := g.Memory - min(g.Memory, used); left < limit.Bytes {
			limit = Limit{left, "its control group"}
		}
	}
	var space syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_AS, &space); err == nil && space.Cur < math.MaxInt64 {
		status, _ := files(file)("/proc/self/status")
		if left := space.Cur - min(space.Cur, kilobytes(status, "VmSize:")); left < limit.Bytes {
			limit = Limit{left, "its limit of address space (ulimit -v)"}
		}
	}
	return limit
}
