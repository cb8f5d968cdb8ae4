// Package hostile makes the messages of a broken peer: messages of sound peers, changed a little, which the codec still
// takes.
//
// A Memory keeps a few messages of each kind that is posted: Draw makes the next one. The result is like a sound message
// in all but a little, so that it passes most checks before it meets the one that refuses it. The package refuses to know what is
// sound. A Past keeps a message of each kind that nodes of the past may send again.
//
// Rejected: random bytes, because the first check of the codec refuses them and no other check is tested; and lists of
// possible errors for each kind of message, because they cover only what their author thought of. Reflection finds the
// fields, so a new field is changed as well.
package hostile

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"

	"bellows"
	"bellows/core/rowstore"
	"bellows/link/session"
	"bellows/link/wire"
	"bellows/sim/internal/msgcopy"
)

// How many messages of a kind are remembered, and how many of the last.
const (
	kept     = 6
	recently = 12
)

// Memory is messages of the past, of each kind.
type Memory struct {
	kinds  []uint8 // those of which there are some
	past   [1 << 8][]frame
	recent [recently]frame // the last of any kind
	seen   int
	again  frame // what was drawn last, and is to come once more
}

type frame struct {
	header  wire.Header
	payload []byte
}

// Posted keeps the last messages, the first of a kind, and then some in the place of others. A nil Memory keeps none.
func (m *Memory) Posted(e wire.Envelope) {
	kind := e.Kind()
	if m == nil || kind == 0 {
		return
	}
	list := m.past[kind]
	_, payload, ok := msgcopy.Payload(e.Message)
	if !ok {
		return
	}
	f := frame{wire.Header{Kind: kind, From: e.From, To: e.To, Era: e.Era}, payload}
	m.recent[m.seen%recently] = f
	m.seen++
	switch {
	case len(list) == kept && m.seen%16 > 0:
	case len(list) == 0:
		m.kinds = append(m.kinds, kind)
		fallthrough
	case len(list) < kept:
		m.past[kind] = append(list, f)
	default:
		list[m.seen/16%kept] = f
	}
}

// Draw returns a message that a broken peer could send: its header, and what is decoded of its payload. Some come twice. False: it does not
// decode.
func (m *Memory) Draw(rng *rand.Rand) (h wire.Header, e wire.Envelope, ok bool) {
	if m.seen == 0 {
		return h, e, false
	}
	f := m.again
	if m.again = (frame{}); f.payload == nil {
		if f, ok = m.draw(rng); !ok {
			return h, e, false
		}
		if rng.IntN(4) == 0 {
			m.again = f
		}
	}
	e, err := f.header.Unpack([][]byte{f.payload})
	return f.header, e, err == nil
}

// Wrong returns a message as a broken peer would send it in the place of a sound one, for which a judge has a complaint. False: none of the
// first that come to mind is wrong in his eyes.
func Wrong(e wire.Envelope, rng *rand.Rand, judge func(wire.Header, wire.Envelope) error) (error, bool) {
	kind, payload, ok := msgcopy.Payload(e.Message)
	if !ok {
		return nil, false
	}
	for range 40 {
		f := frame{wire.Header{Kind: kind, From: e.From, To: e.To, Era: e.Era}, payload}
		if f.payload, ok = bend(f.header, payload, rng); !ok {
			continue
		}
		if rng.IntN(8) == 0 {
			misdirect(&f.header, rng)
		}
		if bent, err := f.header.Unpack([][]byte{f.payload}); err == nil {
			if err := judge(f.header, bent); err != nil {
				return err, true
			}
		}
	}
	return nil, false
}

// draw returns one of what is remembered, changed a little, or as it was. False: nothing can be made of it.
func (m *Memory) draw(rng *rand.Rand) (f frame, ok bool) {
	if f = m.recent[rng.IntN(min(m.seen, recently))]; rng.IntN(2) == 0 {
		list := m.past[m.kinds[rng.IntN(len(m.kinds))]]
		f = list[rng.IntN(len(list))]
	}
	f.payload = append([]byte{}, f.payload...)
	ok = true
	switch n := rng.IntN(12); {
	case n == 0: // as it was
	case n < 4:
		scramble(f.payload, rng)
	default:
		f.payload, ok = bend(f.header, f.payload, rng)
	}
	if rng.IntN(8) == 0 {
		misdirect(&f.header, rng)
	}
	return f, ok
}

// scramble changes some bytes.
func scramble(payload []byte, rng *rand.Rand) {
	for range min(len(payload), 1+rng.IntN(3)) {
		at := rng.IntN(len(payload))
		switch rng.IntN(3) {
		case 0:
			payload[at]++
		case 1:
			payload[at]--
		default:
			payload[at] = byte(rng.Uint32())
		}
	}
}

// misdirect gives a header another sender or another receiver, or makes it that of another kind.
func misdirect(h *wire.Header, rng *rand.Rand) {
	for range 1 + rng.IntN(2) {
		a := &h.From
		if rng.IntN(2) == 0 {
			a = &h.To
		}
		switch rng.IntN(4) {
		case 0:
			a.Node += 1 - 2*(a.Node&1)
		case 1:
			a.Role = wire.Role(rng.IntN(3))
		case 2:
			a.Index ^= 1
		default:
			h.Era ^= 1
		}
	}
}

// bend changes some fields of what a payload says. False: it cannot be written so.
func bend(h wire.Header, payload []byte, rng *rand.Rand) (bent []byte, ok bool) {
	e, err := h.Unpack([][]byte{payload})
	if err != nil {
		return nil, false
	}
	defer func() {
		if recover() != nil { // lists that belong together differ: no codec writes that
			bent, ok = nil, false
		}
	}()
	for range 1 + rng.IntN(2) {
		var places []reflect.Value
		collect(reflect.ValueOf(e.Message).Elem(), &places, 0)
		if len(places) > 0 {
			change(places[rng.IntN(len(places))], rng)
		}
	}
	_, bent, ok = msgcopy.Payload(e.Message)
	return bent, ok
}

