package transport

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"runtime"
	"slices"
	"testing"
	"testing/iotest"

	"bellows/internal/require"
	"bellows/link/wire"
)

// frame returns an encoded frame that carries n values.
func frame(t testing.TB, n int) []byte {
	t.Helper()
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(i + n)
	}
	var b wire.Batch
	require.NoError(t, b.Add(wire.Envelope{Message: &wire.Rows{Parts: []wire.RowsPart{{Values: values}}}}))
	return slices.Concat(b.Buffers()...)
}

// TestReaderCutsAnyStream reads small, large and border-sized frames from streams that give few and many bytes at a time.
func TestReaderCutsAnyStream(t *testing.T) {
	t.Parallel()
	var frames [][]byte
	for _, n := range []int{0, 1, 1000, direct / 4, 3, readerSize / 4, 0, readerSize, 0, 5, readerSize/4 - 30, readerSize/4 - 20, 7, 100_000} {
		frames = append(frames, frame(t, n))
	}
	stream := slices.Concat(frames...)
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"all at once":          func(r io.Reader) io.Reader { return r },
		"one byte at a time":   iotest.OneByteReader,
		"half of what is due":  iotest.HalfReader,
		"the end with the end": iotest.DataErrReader,
		"two pieces":           func(r io.Reader) io.Reader { return pieces{r} },
		"two pieces, bytes":    func(r io.Reader) io.Reader { return pieces{iotest.OneByteReader(r)} },
		"two pieces, halves":   func(r io.Reader) io.Reader { return pieces{iotest.HalfReader(r)} },
		"two pieces, the end":  func(r io.Reader) io.Reader { return pieces{iotest.DataErrReader(r)} },
	} {
		r, taken := NewReader(wrap(bytes.NewReader(stream))), uint64(0)
		for i, f := range frames {
			h, payload, err := r.Frame()
			if err != nil || int(h.Length) != len(payload) || !bytes.Equal(payload, f[wire.HeaderSize:]) {
				t.Fatalf("%s: frame %d: %v with %d bytes, %v", name, i, h, len(payload), err)
			}
			taken += uint64(len(f))
			if got := r.Arrived(); got < taken || got > uint64(len(stream)) {
				t.Errorf("%s: %d bytes of %d have arrived when frames of %d have", name, got, len(stream), taken)
			}
		}
		for range 2 {
			if _, _, err := r.Frame(); err != io.EOF {
				t.Errorf("%s: at the end: %v", name, err)
			}
		}
	}
}

// pieces is a stream that reads into two pieces of memory.
type pieces struct{ io.Reader }

func (p pieces) ReadBoth(first, second []byte) (int, error) {
	n, err := p.Read(first)
	if n < len(first) || err != nil {
		return n, err
	}
	more, err := p.Read(second)
	return n + more, err
}

// counting is a stream that counts reads.
type counting struct {
	pieces
	reads int
}

func (c *counting) Read(b []byte) (int, error) {
	c.reads++
	return c.Reader.Read(b)
}

func (c *counting) ReadBoth(first, second []byte) (int, error) {
	c.reads++
	return c.pieces.ReadBoth(first, second)
}

// TestHeaderComesWithThePayloadBefore reads large frames, each after the first by one read of the stream.
func TestHeaderComesWithThePayloadBefore(t *testing.T) {
	t.Parallel()
	const frames = 20
	stream := &counting{pieces: pieces{bytes.NewReader(bytes.Repeat(frame(t, readerSize), frames))}}
	r := NewReader(stream)
	for range frames {
		if _, _, err := r.Frame(); err != nil {
			t.Fatal(err)
		}
	}
	if stream.reads != frames+1 {
		t.Errorf("%d reads for %d large frames", stream.reads, frames)
	}
}

// TestReaderReportsTheStream passes errors on, at any place of a frame, and keeps them.
func TestReaderReportsTheStream(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	f := frame(t, 100_000)
	for _, n := range []int{0, 5, wire.HeaderSize, wire.HeaderSize + 70, len(f) - 1} {
		for _, two := range []bool{false, true} {
			stream := io.MultiReader(bytes.NewReader(f[:n]), iotest.ErrReader(broken))
			if two {
				stream = pieces{stream}
			}
			r := NewReader(stream)
			for range 2 {
				if _, payload, err := r.Frame(); !errors.Is(err, broken) || payload != nil {
					t.Errorf("after %d bytes: %v", n, err)
				}
			}
		}
	}
}

// TestOversizedTakesNoMemory measures memory, so it must not run in parallel with other tests.
func TestOversizedTakesNoMemory(t *testing.T) {
	bad := frame(t, 1)
	binary.LittleEndian.PutUint32(bad[8:], 1<<31)
	binary.LittleEndian.PutUint32(bad[28:], crc32.Checksum(bad[:28], castagnoli))
	r := NewReader(bytes.NewReader(bad))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err := r.Frame()
	runtime.ReadMemStats(&after)
	if err == nil || after.TotalAlloc-before.TotalAlloc > 1<<20 {
		t.Errorf("took %d bytes: %v", after.TotalAlloc-before.TotalAlloc, err)
	}
}
