package fabric

import (
	"testing"
	"testing/synctest"
	"time"

	"bellows/link/wire"
)

// TestSenderReturnsAfterSomeSteps posts to a lane that always has mail. The sender returns after some steps, and the
// bus's own goroutine runs the rest. Posted messages leave meanwhile, and other actors with mail run.
func TestSenderReturnsAfterSomeSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy, quick := wire.LaneAt(0, 0), wire.LaneAt(0, 1)
		steps, sinceShip, longest, answered := 0, 0, 0, 0
		enough := make(chan struct{})
		stop := make(chan struct{})
		b := newBus(0, func(wire.Envelope) {}, func() { sinceShip = 0 })
		b.Add(busy, func(_ []wire.Envelope, out *wire.Outbox) {
			if steps++; steps == 10*drainSteps {
				close(enough)
				<-stop
			}
			sinceShip++
			longest = max(longest, sinceShip)
			if steps < 20*drainSteps {
				out.Send(busy, busy, &wire.Beat{})
			}
		})
		b.Add(quick, func(batch []wire.Envelope, _ *wire.Outbox) { answered += len(batch) })
		b.Send(wire.ClientAt(0), busy, &wire.Beat{})
		<-enough // the sender is back, and the lane has been run ten times as often as it may run it
		b.Send(wire.ClientAt(0), quick, &wire.Beat{})
		if answered != 1 {
			t.Error("an idle actor waits for a busy one")
		}
		close(stop)
		synctest.Wait()
		if steps != 20*drainSteps {
			t.Errorf("the lane has run %d times, and has mail", steps)
		}
		if longest > shipSteps {
			t.Errorf("what was posted has waited for %d steps", longest)
		}
		b.Close()
	})
}

// TestTimerRunsNoActor leaves mail for an actor that is stuck.
func TestTimerRunsNoActor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lane := wire.LaneAt(0, 0)
		stop, shipped, ran := make(chan struct{}), 0, false
		b := newBus(0, func(wire.Envelope) {}, func() { shipped++ })
		b.Add(lane, func([]wire.Envelope, *wire.Outbox) {
			<-stop
			ran = true
		})
		var out wire.Outbox
		out.Send(wire.ClientAt(0), lane, &wire.Beat{})
		b.Enqueue(&out)
		b.Leave()
		if ran || shipped == 0 {
			t.Errorf("ran %v, shipped %d times", ran, shipped)
		}
		close(stop)
		synctest.Wait()
		if !ran {
			t.Error("nobody runs it")
		}
		b.Close()
	})
}

// TestEndlessLineTakesNoMemory runs three actors that always have mail: each gets its turn, and the line's memory stays
// small.
func TestEndlessLineTakesNoMemory(t *testing.T) {
	b := newBus(0, func(wire.Envelope) {}, func() {})
	defer b.Close()
	var out wire.Outbox
	var ran [3]int
	for i := range ran {
		a := wire.LaneAt(0, i)
		b.Add(a, func(_ []wire.Envelope, out *wire.Outbox) {
			ran[i]++
			out.Send(a, a, &wire.Beat{})
		})
		out.Send(a, a, &wire.Beat{})
	}
	b.Enqueue(&out)
	const rounds = 1000
	for range rounds {
		if !b.drain(len(ran)) {
			t.Fatal("nobody has mail")
		}
	}
	if ran != [3]int{rounds, rounds, rounds} {
		t.Errorf("they are run %v times, want %d each", ran, rounds)
	}
	if n := cap(b.ready.list); n > 16 {
		t.Errorf("the line has room for %d", n)
	}
}

// TestDelayedSendEndsWithTheBus checks that a delayed message arrives after its delay, and not once the bus is closed.
func TestDelayedSendEndsWithTheBus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lane, began := wire.LaneAt(0, 0), time.Now()
		var came []time.Duration
		b := newBus(0, func(wire.Envelope) {}, func() {})
		b.Add(lane, func([]wire.Envelope, *wire.Outbox) { came = append(came, time.Since(began)) })
		for _, d := range []time.Duration{time.Hour, time.Second} {
			b.After(d, wire.Envelope{From: lane, To: lane, Message: &wire.Beat{}})
		}
		<-time.After(time.Minute)
		b.Close()
		<-time.After(2 * time.Hour)
		if len(came) != 1 || came[0] != time.Second {
			t.Errorf("the actor was run at %v", came)
		}
	})
}
