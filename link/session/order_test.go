package session_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/internal/require"
	"bellows/link/session"
	"bellows/link/wire"
)

// talk returns an end that may send, for which a message over 500 bytes is long.
func talk(t *testing.T) *session.End {
	t.Helper()
	var e session.End
	e.Shorten(500)
	e.Connected()
	if _, err := e.Resume(&wire.Resume{Process: 1}, nil); err != nil {
		t.Fatal(err)
	}
	return &e
}

// message returns a message of a client, given by its letter, to a lane, given by a digit: long or short, and numbered.
func message(who string, long bool, n int) wire.Envelope {
	push := &wire.Push{Flush: bellows.FlushID{Seq: uint64(n)}}
	if long {
		push.Chunks = []wire.Chunk{{Values: make([]float32, 200)}}
	}
	return wire.Envelope{From: wire.ClientAt(bellows.NodeID(who[0] - 'a')), To: wire.LaneAt(9, int(who[1]-'0')), Message: push}
}

func listed(list []wire.Envelope) string {
	var words []string
	for _, e := range list {
		if _, mark := e.Message.(*wire.Mark); mark {
			words = append(words, "mark")
			continue
		}
		m := e.Message.(*wire.Push)
		word := fmt.Sprintf("%c%d.%d", 'a'+rune(e.From.Node), e.To.Index, m.Flush.Seq)
		if len(m.Chunks) > 0 {
			word = strings.ToUpper(word)
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// post posts messages that are said as told has them.
func post(e *session.End, what string) {
	for _, word := range strings.Fields(what) {
		if word == "mark" {
			e.Post(wire.Envelope{Message: &wire.Mark{}})
			continue
		}
		var n int
		fmt.Sscan(word[3:], &n)
		low := strings.ToLower(word)
		e.Post(message(low[:2], low != word, n))
	}
}

// takeAll takes all messages; those from between the parts of a long one follow it after a bar.
func takeAll(e *session.End, beside bool) string {
	var out []string
	for {
		list := e.Take(session.Ordinary, 100, nil)
		if len(list) == 0 {
			return strings.Join(out, " ")
		}
		out = append(out, listed(list))
		if last := list[len(list)-1].Message.(*wire.Push); beside && len(last.Chunks) > 0 {
			if more := e.Between(nil); len(more) > 0 {
				out = append(out, "|", listed(more))
			}
		}
	}
}

// TestShortMessagesPassLongOnesOfOthers checks that, and that long ones take turns. Messages between two actors stay in
// the order in which they were posted.
func TestShortMessagesPassLongOnesOfOthers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ posted, want string }{
		{"a0.1 b0.2 a0.3", "a0.1 b0.2 a0.3"},
		{"A0.1 b0.2 a0.3 b1.4", "b0.2 b1.4 A0.1 a0.3"},
		{"A0.1 a1.2 a0.3", "a1.2 A0.1 a0.3"},
		{"A0.1 A0.2 B0.3 A0.4 B0.5", "A0.1 B0.3 A0.2 B0.5 A0.4"},
		{"A0.1 A0.2 B0.3 b0.4 c0.5", "c0.5 A0.1 B0.3 b0.4 A0.2"},
		{"A0.1 mark b0.2 A0.3", "b0.2 A0.1 A0.3"},
		{"A0.1 B0.2 C0.3 A0.4 B0.5 C0.6", "A0.1 B0.2 C0.3 A0.4 B0.5 C0.6"},
	} {
		e := talk(t)
		post(e, c.posted)
		if got := takeAll(e, false); got != c.want {
			t.Errorf("of %s left %s, not %s", c.posted, got, c.want)
		}
	}
}

// TestPassingALongMessageIsBounded sends short messages without end: the long one leaves all the same.
func TestPassingALongMessageIsBounded(t *testing.T) {
	t.Parallel()
	e := talk(t)
	post(e, "A0.1")
	for n := range 10_000 {
		e.Post(message("b0", false, n))
	}
	for n := 0; n < 3000; n++ {
		if m := e.Take(session.Ordinary, 1, nil)[0].Message.(*wire.Push); len(m.Chunks) > 0 {
			if n < 500 {
				t.Errorf("only %d short ones passed", n)
			}
			return
		}
	}
	t.Error("it has not left")
}

// TestMessagesBetweenPartsComeFirst sends short messages of others, up to the bound, between the parts of a long one.
// Both ends count them before the long one: over another connection the long one leaves again, and the others do not.
func TestMessagesBetweenPartsComeFirst(t *testing.T) {
	t.Parallel()
	e := talk(t)
	post(e, "a0.1 A0.2")
	if got := listed(e.Take(session.Ordinary, 9, nil)); got != "a0.1 A0.2" {
		t.Fatalf("left %s", got)
	}
	post(e, "a0.3 b0.4 mark B1.5 b1.6 c0.7")
	if got := listed(e.Between(nil)); got != "b0.4 c0.7" {
		t.Errorf("beside leaves %s", got)
	}
	if got := e.Between(nil); len(got) > 0 {
		t.Errorf("and then %s", listed(got))
	}
	e.Connected()
	if got := e.Between(nil); len(got) > 0 {
		t.Errorf("without a connection leaves %s", listed(got))
	}
	back, err := e.Resume(&wire.Resume{Process: 1, Received: session.Counts{session.Ordinary: 3}}, nil)
	if err != nil || listed(back) != "a0.1 b0.4 c0.7" {
		t.Errorf("what has come is %s: %v", listed(back), err)
	}
	if got := e.Between(nil); len(got) > 0 {
		t.Errorf("beside nothing leaves %s", listed(got))
	}
	if got := takeAll(e, false); got != "B1.5 b1.6 A0.2 a0.3" { // it is another's turn
		t.Errorf("then leaves %s", got)
	}
	back, err = e.Acknowledge(&wire.Ack{Received: session.Counts{session.Ordinary: 7}}, nil)
	if err != nil || listed(back) != "B1.5 b1.6 A0.2 a0.3 mark" {
		t.Errorf("then has come %s: %v", listed(back), err)
	}
	many := talk(t)
	post(many, "A0.1")
	many.Take(session.Ordinary, 9, nil)
	for n := range 10_000 {
		many.Post(message("b0", false, n))
	}
	if n := len(many.Between(nil)); n < 100 || n > 2000 {
		t.Errorf("%d messages pass between two parts", n)
	}
}

// TestTwoActorsKeepTheirOrder posts and takes at random, over connections that break: messages from one actor to
// another arrive in order, all of them and once, and no message that was posted before a mark arrives after it.
func TestTwoActorsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	passed := 0
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		e := talk(t)
		var got, way []wire.Envelope // come, and under way
		var part *wire.Envelope      // of a long one that is partly under way
		posted, acked, newest := 0, uint64(0), 0
		arrive := func(n int) {
			for _, m := range way[:n] {
				if k := int(m.Message.(*wire.Push).Flush.Seq); k < newest {
					passed++
				} else {
					newest = k
				}
			}
			got = append(got, way[:n]...)
			way = way[n:]
		}
		marks := map[*wire.Mark]int{}
		count := func(back []wire.Envelope, err error) {
			require.NoError(t, err)
			for _, m := range back {
				mark, is := m.Message.(*wire.Mark)
				if !is {
					acked++
					continue
				}
				before := 0
				for _, o := range got[:acked] {
					if int(o.Message.(*wire.Push).Flush.Seq) <= marks[mark] {
						before++
					}
				}
				if before != marks[mark] {
					t.Fatalf("seed %d: a mark comes behind %d of %d", seed, before, marks[mark])
				}
			}
		}
		again := func() {
			arrive(random.IntN(len(way) + 1))
			way, part = nil, nil
			e.Connected()
			count(e.Resume(&wire.Resume{Process: 1, Received: session.Counts{session.Ordinary: uint64(len(got))}}, nil))
		}
		for step := range 400 {
			switch n := random.IntN(20); {
			case n < 9 && step < 300:
				posted++
				who := string([]byte{byte('a' + random.IntN(3)), byte('0' + random.IntN(2))})
				e.Post(message(who, random.IntN(3) == 0, posted))
			case n == 9:
				m := &wire.Mark{}
				if marks[m] = posted; e.Post(wire.Envelope{Message: m}) && int(acked) != posted {
					t.Fatalf("seed %d: a mark comes back early", seed)
				}
			case n < 13 && part == nil:
				list := e.Take(session.Ordinary, 1+random.IntN(4), nil)
				if k := len(list) - 1; k >= 0 && len(list[k].Message.(*wire.Push).Chunks) > 0 {
					part, list = &list[k], list[:k]
				}
				way = append(way, list...)
			case n < 15 && part != nil:
				way = append(way, e.Between(nil)...)
			case n == 15 && part != nil:
				way, part = append(way, *part), nil
			case n == 16:
				arrive(random.IntN(len(way) + 1))
				count(e.Acknowledge(&wire.Ack{Received: session.Counts{session.Ordinary: uint64(len(got))}}, nil))
			case n == 17 && random.IntN(4) == 0:
				again()
			}
		}
		again()
		for list := e.Take(session.Ordinary, 9, nil); len(list) > 0; list = e.Take(session.Ordinary, 9, nil) {
			way = append(way, list...)
		}
		arrive(len(way))
		last := map[[2]wire.Address]uint64{}
		for _, m := range got {
			k := m.Message.(*wire.Push).Flush.Seq
			if pair := [2]wire.Address{m.From, m.To}; k <= last[pair] {
				t.Fatalf("seed %d: %s", seed, listed(got))
			} else {
				last[pair] = k
			}
		}
		if len(got) != posted || !slices.ContainsFunc(got, func(m wire.Envelope) bool { return len(m.Message.(*wire.Push).Chunks) > 0 }) {
			t.Fatalf("seed %d: %d of %d have come", seed, len(got), posted)
		}
	}
	if passed < 3000 {
		t.Errorf("only %d messages were passed", passed)
	}
}

