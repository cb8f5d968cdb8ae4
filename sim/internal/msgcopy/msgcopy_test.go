package msgcopy_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"bellows"
	"bellows/link/wire"
	"bellows/sim/internal/msgcopy"
)

var (
	flush = bellows.FlushID{Client: 1, Seq: 2}
	pair  = wire.Pair{Ref: bellows.PartitionRef{Table: 1, Partition: 2}, Generation: 3}
	unit  = bellows.Unit{Split: 4, Clock: 5, Items: bellows.Range{Begin: 6, End: 7}}
)

func done(clock bellows.Clock, values ...float64) *wire.Done {
	m := &wire.Done{Flush: flush, Clock: clock, Pairs: []wire.Pair{pair}}
	m.Append(unit, values)
	return m
}

func dispatch(args ...float64) *wire.Dispatch {
	m := &wire.Dispatch{Commit: 1}
	m.Append(unit, args)
	return m
}

func closed(late int64) *wire.Closed {
	m := &wire.Closed{}
	m.Counts.Staleness[3] = late
	return m
}

func pull(rows []uint32, keys []bellows.Key) *wire.Pull {
	return &wire.Pull{Request: 1, Parts: []wire.PullPart{{Pair: pair, Rows: rows, Keys: keys}}}
}

func shared(commit bellows.CommitNumber) *wire.Records {
	m := &wire.Records{}
	m.Append(commit, &wire.Done{Flush: flush, Results: []wire.Result{{Unit: unit}}})
	m.Share(2)
	return m
}

// TestDigestsDiffer compares messages that differ in one thing each.
func TestDigestsDiffer(t *testing.T) {
	t.Parallel()
	for _, c := range [][]wire.Message{
		{dispatch(), dispatch(1), dispatch(2)},
		{done(1), done(2), done(2, 3), &wire.Push{}, &wire.Push{Done: &wire.Done{}}},
		{&wire.End{}, &wire.End{Gone: []bellows.NodeID{0}}, &wire.End{Gone: []bellows.NodeID{1}}},
		{closed(0), closed(1)},
		{&wire.Failed{}, &wire.Failed{Kind: bellows.IO}, &wire.Failed{Err: bellows.Errorf(bellows.NoInput, "open", "x", "no such file")}},
		{&wire.Complaint{}, &wire.Complaint{Breach: true}},
		{&wire.Slab{}, &wire.Slab{Kept: true}, &wire.Slab{Keys: []bellows.Key{}}},
		{&wire.Collect{}, &wire.Collect{Whole: true}},
		{&wire.Beat{}, &wire.Ready{}, &wire.Collect{}},
		{&wire.Held{Flush: flush}, &wire.Full{Flush: flush}, &wire.Room{Flush: flush}},
		{pull(nil, nil), pull([]uint32{}, nil), pull(nil, []bellows.Key{}), pull([]uint32{1}, nil), pull(nil, []bellows.Key{1})},
		{shared(1), shared(2)},
	} {
		seen := map[uint64]wire.Message{}
		for _, m := range c {
			sum := msgcopy.Digest(m)
			if other := seen[sum]; other != nil {
				t.Errorf("%s and %s have one digest", msgcopy.Describe(m), msgcopy.Describe(other))
			}
			seen[sum] = m
		}
	}
}

// TestChangesAreSeen changes a message that has been encoded for others.
func TestChangesAreSeen(t *testing.T) {
	t.Parallel()
	m := shared(1)
	msgcopy.Encode(wire.Envelope{Message: m}, 0, nil)
	before := msgcopy.Digest(m)
	m.List[0].Flush.Seq++
	if msgcopy.Digest(m) == before {
		t.Error("a change of a message with several receivers is not seen")
	}
}

