package node

import (
	"slices"
	"testing"
	"testing/synctest"
)

// TestNobodyWaitsForReports blocks the first report, and wants the others to be taken all the same, up to a bound, and told
// in their order.
func TestNobodyWaitsForReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReporter()
		gate := make(chan struct{})
		r.say(func() { <-gate })
		synctest.Wait() // it is being told
		var told []int
		for i := range reportsMost {
			r.say(func() { told = append(told, i) })
		}
		late := false
		go func() {
			r.say(func() { told = append(told, reportsMost) })
			late = true
		}()
		synctest.Wait()
		if late {
			t.Errorf("%d reports wait", reportsMost+1)
		}
		close(gate)
		synctest.Wait()
		r.close()
		if !late || len(told) != reportsMost+1 || !slices.IsSorted(told) {
			t.Errorf("%d of %d reports were told, in order %v", len(told), reportsMost+1, slices.IsSorted(told))
		}
		r.say(func() { t.Error("told after the end") })
	})
}

// TestTheEndWaitsForReports closes a reporter while a report is being told and others wait.
func TestTheEndWaitsForReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReporter()
		gate := make(chan struct{})
		told, closed := 0, false
		r.say(func() { <-gate })
		synctest.Wait()
		for range 3 {
			r.say(func() { told++ })
		}
		go func() {
			r.close()
			closed = true
		}()
		synctest.Wait()
		if closed {
			t.Error("closed, and reports wait to be told")
		}
		close(gate)
		synctest.Wait()
		if !closed || told != 3 {
			t.Errorf("closed %v, %d of 3 reports were told", closed, told)
		}
	})
}
