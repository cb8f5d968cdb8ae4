package train

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"bellows"
	"bellows/table"
)

// Stateful is an executor that keeps from one task to the next what its tables do not have: a
// generator's position, a running mean, the open end of a parse. SaveExecutors makes such state go
// where the split goes.
type Stateful interface {
	Executor
	// Save appends the state to a buffer and returns that, as append does. It is called behind each
	// task that has returned no error.
	Save(to []byte) ([]byte, error)
	// Restore takes a state that Save has made, of this version or of an earlier one of the program, where a saved
	// run goes on. It is called before the first task of an executor whose split ran elsewhere before. The
	// bytes are valid during the call.
	Restore(version uint32, state []byte) error
}

// StateBytesMax is the most that the state of one executor may take. What is larger is a model's, and belongs into
// a table of the application's own.
const StateBytesMax = 1 << 20

// stateWidth is the words of a row: a state that changes in one place sends 256 bytes.
const stateWidth = 64

// stateHead is the words before the state's bytes: its version, and its length plus one. A row of zeros is no
// state.
const stateHead = 2

// SaveExecutors makes the state of a job's executors, which are all Stateful, go on with their splits: to another
// node, into the image of an interrupted run, and wherever else the job's tables go. It is called by who makes
// the job, behind all else that sets Tables and NewExecutor.
//
// The states are rows of a table that it adds as the last, so each counts with the commit of the task behind
// which it was saved, and with nothing less. bytesMax is the most that one takes, up to StateBytesMax; the table
// has this for each split. What has changed of a state, in steps of 256 bytes, travels with each task.
//
// A state that is larger ends the job by name. version is the state's layout.
func SaveExecutors(job *Job, version uint32, bytesMax int) error {
	if bytesMax < 1 || bytesMax > StateBytesMax {
		return bellows.Errorf(bellows.Config, "save executors", "", "states of up to %d bytes; must be 1 to %d: keep what is larger in a table", bytesMax, StateBytesMax)
	}
	words := stateHead + (bytesMax+3)/4
	rows := (words + stateWidth - 1) / stateWidth
	tab := Table(len(job.Tables))
	job.Tables = append(slices.Clip(job.Tables), table.Schema{Name: "executor state", Rows: job.Splits * rows, Width: stateWidth, DType: table.Int32, Consistency: table.Async})
	of := job.NewExecutor
	job.NewExecutor = func(s bellows.SplitID) (Executor, error) {
		e, err := of(s)
		if err != nil {
			return nil, err
		}
		inner, ok := e.(Stateful)
		if !ok {
			return nil, bellows.Errorf(bellows.Bug, "save executors", fmt.Sprintf("split %d", s), "its executor, a %T, has no Save and Restore", e)
		}
		return &saved{inner: inner, table: tab, first: bellows.RowID(int(s) * rows), version: version, bytesMax: bytesMax, words: make([]float32, rows*stateWidth)}, nil
	}
	return nil
}

// saved is an executor and its state as the table has it.
type saved struct {
	inner    Stateful
	table    Table
	first    bellows.RowID
	version  uint32
	bytesMax int
	restored bool
	words    []float32 // as they are in the table, behind the last task
	delta    []float32
	bytes    []byte
}

// RunTask restores what another executor of the split has left, if this is the first task of this one, runs the task, and
// saves. A task that is unwound saves nothing, as it commits nothing.
func (e *saved) RunTask(t *Task) error {
	if !e.restored {
		if err := e.restore(t); err != nil {
			return err
		}
	}
	if err := e.inner.RunTask(t); err != nil {
		return err
	}
	return e.save(t)
}

func (e *saved) restore(t *Task) error {
	e.restored = true
	rows := bellows.RowID(len(e.words) / stateWidth)
	copy(e.words, t.PullRange(e.table, e.first, e.first+rows))
	words := table.Counts(e.words)
	n := int(uint32(words[1])) - 1
	if n < 0 {
		return nil
	}
	if n > e.bytesMax {
		return e.fault(t, "restore", "what is saved says that it has %d bytes, of at most %d", n, e.bytesMax)
	}
	e.bytes = e.bytes[:0]
	for _, w := range words[stateHead : stateHead+(n+3)/4] {
		e.bytes = binary.LittleEndian.AppendUint32(e.bytes, uint32(w))
	}
	if err := e.inner.Restore(uint32(words[0]), e.bytes[:n]); err != nil {
		return e.fault(t, "restore", "%w", err)
	}
	return nil
}

func (e *saved) save(t *Task) error {
	state, err := e.inner.Save(e.bytes[:0])
	if err != nil {
		return e.fault(t, "save", "%w", err)
	}
	n := len(state)
	if n > e.bytesMax {
		return e.fault(t, "save", "it has %d bytes, and the job has room for %d: give SaveExecutors more, or keep less", n, e.bytesMax)
	}
	for len(state)%4 != 0 {
		state = append(state, 0)
	}
	e.bytes = state
	e.delta = append(e.delta[:0], e.words...)
	now, delta := table.Counts(e.words), table.Counts(e.delta)
	now[0], now[1] = int32(e.version), int32(n+1)
	at := stateHead
	for ; len(state) > 0; state = state[4:] {
		now[at] = int32(binary.LittleEndian.Uint32(state))
		at++
	}
	clear(now[at:]) // of a longer one before
	for i := range now {
		delta[i] = now[i] - delta[i] // which wraps, and so does the sum
	}
	for first := 0; first < len(delta); first += stateWidth {
		if row := delta[first : first+stateWidth]; slices.ContainsFunc(row, func(d int32) bool { return d != 0 }) {
			t.PushRow(e.table, e.first+bellows.RowID(first/stateWidth), e.delta[first:first+stateWidth])
		}
	}
	return nil
}

func (e *saved) fault(t *Task, what, format string, args ...any) error {
	return bellows.Errorf(bellows.Config, what+" the executor", fmt.Sprintf("of split %d", t.Split()), format, args...)
}

// Close closes the executor, if it is an io.Closer.
func (e *saved) Close() error {
	if c, ok := e.inner.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
