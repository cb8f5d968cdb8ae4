package session_test

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"weak"

	"bellows"
	"bellows/internal/require"
	"bellows/link/session"
	"bellows/link/wire"
)

// side is one end of a session, what is under way from it, and what has come to it.
type side struct {
	end      session.End
	way      []wire.Envelope // written and not there yet
	sent     session.Counts
	got      session.Counts
	marks    int
	returned int
}

// numbered returns the nth message of a stream.
func numbered(stream, n int) wire.Envelope {
	e := wire.Envelope{Message: &wire.Dispatch{Commit: bellows.CommitNumber(n)}}
	if stream == session.Urgent {
		e.To.Role = wire.Controller
	}
	return e
}

// write puts on the way what may be written, an urgent stream first, and sometimes less than all.
func (s *side) write(random *rand.Rand) {
	var list []wire.Envelope
	for i := range session.Streams {
		list = s.end.Take(i, random.IntN(4), list)
	}
	if random.IntN(4) == 0 {
		s.end.Tick()
	}
	if a := s.end.Ack(); a != nil {
		s.way = append(s.way, wire.Envelope{Message: a})
	}
	s.way = append(s.way, list...)
}

// take delivers one message.
func (s *side) take(t *testing.T, e wire.Envelope) {
	t.Helper()
	var back []wire.Envelope
	var err error
	switch m := e.Message.(type) {
	case *wire.Ack:
		back, err = s.end.Acknowledge(m, nil)
	case *wire.Resume:
		back, err = s.end.Resume(m, nil)
	case *wire.Dispatch:
		stream := session.StreamOf(e)
		var one session.Counts
		one[stream]++
		s.end.Received(one, 1)
		if s.got[stream]++; uint64(m.Commit) != s.got[stream] {
			t.Fatalf("message %d of stream %d came as number %d", m.Commit, stream, s.got[stream])
		}
	}
	require.NoError(t, err)
	for _, e := range back {
		if _, mark := e.Message.(*wire.Mark); mark {
			s.returned++
		}
	}
}

// TestExactlyOnceInOrder sends both ways over connections that break at any moment, with what is under way.
func TestExactlyOnceInOrder(t *testing.T) {
	t.Parallel()
	const messages = 60
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 3))
		var sides [2]side
		breaks := 0
		connect := func() {
			for i := range sides {
				s := &sides[i]
				s.end.Connected()
				s.way = append(s.way[:0], wire.Envelope{Message: s.end.Hello(uint64(i) + 1)})
			}
		}
		connect()
		done := func() bool {
			for i := range sides {
				if s := &sides[i]; s.got != (session.Counts{messages, messages}) || !s.end.Idle() || s.returned < s.marks {
					return false
				}
			}
			return true
		}
		for steps := 0; !done(); steps++ {
			if steps > 100000 {
				t.Fatalf("seed %d: no progress at %v and %v", seed, sides[0].got, sides[1].got)
			}
			i := random.IntN(2)
			s, other := &sides[i], &sides[1-i]
			switch random.IntN(9) {
			case 0, 1:
				if stream := random.IntN(session.Streams); s.sent[stream] < messages {
					s.sent[stream]++
					s.end.Post(numbered(stream, int(s.sent[stream])))
				}
			case 2:
				if s.marks < 9 {
					s.marks++
					if s.end.Post(wire.Envelope{Message: &wire.Mark{}}) {
						s.returned++
					}
				}
			case 3, 4:
				s.write(random)
			case 5, 6, 7:
				if len(s.way) > 0 {
					e := s.way[0]
					s.way = s.way[1:]
					other.take(t, e)
				}
			default:
				if random.IntN(8) == 0 && breaks < 30 {
					breaks++
					connect()
				}
			}
		}
	}
}

// TestEndSendsOnlyAfterResume checks that nothing leaves before the other end's Resume: until then its counts are
// unknown.
func TestEndSendsOnlyAfterResume(t *testing.T) {
	t.Parallel()
	var e session.End
	e.Post(numbered(session.Ordinary, 1))
	if e.Waiting() || len(e.Take(session.Ordinary, 9, nil)) > 0 || e.Ack() != nil {
		t.Error("something leaves")
	}
	if _, err := e.Resume(&wire.Resume{Process: 7}, nil); err != nil || !e.Waiting() || len(e.Take(session.Ordinary, 9, nil)) != 1 {
		t.Errorf("nothing leaves: %v", err)
	}
}

