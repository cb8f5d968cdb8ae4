package transporttest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"bellows"
	"bellows/link/transport"
	"bellows/link/wire"
)

func (s suite) order(t *testing.T) {
	a, b := s.pair(t, configFor(1, 0), configFor(2, 0))
	var frames [][]byte
	for i := range 60 {
		frames = append(frames, frame(t, uint64(i), 1<<(i%15)))
	}
	runConcurrently(
		func() {
			for _, f := range frames {
				write(t, a, f)
			}
		},
		func() {
			for _, f := range frames {
				expect(t, b, f)
				write(t, b, f)
			}
		},
		func() {
			for _, f := range frames {
				expect(t, a, f)
			}
		},
	)
}

func (s suite) large(t *testing.T) {
	a, b := s.pair(t, configFor(1, 0), configFor(2, 0))
	frames := [][]byte{frame(t, 1, 2<<20), frame(t, 2, 0), frame(t, 3, 1<<20), frame(t, 4, 1<<20+1), frame(t, 5, 16<<10)}
	runConcurrently(
		func() { write(t, a, frames...) },
		func() {
			for _, f := range frames {
				expect(t, b, f)
			}
		},
	)
}

// small sends a stream of frames of all small sizes, cut into buffers of any length, empty ones among them.
func (s suite) small(t *testing.T) {
	a, b := s.pair(t, configFor(1, 0), configFor(2, 0))
	var frames [][]byte
	var stream []byte
	for i := range 3000 {
		f := frame(t, uint64(i), i%97)
		frames, stream = append(frames, f), append(stream, f...)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var buffers [][]byte
	for len(stream) > 0 {
		n := min(len(stream), rng.IntN(1<<rng.IntN(14)))
		buffers, stream = append(buffers, stream[:n]), stream[n:]
	}
	runConcurrently(
		func() { write(t, a, buffers...) },
		func() {
			for _, f := range frames {
				expect(t, b, f)
			}
		},
	)
}

func (s suite) buffered(t *testing.T) {
	a, b := s.pair(t, configFor(1, 0), configFor(2, 0))
	f, g := frame(t, 1, 100), frame(t, 2, 100)
	write(t, a, f)
	write(t, b, g)
	expect(t, b, f)
	expect(t, a, g)
}

func (s suite) duplex(t *testing.T) {
	a, b := s.pair(t, configFor(1, 0), configFor(2, 0))
	there, back := frame(t, 1, 60_000), frame(t, 2, 70_000)
	const times = 20
	flood := func(c transport.Conn, f []byte) func() {
		return func() {
			for range times {
				write(t, c, f)
			}
		}
	}
	drain := func(c transport.Conn, f []byte) func() {
		return func() {
			for range times {
				expect(t, c, f)
			}
		}
	}
	runConcurrently(flood(a, there), drain(b, there), flood(b, back), drain(a, back))
}

// concurrent opens connections of three nodes at once, with fewer acceptors than diallers.
func (s suite) concurrent(t *testing.T) {
	l := s.listen(t, configFor(9, 0))
	const nodes, numbers, acceptors = 3, 4, 2
	accepted := make(chan transport.Conn, nodes*numbers)
	var work []func()
	for range acceptors {
		work = append(work, func() {
			for range nodes * numbers / acceptors {
				c, err := l.Accept(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				accepted <- c
			}
		})
	}
	for i := range nodes * numbers {
		work = append(work, func() {
			c, err := s.open(t, configFor(bellows.NodeID(i/numbers), 0)).Number(uint8(i%numbers), numbers).Dial(t.Context(), l.Address())
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { c.Close() })
			write(t, c, frame(t, uint64(i), i))
		})
	}
	runConcurrently(work...)
	for range len(accepted) {
		c := <-accepted
		i := int(c.Peer().Node)*numbers + int(c.Peer().Number)
		expect(t, c, frame(t, uint64(i), i))
		c.Close()
	}
}

// parts sends a long message in parts, once in one write and once part by part with a short one between each two.
func (s suite) parts(t *testing.T) {
	a, b := s.pair(t, configFor(1, 0), configFor(2, 0))
	const values = 300_000
	e := wire.Envelope{From: wire.Address{Node: 1, Role: wire.Lane, Index: 3}, To: wire.Address{Node: 2}}
	sent := &wire.Granted{Request: 7, Values: make([]float32, values)}
	for i := range sent.Values {
		sent.Values[i] = float32(i)
	}
	e.Message = sent
	beat := encodeFrom(t, wire.Address{Role: wire.Controller}, &wire.Beat{})
	between := 0
	runConcurrently(
		func() {
			for _, turns := range []bool{false, true} {
				var batch wire.Batch
				batch.Shorten(100_000, 0)
				if err := batch.Add(e); err != nil {
					t.Error(err)
				}
				if !turns {
					write(t, a, batch.Buffers()...)
					continue
				}
				for list := batch.Next(); len(list) > 0; list = batch.Next() {
					write(t, a, list...)
					write(t, a, beat)
				}
			}
		},
		func() {
			var j wire.Joiner
			for whole := 0; whole < 2; {
				h, payload, err := b.ReadFrame()
				if err != nil {
					t.Error(err)
					return
				}
				got, err := j.Decode(h, payload)
				switch m := got.Message.(type) {
				case *wire.Granted:
					whole++
					if !slices.Equal(m.Values, sent.Values) {
						t.Errorf("%d values of %d are not those that were sent", len(m.Values), values)
					}
				case *wire.Beat:
					between++
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		},
	)
	if between != 12 {
		t.Errorf("%d beats came before the end of the message, not 12", between)
	}
}

// half ends streams in every part of a frame.
func (s suite) half(t *testing.T) {
	f := frame(t, 1, 5000)
	for _, n := range []int{0, 1, wire.HeaderSize - 1, wire.HeaderSize, wire.HeaderSize + 1, len(f) - 1} {
		a, b := s.pair(t, configFor(1, 0), configFor(2, 0))
		write(t, a, f, f[:n])
		a.Close()
		expect(t, b, f)
		want := io.ErrUnexpectedEOF
		if n == 0 {
			want = io.EOF
		}
		for range 2 { // and it stays so
			_, _, err := b.ReadFrame()
			failed(t, b, err, want)
			if bellows.KindOf(err) != bellows.Lost {
				t.Errorf("an end after %d bytes is of kind %d: %v", n, bellows.KindOf(err), err)
			}
		}
	}
}

func (s suite) garbage(t *testing.T) {
	f := frame(t, 1, 10)
	for i := range wire.HeaderSize {
		a, b := s.pair(t, configFor(1, 0), configFor(2, 0))
		bad := append([]byte(nil), f...)
		bad[i] ^= 0x40
		write(t, a, f, bad)
		expect(t, b, f)
		refused(t, b, fmt.Sprintf("byte %d of the header", i))
	}
}

// oversized claims more than a beat may have, under a header that is sound otherwise (docs/5-wire.md). It is refused
// though no byte of a payload has come.
func (s suite) oversized(t *testing.T) {
	a, b := s.pair(t, configFor(1, 0), configFor(2, 0))
	bad := encode(t, &wire.Beat{})[:wire.HeaderSize]
	binary.LittleEndian.PutUint32(bad[8:], 1<<31)
	binary.LittleEndian.PutUint32(bad[28:], crc32.Checksum(bad[:28], crc32.MakeTable(crc32.Castagnoli)))
	write(t, a, bad)
	if err := refused(t, b, "an oversized payload"); !strings.Contains(err.Error(), "limit") {
		t.Errorf("the error does not speak of a limit: %v", err)
	}
}

// refused wants ReadFrame to refuse what is there, rather than wait for more or find an end.
func refused(t *testing.T, c transport.Conn, what string) error {
	t.Helper()
	_, payload, err := c.ReadFrame()
	if err == nil || payload != nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("%s: %d bytes, %v", what, len(payload), err)
	}
	if !strings.Contains(err.Error(), c.Remote()) {
		t.Fatalf("%s: the error does not name %s: %v", what, c.Remote(), err)
	}
	return err
}

// stalled fills whatever holds bytes on the way to a peer that does not read.
func (s suite) stalled(t *testing.T) {
	near := configFor(1, 0)
	near.WriteStall = 20 * time.Millisecond
	a, b := s.pair(t, near, configFor(2, 0))
	f := frame(t, 1, 100)
	write(t, a, f)
	err := flood(a, frame(t, 2, 100_000))
	failed(t, a, err, os.ErrDeadlineExceeded)
	failed(t, a, a.WriteFrames([][]byte{f}), os.ErrDeadlineExceeded) // the stream is torn
	expect(t, b, f)                                                  // what was sent whole is sound
}

// flood writes until an error comes.
func flood(c transport.Conn, f []byte) error {
	for {
		if err := c.WriteFrames([][]byte{f}); err != nil {
			return err
		}
	}
}

func (s suite) silent(t *testing.T) {
	near := configFor(1, 0)
	near.ReadSilence = 20 * time.Millisecond
	a, b := s.pair(t, near, configFor(2, 0))
	f := frame(t, 1, 10)
	go b.WriteFrames([][]byte{f[:len(f)-1]})
	_, _, err := a.ReadFrame()
	failed(t, a, err, os.ErrDeadlineExceeded)
}
