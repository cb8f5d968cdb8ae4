package progress

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
)

// TestPartsAreCounted begins parts, and adds to each by several goroutines.
func TestPartsAreCounted(t *testing.T) {
	t.Parallel()
	m := New(t.Context())
	if r := m.Read(); r != (Reading{}) {
		t.Errorf("a meter begins with %+v", r)
	}
	for number := 1; number <= 3; number++ {
		p := Part{Doing: "sorting", Unit: "ratings", Total: 400}
		m.Begin(p)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range 50 {
					if err := m.Add(2); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		if r := m.Read(); r != (Reading{p, number, 400}) {
			t.Errorf("part %d is at %+v", number, r)
		}
	}
}

// TestWorkEndsWithItsContext: what is added after the end is counted, and refused.
func TestWorkEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	m := New(ctx)
	m.Begin(Part{Doing: "reading"})
	if err := errors.Join(m.Add(1), m.Err()); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := m.Add(1); !errors.Is(err, context.Canceled) || !errors.Is(m.Err(), context.Canceled) || m.Read().Done != 2 {
		t.Errorf("%v, %v, %+v", err, m.Err(), m.Read())
	}
}

// TestWorkContinuesWithoutAReader checks that work continues if its meter is not read.
func TestWorkContinuesWithoutAReader(t *testing.T) {
	t.Parallel()
	var m *Meter
	m.Begin(Part{Doing: "reading"})
	if err := errors.Join(m.Add(1), m.Err()); err != nil || m.Read() != (Reading{}) {
		t.Errorf("%v, %+v", err, m.Read())
	}
}

// TestAddingTakesNoMemory holds what hot loops pay.
func TestAddingTakesNoMemory(t *testing.T) {
	m := New(t.Context())
	if n := testing.AllocsPerRun(100, func() { _ = m.Add(1) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestSavingIsCountedToItsEnd writes after the end of the context: a file is saved completely.
func TestSavingIsCountedToItsEnd(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	m := New(ctx)
	m.Begin(Part{Doing: "saving", Unit: "bytes", Total: 5})
	var b bytes.Buffer
	if n, err := m.Counts(&b).Write([]byte("whole")); n != 5 || err != nil || b.String() != "whole" {
		t.Errorf("%d bytes written, %q, error %v", n, b.String(), err)
	}
	if r := m.Read(); r.Done != 5 {
		t.Errorf("the meter counts %d", r.Done)
	}
	if w := (*Meter)(nil).Counts(&b); w != &b {
		t.Error("no meter is in the way")
	}
}
