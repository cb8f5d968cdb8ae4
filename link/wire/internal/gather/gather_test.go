package gather_test

import (
	"bytes"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"testing"

	"bellows/link/wire/internal/gather"
)

// TestCut cuts messages at random: what is written is the text with the pieces at their places, and a header before each part.
func TestCut(t *testing.T) {
	t.Parallel()
	const size = 4
	random := rand.New(rand.NewPCG(1, 2))
	sums := crc32.MakeTable(crc32.Castagnoli)
	for range 2000 {
		var p gather.Pieces
		text := []byte("before")
		p.Add(3, []byte("piece"))
		text = append(text, "head"...)
		at, n := len(text), p.Len()
		var payload []byte
		for range 1 + random.IntN(6) {
			some := make([]byte, random.IntN(20))
			for i := range some {
				some[i] = byte(random.Uint32())
			}
			payload = append(payload, some...)
			if random.IntN(2) == 0 {
				text = append(text, some...)
			} else {
				p.Add(len(text), some)
			}
		}
		if len(payload) < 2 {
			continue
		}
		if p.Sum(text, at, n) != crc32.Checksum(payload, sums) {
			t.Fatal("the sum is not the payload's")
		}
		most := 1 + random.IntN(len(payload)-1)
		more := (len(payload) - 1) / most
		heads := make([]byte, more*size)
		p.Cut(text, at, n, most, size, heads)
		want := []byte("befpieceore")
		left, parts := payload, 0
		p.Parts(text, at, n, size, func(head []byte, length int, sum uint32, last bool) {
			parts++
			copy(head, []byte{'H', byte(length), byte(parts), 0})
			if last != (parts == more+1) || length != min(most, len(left)) || sum != crc32.Checksum(left[:length], sums) {
				t.Fatalf("part %d of %d: %d bytes of %d, last: %v", parts, more+1, length, len(left), last)
			}
			want = append(append(want, head...), left[:length]...)
			left = left[length:]
		})
		if p.Len() < n || len(text)+p.Bytes() != len(want) {
			t.Fatalf("%d bytes, not %d", len(text)+p.Bytes(), len(want))
		}
		if got := slices.Concat(p.Buffers(text)...); !bytes.Equal(got, want) {
			t.Fatalf("%q was written, not %q", got, want)
		}
		p.Drop(n)
		if got := slices.Concat(p.Buffers(text[:at])...); string(got[:11]) != "befpieceore" {
			t.Fatalf("what was before became %q", got)
		}
	}
}
