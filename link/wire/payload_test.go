package wire

import (
	"bytes"
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"bellows/internal/require"
)

// TestLent wants a payload left alone while a message looks into it; and until it is freed, if it is pooled at all.
func TestLent(t *testing.T) {
	lenders := map[uint8]bool{}
	for _, m := range slices.Concat(newSampler(5).messages(), newSampler(6).messages(), newSampler(7).messages()) {
		f := frame(t, Envelope{Message: m})
		h := header(t, f)
		payload := h.Payload()
		copy(payload, f[HeaderSize:])
		e, err := Decode(h, payload)
		require.NoError(t, err)
		if !looksInto(reflect.ValueOf(e.Message).Elem(), payload) {
			continue
		}
		lenders[h.Kind] = true
		if _, owned := e.Message.(recycled); !owned {
			Free(e.Message) // does nothing
		}
		if pooled(h, payload) {
			t.Errorf("the payload of %v was given out again", h)
		}
	}
	for k, kind := range kinds {
		if kind.keeps != lenders[uint8(k)] {
			t.Errorf("a %s keeps its payload: %v, and looks into it: %v", kind.name, kind.keeps, lenders[uint8(k)])
		}
	}
}

// looksInto reports whether a list that others see begins in a payload.
func looksInto(v reflect.Value, payload []byte) bool {
	switch v.Kind() {
	case reflect.Pointer:
		return !v.IsNil() && looksInto(v.Elem(), payload)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && looksInto(v.Field(i), payload) {
				return true
			}
		}
	case reflect.Slice:
		first := uintptr(unsafe.Pointer(unsafe.SliceData(payload)))
		if at := v.Pointer(); v.Len() > 0 && at >= first && at < first+uintptr(len(payload)) {
			return true
		}
		for i := range v.Len() {
			if looksInto(v.Index(i), payload) {
				return true
			}
		}
	}
	return false
}

// TestBorrowed wants the lists of rows of a pull left alone until the answer that borrowed them is freed.
func TestBorrowed(t *testing.T) {
	f := frame(t, Envelope{Message: &Pull{Parts: []PullPart{{Rows: []uint32{4, 7, 9}}}}})
	h := header(t, f)
	payload := h.Payload()
	copy(payload, f[HeaderSize:])
	e, err := Decode(h, payload)
	require.NoError(t, err)
	pull, answer := e.Message.(*Pull), New[Rows]()
	answer.Extend().Rows = pull.Parts[0].Rows
	answer.Borrow(pull)
	Free(pull)
	if pooled(h, payload) {
		t.Error("the payload was given out again while an answer uses it")
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
	h := header(t, f)
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

// TestPayloads wants payloads to be those of the frames, and what is unpacked of them the messages; and a message with several
// receivers to be encoded anew, as it is.
func TestPayloads(t *testing.T) {
	t.Parallel()
	var b Batch
	for _, m := range append(newSampler(7).messages(), newSampler(8).messages()...) {
		f := frame(t, Envelope{Message: m})
		kind, pieces, err := b.Payload(m)
		if err != nil || kind != f[5] || !bytes.Equal(slices.Concat(pieces...), f[HeaderSize:]) {
			t.Fatalf("%T: kind %d, %v", m, kind, err)
		}
		e, err := Header{Kind: kind, From: Address{1, Client, 0}, To: Address{2, Lane, 3}}.Unpack(pieces)
		if err != nil || e.From != (Address{1, Client, 0}) || e.To != (Address{2, Lane, 3}) || differ(m, e.Message) != "" {
			t.Errorf("%T: %v, %s", m, err, differ(m, e.Message))
		}
	}
	shared := &Records{List: []Record{{Number: 1}}}
	shared.Share(2)
	frame(t, Envelope{Message: shared})
	shared.List[0].Number = 2
	if _, pieces, _ := b.Payload(shared); !bytes.Equal(slices.Concat(pieces...), frame(t, Envelope{Message: &Records{List: shared.List}})[HeaderSize:]) {
		t.Error("what was encoded before is taken for the message")
	}
	if _, _, err := b.Payload(foreign{}); err == nil {
		t.Error("a foreign travels")
	}
	if _, err := (Header{Kind: kindHeld}).Unpack(nil); err == nil {
		t.Error("nothing is taken for a message")
	}
}
