package wire

import (
	"bytes"
	"sync"
	"testing"

	"bellows"
)

// TestSharedRecords sends one message to many receivers at once: each gets the bytes of a message of its own, and the
// message is reused only when the last has freed it.
func TestSharedRecords(t *testing.T) {
	const receivers = 8
	unit := bellows.Unit{Split: 3, Clock: 7, Items: bellows.Range{Begin: 1, End: 9}}
	for _, length := range []int{1, 2000} { // short ones are copied into the frame's write, long ones lent to it
		fill := func(m *Records) *Records {
			for n := range length {
				m.Append(bellows.CommitNumber(n+1), &Done{Flush: bellows.FlushID{Client: 2, Incarnation: 1, Seq: uint64(n)}, Results: []Result{{Unit: unit}}})
			}
			return m
		}
		want := frame(t, Envelope{Message: fill(new(Records))})
		shared := fill(new(Records))
		shared.Share(receivers)
		frames := make([][]byte, receivers)
		var all sync.WaitGroup
		for i := range receivers {
			all.Go(func() {
				var b Batch
				if err := b.Add(Envelope{Message: shared}); err != nil {
					t.Error(err)
				}
				frames[i] = bytes.Join(b.Buffers(), nil)
				if i > 0 {
					b.Reset() // frees it
				}
			})
		}
		all.Wait()
		for i, f := range frames {
			if !bytes.Equal(f, want) {
				t.Errorf("%d records: receiver %d gets a frame of %d bytes that is not the one of %d bytes", length, i, len(f), len(want))
			}
		}
		if len(shared.List) != length {
			t.Fatalf("the message was taken back with a receiver left: it has %d records", len(shared.List))
		}
		Free(shared)
		if len(shared.List) != 0 || shared.shared {
			t.Error("the last receiver freed the message, and it was not taken back")
		}
	}
}

// TestSharedRecordsAreChecked wants every receiver to get the error of a message that cannot be encoded.
func TestSharedRecordsAreChecked(t *testing.T) {
	t.Parallel()
	m := &Records{List: make([]Record, listMax+1)}
	m.Share(2)
	var b Batch
	for range 2 {
		if err := b.Add(Envelope{Message: m}); err == nil || b.Len() != 0 {
			t.Errorf("%d records travel: error %v, %d bytes", len(m.List), err, b.Len())
		}
	}
}
