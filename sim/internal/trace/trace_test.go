package trace

import (
	"errors"
	"strings"
	"testing"
)

func TestTraceKeepsFirstViolation(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	now := int64(12)
	tr := Trace{Clock: &now, Log: &log, Only: "P1"}
	tr.Must(errors.New("P2: not recorded: its format does not begin with P1"))
	tr.Violated("P1: commit %d", 3)
	tr.Violated("P1: commit %d", 4)
	if tr.Violation != "P1: commit 3" || log.String() != "    12  VIOLATION P1: commit 3\n" {
		t.Errorf("violation %q, log %q", tr.Violation, log.String())
	}
}

func TestHashDependsOnTimeAndOrder(t *testing.T) {
	t.Parallel()
	play := func(times ...int64) Trace {
		var now int64
		tr := Trace{Clock: &now}
		for _, at := range times {
			now = at
			tr.Event(1, 2, uint64(at%2))
		}
		return tr
	}
	a, b, c := play(1, 2), play(1, 3), play(2, 1)
	if again := play(1, 2); again.Hash != a.Hash || a.Hash == b.Hash || a.Hash == c.Hash {
		t.Errorf("hashes %x, %x, %x and again %x", a.Hash, b.Hash, c.Hash, again.Hash)
	}
}
