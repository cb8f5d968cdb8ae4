package node_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"bellows"
	"bellows/internal/require"
	"bellows/link/transport"
	"bellows/link/wire"
	"bellows/table"
	"bellows/train"
)

// addConn writes more bytes after the first frames.
type addConn struct {
	transport.Conn
	once sync.Once
	more []byte
}

func (c *addConn) WriteFrames(b [][]byte) error {
	err := c.Conn.WriteFrames(b)
	if err == nil {
		c.once.Do(func() { err = c.Conn.WriteFrames([][]byte{c.more}) })
	}
	return err
}

// ReadFrame skips acknowledgements: the other side counts the added frames, which the session here does not know.
func (c *addConn) ReadFrame() (wire.Header, []byte, error) {
	for {
		h, payload, err := c.Conn.ReadFrame()
		if err != nil || !strings.HasPrefix(h.String(), "ack ") {
			return h, payload, err
		}
	}
}

func frame(t *testing.T, from, to wire.Address, m wire.Message) []byte {
	t.Helper()
	var b wire.Batch
	require.NoError(t, b.Add(wire.Envelope{From: from, To: to, Era: gangEra, Message: m}))
	return slices.Concat(b.Buffers()...)
}

// TestABreachEndsTheJobByName makes one node say to another, once, what no node of the job may say. In the shape "leader
// leads" nodes 1 and 2 run two splits each; partition 1 is at node 2, the others are at node 1.
func TestABreachEndsTheJobByName(t *testing.T) {
	t.Parallel()
	controller, one, two := wire.Address{Role: wire.Controller}, wire.Address{Node: 1}, wire.Address{Node: 2}
	lane1, lane2 := wire.Address{Node: 1, Role: wire.Lane}, wire.Address{Node: 2, Role: wire.Lane}
	pair := func(p bellows.PartitionID) wire.Pair {
		return wire.Pair{Ref: bellows.PartitionRef{Partition: p}, Generation: 1}
	}
	done := func(s bellows.SplitID, c bellows.Clock) *wire.Done {
		m := &wire.Done{Flush: bellows.FlushID{Client: 2, Incarnation: 1, Seq: 1 << 40}, Clock: c}
		m.Append(bellows.Unit{Split: s, Clock: c, Items: bellows.Range{Begin: 0, End: 10}}, nil)
		return m
	}
	dispatch := &wire.Dispatch{}
	dispatch.Append(bellows.Unit{Split: 3, Items: bellows.Range{Begin: 0, End: 11}}, nil)
	for name, c := range map[string]struct {
		from, to wire.Address
		message  wire.Message
		want     string
	}{
		"work of another split":          {two, controller, done(0, 0), "the split's node of part 0 is 1, not 2"},
		"work that nobody wanted":        {two, controller, done(3, 1<<30), "flush 1099511627776 of node 2 refused: split 3 clock 1073741824"},
		"a partition too many":           {two, lane1, &wire.Pull{Incarnation: 1, Parts: []wire.PullPart{{Pair: pair(4)}}}, "the partition of part 0 is 4, not from 0 to 3"},
		"a row too many":                 {two, lane1, &wire.Pull{Incarnation: 1, Parts: []wire.PullPart{{Pair: pair(0), Rows: []uint32{2}}}}, "a row of part 0 is 2"},
		"a lease that is not there":      {two, lane1, &wire.Release{Pair: pair(0)}, "it releases a lease on t0/p0 that it does not have"},
		"values that were not requested": {lane2, controller, &wire.Slab{Ref: pair(1).Ref}, "for which it was not asked"},
		"an end that was not requested":  {lane2, controller, &wire.Collected{}, "for which it was not asked"},
		"rows that nobody held":          {lane2, one, &wire.Held{Flush: bellows.FlushID{Client: 1, Incarnation: 1, Seq: 99}}, "it was sent nothing of it"},
		"another's word":                 {one, controller, &wire.Beat{}, "which came from node 2: the sender is node 1"},
		"a role's word":                  {two, lane1, &wire.Records{}, "the way is from node 2 to lane 0 of node 1"},
		"items too many":                 {controller, two, dispatch, "node 2"}, // the node that leaves for that, by what node 0 or node 1 receives first
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			more := frame(t, c.from, c.to, c.message)
			r, others, err := gang{members: shapes["leader leads"], job: func(bellows.NodeID) train.Job { return job(1<<20, drift) },
				wrap: func(from, to bellows.NodeID, conn transport.Conn) transport.Conn {
					if from == 2 && to == c.to.Node || c.from.Node == 0 && from == 0 && to == c.to.Node {
						return &addConn{Conn: conn, more: more}
					}
					return conn
				}}.run(context.Background(), t)
			if err == nil || bellows.KindOf(err) != bellows.Lost || !strings.Contains(err.Error(), "node 2") || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want %q; others %v", err, c.want, others)
			}
			if c.to == two && (others[1] == nil || !strings.Contains(others[1].Error(), "the end of the items of part 0 is 11, not from 0 to 10")) {
				t.Errorf("node 2: %v", others[1])
			}
			if r.Tables != nil {
				t.Error("a job that failed returned tables")
			}
		})
	}
}

