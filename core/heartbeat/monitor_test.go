package heartbeat_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core/heartbeat"
	"bellows/core/liveness"
	"bellows/link/wire"
)

func lane(n bellows.NodeID) wire.Address   { return wire.Address{Node: n, Role: wire.Lane} }
func client(n bellows.NodeID) wire.Address { return wire.Address{Node: n} }

var leader = wire.Address{Role: wire.Controller}

// newMonitor returns node 0's monitor of nodes 1 to 3, with a lease of 10 s.
func newMonitor() *heartbeat.Monitor {
	return heartbeat.NewMonitor(0, []wire.Address{client(0), lane(0), lane(3), client(1), client(2), lane(2)}, liveness.Times{Lease: 10_000})
}

// readyMonitor returns it after all nodes have announced that they are ready.
func readyMonitor() *heartbeat.Monitor {
	r := newMonitor()
	r.Tick(0, nil)
	for n := range bellows.NodeID(3) {
		r.Ready(n + 1)
	}
	return r
}

// ticks passes the time every half second, while some nodes are heard.
func ticks(r *heartbeat.Monitor, from, to int64, heard ...bellows.NodeID) {
	for now := from; now <= to; now += 500 {
		r.Tick(now, nil)
		for _, n := range heard {
			r.Heard(n)
		}
	}
}

func nobody(bellows.NodeID) bool { return false }

