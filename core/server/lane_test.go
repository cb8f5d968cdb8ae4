package server_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core"
	"bellows/core/route"
	"bellows/core/server"
	"bellows/core/store"
	"bellows/internal/require"
	"bellows/link/wire"
	"bellows/table"
)

var update = flag.Bool("update", false, "rewrite the transcripts in testdata from what the code does")

// script drives one lane and writes down all that it says. Two splits, one item each; table 0 is BSP,
// table 1 async, both of four rows of one value in two partitions; more are the test's.
type script struct {
	t    *testing.T
	lane *server.Lane
	text strings.Builder
	out  wire.Outbox
}

var (
	laneAt     = wire.Address{Role: wire.Lane}
	controller = wire.Address{Role: wire.Controller}
	clients    = []wire.Address{{Node: 1}, {Node: 2}}
)

func newScript(t *testing.T, heldMax int, more ...table.Schema) *script {
	tables := []table.Schema{
		{Name: "barrier", Rows: 4, Width: 1, Partitions: 2},
		{Name: "free", Rows: 4, Width: 1, Partitions: 2, Consistency: table.Async},
	}
	tables = append(tables, more...)
	l, err := server.NewLane(core.Job{Controller: controller, Clients: clients, Tables: tables,
		Route: route.Spread(tables, 2, []wire.Address{laneAt}, []bellows.NodeID{1, 2}),
		Items: func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{Begin: 0, End: 1} }}, laneAt, server.Options{HeldBytesMax: heldMax})
	require.NoError(t, err)
	return &script{t: t, lane: l}
}

// note writes a line of explanation into the transcript.
func (s *script) note(text string) { fmt.Fprintf(&s.text, "# %s\n", text) }

// send delivers one message and writes down the answers.
func (s *script) send(from wire.Address, what string, m wire.Message) {
	fmt.Fprintf(&s.text, "%v: %s\n", from, what)
	s.lane.Step([]wire.Envelope{{From: from, To: laneAt, Message: m}}, &s.out)
	for _, e := range s.out.Envelopes {
		fmt.Fprintf(&s.text, "    to %v: %s\n", e.To, describe(e.Message))
	}
	s.out.Envelopes = s.out.Envelopes[:0]
}

func describe(m wire.Message) string {
	switch m := m.(type) {
	case *wire.Rows:
		s := fmt.Sprintf("rows for request %d", m.Request)
		for _, p := range m.Parts {
			rows := "all"
			if p.Rows != nil {
				rows = fmt.Sprint(p.Rows)
			}
			if p.Keys != nil {
				rows = fmt.Sprintf("keys %v", p.Keys)
			}
			s += fmt.Sprintf(" %v %s %v after commit %d, clock %d", p.Ref, rows, p.Values, p.Commit, p.Complete)
		}
		return s
	case *wire.Granted:
		return fmt.Sprintf("granted %v %v after commit %d, clock %d", m.Ref, m.Values, m.Commit, m.Complete)
	case *wire.Held:
		return fmt.Sprintf("held %v", m.Flush) + named(m.Pairs)
	case *wire.Done:
		return fmt.Sprintf("done %v", m.Flush)
	case *wire.Full:
		return fmt.Sprintf("full, %v must wait", m.Flush) + named(m.Pairs)
	case *wire.Room:
		return fmt.Sprintf("room for %v", m.Flush) + named(m.Pairs)
	case *wire.Committed:
		var said []string
		for _, c := range m.List {
			s := fmt.Sprintf("%v is commit %d", c.Flush, c.Commit)
			if c.Waiting {
				s += ", some of it waits"
			}
			s += named(c.Pairs)
			said = append(said, s)
		}
		return strings.Join(said, "; ")
	case *wire.Stale:
		if m.Request > 0 {
			return fmt.Sprintf("request %d is stale by route %d", m.Request, m.Route)
		}
		return fmt.Sprintf("%v is stale by route %d:%s", m.Flush, m.Route, named(m.Pairs))
	case *wire.Refused:
		return "refused: " + m.Reason
	case *wire.Complaint:
		return fmt.Sprintf("breach by node %d: %s", m.Node, m.Reason)
	case *wire.Closed:
		s := fmt.Sprintf("closed: applied %d dropped %d", m.Counts.Applied, m.Counts.Dropped)
		if m.Route > 0 || len(m.Adopted) > 0 {
			s += fmt.Sprintf(" sent %d, removed by route %d, with those who were removed by %v", m.Counts.Sent, m.Route, versions(m.Adopted))
		}
		return s
	case *wire.Adopted:
		return fmt.Sprintf("has the counts of those who were removed by %v", versions(m.List))
	}
	return fmt.Sprintf("%T", m)
}