// TestInvalidPartsEndJob makes node 2 send the last part of a push without the others, and parts of two messages.
func TestInvalidPartsEndJob(t *testing.T) {
	t.Parallel()
	two, lane := wire.Address{Node: 2}, wire.Address{Node: 1, Role: wire.Lane}
	var b wire.Batch
	b.Shorten(100, 0)
	require.NoError(t, b.Add(wire.Envelope{From: two, To: lane, Era: gangEra, Message: &wire.Push{Chunks: []wire.Chunk{{Values: make([]float32, 60)}}}}))
	var parts [][]byte
	for turn := b.Next(); len(turn) > 0; turn = b.Next() {
		parts = append(parts, slices.Concat(turn...))
	}
	for name, c := range map[string]struct {
		more []byte
		want string
	}{
		"a last without a first": {parts[len(parts)-1], "the parts before it have not come"},
		"a message between":      {slices.Concat(parts[0], frame(t, two, lane, &wire.Pull{Incarnation: 1, Request: 1})), "it comes between the parts of a push from node 2 to lane 0 of node 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, others, err := gang{members: shapes["leader leads"], job: func(bellows.NodeID) train.Job { return job(1<<20, drift) },
				wrap: func(from, to bellows.NodeID, conn transport.Conn) transport.Conn {
					if from == 2 && to == 1 {
						return &addConn{Conn: conn, more: c.more}
					}
					return conn
				}}.run(context.Background(), t)
			if err == nil || bellows.KindOf(err) != bellows.Lost || !strings.Contains(err.Error(), "node 2") || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want %q; others %v", err, c.want, others)
			}
		})
	}
}

// TestOversizedAnswerEndsJob makes a lane answer with more rows than one message may have.
func TestOversizedAnswerEndsJob(t *testing.T) {
	t.Parallel()
	const rows, most = 1 << 14, 1 << 16 // bytes of a message; a row has four
	j := func(bellows.NodeID) train.Job {
		j := job(3, func(t *train.Task) error {
			t.PullRange(0, 0, 1)
			t.PullRange(1, 0, rows)
			return nil
		})
		j.Tables = append(j.Tables, table.Schema{Name: "huge", Rows: rows, Width: 1, Partitions: 1, Consistency: table.Async})
		return j
	}
	_, _, err := gang{members: shapes["server apart"], job: j, part: most / 4, message: most}.run(context.Background(), t)
	if err == nil || bellows.KindOf(err) != bellows.Config || !strings.Contains(err.Error(), "are over the limit of 65536; read and update fewer rows at once, or use more servers") ||
		!strings.Contains(err.Error(), "node 3 failed: lane") {
		t.Fatalf("error %v", err)
	}
}