// TestShortMessagesHaveNoParts checks that no message counted as short is longer than that on the wire.
func TestShortMessagesHaveNoParts(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	list := func() []float32 { return make([]float32, random.IntN(50)) }
	for range 2000 {
		push := &wire.Push{Pairs: make([]wire.Pair, random.IntN(5))}
		rows, pull := &wire.Rows{}, &wire.Pull{}
		for range random.IntN(4) {
			v := list()
			push.Chunks = append(push.Chunks, wire.Chunk{Rows: make([]uint32, len(v)), Values: v}, wire.Chunk{Keys: make([]bellows.Key, len(v)), Values: v})
			push.Leases = append(push.Leases, wire.LeaseEnd{Values: v})
			rows.Parts = append(rows.Parts, wire.RowsPart{Rows: make([]uint32, len(v)), Values: v}, wire.RowsPart{Keys: make([]bellows.Key, len(v)), Values: v})
			pull.Parts = append(pull.Parts, wire.PullPart{Rows: make([]uint32, len(v))}, wire.PullPart{Keys: make([]bellows.Key, len(v))})
		}
		if random.IntN(2) == 0 {
			push.Done = &wire.Done{}
			for range random.IntN(4) {
				push.Done.Results = append(push.Done.Results, wire.Result{Values: make([]float64, random.IntN(9))})
			}
		}
		piece := &wire.Piece{}
		piece.Hold(random.IntN(9), -1, random.IntN(90))
		for _, m := range []wire.Message{push, rows, pull, piece, &wire.Granted{Values: list()}, &wire.Slab{Values: list()}} {
			var b wire.Batch
			_, data, err := b.Payload(m)
			require.NoError(t, err)
			n := 0
			for _, d := range data {
				n += len(d)
			}
			var e session.End
			e.Shorten(n - 1)
			if e.Short(m) {
				t.Fatalf("a %T of %d bytes is taken for one of fewer", m, n)
			}
			e.Shorten(n + 128 + 64*40)
			if !e.Short(m) {
				t.Fatalf("a %T of %d bytes is long", m, n)
			}
		}
	}
}
