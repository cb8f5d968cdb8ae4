package wire

import (
	"bellows/link/padding"
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core/audit"
	"bellows/core/pending"
	"bellows/core/tally"
	"bellows/internal/require"
)

var update = flag.Bool("update", false, "write the golden frames")

// golden returns one message of each kind, the same for ever: programs of other versions send them.
func golden() map[string]Message {
	pair := Pair{bellows.PartitionRef{Table: 1, Partition: 0x020304}, 5}
	flush := bellows.FlushID{Client: 6, Incarnation: 7, Seq: 0x0708090a0b0c0d0e}
	unit := bellows.Unit{Split: 15, Clock: 16, Items: bellows.Range{Begin: 17, End: 1800}}
	need := Need{19, bellows.NoClock}
	values := []float32{1, -2, float32(math.Inf(1))}
	done := &Done{Flush: flush, Clock: 16, Pairs: []Pair{pair}, Deferrable: true}
	done.Append(unit, []float64{0.5, math.Inf(-1)})
	done.Sent = []audit.Sent{{Table: 1, Rows: 300, Bits: 1<<63 | 5}, {Table: 2, Rows: 1}}
	pushed := *done
	dispatch := &Dispatch{Term: 2, Commit: 20}
	dispatch.Append(unit, []float64{0.25})
	return map[string]Message{
		"pull":      &Pull{Request: 21, Incarnation: 7, Need: need, Parts: []PullPart{{Pair: pair, Subscribe: true}, {Pair: pair, Rows: []uint32{}}, {Pair: pair, Rows: []uint32{22, 23}}}},
		"pull.keys": &Pull{Request: 21, Need: need, Parts: []PullPart{{Pair: pair, Keys: []bellows.Key{}}, {Pair: pair, Keys: []bellows.Key{22, 1<<63 | 23}}}},
		"rows": &Rows{Request: 21, Incarnation: 7, Parts: []RowsPart{{Pair: pair, Commit: 24, Complete: 25, Values: values},
			{Pair: pair, Commit: 24, Complete: 25, Rows: []uint32{26}, Values: values}}},
		"rows.keys": &Rows{Parts: []RowsPart{{Pair: pair, Commit: 24, Complete: 25, Keys: []bellows.Key{}},
			{Pair: pair, Commit: 24, Complete: 25, Keys: []bellows.Key{26, 1<<63 | 27, 1<<64 - 1}, Values: values}}},
		"acquire":         &Acquire{27, pair, Exclusive, need, 0, 23},
		"granted":         &Granted{Request: 27, Pair: pair, Mode: Exclusive, Commit: 24, Complete: 25, Revision: 23, Values: values},
		"granted.columns": &Granted{Request: 27, Pair: pair, Mode: Exclusive, Commit: 24, Complete: 25, Revision: 23, Columns: padding.Find(3, 1), Values: []float32{1, -2, 0, 3, -4, 0}},
		"push.columns": &Push{Flush: flush, Clock: 16, Pairs: []Pair{pair}, Leases: []LeaseEnd{
			{Pair: pair, Columns: padding.Find(3, 1), Values: []float32{1, -2, 0, 3, -4, 0}}, {Pair: pair, Columns: padding.Find(64, 13)}}},
		"granted.unchanged": &Granted{Request: 27, Pair: pair, Mode: Shared, Commit: 24, Complete: 25, Revision: 23, Unchanged: true, Columns: padding.Find(64, 13)},
		"inquiry":           &Inquiry{7, []pending.Wait{{Number: 21, Ref: pair.Ref, Generation: 5}, {Of: pending.Relay, Ref: pair.Ref, Generation: 5}, {Of: pending.Flush, Number: 8, Ref: pair.Ref, Generation: 5}}},
		"standing":          &Standing{7, []pending.Wait{{Number: 21, Ref: pair.Ref, Generation: 5, Behind: pending.Clock, Who: 15}, {Of: pending.Flush, Number: 8, Ref: pair.Ref, Generation: 5}}},
		"release":           &Release{pair}, "unsubscribe": &Unsubscribe{pair, 7},
		"pull.route": &Pull{Request: 21, Need: need, Route: 300}, "acquire.route": &Acquire{27, pair, Exclusive, need, 300, 0},
		"push.route": &Push{Flush: flush, Clock: 16, Pairs: []Pair{pair}, Chunks: []Chunk{{pair, Subtree{}, nil, nil, values}}, Done: &pushed, Route: 300},
		"push": &Push{Flush: flush, Clock: 16, Pairs: []Pair{pair},
			Chunks: []Chunk{{pair, Subtree{Level: 2, Index: 7}, []uint32{29, 28, 30}, nil, values}, {pair, Subtree{}, nil, nil, values}},
			Leases: []LeaseEnd{{Pair: pair, Values: values}}},
		"push.done": &Push{Flush: flush, Again: true, Clock: 16, Pairs: []Pair{pair}, Chunks: []Chunk{{pair, Subtree{}, nil, nil, values}}, Done: &pushed},
		"push.keys": &Push{Flush: flush, Clock: 16, Pairs: []Pair{pair},
			Chunks: []Chunk{{pair, Subtree{Level: 2, Index: 7}, nil, []bellows.Key{1<<63 | 29, 28, 30}, values}, {pair, Subtree{}, nil, []bellows.Key{31}, values}}},
		"held":       &Held{flush, []Pair{pair}},
		"full.pairs": &Full{flush, []Pair{pair}},
		"full":       &Full{flush, nil},
		"room":       &Room{flush, []Pair{pair, pair}},
		"committed":  &Committed{List: []Commitment{{flush, 31, true, []Pair{pair}}, {bellows.FlushID{Client: 3, Incarnation: 1, Seq: 8}, 32, false, nil}, {flush, 33, false, []Pair{pair, pair}}}},
		"refused":    &Refused{flush, bellows.Refused, "partition t1/p2 is elsewhere"},
		"done":       done,
		"failed":     &Failed{Unit: unit, Reason: "no such file", Kind: bellows.NoInput},
		"beat":       &Beat{},
		"records": &Records{Term: 2, Keep: 30, List: []Record{
			{32, flush, []Pair{pair, {bellows.PartitionRef{Table: 1, Partition: 0x020305}, 5}, {bellows.PartitionRef{Table: 2}, 5}},
				[]Result{{unit, []float64{0.5, math.Inf(1)}}, {}}, []audit.Sent{{Table: 1, Rows: 300, Bits: 1<<63 | 5}}, bellows.Control{}},
			{33, flush, nil, nil, nil, bellows.Control{}},
			{34, bellows.FlushID{}, nil, nil, nil, bellows.Control{Kind: bellows.KeepTables}},
			{35, bellows.FlushID{}, nil, nil, nil, bellows.Control{Kind: bellows.SetStaleness, Table: 1, Clocks: -1}},
			{36, bellows.FlushID{}, nil, nil, nil, bellows.Control{Kind: bellows.Drain, Clock: -1}}}},
		"staleness": &Staleness{1, -1, 2},
		"records.route": &Records{Term: 2, List: []Record{
			{37, bellows.FlushID{}, nil, nil, nil, bellows.Control{Kind: bellows.MovePartition, Table: 1, Partition: 0x020304, Generation: 6, Node: 300, Lane: 2, Route: 7}},
			{38, bellows.FlushID{}, nil, nil, nil, bellows.Control{Kind: bellows.MoveSplit, Split: 15, Node: 3}}}},
		"route": &Route{2, 7, []bellows.Control{{Kind: bellows.AddLane, Node: 3, Lane: 1}, {Kind: bellows.AddClient, Node: 3}}, nil},
		"route.whole": &Route{2, 7, []bellows.Control{{Kind: bellows.AddLane, Node: 3, Lane: 1}}, &Begin{36, []bellows.Clock{bellows.NoClock, 16, 17}, []int32{0, 3, math.MaxInt32},
			[]Recorded{{3, 1, 8, []uint64{10, 1 << 40}}, {4, 2, 0, nil}}, nil}},
		"route.units": &Route{2, 7, []bellows.Control{{Kind: bellows.AddLane, Node: 3, Lane: 1}}, &Begin{36, []bellows.Clock{bellows.NoClock, 16, 17}, []int32{0},
			nil, []bellows.Unit{{Items: bellows.Range{End: 3}}, {Split: 2, Clock: 18, Items: bellows.Range{Begin: 300, End: 450}}}}},
		"stale":     &Stale{Term: 2, Route: 7, Request: 21, Flush: flush, Pairs: []Pair{pair, {bellows.PartitionRef{Table: 1, Partition: 0x020305}, 5}}},
		"dispatch":  dispatch,
		"end":       &End{2, 35, "node 2 is lost", []bellows.NodeID{2, 300}, bellows.Lost, true, []LaneName{{3, 0}, {300, 2}}},
		"slab":      &Slab{bellows.PartitionRef{Table: 1, Partition: 2}, true, 3, nil, []float32{1, -2}, 2},
		"slab.keys": &Slab{bellows.PartitionRef{Table: 1, Partition: 2}, true, 0, []bellows.Key{1, 1 << 63}, nil, 2},
		"collect":   &Collect{2, true, 4}, "collected": &Collected{"torn", 2}, "ready": &Ready{bellows.Fingerprint{Tables: 42, Splits: 43, Data: 44, Formats: 45, Kernels: 46, Program: 1<<64 - 1}}, "notice": &Notice{"waits"}, "complaint": &Complaint{4, "gone", false},
		"handoff": &Handoff{2, 9, pair, 300, 2, true, true}, "prepared": &Prepared{2, 9, pair, 1 << 20, 1 << 40, true, "too far behind"}, "taken": &Taken{9, 10, pair, true},
		"cut": &Cut{2, 9, 40, true}, "shard": &Shard{2, 9, 40, pair.Ref, "40/t1-p2", 1 << 40, 1 << 63, 30, "no space left"},
		"piece": &Piece{Copy: 9, Number: 10, Pair: pair, Kind: 1, Route: 7, First: 30, Count: 1, Values: values},
		"push.part": &Push{Flush: flush, Clock: 16, Pairs: []Pair{pair}, Chunks: []Chunk{
			{Pair: pair, Subtree: Subtree{Index: 7, Items: bellows.Range{Begin: 3, End: 300}}, Keys: []bellows.Key{31}, Values: values},
			{Pair: pair, Subtree: Subtree{Index: 8, Items: bellows.Range{Begin: 1, End: 2}}, Rows: []uint32{29, 28, 30}, Values: values}}},
		"piece.part": &Piece{Copy: 9, Number: 11, Pair: pair, Kind: 3, Waits: true, Clock: 16,
			Subtree: Subtree{Index: 7, Items: bellows.Range{Begin: 3, End: 300}}, Rows: []uint32{29, 28, 30}, Values: values},
		"piece.chunk": &Piece{Copy: 9, Number: 11, Pair: pair, Kind: 3, Waits: true, Clock: 16, Subtree: Subtree{Level: 2, Index: 7}, Rows: []uint32{29, 28, 30}, Values: values},
		"piece.keys":  &Piece{Copy: 9, Number: 12, Pair: pair, Kind: 2, Count: 3, Keys: []bellows.Key{1<<63 | 29, 28, 30}, Values: values},
		"piece.last":  &Piece{Copy: 9, Number: 13, Pair: pair, Kind: 7, Commit: 40, Newest: 39, Ended: 38, Sum: 1 << 63},
		"fence":       &Fence{2, 3, 4}, "computing": &Computing{unit, 4200}, "recall": &Recall{2, 5}, "recalled": &Recalled{2, 5, 16},
		"query": &Query{2, 36},
		"holding": &Holding{Term: 2, Last: 36, Tail: 30, Flushes: []HeldFlush{{flush, 16, []Pair{pair}, []Pair{pair, {bellows.PartitionRef{Table: 2}, 5}}, []Result{{unit, []float64{0.5}}}, []audit.Sent{{Table: 1, Rows: 300, Bits: 7}}},
			{bellows.FlushID{Client: 3, Incarnation: 1, Seq: 8}, -1, nil, nil, nil, nil}}, Owned: []Owned{{pair, 35}, {}},
			Added: []bellows.Control{{Kind: bellows.AddLane, Route: 1, Node: 3, Lane: 2}}, Gone: []Fence{{Node: 2, Incarnation: 1}}, Adopted: []bellows.Control{{Kind: bellows.RemoveClient, Route: 2, Node: 3}}, End: &End{2, 36, "lost", []bellows.NodeID{2}, bellows.Lost, false, []LaneName{{3, 2}}}},
		"report": &Report{41, 42000, reported(), 30_000, []tally.Link{{To: 1, Bytes: 55 << 32, Busy: 56e9}, {To: 300}}, 57 << 30},
		"ack":    &Ack{[2]uint64{51, 52}}, "resume": &Resume{53, 56, [2]uint64{54, 55}}, "bye": &Bye{},
		"adopted": &Adopted{[]bellows.Control{{Kind: bellows.RemoveClient, Route: 5, Node: 3, Heir: 1, HeirLane: 2}}},
		"closed":  &Closed{Counts: Counts{36, 37, 38, [tally.StalenessBins]int64{0: 39, 15: 400}, []audit.Ledger{{Sent: 51, Taken: 52, Dropped: 53, Yielded: 54, Written: 55}, {Sent: 1 << 63, Written: 1}}}, Route: 6, Adopted: []bellows.Control{{Kind: bellows.RemoveLane, Route: 5, Node: 3, Lane: 1}}, Missed: []Missed{{flush, pair.Ref, 3, 1 << 62}}},
	}
}

