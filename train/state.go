package train

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"bellows"
	"bellows/table"
)

// A Stateful executor keeps state between tasks that its tables do not have: a generator's position, a running mean,
// the open end of a parse. SaveExecutors makes such state move with the split.
type Stateful interface {
	Executor
	// Save appends the state to a buffer and returns the result, as append does. It is called after each task that has
	// returned no error.
	Save(to []byte) ([]byte, error)
	// Restore restores a state from Save, of this or an earlier version of the program. It is called before the first
	// task of an executor whose split ran elsewhere before. The bytes are valid during the call.
	Restore(version uint32, state []byte) error
}

// StateBytesMax is the maximum size of the state of one executor. Anything larger is part of a model and belongs in a
// table of the application.
const StateBytesMax = 1 << 20

// stateWidth is the number of words of a row: a state that changes in one place sends 256 bytes.
const stateWidth = 64

// stateHead is the number of words before the state's bytes: its version, and its length plus one. A row of zeros holds
// no state.
const stateHead = 2

// SaveExecutors makes the state of a job's executors, all of which must be Stateful, move with their splits: to another
// node, into the image of an interrupted run, and wherever else the job's tables go. The code that makes the job calls
// it after it has set Tables and NewExecutor.
//
// The states are rows of a table that it adds as the last one. So a state counts exactly when the commit of its task
// counts. bytesMax is the maximum size of a state, up to StateBytesMax; the table reserves it for each split. Changed
// parts of a state, in steps of 256 bytes, are sent with each task.
//
// A state that is too large ends the job with an error that names it. version is the version of the state's layout.
func SaveExecutors(job *Job, version uint32, bytesMax int) error {
	if bytesMax < 1 || bytesMax > StateBytesMax {
		return bellows.Errorf(bellows.Config, "save executors", "",
			"states of up to %d bytes; must be 1 to %d: keep what is larger in a table", bytesMax, StateBytesMax)
	}
	words := stateHead + (bytesMax+3)/4
	rows := (words + stateWidth - 1) / stateWidth
	tab := Table(len(job.Tables))
	job.Tables = append(slices.Clip(job.Tables),
		table.Schema{Name: "executor state", Rows: job.Splits * rows, Width: stateWidth, DType: table.Int32,
			Consistency: table.Async})
	of := job.NewExecutor
	job.NewExecutor = func(s bellows.SplitID) (Executor, error) {
		e, err := of(s)
		if err != nil {
			return nil, err
		}
		inner, ok := e.(Stateful)
		if !ok {
			return nil, bellows.Errorf(bellows.Bug, "save executors", fmt.Sprintf("split %d", s),
				"its executor, a %T, has no Save and Restore", e)
		}
		return &saved{inner: inner, table: tab, first: bellows.RowID(int(s) * rows), version: version,
			bytesMax: bytesMax, words: make([]float32, rows*stateWidth)}, nil
	}
	return nil
}

// saved is an executor and its state as in the table.
type saved struct {
	inner    Stateful
	table    Table
	first    bellows.RowID
	version  uint32
	bytesMax int
	restored bool
	words    []float32 // as they are in the table after the last task
	delta    []float32
	bytes    []byte
}

// RunTask restores the state that another executor of the split has left, if this is its first task; then it runs the
// task and saves. An unwound task saves nothing, as it commits nothing.
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
		return e.fault(t, "save", "it has %d bytes, and the job has room for %d: give SaveExecutors more, or keep less",
			n, e.bytesMax)
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
	clear(now[at:]) // the rest of a longer earlier state
	for i := range now {
		delta[i] = now[i] - delta[i] // it wraps, and so does the sum
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

// Close closes the executor if it is an io.Closer.
func (e *saved) Close() error {
	if c, ok := e.inner.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
