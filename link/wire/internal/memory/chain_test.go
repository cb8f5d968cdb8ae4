package memory_test

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"unsafe"

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
		short[i] = 1 // it was given back
	}
	if all := c.Join(); len(all) != 1008 || string(all[:5]) != "stays" || all[1000] == 1 {
		t.Errorf("%d bytes: %x", len(all), all[995:])
	}
}

// most is the largest payload.
const most = 64 << 20

// TestGet wants memory of the right length, aligned, and different each time.
func TestGet(t *testing.T) {
	t.Parallel()
	var all [][]byte
	for n := 0; n <= most; n += 1 + n*n/3 {
		for _, n := range []int{n, n + 1} {
			b := memory.Get(n)
			if len(b) != n || uintptr(unsafe.Pointer(unsafe.SliceData(b)))%8 != 0 {
				t.Fatalf("%d bytes for %d, at %p", len(b), n, b)
			}
			for _, o := range all {
				if unsafe.SliceData(o) == unsafe.SliceData(b) {
					t.Fatal("one memory given twice")
				}
			}
			all = append(all, b)
		}
	}
}

// TestPooled wants only memory that came from Get to be pooled, and that of its whole length.
func TestPooled(t *testing.T) {
	t.Parallel()
	ours := memory.Get(1000)
	part := ours[: 1024-512 : 512]
	for name, b := range map[string][]byte{
		"made elsewhere":    make([]byte, 1024),
		"of no pooled size": make([]byte, 1000),
		"small":             make([]byte, 8),
		"none":              nil,
		"a part":            part,
		"the later half":    ours[512:],
	} {
		if memory.Pooled(b) {
			t.Errorf("memory %s was taken for ours", name)
		}
	}
	if !memory.Pooled(ours) || !memory.Pooled(ours[:7]) {
		t.Error("our own memory was not known again")
	}
}

// TestSizes wants memory to be no more than a quarter longer than what is asked for, its stamp left out.
func TestSizes(t *testing.T) {
	t.Parallel()
	for n := 64; n <= most; n += 1 + n/7 {
		if b := memory.Get(n); cap(b) < n+8 || cap(b) > (n+8)*5/4+16 || !memory.Pooled(b) {
			t.Errorf("%d bytes for %d", cap(b), n)
		}
	}
}