// versions are the routes that changes make.
func versions(changes []bellows.Control) (list []bellows.RouteVersion) {
	for _, c := range changes {
		list = append(list, c.Route)
	}
	return list
}

// named is the pairs that an answer speaks of; empty: it does not say.
func named(pairs []wire.Pair) string {
	if len(pairs) == 0 {
		return ""
	}
	return fmt.Sprintf(" %v", pairs)
}

func ref(t bellows.TableID, p bellows.PartitionID) wire.Pair {
	return wire.Pair{Ref: bellows.PartitionRef{Table: t, Partition: p}, Generation: 1}
}

// push is a flush of one client, all of it for this lane, with its done: a delta for the first row of a partition.
func (s *script) push(client, seq int, clock bellows.Clock, to wire.Pair, v float32) {
	m := wire.New[wire.Push]()
	m.Flush, m.Clock = bellows.FlushID{Client: bellows.NodeID(client), Incarnation: 1, Seq: uint64(seq)}, clock
	m.Pairs = append(m.Pairs, to)
	m.Done = wire.New[wire.Done]()
	m.Done.Flush, m.Done.Clock = m.Flush, m.Clock
	m.Chunks = append(m.Chunks, wire.Chunk{Pair: to, Subtree: wire.Subtree{Index: uint32(client - 1)}, Rows: []uint32{0}, Values: []float32{v}})
	s.send(clients[client-1], fmt.Sprintf("push %v clock %d: %v row 0 += %v", m.Flush, clock, to.Ref, v), m)
}

// record numbers a flush that finished a split's clock.
func (s *script) record(n, client, seq int, clock bellows.Clock) {
	r := wire.New[wire.Records]()
	f := bellows.FlushID{Client: bellows.NodeID(client), Incarnation: 1, Seq: uint64(seq)}
	u := bellows.Unit{Split: bellows.SplitID(client - 1), Clock: clock, Items: bellows.Range{Begin: 0, End: 1}}
	r.Append(bellows.CommitNumber(n), &wire.Done{Flush: f, Results: []wire.Result{{Unit: u}}})
	s.send(controller, fmt.Sprintf("commit %d is %v, with %v", n, f, u), r)
}

// keep is a control record: the state is to be kept.
func (s *script) keep(n int) {
	r := wire.New[wire.Records]()
	r.AppendControl(bellows.CommitNumber(n), bellows.Control{Kind: bellows.KeepTables})
	s.send(controller, "keep", r)
}

func (s *script) pull(client int, of wire.Pair, need wire.Need) {
	m := wire.New[wire.Pull]()
	m.Incarnation = 1
	m.Request, m.Need, m.Parts = 2, need, append(m.Parts, wire.PullPart{Pair: of})
	s.send(clients[client-1], fmt.Sprintf("pull %v, needs commit %d and clock %d", of.Ref, need.Commit, need.Clock), m)
}

func (s *script) acquire(client int, of wire.Pair, mode wire.Mode) {
	m := wire.New[wire.Acquire]()
	*m = wire.Acquire{Request: 3, Pair: of, Mode: mode, Need: wire.Need{Clock: bellows.NoClock}}
	s.send(clients[client-1], fmt.Sprintf("acquire %v, %s", of.Ref, [...]string{"shared", "exclusive"}[mode]), m)
}

func (s *script) release(client int, of wire.Pair) {
	m := wire.New[wire.Release]()
	m.Pair = of
	s.send(clients[client-1], fmt.Sprintf("release %v", of.Ref), m)
}

func (s *script) end(from wire.Address, gone ...bellows.NodeID) {
	s.send(from, fmt.Sprintf("the job is over, gone %v", gone), &wire.End{Gone: gone})
}

