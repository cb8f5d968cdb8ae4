package lab

import (
	"slices"
	"testing"

	"bellows/link/wire"
)

// TestALongMessageTravelsAsOne packs a message in parts: it has the length of all its frames, and is unpacked as it was.
func TestALongMessageTravelsAsOne(t *testing.T) {
	t.Parallel()
	values := make([]float32, 1000)
	for i := range values {
		values[i] = float32(i)
	}
	w := &world{nodes: []*node{nil, {}}}
	w.batch.Shorten(600, 0)
	e := wire.Envelope{To: wire.Address{Node: 1}, From: wire.Address{Role: wire.Lane}, Message: &wire.Granted{Request: 3, Values: values}}
	f, err := w.pack(nil, e)
	if err != nil {
		t.Fatal(err)
	}
	const head, parts = 40, 7 // of the payload; of at most 600 bytes
	if want := parts*wire.HeaderSize + head + 4*len(values); f.len() != want {
		t.Errorf("it has %d bytes, not %d", f.len(), want)
	}
	got, err := f.unpack(&w.joiner)
	if m, ok := got.Message.(*wire.Granted); err != nil || !ok || m.Request != 3 || !slices.Equal(m.Values, values) {
		t.Errorf("it became %+v: %v", got, err)
	}
}
