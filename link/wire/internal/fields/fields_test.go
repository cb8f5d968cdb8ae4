package fields

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// TestShortFieldsAreReadAsAnyOthers walks over fields and rubbish with the way for fields of two bytes and without.
func TestShortFieldsAreReadAsAnyOthers(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	seen := map[bool]int{}
	for range 200_000 {
		b := make([]byte, random.IntN(12))
		for i := range b {
			switch b[i] = byte(random.Uint32()); random.IntN(3) {
			case 0:
				b[i] %= 0x40
			case 1:
				b[i] %= 4
			}
		}
		fast, slow := Fields{b: b}, Fields{b: b}
		for {
			rest := slow.b[slow.at:]
			more := slow.Err == nil && len(rest) > 0 && slow.next(rest)
			if fast.Next() != more || fast.at != slow.at || fast.Err != slow.Err || more && fast.Key != slow.Key || fast.Num != slow.Num || !bytes.Equal(fast.Data, slow.Data) {
				t.Fatalf("%x: %+v, and without %+v", b, fast, slow)
			}
			if !more {
				break
			}
		}
		seen[fast.Err == nil]++
	}
	if seen[true] < 1000 || seen[false] < 1000 {
		t.Errorf("valid, and not: %v", seen)
	}
}

// TestShortFieldsAreWrittenAsAnyOthers writes numbers and sizes around the ends of one byte.
func TestShortFieldsAreWrittenAsAnyOthers(t *testing.T) {
	t.Parallel()
	for _, number := range []protowire.Number{1, 15, 16, 17, 2047, 2048} {
		for _, x := range []uint64{1, 127, 128, 16383, 16384, 1<<64 - 1} {
			var w Writer
			w.Varint(number, x)
			if want := protowire.AppendVarint(protowire.AppendTag(nil, number, protowire.VarintType), x); !bytes.Equal(w, want) {
				t.Errorf("field %d, %d: %x, not %x", number, x, w, want)
			}
		}
		for _, n := range []int{0, 1, 127, 128, 129, 16383, 16384, 20000} {
			var w Writer
			content := bytes.Repeat([]byte{7}, n)
			at := w.Open(number)
			w = append(w, content...)
			w.Shut(at)
			if want := protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), content); !bytes.Equal(w, want) {
				t.Errorf("field %d of %d bytes: another message", number, n)
			}
		}
	}
}
