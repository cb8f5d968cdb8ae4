package sim

import (
	"fmt"
	"strings"
)

// trace adds an event to the hash of the schedule.
func (w *world) trace(what, a, b uint64) {
	w.sum.Word(what<<56 ^ uint64(w.Now))
	w.sum.Word(a)
	w.sum.Word(b)
}

// violated records the first broken promise, which ends the schedule.
func (w *world) violated(format string, args ...any) {
	if w.violation == "" && strings.HasPrefix(format, w.only) {
		w.violation = fmt.Sprintf(format, args...)
		w.note("VIOLATION %s", w.violation)
	}
}

// must sees that there is no error: it is a promise that was broken.
func (w *world) must(err error) {
	if err != nil {
		w.violated("%v", err)
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
