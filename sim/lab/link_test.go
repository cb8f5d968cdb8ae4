package lab

import (
	"slices"
	"testing"

	"bellows/link/wire"
)

// TestLongMessageTravelsInParts packs a message in parts: it has the length of all its frames, and is unpacked as it was.
func TestLongMessageTravelsInParts(t *testing.T) {
	t.Parallel()
	values := make([]float32, 4_300_000)
	for i := range values {
		values[i] = float32(i)
	}
	w := &world{nodes: []*node{nil, {machine: new(machine)}}}
	e := wire.Envelope{To: wire.Address{Node: 1}, From: wire.Address{Role: wire.Lane}, Message: &wire.Granted{Request: 3, Values: values}}
	f, err := w.pack(&node{machine: w.nodes[1].machine}, e)
	if err != nil {
		t.Fatal(err)
	}
	const head, parts = 52, 17 // of the payload, which has more than the 16 MiB of a frame
	if want := parts*wire.HeaderSize + head + 4*len(values); f.len() != want || len(f.parts) != parts {
		t.Errorf("it has %d bytes in %d parts, not %d in %d", f.len(), len(f.parts), want, parts)
	}
	got, err := f.unpack(&w.codec.joiner)
	if m, ok := got.Message.(*wire.Granted); err != nil || !ok || m.Request != 3 || !slices.Equal(m.Values, values) {
		t.Errorf("it became %+v: %v", got, err)
	}
}