// reported returns a tally with every field set.
func reported() (t tally.Tally) {
	t.Spent = tally.Spent{tally.Compute: 43e9, tally.Idle: 1}
	t.Sent[tally.Control], t.Sent[tally.Model] = tally.Flow{Frames: 44, Bytes: 4500}, tally.Flow{Frames: 1, Bytes: 46}
	t.Received[tally.Pulls] = tally.Flow{Frames: 47, Bytes: 48 << 40}
	t.Staleness[0], t.Staleness[15] = 49, 50
	t.Work = tally.Work{Items: 51, Rows: 52 << 32, Serving: 53e9, Processor: 54, Delayed: 58}
	return t
}

// TestGolden wants every kind's frame byte for byte as it is stored, and the stored one read as it was meant.
func TestGolden(t *testing.T) {
	t.Parallel()
	messages := golden()
	for _, k := range kinds {
		if k.name != "" && messages[k.name] == nil {
			t.Errorf("there is no golden %s", k.name)
		}
	}
	for name, m := range messages {
		file := filepath.Join("testdata", name+".hex")
		got := frame(t, Envelope{From: Address{1, Client, 0}, To: Address{2, Lane, 3}, Message: m})
		if *update {
			require.NoError(t, os.WriteFile(file, []byte(dump(got)), 0o644))
		}
		want := stored(t, file)
		if !bytes.Equal(got, want) {
			t.Errorf("%s changed:\n%s\nit was\n%s", name, dump(got), dump(want))
		}
		e, rest := read(t, want)
		if d := differ(m, e.Message); d != "" || len(rest) > 0 {
			t.Errorf("%s: read as %+v: %s", name, e.Message, d)
		}
	}
}