// collect appends what can be changed of a message: its exported fields, and those of what they hold. Of a long list it looks at the
// ends.
func collect(v reflect.Value, to *[]reflect.Value, depth int) {
	if depth > 8 {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				collect(v.Field(i), to, depth+1)
			}
		}
	case reflect.Pointer:
		if v.CanSet() {
			*to = append(*to, v)
		}
		if !v.IsNil() {
			collect(v.Elem(), to, depth+1)
		}
	case reflect.Slice:
		*to = append(*to, v)
		for i := 0; i < v.Len(); i++ {
			if i == 2 && v.Len() > 4 {
				i = v.Len() - 2
			}
			collect(v.Index(i), to, depth+1)
		}
	case reflect.Array:
		for i := range min(v.Len(), 4) {
			collect(v.Index(i), to, depth+1)
		}
	case reflect.Interface, reflect.Func, reflect.Map, reflect.Chan:
	default:
		*to = append(*to, v)
	}
}

// edges are numbers at which checks turn.
var edges = []uint64{0, 0, 1, 1, 2, 3, 7, 63, 64, math.MaxInt32, math.MaxUint32, math.MaxInt64, math.MaxUint64}

// change gives a field another value, or a list another length.
func change(v reflect.Value, rng *rand.Rand) {
	step := int64(1 - 2*rng.IntN(2))
	edge := edges[rng.IntN(len(edges))]
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if rng.IntN(2) == 0 {
			v.SetInt(v.Int() + step)
		} else {
			v.SetInt(int64(edge))
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if rng.IntN(2) == 0 {
			v.SetUint(v.Uint() + uint64(step))
		} else {
			v.SetUint(edge)
		}
	case reflect.Float32, reflect.Float64:
		v.SetFloat(-v.Float())
	case reflect.Pointer:
		v.SetZero()
	case reflect.Slice:
		resize(v, rng)
	}
}

// resize makes a list longer, shorter, empty or none, or turns it around.
func resize(v reflect.Value, rng *rand.Rand) {
	n := v.Len()
	switch rng.IntN(6) {
	case 0:
		v.SetZero()
	case 1:
		v.Set(reflect.MakeSlice(v.Type(), 0, 1))
	case 2:
		if n > 0 {
			v.Set(v.Slice(0, n-1))
		}
	case 3:
		if n > 1 {
			swap := reflect.Swapper(v.Interface())
			swap(rng.IntN(n), rng.IntN(n))
		}
	default:
		last := reflect.New(v.Type().Elem()).Elem()
		if n > 0 {
			last = v.Index(rng.IntN(n))
		}
		for range 1 << (rng.IntN(12) * rng.IntN(2)) {
			v.Set(reflect.Append(v, last))
		}
	}
}

// TooMany makes an end of a session receive a message of the other end that acknowledges more than was sent.
func TooMany(end *session.End, process uint64, rng *rand.Rand) (err error) {
	counts := session.Counts{1 << 40, 1 << 40}
	if end.Synced() {
		_, err = end.Acknowledge(&wire.Ack{Received: counts}, nil)
		return err
	}
	if rng.IntN(2) == 0 {
		_, err = end.Resume(&wire.Resume{Process: process, Received: counts}, nil)
	} else if _, err = end.Resume(&wire.Resume{Process: process}, nil); err == nil {
		if _, err = end.Resume(&wire.Resume{Process: process + 98}, nil); err == nil { // another may come, and has been sent nothing
			_, err = end.Acknowledge(&wire.Ack{Received: counts}, nil)
		}
	}
	return err
}

// Damage changes a copy of the image of a partition, which has the keys that belong. False: it is none that must be refused.
func Damage(im *rowstore.Image, rng *rand.Rand, belongs func(bellows.Key) bool) bool {
	im.Keys, im.Values, im.Slots = slices.Clone(im.Keys), slices.Clone(im.Values), slices.Clone(im.Slots)
	n := len(im.Keys)
	switch which := rng.IntN(5); {
	case which == 0 && n > 1:
		im.Keys[0], im.Keys[n-1] = im.Keys[n-1], im.Keys[0]
	case which == 1 && n > 0:
		im.Keys[n-1]++ // of the partition too, perhaps
		return !belongs(im.Keys[n-1])
	case which == 2 && len(im.Slots) > 0:
		im.Slots = im.Slots[1:]
	case which == 3 && len(im.Slots) > 0:
		im.Slots[0] = append(slices.Clone(im.Slots[0]), 1)
	default:
		im.Values = append(im.Values, 1)
	}
	return true
}

// NoState is the reason in State's messages that claim no state.
const NoState = "it has no state to give"

// State returns a message about the state of a partition that no sound lane sends: a key is one that a row may have,
// and most is how many keys a partition may have.
func State(rng *rand.Rand, ref bellows.PartitionRef, key bellows.Key, most int) wire.Message {
	switch rng.IntN(5) {
	case 0:
		return &wire.Slab{Ref: ref, Values: make([]float32, 1<<12)} // more than any partition has
	case 1:
		return &wire.Slab{Ref: ref, Keys: []bellows.Key{key, key}} // of a table that has none, or one twice
	case 2:
		return &wire.Slab{Ref: ref, Keys: make([]bellows.Key, most+1)}
	case 3:
		return &wire.Collected{}
	}
	return &wire.Collected{Reason: NoState}
}