// TestProtocolViolationsAreErrors acknowledges more than was sent, and answers as another process.
func TestProtocolViolationsAreErrors(t *testing.T) {
	t.Parallel()
	var e session.End
	if _, err := e.Resume(&wire.Resume{Process: 7}, nil); err != nil {
		t.Fatal(err)
	}
	e.Post(numbered(session.Urgent, 1))
	if _, err := e.Acknowledge(&wire.Ack{Received: session.Counts{1, 0}}, nil); err == nil || !strings.Contains(err.Error(), "1 messages are acknowledged, but only 0 were sent") {
		t.Errorf("what was not sent is acknowledged: %v", err)
	}
	e.Connected()
	if _, err := e.Resume(&wire.Resume{Process: 8}, nil); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("another process continues: %v", err)
	}
}

// TestFewMessagesAreNotAcknowledged alone. More are, with what leaves anyway, and so are a few long ones.
func TestFewMessagesAreNotAcknowledged(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[int]uint64{100: 16, 16 << 10: 4, 1 << 20: 1} {
		var e session.End
		if _, err := e.Resume(&wire.Resume{Process: 7}, nil); err != nil {
			t.Fatal(err)
		}
		for n := uint64(1); n <= want; n++ {
			e.Received(session.Counts{0, 1}, bytes)
			a := e.Ack()
			if (a != nil) != (n == want) || a != nil && a.Received[session.Ordinary] != n {
				t.Errorf("after %d messages of %d bytes the acknowledgement is %+v", n, bytes, a)
			}
		}
	}
}

// TestTheOtherEndIsToldInTime: after many messages, or many bytes.
func TestTheOtherEndIsToldInTime(t *testing.T) {
	t.Parallel()
	for _, bytes := range []int{0, 1 << 18} {
		var e session.End
		if _, err := e.Resume(&wire.Resume{Process: 7}, nil); err != nil {
			t.Fatal(err)
		}
		n := uint64(0)
		for ; !e.Due() && n < 1000; n++ {
			e.Received(session.Counts{0, 1}, bytes)
		}
		want := map[int]uint64{0: 256, 1 << 18: 4}[bytes]
		if a := e.Ack(); n != want || a == nil || a.Received[session.Ordinary] != n || e.Due() || e.Ack() != nil {
			t.Errorf("messages of %d bytes: due after %d, not %d: %v", bytes, n, want, a)
		}
	}
}

// TestEndAcknowledgesOnlyAfterResume checks that a connection carries no acknowledgement before the other end's Resume,
// however much has arrived: the first frame says what arrived before.
func TestEndAcknowledgesOnlyAfterResume(t *testing.T) {
	t.Parallel()
	var e session.End
	first := &wire.Resume{Process: 7}
	if _, err := e.Resume(first, nil); err != nil {
		t.Fatal(err)
	}
	e.Received(session.Counts{3, 1000}, 1<<21)
	if e.Connected(); e.Due() || e.Ack() != nil {
		t.Error("an acknowledgement is due on a connection without the other's Resume")
	}
	if _, err := e.Resume(first, nil); err != nil {
		t.Fatal(err)
	}
	if a := e.Ack(); a == nil || a.Received != (session.Counts{3, 1000}) {
		t.Errorf("it is told %+v", a)
	}
}

