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
	at   int // where in the text the part begins that expect looks at
	out  wire.Outbox
}

var (
	laneAt     = wire.Address{Role: wire.Lane}
	controller = wire.Address{Role: wire.Controller}
	clients    = []wire.Address{{Node: 1}, {Node: 2}}
)

// newScript returns a script of a lane that holds so many bytes of flushes at most; 0: as many as there are.
func newScript(t *testing.T, heldMax int, more ...table.Schema) *script {
	job := jobOf(append(slices.Clone(routeTables), more...)...)
	return newScriptOf(t, job, laneAt, server.Options{HeldBytesMax: heldMax})
}

// newScriptOf returns a script of a job's lane.
func newScriptOf(t *testing.T, job core.Job, at wire.Address, o server.Options) *script {
	t.Helper()
	return &script{t: t, lane: newLane(t, job, at, o)}
}

// newGrown returns newScript for a job to which record 1 has added the lane addedLane.
func newGrown(t *testing.T, heldMax int) (*script, *roads) {
	s, r := newScript(t, heldMax), firstRoads(routeTables)
	r.next(r.AddLane(addedLane))
	s.change(1, r.lastAddsLane())
	return s, r
}

// jobOf returns a job of two splits with one item each, at nodes 1 and 2, whose tables are all on one lane.
func jobOf(tables ...table.Schema) core.Job {
	return core.Job{Controller: controller, Clients: clients, Tables: tables, Route: firstRoads(tables).Route,
		Items: func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{End: 1} }}
}

func newLane(t *testing.T, job core.Job, at wire.Address, o server.Options) *server.Lane {
	t.Helper()
	l, err := server.NewLane(job, at, o)
	require.NoError(t, err)
	return l
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

// versions returns the routes that changes make.
func versions(changes []bellows.Control) (list []bellows.RouteVersion) {
	for _, c := range changes {
		list = append(list, c.Route)
	}
	return list
}

// named returns the pairs that an answer speaks of; empty: it does not say.
func named(pairs []wire.Pair) string {
	if len(pairs) == 0 {
		return ""
	}
	return fmt.Sprintf(" %v", pairs)
}

func ref(t bellows.TableID, p bellows.PartitionID) wire.Pair {
	return wire.Pair{Ref: bellows.PartitionRef{Table: t, Partition: p}, Generation: 1}
}

// push sends a flush of one client, all of it for this lane, with its Done: a delta for the first row of a partition.
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

// keep sends a control record: the state is to be kept.
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

// clock lets both clients finish a clock; the first changes row 0 of the first BSP partition by v, if that is not 0.
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

// addedLane and addedClient take part while the job runs.
var (
	addedLane   = wire.Address{Node: 3, Role: wire.Lane}
	addedClient = wire.ClientAt(4)
)

// roads are the routes of a job, each made from the previous one.
type roads struct{ *route.Route }

// next follows by one change.
func (r *roads) next(c bellows.Control) bellows.Control {
	n, err := r.Route.Next(c)
	if err != nil {
		panic(err)
	}
	r.Route = n
	return c
}

// firstRoads returns the route with which newScript's job begins.
func firstRoads(tables []table.Schema) *roads {
	return &roads{route.Spread(tables, 2, []wire.Address{laneAt}, []bellows.NodeID{1, 2})}
}

var routeTables = []table.Schema{
	{Name: "barrier", Rows: 4, Width: 1, Partitions: 2},
	{Name: "free", Rows: 4, Width: 1, Partitions: 2, Consistency: table.Async},
}

// change sends a control record.
func (s *script) change(n int, c bellows.Control) {
	r := wire.New[wire.Records]()
	r.AppendControl(bellows.CommitNumber(n), c)
	s.send(controller, fmt.Sprintf("record %d makes route %d", n, c.Route), r)
}

// pushBy returns a push of one partition by a route.
func pushBy(v bellows.RouteVersion, from wire.Address, seq int, to wire.Pair, of wire.Subtree, x float32) *wire.Push {
	m := wire.New[wire.Push]()
	m.Flush, m.Route = bellows.FlushID{Client: from.Node, Incarnation: 1, Seq: uint64(seq)}, v
	m.Pairs = append(m.Pairs, to)
	m.Chunks = append(m.Chunks, wire.Chunk{Pair: to, Subtree: of, Rows: []uint32{0}, Values: []float32{x}})
	return m
}

func pullBy(v bellows.RouteVersion, request uint64, of wire.Pair) *wire.Pull {
	m := wire.New[wire.Pull]()
	m.Incarnation, m.Request, m.Route, m.Need = 1, request, v, wire.Need{Clock: bellows.NoClock}
	m.Parts = append(m.Parts, wire.PullPart{Pair: of, Subscribe: true})
	return m
}

// lastAddsLane returns the change that the route before this one was changed by.
func (r *roads) lastAddsLane() bellows.Control {
	return bellows.Control{Kind: bellows.AddLane, Route: r.Version(), Node: addedLane.Node, Lane: addedLane.Index}
}

func again(m *wire.Push) *wire.Push {
	m.Again = true
	return m
}

// mark makes expect look at the lane's output from now on.
func (s *script) mark() { s.at = s.text.Len() }

// expect wants the lane to have said a text since the last mark or expect, and returns all that it has said since. With
// an empty text it wants the lane to have said nothing.
func (s *script) expect(want string) string {
	s.t.Helper()
	got := s.saidSince(s.at)
	if !strings.Contains(got, want) || want == "" && strings.Contains(got, "    to ") {
		s.t.Errorf("says\n%swant %q", got, want)
	}
	s.mark()
	return got
}

// endClients lets both clients pass on the end of the job.
func (s *script) endClients() {
	for _, c := range clients {
		s.end(c)
	}
}

// expectEnd ends the job without losses, and wants the lane to close with these counts.
func (s *script) expectEnd(applied, dropped int) {
	s.t.Helper()
	s.endClients()
	s.mark()
	s.end(controller)
	s.expect(fmt.Sprintf("closed: applied %d dropped %d", applied, dropped))
}

// saidSince returns the transcript from a place on.
func (s *script) saidSince(at int) string { return s.text.String()[at:] }

// said returns what the lane answers to a message.
func (s *script) said(from wire.Address, m wire.Message) string {
	before := s.text.Len()
	s.send(from, "", m)
	_, answers, _ := strings.Cut(s.text.String()[before:], "\n")
	return strings.TrimSpace(answers)
}