// TestGoldenParts repeats TestGolden for a message in parts: the push, and a message of the controller after its
// first part.
func TestGoldenParts(t *testing.T) {
	t.Parallel()
	file := filepath.Join("testdata", "push.parts.hex")
	push := golden()["push"]
	var b Batch
	b.Shorten(80, 0)
	require.NoError(t, b.Add(Envelope{From: Address{1, Client, 0}, To: Address{2, Lane, 3}, Message: push}))
	got := slices.Concat(b.Next()...)
	got = append(got, frame(t, Envelope{From: Address{0, Controller, 0}, To: Address{2, Lane, 3}, Message: golden()["collect"]})...)
	for turn := b.Next(); len(turn) > 0; turn = b.Next() {
		got = append(got, slices.Concat(turn...)...)
	}
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(dump(got)), 0o644))
	}
	want := stored(t, file)
	if !bytes.Equal(got, want) {
		t.Errorf("it changed:\n%s\nit was\n%s", dump(got), dump(want))
	}
	var j Joiner
	list := readParts(t, &j, want)
	if len(list) != 2 || differ(list[0].Message, golden()["collect"]) != "" || differ(list[1].Message, push) != "" {
		t.Errorf("read as %+v", list)
	}
}

// dump returns bytes as text: the header's line, then sixteen bytes a line in groups of four.
func dump(b []byte) string {
	var s strings.Builder
	for at := 0; at < len(b); at += 16 {
		for i := at; i < min(at+16, len(b)); i += 4 {
			fmt.Fprintf(&s, "%x ", b[i:min(i+4, len(b))])
		}
		s.WriteString("\n")
	}
	return strings.ReplaceAll(s.String(), " \n", "\n")
}

func stored(t testing.TB, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	b, err := hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
	require.NoError(t, err)
	return b
}