// TestCopies wants a copy to be as the message was, lists that are nil and lists that are empty included, and to stay so when that changes.
func TestCopies(t *testing.T) {
	t.Parallel()
	long := make([]float32, 5000)
	long[4999] = 1
	for _, m := range []wire.Message{
		pull(nil, nil), pull([]uint32{}, nil), pull([]uint32{1, 5}, nil), pull(nil, []bellows.Key{}), pull(nil, []bellows.Key{1, 5}),
		&wire.Push{Flush: flush, Clock: 5, Pairs: []wire.Pair{pair}, Done: done(5, 1),
			Chunks: []wire.Chunk{{Pair: pair, Values: long}, {Pair: pair, Rows: []uint32{2, 1}, Values: []float32{1, 2}}},
			Leases: []wire.LeaseEnd{{Pair: pair, Values: []float32{8}}}},
		&wire.Failed{Unit: unit, Reason: "torn", Kind: bellows.IO},
		dispatch(1, 2), shared(9), closed(4),
	} {
		e := wire.Envelope{From: wire.Address{Node: 1}, To: wire.Address{Node: 2, Role: wire.Lane, Index: 3}, Message: m}
		got, digest, err := msgcopy.Copy(e)
		if err != nil || got.From != e.From || got.To != e.To || digest != msgcopy.Digest(m) {
			t.Fatalf("%s: from %v to %v, digest %x, %v", msgcopy.Describe(m), got.From, got.To, digest, err)
		}
		if !same(reflect.ValueOf(m), reflect.ValueOf(got.Message)) || msgcopy.Digest(got.Message) != digest {
			t.Errorf("%s became %s", msgcopy.Describe(m), msgcopy.Describe(got.Message))
		}
		if msgcopy.Digest(msgcopy.Clone(got.Message)) != digest {
			t.Errorf("%s: a copy of the copy differs", msgcopy.Describe(m))
		}
	}
	m := pull([]uint32{1, 5}, nil)
	got, digest, _ := msgcopy.Copy(wire.Envelope{Message: m})
	if m.Parts[0].Rows[1] = 6; msgcopy.Digest(got.Message) != digest {
		t.Error("the copy changes with the message")
	}
}

// same compares what others see of two messages; a list of rows or keys that is nil is not one that is empty.
func same(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Pointer:
		return a.IsNil() == b.IsNil() && (a.IsNil() || same(a.Elem(), b.Elem()))
	case reflect.Struct:
		for i := range a.NumField() {
			f := a.Type().Field(i)
			lists := f.Name == "Rows" || f.Name == "Keys"
			if f.IsExported() && (!same(a.Field(i), b.Field(i)) || lists && a.Field(i).IsNil() != b.Field(i).IsNil()) {
				return false
			}
		}
		return true
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !same(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Interface:
		return a.IsNil() && b.IsNil()
	}
	return a.Equal(b)
}

// TestCauses wants the cause of a failure to arrive as its kind.
func TestCauses(t *testing.T) {
	t.Parallel()
	got := msgcopy.Clone(&wire.Failed{Err: errors.New("torn")}).(*wire.Failed)
	if got.Err != nil || got.Kind != bellows.KindOf(errors.New("torn")) {
		t.Errorf("%+v", got)
	}
}

// TestRefusals expects errors for messages that cannot be read.
func TestRefusals(t *testing.T) {
	t.Parallel()
	_, _, err := msgcopy.Copy(wire.Envelope{Message: pull([]uint32{5, 1}, nil)})
	if err == nil || !strings.Contains(err.Error(), "not ascending") {
		t.Error(err)
	}
}

// TestDescriptions show what a message says, and nothing of how it is kept.
func TestDescriptions(t *testing.T) {
	t.Parallel()
	m := msgcopy.Clone(pull([]uint32{1, 5}, nil))
	const want = "*wire.Pull Request:1 Incarnation:0 Need:{Commit:0 Clock:0} Route:0 Parts:[{Pair:{Ref:t1/p2 Generation:3} Rows:[1 5] Keys:[] Subscribe:false}]"
	if got := msgcopy.Describe(m); got != want {
		t.Error(got)
	}
}
