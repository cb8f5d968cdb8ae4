package memory_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"bellows/link/wire/internal/memory"
)

// TestChain joins pieces of any length, of the pools and of others.
func TestChain(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	var c memory.Chain
	for range 50 {
		var want []byte
		for range random.IntN(40) {
			n := random.IntN(1 << random.IntN(12))
			b := memory.Get(n)
			if random.IntN(4) == 0 {
				b = make([]byte, n)
			}
			for i := range b {
				b[i] = byte(random.Uint32())
			}
			want = append(want, b...)
			if c.Add(b); c.Len() != len(want) {
				t.Fatalf("%d bytes of %d", c.Len(), len(want))
			}
		}
		if random.IntN(3) == 0 {
			c.Drop()
			want = nil
		}
		if got := c.Join(); !bytes.Equal(got, want) || !memory.Aligned(got) && len(got) > 0 {
			t.Fatalf("%d bytes became %d", len(want), len(got))
		}
	}
}

// TestAChainGivesItsPiecesBack wants what was joined, dropped or copied to be in the pools, once.
func TestAChainGivesItsPiecesBack(t *testing.T) {
	var c memory.Chain
	for _, end := range []func(){func() { c.Join() }, c.Drop} {
		c.Add(memory.Get(1 << 20))
		c.Add(memory.Get(1000))
		end()
		if c.Len() != 0 {
			t.Errorf("%d bytes are left", c.Len())
		}
	}
	b := memory.Get(1000)
	copy(b, "stays")
	c.Add(b)
	short := memory.Get(8)
	c.Add(short)
	for i := range short {
		short[i] = 1 // it is nobody's any more
	}
	if all := c.Join(); len(all) != 1008 || string(all[:5]) != "stays" || all[1000] == 1 {
		t.Errorf("%d bytes: %x", len(all), all[995:])
	}
}
