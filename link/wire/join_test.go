package wire

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"bellows"
	"bellows/internal/require"
	"bellows/link/wire/internal/memory"
)

// readParts takes all messages of a stream.
func readParts(t testing.TB, j *Joiner, stream []byte) (list []Envelope) {
	t.Helper()
	for _, f := range cutFrames(t, stream) {
		e, err := f.take(j)
		require.NoError(t, err)
		if e.Message != nil {
			list = append(list, e)
		}
	}
	return list
}

// cutFrame is a frame as it lies in a stream.
type cutFrame struct {
	h       Header
	payload []byte
}

func cutFrames(t testing.TB, stream []byte) (list []cutFrame) {
	t.Helper()
	for len(stream) > 0 {
		h := header(t, stream)
		end := HeaderSize + int(h.Length)
		list = append(list, cutFrame{h, stream[HeaderSize:end]})
		stream = stream[end:]
	}
	return list
}

func (f cutFrame) take(j *Joiner) (Envelope, error) {
	payload := f.h.Payload()
	copy(payload, f.payload)
	return j.Decode(f.h, payload)
}

// inPartsOf returns the frames of a message whose parts have at most so many bytes.
func inPartsOf(t testing.TB, e Envelope, part int) []cutFrame {
	t.Helper()
	var b Batch
	b.Shorten(part, 0)
	require.NoError(t, b.Add(e))
	return cutFrames(t, joined(t, &b))
}

// TestParts cuts messages of all kinds into parts of any length: joined they are the messages, their bytes are those of the
// whole, and only the last part may be shorter.
func TestParts(t *testing.T) {
	t.Parallel()
	several := map[uint8]bool{}
	for seed := range uint64(60) {
		s := newSampler(seed)
		part := 1 + s.IntN(1<<s.IntN(16))
		for _, m := range s.messages() {
			e := Envelope{Era: bellows.Era(s.Uint32() >> 16), From: s.address(), To: s.address(), Message: m}
			frames := inPartsOf(t, e, part)
			whole := frame(t, e)[HeaderSize:]
			var payload []byte
			var j Joiner
			for i, f := range frames {
				payload = append(payload, f.payload...)
				got, err := f.take(&j)
				last := i == len(frames)-1
				if err != nil || (got.Message != nil) != last {
					t.Fatalf("seed %d, frame %d of %d, %v: %T, %v", seed, i, len(frames), f.h, got.Message, err)
				}
				if len(frames) > 1 && (len(f.payload) > part || !last && len(f.payload) < part) {
					t.Fatalf("seed %d: a part of %d bytes, where they have %d", seed, len(f.payload), part)
				}
				if last && (got.From != e.From || got.To != e.To || differ(m, got.Message) != "") {
					t.Fatalf("seed %d: %T from %v to %v: %s", seed, m, got.From, got.To, differ(m, got.Message))
				}
			}
			if !bytes.Equal(payload, whole) {
				t.Fatalf("seed %d: the parts of %T are not its payload", seed, m)
			}
			if len(frames) > 1 {
				several[frames[0].h.Kind] = true
			} else if h := frames[0].h; inParts(h.Kind) && len(whole) > part {
				t.Fatalf("seed %d: %v in parts of %d", seed, h, part)
			}
		}
	}
	for k := range kinds {
		if several[uint8(k)] != inParts(uint8(k)) {
			t.Errorf("a %s in parts: %v", kindName(uint8(k)), several[uint8(k)])
		}
	}
}

// TestPartsKeepTheirPlace cuts one of several messages of a batch: the messages before and after it do not change,
// borrowed arrays stay where they were, each step ends with a part, and the traffic is that of the frames.
func TestPartsKeepTheirPlace(t *testing.T) {
	t.Parallel()
	values := make([]float32, 50_000)
	for i := range values {
		values[i] = float32(i)
	}
	small, long := &Granted{Request: 1, Values: values[:100]}, &Granted{Request: 2, Values: values}
	var all, turned Batch
	for range 2 { // a batch that was reset is as good as a new one
		for _, b := range []*Batch{&all, &turned} {
			b.Shorten(60_000, 0)
			for _, m := range []Message{small, long, &Beat{}, small} {
				require.NoError(t, b.Add(Envelope{Message: m}))
			}
		}
		whole := joined(t, &all)
		if len(all.Next()) > 0 {
			t.Fatal("more follows behind all")
		}
		var turns []byte
		n := 0
		for list := turned.Next(); len(list) > 0; list = turned.Next() {
			for _, d := range list {
				if len(d) > borrowMin && !memory.Swapped && !within(values, d) {
					t.Errorf("a buffer of %d bytes is not the sender's", len(d))
				}
			}
			frames := cutFrames(t, slices.Concat(list...))
			if n++; n < 4 && frames[len(frames)-1].h.Part != partMore {
				t.Errorf("turn %d ends with %v", n, frames[len(frames)-1].h)
			}
			turns = append(turns, slices.Concat(list...)...)
		}
		if n != 4 || !bytes.Equal(turns, whole) {
			t.Fatalf("%d turns of %d bytes, %d are to be written", n, len(turns), len(whole))
		}
		sent := all.Traffic().Total()
		if sent.Frames != int64(len(cutFrames(t, whole))) || sent.Bytes != int64(len(whole)) {
			t.Errorf("traffic %+v of %d bytes", sent, len(whole))
		}
		for _, b := range []*Batch{&all, &turned} {
			b.messages = nil // they are sent again
			b.Reset()
		}
	}
}