// verdicts loses all that are to be lost by now, one line each.
func verdicts(r *heartbeat.Monitor) (lines []string) {
	for l, found := r.Verdict(nobody, nobody); found; l, found = r.Verdict(nobody, nobody) {
		lines = append(lines, fmt.Sprintf("%d: %s", l.Node, l.Reason))
		if !r.Lose(l.Node, l.Reason) {
			lines = append(lines, "was lost before")
		}
	}
	return lines
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n  %s\nnot\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// beats returns the receivers of node 0's heartbeat.
func beats(r *heartbeat.Monitor) (to []string) {
	var out wire.Outbox
	r.Beat(leader, &out)
	for _, e := range out.Envelopes {
		if _, beat := e.Message.(*wire.Beat); !beat || e.From != leader {
			to = append(to, fmt.Sprintf("%T from %v", e.Message, e.From))
		}
		to = append(to, e.To.String())
	}
	return to
}

// TestTheLostStayLost lets a lost node do all that a living one does.
func TestTheLostStayLost(t *testing.T) {
	r := newMonitor()
	r.Ready(1)
	if !r.Lose(2, "it died") || r.Lose(2, "again") {
		t.Error("a node is lost once")
	}
	r.Ready(2)
	r.Heard(2)
	r.Suspect(2, "somebody cannot reach it", 0)
	r.Tick(500, []uint64{0, 1, 1, 1})
	r.Heard(2)
	if !r.Lost(2) || r.Why(2) != "it died" || !slices.Equal(r.AllLost(), []bellows.NodeID{2}) || !r.Awaits(2) {
		t.Errorf("lost %v, awaited: %v", r.AllLost(), r.Awaits(2))
	}
	expect(t, beats(r), "lane 0 of node 3", "node 1")
	expect(t, verdicts(r))
	ticks(r, 1000, 60_000, 1)
	expect(t, verdicts(r)) // it has no lease that could run out
	if s := r.NameSilent(); s != "" {
		t.Errorf("a lost node is named: %s", s)
	}
	r.Suspect(3, "another", 0) // after a suspicion of the lost
	r.Suspect(2, "once more", 0)
	expect(t, verdicts(r), "3: another")
	if r.Why(3) != "another" || !slices.Equal(r.AllLost(), []bellows.NodeID{2, 3}) {
		t.Errorf("lost %v", r.AllLost())
	}
}

// TestNodesAreAwaitedUntilReady counts no node twice, and none that does not take part.
func TestNodesAreAwaitedUntilReady(t *testing.T) {
	r := newMonitor()
	for _, n := range []bellows.NodeID{0, 3, 3, 3, 9, 1} {
		if r.AllReady() {
			t.Fatalf("all are ready before node %d", n)
		}
		r.Ready(n)
	}
	if r.AllReady() || r.Awaits(1) || !r.Awaits(2) || r.Awaits(9) {
		t.Error("node 2 is not awaited, or another is")
	}
	r.Ready(2)
	if !r.AllReady() {
		t.Error("all are ready, and somebody is awaited")
	}
	expect(t, beats(r), "lane 0 of node 3", "node 1", "node 2")
}

// TestInOneProcessNobodyIsAwaited uses no lease.
func TestInOneProcessNobodyIsAwaited(t *testing.T) {
	r := heartbeat.NewMonitor(0, []wire.Address{lane(0), client(1)}, liveness.Times{})
	if !r.AllReady() {
		t.Error("somebody is awaited")
	}
	ticks(r, 0, 3_600_000)
	expect(t, verdicts(r))
	expect(t, beats(r))
	sentence, _, late := r.NameAwaited()
	if sentence != "" || late || r.NameSilent() != "" {
		t.Errorf("%q, late %v", sentence, late)
	}
	r.Suspect(1, "its process died", 0)
	expect(t, verdicts(r), "1: its process died")
}

// TestAwaitedNodesAreNamed waits for nodes that do not get ready: they are named every 2 s, and after 10 min the
// first is lost.
func TestAwaitedNodesAreNamed(t *testing.T) {
	r := newMonitor()
	r.Ready(2)
	var said []string
	var last heartbeat.Loss
	for now := int64(250); last.Reason == ""; now += 250 {
		r.Tick(now, nil)
		if now == 300_000 {
			r.Ready(1)
		}
		sentence, late, isLate := r.NameAwaited()
		if sentence != "" {
			said = append(said, sentence)
		}
		if isLate {
			last = late
		}
		if now > 700_000 {
			t.Fatal("waits without end")
		}
	}
	if len(said) != 300 || said[0] != "the job has waited 2.0 s for node 1, node 3 to be ready, and gives up after 600.0 s" ||
		said[299] != "the job has waited 600.0 s for node 3 to be ready, and gives up after 600.0 s" {
		t.Errorf("%d sentences, from %q to %q", len(said), said[0], said[len(said)-1])
	}
	if want := (heartbeat.Loss{Node: 3, Reason: "node 3 has not been ready after 600.2 s"}); last != want {
		t.Errorf("lost is %+v, not %+v", last, want)
	}
}

// TestSilenceIsNamedAndThenLost keeps node 1 silent, sends only bytes from node 2, and hears node 3.
func TestSilenceIsNamedAndThenLost(t *testing.T) {
	r := readyMonitor()
	var got []string
	for now := int64(500); now <= 15_000; now += 500 {
		r.Tick(now, []uint64{7, 7, uint64(now), 7})
		r.Heard(3)
		for s := r.NameSilent(); s != ""; s = r.NameSilent() {
			got = append(got, s)
		}
		got = append(got, verdicts(r)...)
	}
	// The bytes that had come from it at first were a sign of life.
	expect(t, got, "node 1 has been silent for 2.5 s; after 10.0 s it is declared gone",
		"1: node 1 has been silent for 10.5 s and is declared gone; nothing of its unfinished clock counts")
	for now := int64(15_500); now <= 30_000; now += 500 { // no more bytes come
		r.Tick(now, []uint64{7, 7, 15_000, 7})
		r.Heard(3)
		got = append(got[:0], verdicts(r)...)
		if (len(got) > 0) != (now == 25_500) {
			t.Errorf("at %d: %q", now, got)
		}
	}
}

// TestOnlyWhoIsReadyHasALease keeps node 1 silent before it is ready, for longer than a lease.
func TestOnlyWhoIsReadyHasALease(t *testing.T) {
	r := newMonitor()
	ticks(r, 0, 30_000)
	expect(t, verdicts(r))
	r.Ready(1)
	ticks(r, 30_500, 40_000)
	expect(t, verdicts(r))
	ticks(r, 40_500, 40_500)
	expect(t, verdicts(r), "1: node 1 has been silent for 10.5 s and is declared gone; nothing of its unfinished clock counts")
}

// TestASuspectHasItsTime checks that a suspect is lost when its patience has passed, by the first reason and at the
// earliest time.
func TestASuspectHasItsTime(t *testing.T) {
	r := readyMonitor()
	r.Tick(1000, nil)
	r.Suspect(2, "node 1 cannot reach it", 3000)
	r.Suspect(3, "its connection has ended", 1000)
	r.Suspect(2, "its connection has ended", 1500)
	r.Suspect(2, "node 3 cannot reach it", 9000)
	for now, want := range map[int64][]string{1500: nil, 1999: nil} {
		r.Tick(now, nil)
		expect(t, verdicts(r), want...)
	}
	r.Tick(2000, nil)
	expect(t, verdicts(r), "3: its connection has ended")
	r.Tick(2499, nil)
	expect(t, verdicts(r))
	r.Tick(2500, nil)
	expect(t, verdicts(r), "2: node 1 cannot reach it")
	r.Tick(3000, nil)
	expect(t, verdicts(r))
}

// TestTheLostAreLostOnce names a node again, by another controller's records, that was lost and has left. Its silence
// afterwards is no loss again, since a caller of Verdict would then never end.
func TestTheLostAreLostOnce(t *testing.T) {
	r := readyMonitor()
	r.Lose(2, "it died")
	r.Leave(2)
	r.Add(lane(2))
	ticks(r, 500, 30_000, 1, 3)
	if l, found := r.Verdict(nobody, nobody); found {
		t.Errorf("node %d is lost: %s", l.Node, l.Reason)
	}
}

// TestLostNodeAccusesNoOther takes back the reports of a node that is lost itself, and not those of others or of node
// 0. The monitor ignores its later reports.
func TestLostNodeAccusesNoOther(t *testing.T) {
	r := readyMonitor()
	r.Accuse(2, 1, "node 2 lost its connection to node 1", 3000)
	r.Accuse(2, 3, "node 2 lost its connection to node 3", 3000)
	r.Accuse(1, 3, "node 1 lost its connection to node 3", 3000)
	r.Lose(2, "it died")
	r.Retract(2)
	r.Accuse(2, 1, "node 2 lost its connection to node 1", 3000)
	ticks(r, 500, 4000, 1, 3)
	expect(t, verdicts(r), "3: node 2 lost its connection to node 3")
	r = readyMonitor()
	r.Accuse(2, 1, "node 2 lost its connection to node 1", 3000)
	r.Suspect(1, "EOF", 1000)
	r.Retract(2)
	ticks(r, 500, 4000, 1, 3)
	if got := verdicts(r); len(got) == 0 || !strings.HasPrefix(got[0], "1: ") {
		t.Errorf("%q", got)
	}
}

// TestNodeThatLeftIsNotLost lets a node go. Then neither its silence, nor the end of its connections, nor a report of
// its death is a loss, and no node waits for it.
func TestNodeThatLeftIsNotLost(t *testing.T) {
	r := newMonitor()
	r.Tick(0, nil)
	r.Ready(1)
	r.Ready(2)
	r.Suspect(3, "its connection ended", 100)
	r.Leave(3)
	r.Leave(3)
	if !r.AllReady() || !r.HasLeft(3) || r.HasLeft(2) {
		t.Error("it is waited for")
	}
	r.Suspect(3, "its connection ended", 100)
	if r.Lose(3, "its process died") || r.Lost(3) {
		t.Error("it is lost")
	}
	ticks(r, 500, 30_000, 1, 2)
	expect(t, verdicts(r))
	r.Add(lane(3)) // another controller hears that it takes part
	ticks(r, 30_500, 60_000, 1, 2)
	if got := verdicts(r); len(got) != 1 || !strings.HasPrefix(got[0], "3: node 3 has been silent") {
		t.Error(got)
	}
}

// TestSuspicionsTakeNoMemory reports again and again that other nodes cannot reach one node.
func TestSuspicionsTakeNoMemory(t *testing.T) {
	r := readyMonitor()
	r.Suspect(2, "not heard", 3000)
	if n := testing.AllocsPerRun(1000, func() { r.Suspect(2, "not heard either", 3000) }); n != 0 {
		t.Errorf("each takes %v allocations", n)
	}
	r.Tick(3000, nil)
	expect(t, verdicts(r), "2: not heard")
	expect(t, verdicts(r)) // that was all
}

// TestSleepIsNoSilence sleeps for an hour while nodes are awaited, and while they work.
func TestSleepIsNoSilence(t *testing.T) {
	const hour = 3_600_000
	r := newMonitor()
	ticks(r, 0, 1500)
	if slept := r.Tick(hour, nil); slept != hour-1500-1000 {
		t.Errorf("slept %d ms", slept)
	}
	if sentence, _, late := r.NameAwaited(); late || sentence != "the job has waited 2.5 s for node 1, node 2, node 3 to be ready, and gives up after 600.0 s" {
		t.Errorf("%q, late %v", sentence, late)
	}
	for n := range bellows.NodeID(3) {
		r.Ready(n + 1)
	}
	ticks(r, hour, hour+1500, 1, 2, 3)
	r.Tick(2*hour, nil)
	expect(t, verdicts(r))
	if s := r.NameSilent(); s != "" {
		t.Error(s)
	}
}

// TestNamingContinuesAfterSleep sleeps half a second after a sentence: the next comes when two seconds awake have
// passed.
func TestNamingContinuesAfterSleep(t *testing.T) {
	const hour = 3_600_000
	r := newMonitor()
	var said []string
	for _, now := range []int64{500, 1000, 1500, 2000, 2500, hour, hour + 499, hour + 500} {
		r.Tick(now, nil)
		if sentence, _, _ := r.NameAwaited(); sentence != "" {
			said = append(said, fmt.Sprintf("%d: %s", now, sentence))
		}
	}
	const who = " for node 1, node 2, node 3 to be ready, and gives up after 600.0 s"
	expect(t, said, "2000: the job has waited 2.0 s"+who, "3600500: the job has waited 4.0 s"+who)
}

// TestSlowCallerStillEndsItsWaits ticks every ten seconds only: a node that is not ready is still named, and lost in
// the end.
func TestSlowCallerStillEndsItsWaits(t *testing.T) {
	r := newMonitor()
	named := 0
	for now := int64(0); ; now += 10_000 {
		r.Tick(now, nil)
		sentence, late, isLate := r.NameAwaited()
		if sentence != "" {
			named++
		}
		if isLate {
			if late.Node != 1 || now != 6_010_000 || named < 200 {
				t.Errorf("at %d ms node %d is late, named %d times", now, late.Node, named)
			}
			return
		}
		if now > 100_000_000 {
			t.Fatal("waits without end")
		}
	}
}

// TestSpareableNodeGoesOfTwo reports that a worker and a server have lost each other, in both orders. If the server is
// heard, and no other node has lost it, the worker goes. A server goes if it is silent, if two nodes have lost it, or
// if node 0 has.
func TestSpareableNodeGoesOfTwo(t *testing.T) {
	worker := func(n bellows.NodeID) bool { return n != 2 }
	for name, c := range map[string]struct {
		say   func(r *heartbeat.Monitor)
		heard []bellows.NodeID
		want  string
	}{
		"the worker first": {func(r *heartbeat.Monitor) {
			r.Accuse(1, 2, "node 1 lost its connection to node 2: EOF", 3000)
			r.Accuse(2, 1, "node 2 lost its connection to node 1: EOF", 3400)
		}, []bellows.NodeID{1, 2, 3}, "1: node 1 is gone: only it has lost node 2, which is heard and which the job needs (node 1 lost its connection to node 2: EOF)"},
		"the server first": {func(r *heartbeat.Monitor) {
			r.Accuse(2, 1, "node 2 lost its connection to node 1: EOF", 3000)
			r.Accuse(1, 2, "node 1 lost its connection to node 2: EOF", 3400)
		}, []bellows.NodeID{1, 2, 3}, "1: node 2 lost its connection to node 1: EOF"},
		"two workers": {func(r *heartbeat.Monitor) {
			r.Accuse(1, 2, "node 1 lost its connection to node 2: EOF", 3000)
			r.Accuse(3, 2, "node 3 lost its connection to node 2: EOF", 3000)
		}, []bellows.NodeID{1, 2, 3}, "2: node 1 lost its connection to node 2: EOF"},
		"node 0, too": {func(r *heartbeat.Monitor) {
			r.Accuse(1, 2, "node 1 lost its connection to node 2: EOF", 3000)
			r.Suspect(2, "EOF", 3000)
		}, []bellows.NodeID{1, 2, 3}, "2: node 1 lost its connection to node 2: EOF"},
		"a server that is silent": {func(r *heartbeat.Monitor) {
			r.Accuse(1, 2, "node 1 lost its connection to node 2: EOF", 3000)
		}, []bellows.NodeID{1, 3}, "2: node 1 lost its connection to node 2: EOF"},
		"two servers": {func(r *heartbeat.Monitor) {
			r.Accuse(2, 1, "node 2 lost its connection to node 1: EOF", 3000)
			r.Lose(3, "it died")
		}, []bellows.NodeID{1, 2}, "1: node 2 lost its connection to node 1: EOF"},
	} {
		r := readyMonitor()
		c.say(r)
		ticks(r, 500, 3500, c.heard...)
		l, found := r.Verdict(nobody, worker)
		if got := fmt.Sprintf("%d: %s", l.Node, l.Reason); !found || got != c.want {
			t.Errorf("%s: %s, not %s", name, got, c.want)
		}
		if r.Lose(l.Node, l.Reason); l.Node == 1 {
			r.Retract(1)
			ticks(r, 4000, 8000, c.heard...)
			if l, found := r.Verdict(nobody, worker); found {
				t.Errorf("%s: node %d goes, too: %s", name, l.Node, l.Reason)
			}
		}
	}
}
