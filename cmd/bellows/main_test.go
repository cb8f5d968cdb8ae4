package main

import (
	"errors"
	"io"
	"os"
	"slices"
	"syscall"
	"testing"

	"bellows"
	"bellows/app"
	"bellows/app/mlr"
	"bellows/cli"
	"bellows/cli/clitest"
	"bellows/port/blob/s3/s3test"
	"bellows/table"
	"bellows/train"
)

func TestMain(m *testing.M) {
	clitest.Main(m, "bellows", main, clitest.Program{Name: "leasing", Main: func() { cli.Main(leasing{mlr.New()}) }}, clitest.Program{Name: "s3serve", Main: serveS3})
}

// serveS3 implements `s3serve ADDRESS FILE`: an S3 service for scripts whose machines do not reach that of TestScripts.
// The file gets its address when it is up.
func serveS3() {
	err := s3test.Serve(os.Args[1], func(s *s3test.Server) {
		if err := os.WriteFile(os.Args[2], []byte(s.Endpoint), 0o666); err != nil {
			panic(err)
		}
	})
	panic(err)
}

// buildMembers builds the program that runs etcd servers, which external.txtar needs, and returns its path. soak_test.go sets it: the program is of another module, which takes long to compile.
var buildMembers = func(*testing.T) string { return "" }

// TestScripts runs the command lines of testdata/script, one file per verb. Those of s3.txtar keep checkpoints in a service of S3 that is here.
func TestScripts(t *testing.T) {
	t.Parallel()
	s3 := s3test.Start(t)
	clitest.Run(t, "bellows", "testdata/script", "MEMBERS="+buildMembers(t), "S3_PLACE="+s3.Place("runs"), "S3_ENDPOINT="+s3.Endpoint, "S3_KEY="+s3test.Key, "S3_SECRET="+s3test.Secret)
}

// leasing is an application whose tasks also lease a table: from some clock on they wait with the leases while the file
// $CLITEST_HOLD.leased is locked. So a partition that should move is copied, and stays until the file is unlocked.
type leasing struct{ app.Application }

// NewRun implements app.Application.
func (l leasing) NewRun(in app.Input) (*app.Run, error) {
	run, err := l.Application.NewRun(in)
	if err != nil {
		return nil, err
	}
	leased := table.Schema{Name: "leased", Rows: 1 << 16, Width: 1, Partitions: 2, Consistency: table.Async}
	at := train.Table(len(run.Job.Tables))
	run.Job.Tables = append(slices.Clip(run.Job.Tables), leased)
	made := run.Job.NewExecutor
	run.Job.NewExecutor = func(split bellows.SplitID) (train.Executor, error) {
		e, err := made(split)
		return &leaseTasks{e, at, leased.Partitions}, err
	}
	return run, nil
}

type leaseTasks struct {
	train.Executor
	table      train.Table
	partitions int
}

// heldFrom is the first clock whose tasks wait.
const heldFrom = 20

// RunTask implements train.Executor. Leases of a table come behind reads of those before it.
func (l *leaseTasks) RunTask(t *train.Task) error {
	if err := l.Executor.RunTask(t); err != nil || t.Clock() < heldFrom {
		return err
	}
	for p := range l.partitions {
		t.Lease(l.table, bellows.PartitionID(p), train.Shared)
	}
	f, err := os.Open(os.Getenv("CLITEST_HOLD") + ".leased")
	if err != nil {
		return err
	}
	defer f.Close()
	for errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_SH), syscall.EINTR) {
	}
	return nil
}

// Close implements io.Closer.
func (l *leaseTasks) Close() error {
	if c, ok := l.Executor.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
