package launch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bellows"
	"bellows/api"
	"bellows/internal/require"
	"bellows/node"
	"bellows/table"
	"bellows/train"
)

// childRole is the environment variable by which this program, started by a test for a part of its job, knows what to do.
const childRole = "BELLOWS_LAUNCH_CHILD"

func TestMain(m *testing.M) {
	role := os.Getenv(childRole)
	if role == "" {
		os.Exit(m.Run())
	}
	if err := startedByTest(role); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
}

// startedByTest returns what a process does that a test has started.
func startedByTest(role string) error {
	switch role {
	case "mute": // until its input ends
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	case "stranger":
		fmt.Println("hello")
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	case "dead":
		return errors.New("out of memory")
	}
	asked, warn := context.WithCancel(context.Background())
	defer warn()
	return RunChild(asked, os.Stdin, os.Stdout, func(prepared context.Context, saved []byte) (Part, error) {
		if role == "warned" {
			job := counts()
			job.NewExecutor = func(s bellows.SplitID) (train.Executor, error) { return reads{counter(s), warn, prepared}, nil }
			return Part{Job: job}, nil
		}
		if name, ok := strings.CutPrefix(role, "grows "); ok {
			job, err := gated(name, os.Getenv(gateFolder))
			return Part{Job: job}, err
		}
		if role == "dies" {
			job := counts()
			job.NewExecutor = func(s bellows.SplitID) (train.Executor, error) { return death{}, nil }
			return Part{Job: job}, nil
		}
		if string(saved) != strings.TrimPrefix(role, "part") {
			return Part{}, fmt.Errorf("the saved run is %q", saved)
		}
		return Part{Job: counts()}, nil
	})
}

// counts makes each of four splits add 1 to its row in each of three clocks.
func counts() train.Job {
	return train.Job{Splits: 4, Tables: []table.Schema{{Name: "counts", Rows: 4, Width: 1, Partitions: 2}}, Driver: &train.Clocks{Splits: 4, Count: 3},
		Items:       func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{End: 1} },
		NewExecutor: func(s bellows.SplitID) (train.Executor, error) { return counter(s), nil }}
}

type counter bellows.SplitID

func (c counter) RunTask(t *train.Task) error {
	t.PushRange(0, bellows.RowID(c), []float32{1})
	return nil
}

// reads is an executor whose process is asked to end while it runs, and which then reads with the context of its job.
type reads struct {
	counter
	warn context.CancelFunc
	by   context.Context
}

func (r reads) RunTask(t *train.Task) error {
	r.warn()
	for range 1000 { // so that the receiver gets to run
		if err := r.by.Err(); err != nil {
			return err
		}
		runtime.Gosched()
	}
	return r.counter.RunTask(t)
}

// death is an executor whose process ends on node 1.
type death struct{}

func (death) RunTask(t *train.Task) error {
	if t.Split() == 0 {
		os.Exit(9)
	}
	return nil
}

// processes returns how a test starts this program for members of a cluster.
func processes(t *testing.T, role, transport string, image []byte) Processes {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	t.Setenv(childRole, role)
	return Processes{Program: program, Args: []string{program}, Transport: transport, Saved: image,
		Members: []node.Member{{Lanes: 1}, {Node: 1, Slots: 1, Lanes: 1}, {Node: 2, Slots: 1}}}
}

