package wire

import (
	"bytes"
	"path/filepath"
	"testing"
)

// seeds adds the golden frames.
func seeds(f *testing.F, add func(frame []byte)) {
	f.Helper()
	files, err := filepath.Glob("testdata/*.hex")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, file := range files {
		add(stored(f, file))
	}
}

// FuzzParseHeader wants 32 bytes refused, or to be exactly those that the header would write.
func FuzzParseHeader(f *testing.F) {
	seeds(f, func(frame []byte) { f.Add(frame[:HeaderSize]) })
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := ParseHeader(b)
		if err != nil {
			return
		}
		if int(h.Length) > frameLimit(h.Kind) {
			t.Fatalf("%v is over its limit", h)
		}
		var again [HeaderSize]byte
		if h.put(again[:]); !bytes.Equal(again[:], b[:HeaderSize]) {
			t.Fatalf("%x was read, %x written", b[:HeaderSize], again)
		}
	})
}

// rounds reports whether values of a message came in fewer bytes than they have.
func rounds(m Message) bool {
	switch m := m.(type) {
	case *Rows:
		return len(m.Narrowed()) > 0
	case *Push:
		return len(m.Narrowed()) > 0
	}
	return false
}

// rewritten reports whether a message is written in other bytes than those that it came in: its values came in fewer than they have, or its
// reason has been made safe to show.
func rewritten(m Message) bool {
	_, reason := m.(*Refused)
	return reason || rounds(m)
}

// FuzzDecode gives any payload to any kind, with a correct sum. An accepted payload must encode to the same message
// again; a raw one byte for byte, unless it is rewritten.
func FuzzDecode(f *testing.F) {
	seeds(f, func(frame []byte) { f.Add(frame[5], frame[HeaderSize:]) })
	f.Fuzz(func(t *testing.T, kind uint8, payload []byte) {
		e, err := Decode(sealed(Header{Kind: kind}, payload), alignedCopy(payload))
		if err != nil {
			return
		}
		again := frame(t, e)
		if kind < firstControl && !rewritten(e.Message) && !bytes.Equal(again[HeaderSize:], payload) {
			t.Fatalf("%x was read, %x written", payload, again[HeaderSize:])
		}
		got, _ := read(t, again)
		if d := differ(e.Message, got.Message); d != "" {
			t.Fatalf("%s after another trip", d)
		}
		Free(got.Message)
		Free(e.Message)
	})
}