// TestAcknowledgedListReusesMemory checks that a stream that keeps pace allocates nothing.
func TestAcknowledgedListReusesMemory(t *testing.T) {
	var e session.End
	if _, err := e.Resume(&wire.Resume{Process: 7}, nil); err != nil {
		t.Fatal(err)
	}
	m := numbered(session.Ordinary, 1)
	list, back := make([]wire.Envelope, 0, 9), make([]wire.Envelope, 0, 9)
	n := uint64(0)
	turn := func() {
		e.Post(m)
		list = e.Take(session.Ordinary, 9, list[:0])
		n++
		var err error
		if back, err = e.Acknowledge(&wire.Ack{Received: session.Counts{0, n}}, back[:0]); err != nil || len(back) != 1 {
			t.Fatalf("%d come back: %v", len(back), err)
		}
	}
	for range 1000 {
		turn()
	}
	if allocs := testing.AllocsPerRun(1000, turn); allocs > 1 { // the test's Ack
		t.Errorf("%v allocations for a message", allocs)
	}
	if !slices.Equal(e.Take(session.Ordinary, 9, nil), nil) {
		t.Error("something is left")
	}
}

// TestUnsentAndUnacknowledgedMessages follows one message of each stream from Post to its acknowledgement, over a
// connection that breaks in between.
func TestUnsentAndUnacknowledgedMessages(t *testing.T) {
	t.Parallel()
	for stream := range session.Streams {
		var e session.End
		acked := uint64(0)
		expect := func(when string, unsaid, idle bool) {
			t.Helper()
			if e.Unsaid() != unsaid || e.Idle() != idle {
				t.Errorf("stream %d, %s: unsaid %v, idle %v", stream, when, e.Unsaid(), e.Idle())
			}
		}
		resume := func() {
			m := &wire.Resume{Process: 7}
			m.Received[stream] = acked
			if _, err := e.Resume(m, nil); err != nil {
				t.Fatal(err)
			}
		}
		expect("at first", false, true)
		e.Post(numbered(stream, 1))
		expect("posted", true, false)
		resume()
		expect("when the other end has spoken", true, false)
		if got := e.Take(stream, 9, nil); len(got) != 1 {
			t.Fatalf("%d messages leave", len(got))
		}
		expect("taken", false, false)
		e.Connected()
		expect("over a connection that broke", true, false)
		resume()
		e.Take(stream, 9, nil)
		expect("taken again", false, false)
		acked = 1
		ack := &wire.Ack{}
		ack.Received[stream] = acked
		if _, err := e.Acknowledge(ack, nil); err != nil {
			t.Fatal(err)
		}
		expect("acknowledged", false, true)
		var one session.Counts
		one[stream] = 1
		e.Received(one, 5)
		expect("when something has come", false, false)
		if a := e.Ack(); a != nil {
			t.Errorf("one message is acknowledged at once: %+v", a)
		}
		e.Tick()
		if a := e.Ack(); a == nil || a.Received != one {
			t.Errorf("the acknowledgement is %+v", a)
		}
		expect("when that was said", false, true)
	}
}

// TestAcknowledgedMessagesAreReleased checks that the session keeps no pointer to a message that its caller may free.
func TestAcknowledgedMessagesAreReleased(t *testing.T) {
	t.Parallel()
	var e session.End
	post := func() weak.Pointer[wire.Dispatch] {
		m := &wire.Dispatch{Commit: 5}
		e.Post(wire.Envelope{Message: m})
		return weak.Make(m)
	}
	if _, err := e.Resume(&wire.Resume{Process: 7}, nil); err != nil {
		t.Fatal(err)
	}
	first := post()
	e.Take(session.Ordinary, 9, nil)
	runtime.GC()
	if first.Value() == nil {
		t.Error("what is not acknowledged is gone")
	}
	second := post()
	if _, err := e.Acknowledge(&wire.Ack{Received: session.Counts{session.Ordinary: 1}}, nil); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	if first.Value() != nil {
		t.Error("what is acknowledged is kept")
	}
	if second.Value() == nil {
		t.Error("the message posted after it is gone")
	}
	runtime.KeepAlive(&e)
}