// within reports whether bytes lie in an array.
func within(values []float32, b []byte) bool {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	first := uintptr(unsafe.Pointer(unsafe.SliceData(values)))
	return at >= first && at+uintptr(len(b)) <= first+4*uintptr(len(values))
}

// TestJoinerRefusals gives a joiner what cannot follow, after the first part of a push from node 1 to a lane.
func TestJoinerRefusals(t *testing.T) {
	t.Parallel()
	from, to := Address{1, Client, 0}, Address{2, Lane, 3}
	values := make([]float32, 100)
	push := func(from, to Address) []cutFrame {
		return inPartsOf(t, Envelope{From: from, To: to, Message: &Push{Chunks: []Chunk{{Values: values}}}}, 150)
	}
	one := func(m Message) cutFrame { return inPartsOf(t, Envelope{From: from, To: to, Message: m}, 1<<20)[0] }
	granted := inPartsOf(t, Envelope{From: from, To: to, Message: &Granted{Values: values}}, 150)
	frames := push(from, to)
	damaged := cutFrame{frames[1].h, slices.Clone(frames[1].payload)}
	damaged.payload[7]++
	empty, odd := cutFrame{frames[1].h, nil}, one(&Held{})
	empty.h.Length, odd.h.Part = 0, partLast
	for _, c := range []struct {
		name  string
		begun bool
		next  cutFrame
		want  string
	}{
		{"a last without a first", false, frames[len(frames)-1], "the parts before it have not come"},
		{"another sender", true, push(Address{1, Client, 1}, to)[1], "the message before it, a push from node 1 to lane 3 of node 2, has not ended"},
		{"another receiver", true, push(from, Address{2, Lane, 2})[1], "has not ended"},
		{"another kind", true, granted[0], "has not ended"},
		{"another kind's end", true, granted[len(granted)-1], "has not ended"},
		{"a whole message", true, one(&Held{}), "between the parts of a push"},
		{"a whole of the same kind", true, one(&Push{}), "between the parts of a push"},
		{"damage", true, damaged, "damaged on its way"},
		{"an empty part", true, empty, "it is empty"},
		{"a kind without parts", true, odd, "a held has no parts"},
		{"too much", true, cutFrame{frames[1].h, frames[1].payload}, "300 bytes are over the limit of 299"},
	} {
		j := Joiner{most: 300}
		if c.name == "too much" {
			j.most = 299
		}
		if c.begun {
			if e, err := frames[0].take(&j); err != nil || e.Message != nil {
				t.Fatalf("the first part: %v, %v", e, err)
			}
		}
		if _, err := c.next.take(&j); err == nil || !strings.Contains(err.Error(), c.want) || bellows.KindOf(err) != bellows.IO {
			t.Errorf("%s: want %q, got %v", c.name, c.want, err)
		}
		if j.parts.Len() > 150 {
			t.Errorf("%s: %d bytes are kept", c.name, j.parts.Len())
		}
	}
	if _, err := Decode(frames[0].h, alignedCopy(frames[0].payload)); err == nil || !strings.Contains(err.Error(), "a part of a message only") {
		t.Errorf("a part as a message: %v", err)
	}
	if got := frames[0].h.String(); got != "part of a push, 150 bytes from node 1 to lane 3 of node 2" {
		t.Errorf("a part is called %q", got)
	}
}

// TestPartsThatAreNoMessage joins what was damaged before it was cut.
func TestPartsThatAreNoMessage(t *testing.T) {
	t.Parallel()
	frames := inPartsOf(t, Envelope{Message: &Granted{Values: make([]float32, 95)}}, 150)
	j := Joiner{}
	for _, i := range []int{0, 2} { // without what lies between
		e, err := frames[i].take(&j)
		if (err != nil) != (i == 2) || e.Message != nil {
			t.Errorf("part %d: %v, %v", i, e, err)
		}
	}
	if list := readParts(t, &j, frame(t, Envelope{Message: &Held{}})); len(list) != 1 {
		t.Errorf("the joiner still waits for parts")
	}
}

