package sim

import (
	"fmt"

	"bellows/wire"
)

// trace adds an event to the hash of the schedule.
func (w *world) trace(what, a, b uint64) {
	w.sum.Word(what<<56 ^ uint64(w.Now))
	w.sum.Word(a)
	w.sum.Word(b)
}

// violated records the first broken promise, which ends the schedule.
func (w *world) violated(format string, args ...any) {
	if w.violation == "" {
		w.violation = fmt.Sprintf(format, args...)
		w.note("VIOLATION %s", w.violation)
	}
}

// note adds a sentence to the trace.
func (w *world) note(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	w.sum.Text(s)
	if w.log != nil {
		w.print("%s", s)
	}
}

func (w *world) print(format string, args ...any) {
	fmt.Fprintf(w.log, "%6d  %s\n", w.Now, fmt.Sprintf(format, args...))
}

// describe is a message in one line.
func describe(m wire.Message) string {
	switch m := m.(type) {
	case *wire.Push:
		return fmt.Sprintf("push %v clock %d, %d chunks, %d leases", m.Flush, m.Clock, len(m.Chunks), len(m.Leases))
	case *wire.Rows:
		s := fmt.Sprintf("rows for request %d", m.Request)
		for i := range m.Parts {
			s += fmt.Sprintf(" %v@%d", m.Parts[i].Ref, m.Parts[i].Commit)
		}
		return s
	case *wire.Done:
		return fmt.Sprintf("done %v, %d units", m.Flush, len(m.Results))
	case *wire.Records:
		return fmt.Sprintf("records %v", m.List)
	case *wire.Dispatch:
		return fmt.Sprintf("dispatch at commit %d of %v", m.Commit, m.Tasks)
	}
	return fmt.Sprintf("%T %+v", m, m)
}