// TestAnotherProcessBeginsAnew puts another process at the other end of a session that allows it. Messages posted for
// the old one come back and are not sent, and both count from 0, though this end's first frame still counts what the
// old one had sent.
func TestAnotherProcessBeginsAnew(t *testing.T) {
	t.Parallel()
	const own, first, second = 5, 7, 8
	post := func(e *session.End) *wire.Beat {
		m := &wire.Beat{}
		e.Post(wire.Envelope{From: wire.ClientAt(1), To: wire.ControllerAt(), Message: m})
		return m
	}
	var e session.End
	e.Renews()
	e.Hello(own)
	if _, err := e.Resume(&wire.Resume{Process: first}, nil); err != nil {
		t.Fatal(err)
	}
	sent := post(&e)
	if got := e.Take(session.Urgent, 9, nil); len(got) != 1 {
		t.Fatalf("took %v", got)
	}
	e.Received(session.Counts{session.Urgent: 3}, 100)
	unsent := post(&e)
	e.Connected()
	hello := e.Hello(own)
	if hello.Of != first || hello.Received[session.Urgent] != 3 {
		t.Errorf("it says %+v", hello)
	}
	back, err := e.Resume(&wire.Resume{Process: second}, nil)
	if err != nil || e.Renewals() != 1 || len(back) != 2 || back[0].Message != sent || back[1].Message != unsent {
		t.Errorf("back came %v, %v; %d renewals", back, err, e.Renewals())
	}
	if got := e.Take(session.Urgent, 9, nil); len(got) != 0 {
		t.Errorf("to the other process goes %v", got)
	}

	var other session.End // of the second process
	other.Hello(second)
	post(&other)
	if back, err := other.Resume(hello, nil); err != nil || len(back) != 0 || len(other.Take(session.Urgent, 9, nil)) != 1 {
		t.Errorf("the second process hears %+v: %v, %v", hello, back, err)
	}
	post(&e)
	if got := e.Take(session.Urgent, 9, nil); len(got) != 1 {
		t.Errorf("from now on goes %v", got)
	}
	if _, err := e.Acknowledge(&wire.Ack{Received: session.Counts{session.Urgent: 2}}, nil); err == nil {
		t.Error("more is acknowledged than the second process was sent")
	}
}

// TestCountsOfNoProcessAreRefused checks that an end that knows of no process cannot have received anything.
func TestCountsOfNoProcessAreRefused(t *testing.T) {
	t.Parallel()
	var e session.End
	e.Hello(5)
	if _, err := e.Resume(&wire.Resume{Process: 7, Received: session.Counts{1}}, nil); err == nil {
		t.Error("it goes on")
	}
}

// TestPartsFitTheConnection checks that parts take 50 ms and have at least a quarter of a MiB; short writes do not
// count, and one slow write counts little.
func TestPartsFitTheConnection(t *testing.T) {
	t.Parallel()
	const milli = 1_000_000
	for name, c := range map[string]struct {
		bytes, times       int
		nanos              int64
		wholeLow, wholeTop int
	}{
		"not known":    {0, 0, 0, 0, 0},
		"fast":         {1 << 20, 9, milli, 0, 0},
		"no time":      {1 << 20, 9, 0, 0, 0},
		"100 MB/s":     {10_000_000, 60, 100 * milli, 4_900_000, 5_100_000},
		"10 MB/s":      {2_000_000, 90, 200 * milli, 499_000, 505_000},
		"slower":       {1 << 20, 90, 10_000 * milli, 256 << 10, 256 << 10},
		"short ones":   {1000, 9, 1000 * milli, 0, 0},
		"one slow one": {1 << 20, 1, 1000 * milli, 13_000_000, 14_000_000},
	} {
		var cuts session.Cuts
		for range c.times {
			cuts.Wrote(c.bytes, c.nanos)
		}
		whole, part := cuts.Parts()
		if whole < c.wholeLow || whole > c.wholeTop || whole > 0 && part > whole || part > 1<<20 || part < 256<<10 {
			t.Errorf("%s: %d bytes are whole, parts have %d", name, whole, part)
		}
	}
	var cuts session.Cuts
	for range 90 {
		cuts.Wrote(1<<20, 1000*milli)
	}
	if whole, _ := cuts.Parts(); whole == 0 || whole > 300<<10 {
		t.Errorf("behind many slow writes what has %d bytes is whole", whole)
	}
	cuts.Wrote(1<<20, milli)
	if whole, _ := cuts.Parts(); whole != 0 {
		t.Errorf("after a fast write parts have %d bytes", whole)
	}
}