// TestAJobRunsInProcesses runs a job in three processes, over Unix sockets and TCP, with a saved run and without. Each
// process gets its place, and none is left afterwards.
func TestAJobRunsInProcesses(t *testing.T) {
	for _, c := range []struct{ transport, image string }{{"unix", ""}, {"tcp", "as it was"}} {
		l := processes(t, "part"+c.image, c.transport, nil)
		if c.image != "" {
			l.Saved = []byte(c.image)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		r, err := l.Run(ctx, counts(), node.Options{})
		if cancel(); err != nil {
			t.Fatalf("%s: %v", c.transport, err)
		}
		if want := []float32{3, 3, 3, 3}; !slices.Equal(r.Tables[0], want) {
			t.Errorf("%s: counted %v, want %v", c.transport, r.Tables[0], want)
		}
	}
}

// TestSurplusProcessesRunNoTasks runs a job of four splits with six workers: two hold no split, and the result is that of
// fewer.
func TestSurplusProcessesRunNoTasks(t *testing.T) {
	l := processes(t, "part", "unix", nil)
	for len(l.Members) < 7 {
		l.Members = append(l.Members, node.Member{Node: bellows.NodeID(len(l.Members)), Slots: 1})
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var joined []int
	r, err := l.Run(ctx, counts(), node.Options{OnStart: func(nodes []api.Node) {
		for _, n := range nodes {
			joined = append(joined, n.Splits)
		}
	}})
	require.NoError(t, err)
	if want := []float32{3, 3, 3, 3}; !slices.Equal(r.Tables[0], want) {
		t.Errorf("the table is %v, want %v", r.Tables[0], want)
	}
	if want := []int{0, 1, 1, 1, 1, 0, 0}; !slices.Equal(joined, want) {
		t.Errorf("the nodes have %v splits, want %v", joined, want)
	}
}

// TestWarnedProcessContinues asks processes to end while their tasks run, and no other can take over: the job runs to
// its end, and the files that they made can be read.
func TestWarnedProcessContinues(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := processes(t, "warned", "unix", nil).Run(ctx, counts(), node.Options{})
	require.NoError(t, err)
	if want := []float32{3, 3, 3, 3}; !slices.Equal(r.Tables[0], want) {
		t.Errorf("the table is %v, want %v", r.Tables[0], want)
	}
}

// TestProcessesThatCannotTakePartAreNamed starts processes that announce no address, exit, or cannot make the job. The
// job is not run, and the error has their last lines.
func TestProcessesThatCannotTakePartAreNamed(t *testing.T) {
	for role, want := range map[string]string{
		"stranger":       `node 1: it says "hello" and not where it listens`,
		"dead":           "out of memory",
		"partof another": `the saved run is ""`,
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		_, err := processes(t, role, "unix", nil).Run(ctx, counts(), node.Options{})
		if cancel(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", role, err, want)
		}
	}
}

// broken simulates a process that closes its input before it ends.
type broken struct{ *stays }

func (p broken) Say([]byte) error { return syscall.EPIPE }
func (p broken) Last() string     { return ": out of memory" }

// TestFailedWriteReportsHowProcessEnded writes to a process that is about to end: the error is its last line. If the
// process stays, the error is the failed write.
func TestFailedWriteReportsHowProcessEnded(t *testing.T) {
	ends := broken{newStays()}
	defer time.AfterFunc(10*time.Millisecond, ends.Kill).Stop()
	err := (&fleet{patience: time.Hour}).send(&child{Process: ends, node: 2}, addresses{})
	if err == nil || !strings.Contains(err.Error(), "node 2 ended: out of memory") || errors.Is(err, syscall.EPIPE) {
		t.Errorf("an ending process: %v", err)
	}
	err = (&fleet{patience: time.Millisecond}).send(&child{Process: broken{newStays()}}, addresses{})
	if !errors.Is(err, syscall.EPIPE) {
		t.Errorf("a process that stays: %v", err)
	}
}

// TestAProcessThatDiesIsNamed ends a process while the job runs. The job's error says how the system ended it.
func TestAProcessThatDiesIsNamed(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := processes(t, "dies", "unix", nil).Run(ctx, counts(), node.Options{})
	if bellows.KindOf(err) != bellows.Lost || !strings.Contains(err.Error(), "node 1 (process ") || !strings.Contains(err.Error(), "ended with exit status 9") {
		t.Errorf("the job: %v", err)
	}
}

// TestInvalidAssignmentIsReported checks a process with an invalid standard input: empty, no assignment, or one without
// a token.
func TestInvalidAssignmentIsReported(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"":                      "EOF",
		"hello\n":               "invalid character",
		`{"Token":"ab"}` + "\n": "Token",
	} {
		var out bytes.Buffer
		if _, err := takeAssignment(strings.NewReader(said), &out, func(error) {}); bellows.KindOf(err) != bellows.Usage || !strings.Contains(err.Error(), want) || out.Len() > 0 {
			t.Errorf("%q: %v, and it answers %q", said, err, out.String())
		}
	}
}

// TestAddressesOfOthersAreNotTaken sends a process of three the addresses of two: it treats that as the leader's end.
func TestAddressesOfOthersAreNotTaken(t *testing.T) {
	t.Parallel()
	own, err := Processes{Transport: "tcp", Members: make([]node.Member, 3)}.assign(t.TempDir(), node.Options{})
	require.NoError(t, err)
	own.Self = 2
	in, tell := io.Pipe()
	var out bytes.Buffer
	c := child{Process: &local{in: tell}}
	go c.say(own)
	ctx, cancel := context.WithCancelCause(t.Context())
	self, err := takeAssignment(in, &out, cancel)
	require.NoError(t, err)
	defer self.listener.Close()
	if !strings.HasPrefix(out.String(), `{"Address":"tcp:127.0.0.1:`) || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("it answers %q", out.String())
	}
	if err := c.say(addresses{Addresses: []string{"one", "two"}}); err != nil {
		t.Error(err)
	}
	if _, err := self.join(ctx, func(string) {}); !errors.Is(err, errLetGo) {
		t.Errorf("joins: %v", err)
	}
}

// TestAChildStartsNoOthers calls Run in a process that is marked as a child: a program that does not check whether it
// is a child would otherwise start itself endlessly.
func TestAChildStartsNoOthers(t *testing.T) {
	t.Setenv(started, "1")
	_, err := Processes{Program: "/nonexistent", Transport: "unix", Members: []node.Member{{}, {Node: 1, Slots: 1, Lanes: 1}}}.
		Run(t.Context(), train.Job{}, node.Options{})
	if bellows.KindOf(err) != bellows.Config || !strings.Contains(err.Error(), "RunChild") {
		t.Errorf("a child that starts a job says %v", err)
	}
}