// FuzzJoiner plays the frames of two messages in parts, of the controller and of others in any order, some of them left out
// and some twice, against a model of the page: what is taken is what was sent, and nothing else is.
func FuzzJoiner(f *testing.F) {
	f.Add(uint64(1), uint16(50), []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Add(uint64(2), uint16(20), []byte{0, 2, 0, 2, 0, 0, 0, 1, 1, 1, 1, 1})
	f.Add(uint64(3), uint16(20), []byte{0, 4, 0, 0, 0, 0, 0})
	f.Add(uint64(4), uint16(30), []byte{0, 5, 0, 0, 0, 0, 0})
	f.Add(uint64(5), uint16(9), []byte{2, 3, 0, 3})
	f.Add(uint64(6), uint16(9), []byte{0, 1})
	f.Fuzz(func(t *testing.T, seed uint64, part uint16, script []byte) {
		s := newSampler(seed)
		data := s.data()
		var sources []*source
		for range 2 {
			e := Envelope{Era: bellows.Era(s.Uint32() >> 16), From: s.address(), To: s.address(), Message: data[s.IntN(len(data))]}
			sources = append(sources, &source{e, inPartsOf(t, e, 1+int(part)), 0})
		}
		play(t, sources, script)
	})
}

// source is a message whose frames are given to a joiner repeatedly.
type source struct {
	e      Envelope
	frames []cutFrame
	next   int // of them
}

// play gives a joiner what a script says: 0 and 1 the next frame of a source, 2 a message of the controller, 3 a whole
// message of another actor; 4 omits a frame of the first source, 5 repeats one.
func play(t *testing.T, sources []*source, script []byte) {
	t.Helper()
	beat := inPartsOf(t, Envelope{From: Address{Role: Controller}, To: Address{}, Message: &Beat{}}, 1)[0]
	held := inPartsOf(t, Envelope{From: Address{Role: Lane}, To: Address{}, Message: &Held{}}, 1)[0]
	var j Joiner
	var p page
	for _, op := range script {
		var f cutFrame
		switch s := sources[0]; op % 6 {
		case 4:
			s.next = (s.next + 1) % len(s.frames)
			continue
		case 5:
			s.next = (s.next + len(s.frames) - 1) % len(s.frames)
			continue
		case 3:
			f = held
		case 2:
			f = beat
		default:
			s = sources[op%6]
			f = s.frames[s.next]
			s.next = (s.next + 1) % len(s.frames)
		}
		want, sound := p.take(f)
		got, err := f.take(&j)
		if (err == nil) != sound || (got.Message == nil) != (want.Message == nil) || got.From != want.From || got.To != want.To {
			t.Fatalf("%v: %v, %v; by the page %v, sound: %v", f.h, got, err, want, sound)
		}
		if err != nil {
			return
		}
		if got.Message != nil && differ(want.Message, got.Message) != "" {
			t.Fatalf("%v: %s", f.h, differ(want.Message, got.Message))
		}
	}
}

// page is what docs/5-wire.md says of parts, in the plainest way.
type page struct {
	open    *Header
	payload []byte
}

// take returns the message that a frame ends, if it ends one, and whether it may come.
func (p *page) take(f cutFrame) (e Envelope, sound bool) {
	h := f.h
	if o := p.open; o != nil && h.Part == partWhole && !ofController(Envelope{From: h.From, To: h.To}) && h.From == o.From && h.To == o.To {
		return e, false
	} else if h.Part == partWhole {
		e, err := Decode(h, alignedCopy(f.payload))
		return e, err == nil
	} else if o == nil && h.Part == partLast || o != nil && (o.Kind != h.Kind || o.From != h.From || o.To != h.To) {
		return e, false
	}
	p.open, p.payload = &h, append(p.payload, f.payload...)
	if h.Part == partMore {
		return e, true
	}
	h.Part = partWhole
	e, err := Decode(sealed(h, p.payload), alignedCopy(p.payload))
	*p = page{}
	return e, err == nil
}

func ofController(e Envelope) bool { return e.From.Role == Controller || e.To.Role == Controller }

// BenchmarkJoin takes a lease of so many MiB, in parts and as far as one frame holds it whole.
func BenchmarkJoin(b *testing.B) {
	for _, mib := range []int{8, 15, 48, 128} {
		b.Run(fmt.Sprintf("%dMiB", mib), func(b *testing.B) {
			frames := inPartsOf(b, Envelope{Message: &Granted{Values: make([]float32, mib<<18)}}, partMax)
			b.SetBytes(int64(mib) << 20)
			b.ReportAllocs()
			var j Joiner
			for b.Loop() {
				for _, f := range frames {
					if _, err := f.take(&j); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