// check compares the transcript with the one on file.
func (s *script) check() {
	s.t.Helper()
	path := filepath.Join("testdata", strings.TrimPrefix(s.t.Name(), "Test")+".txt")
	if *update {
		require.NoError(s.t, os.WriteFile(path, []byte(s.text.String()), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(s.t, err)
	if s.text.String() != string(want) {
		s.t.Errorf("the lane's transcript differs from %s:\n%s", path, s.text.String())
	}
}

func TestBarrierShowsAClockAtOnce(t *testing.T) {
	s := newScript(t, 0)
	s.note("a read of clock 1 waits until both splits' clock 0 is committed, and then sees both")
	s.push(1, 1, 0, ref(0, 0), 2)
	s.push(2, 1, 0, ref(0, 0), 3)
	s.pull(1, ref(0, 0), wire.Need{Clock: 0})
	s.record(1, 2, 1, 0)
	s.pull(2, ref(0, 0), wire.Need{Clock: bellows.NoClock})
	s.record(2, 1, 1, 0)
	s.check()
}

func TestAsyncShowsEachCommit(t *testing.T) {
	s := newScript(t, 0)
	s.note("held is not seen; committed is; a read waits for the commits known at its dispatch")
	s.push(1, 1, 0, ref(1, 0), 2)
	s.pull(1, ref(1, 0), wire.Need{Clock: bellows.NoClock})
	s.pull(2, ref(1, 0), wire.Need{Commit: 1, Clock: bellows.NoClock})
	s.record(1, 1, 1, 0)
	s.check()
}

func TestLeases(t *testing.T) {
	s := newScript(t, 0)
	s.note("shared leases keep commits out; the read sees the version before")
	s.acquire(1, ref(1, 0), wire.Shared)
	s.acquire(2, ref(1, 0), wire.Shared)
	s.push(1, 1, 0, ref(1, 0), 2)
	s.record(1, 1, 1, 0)
	s.pull(2, ref(1, 0), wire.Need{Clock: bellows.NoClock})
	s.release(1, ref(1, 0))
	s.release(2, ref(1, 0))
	s.note("an exclusive lease waits for the others, keeps reads and leases out, and ends with its commit")
	s.acquire(1, ref(1, 0), wire.Exclusive)
	s.acquire(2, ref(1, 0), wire.Exclusive)
	s.pull(2, ref(1, 0), wire.Need{Clock: bellows.NoClock})
	m := wire.New[wire.Push]()
	m.Flush, m.Clock = bellows.FlushID{Client: 1, Incarnation: 1, Seq: 2}, 1
	m.Leases = append(m.Leases, wire.LeaseEnd{Pair: ref(1, 0), Values: []float32{7, 8}})
	s.send(clients[0], "push: the lease on t1/p0 ends with [7 8]", m)
	s.record(2, 1, 2, 1)
	s.check()
}

// TestSubscribersAreSentWhatChanged sends a client the changed rows of a BSP table with each clock, and nothing once it has
// unsubscribed; who only asked is sent nothing.
func TestSubscribersAreSentWhatChanged(t *testing.T) {
	s := newScript(t, 0)
	s.subscribe(1, ref(0, 0))
	s.pull(2, ref(0, 0), wire.Need{Clock: bellows.NoClock})
	s.clock(0, 1)
	s.note("clock 1 changes nothing there: the version is lifted, without rows")
	s.clock(1, 0)
	s.send(clients[0], "unsubscribe t0/p0", &wire.Unsubscribe{Incarnation: 1, Pair: ref(0, 0)})
	s.clock(2, 1)
	s.check()
}

// clock has both clients finish a clock; the first changes row 0 of the first BSP partition by v, if that is not 0.
func (s *script) clock(c bellows.Clock, v float32) {
	to := ref(0, 0)
	if v == 0 {
		to, v = ref(0, 1), 5
	}
	for client := 1; client <= 2; client++ {
		s.push(client, int(c)+1, c, to, v)
	}
	for client := 1; client <= 2; client++ {
		s.record(2*int(c)+client, client, int(c)+1, c)
	}
}

func (s *script) subscribe(client int, to wire.Pair) {
	m := wire.New[wire.Pull]()
	m.Incarnation = 1
	m.Request, m.Need = 1, wire.Need{Clock: bellows.NoClock}
	m.Parts = append(m.Parts, wire.PullPart{Pair: to, Subscribe: true})
	s.send(clients[client-1], fmt.Sprintf("pull %v, and subscribe", to.Ref), m)
}

func TestTheCapTakesTheLowestFlush(t *testing.T) {
	s := newScript(t, 8)
	s.note("8 bytes may be held; clock 0 is below clock 1 and gets in all the same; clock 2 waits for room")
	s.push(2, 1, 1, ref(1, 0), 1)
	s.push(1, 1, 0, ref(1, 0), 1)
	s.push(2, 2, 2, ref(1, 0), 1)
	s.record(1, 1, 1, 0)
	s.record(2, 2, 1, 0)
	s.push(2, 2, 2, ref(1, 0), 1)
	s.check()
}

func TestAFlushAboveTheCapIsTakenInItsTurn(t *testing.T) {
	s := newScript(t, 4)
	s.note("4 bytes may be held, and each flush has more: one is taken alone, the next waits for its record, and is taken then")
	s.push(1, 1, 0, ref(1, 0), 1)
	s.push(2, 1, 0, ref(1, 0), 1)
	s.record(1, 1, 1, 0)
	s.push(2, 1, 0, ref(1, 0), 1)
	s.record(2, 2, 1, 0)
	s.check()
}

func TestOtherGenerationsAreRefused(t *testing.T) {
	s := newScript(t, 0)
	other := ref(1, 0)
	for g, is := range []string{"of an owner of the past: to be sent again", "", "that there is not yet: nothing that a peer can send"} {
		if other.Generation = bellows.Generation(g); g == 1 {
			continue
		}
		s.note(is)
		s.push(1, 1, 0, other, 1)
		s.pull(1, other, wire.Need{Clock: bellows.NoClock})
		s.acquire(1, other, wire.Exclusive)
	}
	s.check()
}

func TestEndAccountsForEverything(t *testing.T) {
	s := newScript(t, 0)
	s.note("recorded but of an unfinished clock, held, and still under way: all dropped, and counted")
	s.push(1, 1, 0, ref(0, 0), 1)
	s.record(1, 1, 1, 0)
	s.push(2, 1, 0, ref(1, 0), 1)
	s.end(controller)
	s.push(1, 2, 1, ref(1, 1), 1)
	s.end(clients[0])
	s.end(clients[1])
	s.note("what comes again counts nothing")
	s.push(1, 2, 1, ref(1, 1), 1)
	for _, p := range []wire.Pair{ref(0, 0), ref(1, 0), ref(1, 1)} {
		im, err := s.lane.Partition(p.Ref)
		fmt.Fprintf(&s.text, "%v: %v %v\n", p.Ref, im.Values, err)
	}
	s.check()
}

func TestEndWithoutTheGone(t *testing.T) {
	s := newScript(t, 0)
	s.note("node 2 is gone: its end is not waited for; a partition that node 0 leased in place is dirty")
	local := wire.Address{}
	m := wire.New[wire.Acquire]()
	*m = wire.Acquire{Pair: ref(1, 0), Mode: wire.Exclusive, Need: wire.Need{Clock: bellows.NoClock}}
	s.send(local, "acquire t1/p0, exclusive", m)
	s.end(clients[0])
	s.end(controller, 2)
	_, err := s.lane.Partition(ref(1, 0).Ref)
	fmt.Fprintf(&s.text, "t1/p0: %v\n", err)
	s.check()
}

// TestWhatASavedRunKeptIsKept gives a lane the kept images of a saved run, one of a sparse table without rows among them.
func TestWhatASavedRunKeptIsKept(t *testing.T) {
	s := newScript(t, 0, table.Schema{Name: "keys", Rows: 4, Width: 1, Sparse: true, Partitions: 1})
	s.lane.LoadKept(ref(1, 0).Ref, &store.Image{Values: []float32{3, 4}})
	s.lane.LoadKept(ref(2, 0).Ref, &store.Image{})
	if kept := s.lane.Kept(ref(1, 0).Ref); kept == nil || !slices.Equal(kept.Values, []float32{3, 4}) || kept.Keys != nil {
		t.Errorf("kept %v", kept)
	}
	if kept := s.lane.Kept(ref(2, 0).Ref); kept == nil || kept.Keys == nil || len(kept.Keys) > 0 {
		t.Errorf("kept of no keys %v", kept)
	}
	if kept := s.lane.Kept(ref(0, 0).Ref); kept != nil {
		t.Errorf("not kept was %v", kept)
	}
}

func TestKeep(t *testing.T) {
	s := newScript(t, 0)
	s.push(1, 1, 0, ref(1, 0), 2)
	s.record(1, 1, 1, 0)
	s.keep(2)
	s.push(1, 2, 1, ref(1, 0), 5)
	s.record(3, 1, 2, 1)
	im, _ := s.lane.Partition(ref(1, 0).Ref)
	if kept := s.lane.Kept(ref(1, 0).Ref); kept == nil || kept.Values[0] != 2 || im.Values[0] != 7 {
		t.Errorf("kept %v, live %v", kept, im)
	}
}
