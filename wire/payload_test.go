package wire

import (
	"slices"
	"testing"
	"unsafe"
)

// TestLent wants payloads that somebody may still look into left alone when the message is freed, and those
// that the message owns not given back before.
func TestLent(t *testing.T) {
	lenders := map[uint8]bool{}
	for _, m := range append(newSampler(5).messages(), newSampler(6).messages()...) {
		f := frame(t, Envelope{Message: m})
		h, err := ParseHeader(f)
		if err != nil {
			t.Fatal(err)
		}
		payload := h.Payload()
		copy(payload, f[HeaderSize:])
		e, err := Decode(h, payload)
		if err != nil {
			t.Fatal(err)
		}
		owned := h.Kind == kindPush || h.Kind == kindRows || h.Kind == kindPull || h.Kind == kindGranted
		lent := lends(e.Message)
		if lent {
			lenders[h.Kind] = true
			Free(e.Message)
		}
		if (owned || lent) && pooled(h, payload) {
			t.Errorf("the payload of %v was given to somebody else", h)
		}
	}
	if !lenders[kindSlab] {
		t.Error("no message that lends its payload was tried")
	}
}

// TestBorrowed wants the lists of rows of a pull left alone until the answer that borrowed them is freed.
func TestBorrowed(t *testing.T) {
	f := frame(t, Envelope{Message: &Pull{Parts: []PullPart{{Rows: []uint32{4, 7, 9}}}}})
	h, err := ParseHeader(f)
	if err != nil {
		t.Fatal(err)
	}
	payload := h.Payload()
	copy(payload, f[HeaderSize:])
	e, err := Decode(h, payload)
	if err != nil {
		t.Fatal(err)
	}
	pull, answer := e.Message.(*Pull), New[Rows]()
	answer.Extend().Rows = pull.Parts[0].Rows
	answer.Borrow(pull)
	Free(pull)
	if pooled(h, payload) {
		t.Error("the payload was given to somebody else while an answer looks into it")
	}
	if got := answer.Parts[0].Rows; !slices.Equal(got, []uint32{4, 7, 9}) {
		t.Errorf("the answer's rows are %v", got)
	}
	Free(answer)
	if answer.lent != nil {
		t.Error("a freed answer still holds what it was lent")
	}
}

// pooled reports whether a payload would be given out again.
func pooled(h Header, payload []byte) bool {
	for range 8 {
		if unsafe.SliceData(h.Payload()) == unsafe.SliceData(payload) {
			return true
		}
	}
	return false
}

// TestFreedViews wants no view of a payload left in a pooled message that others fill.
func TestFreedViews(t *testing.T) {
	sent := &Rows{Parts: []RowsPart{{Values: []float32{1, 2, 3}}}}
	e, _ := read(t, frame(t, Envelope{Message: sent}))
	m := e.Message.(*Rows)
	Free(m)
	if p := m.Parts[:1][0]; p.Values != nil || m.payload != nil {
		t.Error("a freed message still looks into its payload")
	}
	f := frame(t, Envelope{Message: sent})
	h, err := ParseHeader(f)
	if err != nil {
		t.Fatal(err)
	}
	p := f[HeaderSize : len(f)-4] // the message is refused when its values are reached
	h = sealed(h, p)
	payload := h.Payload()
	copy(payload, p)
	if _, err := Decode(h, payload); err == nil {
		t.Fatal("a cut message was taken")
	}
	given := 0
	for range 8 {
		if unsafe.SliceData(h.Payload()) == unsafe.SliceData(payload) {
			given++
		}
	}
	if given > 1 {
		t.Errorf("the payload of a refused message was given back %d times", given)
	}
}
