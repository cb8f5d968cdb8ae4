package sock_test

import (
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"bellows"
	"bellows/link/secure"
	"bellows/link/transport"
	"bellows/link/transport/sock"
	"bellows/link/wire"
	"bellows/vec"
)

// BenchmarkPush sends pushes of one size one way, as nodes do: encoded, batched, written, read, decoded, freed. Beside it
// runs the loop that copies the same number of bytes with plain writes and reads of that size. The ratio of the two is
// what frames cost, and that of frames over tls to those over tcp what encryption does; cpu-s/GB is of both sides together.
func BenchmarkPush(b *testing.B) {
	for _, address := range []string{"tcp:127.0.0.1:0", otherHost, "unix:"} {
		for _, size := range []int{1 << 10, 64 << 10, 1 << 20} {
			network, _, _ := strings.Cut(address, ":")
			if network == "unix" {
				address = "unix:" + filepath.Join(b.TempDir(), "s", "s")
			}
			if address == otherHost {
				b.Run(fmt.Sprintf("tls/%dKiB/frames in %v", size>>10, vec.Float32), func(b *testing.B) { pushFrames(b, address, size, vec.Float32) })
				continue
			}
			for f := range vec.Formats { // cpu-s/GB is of values as they are in memory, whatever their format on the way
				b.Run(fmt.Sprintf("%s/%dKiB/frames in %v", network, size>>10, f), func(b *testing.B) { pushFrames(b, address, size, f) })
			}
			b.Run(fmt.Sprintf("%s/%dKiB/copy", network, size>>10), func(b *testing.B) { copyBytes(b, network, size) })
		}
	}
}

// BenchmarkRoundTrip sends a push of 1 KiB and waits for it to come back, beside plain writes and reads.
func BenchmarkRoundTrip(b *testing.B) {
	const size = 1 << 10
	for _, address := range []string{"tcp:127.0.0.1:0", "unix:" + filepath.Join(b.TempDir(), "s", "s")} {
		network, _, _ := strings.Cut(address, ":")
		b.Run(network+"/frames", func(b *testing.B) {
			from, to := connected(b, address)
			send, answer := sender(from, size, vec.Float32), sender(to, size, vec.Float32)
			measure(b, size, func(n int) error {
				return alternate(n, func() error { return send(1) }, func() error { return receive(from, 1) })
			}, func(n int) error {
				return alternate(n, func() error { return receive(to, 1) }, func() error { return answer(1) })
			})
		})
		b.Run(network+"/copy", func(b *testing.B) {
			from, to := plainPair(b, network)
			near, far := make([]byte, size), make([]byte, size)
			measure(b, size, func(n int) error {
				return alternate(n, func() error { return put(from, near) }, func() error { return get(from, near) })
			}, func(n int) error {
				return alternate(n, func() error { return get(to, far) }, func() error { return put(to, far) })
			})
		})
	}
}

// otherHost is an address of this host whose caller has a different one, so that they count as two hosts.
const otherHost = "tcp:127.0.0.2:0"

// alternate calls one and then the other, n times.
func alternate(n int, one, other func() error) error {
	for range n {
		if err := one(); err != nil {
			return err
		}
		if err := other(); err != nil {
			return err
		}
	}
	return nil
}

// batch returns how many small pushes leave in one write.
func batch(size int) int { return max(1, 32<<10/size) }

func pushFrames(b *testing.B, address string, size int, format vec.Format) {
	from, to := connected(b, address)
	measure(b, size, sender(from, size, format), func(n int) error { return receive(to, n) })
}

// sender sends n pushes of one size.
func sender(c transport.Conn, size int, format vec.Format) func(n int) error {
	push := &wire.Push{Chunks: []wire.Chunk{{Values: make([]float32, size/4)}}}
	envelope := wire.Envelope{To: wire.Address{Node: 2, Role: wire.Lane}, Message: push}
	var out wire.Batch
	out.Narrow([]vec.Format{format})
	return func(n int) error {
		for n > 0 {
			for range min(n, batch(size)) {
				if err := out.Add(envelope); err != nil {
					return err
				}
				n--
			}
			if err := c.WriteFrames(out.Buffers()); err != nil {
				return err
			}
			out.Reset()
		}
		return nil
	}
}

// receive takes n messages.
func receive(c transport.Conn, n int) error {
	for range n {
		h, payload, err := c.ReadFrame()
		if err != nil {
			return err
		}
		e, err := wire.Decode(h, payload)
		if err != nil {
			return err
		}
		wire.Free(e.Message)
	}
	return nil
}

func copyBytes(b *testing.B, network string, size int) {
	from, to := plainPair(b, network)
	out, in := make([]byte, size), make([]byte, size)
	nothing := func() error { return nil }
	measure(b, size, func(n int) error {
		return alternate(n, func() error { return put(from, out) }, nothing)
	}, func(n int) error {
		return alternate(n, func() error { return get(to, in) }, nothing)
	})
}

func put(c net.Conn, b []byte) error {
	_, err := c.Write(b)
	return err
}

func get(c net.Conn, b []byte) error {
	_, err := io.ReadFull(c, b)
	return err
}

// plainPair returns both ends of a connection of package net.
func plainPair(b *testing.B, network string) (from, to net.Conn) {
	b.Helper()
	place := "127.0.0.1:0"
	if network == "unix" {
		place = filepath.Join(b.TempDir(), "s")
	}
	l, err := net.Listen(network, place)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	if from, err = net.Dial(network, l.Addr().String()); err != nil {
		b.Fatal(err)
	}
	if to, err = l.Accept(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { from.Close(); to.Close() })
	return from, to
}

// measure runs both sides at once, each n times, after a warm-up.
func measure(b *testing.B, size int, send, receive func(n int) error) {
	both := func(n int) {
		sent := make(chan error)
		go func() { sent <- send(n) }()
		if err := receive(n); err != nil {
			b.Fatal(err)
		}
		if err := <-sent; err != nil {
			b.Fatal(err)
		}
	}
	both(100)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	b.ResetTimer()
	before := processorTime(b)
	both(b.N)
	used := processorTime(b) - before
	b.ReportMetric(used.Seconds()*1e9/float64(b.N)/float64(size), "cpu-s/GB")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "frames/s")
}

// processorTime returns what this process has used of its processors.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// connected returns both ends of a connection from node 1 to node 2.
func connected(b *testing.B, address string) (from, to transport.Conn) {
	b.Helper()
	transports := [2]transport.Transport{}
	issues, err := secure.NewAuthority("a benchmark")
	if err != nil {
		b.Fatal(err)
	}
	for i := range transports {
		n := bellows.NodeID(i + 1)
		who, err := issues.Member(sock.NodeName(n))
		if err != nil {
			b.Fatal(err)
		}
		if transports[i], err = sock.Secured(node(n), who); err != nil {
			b.Fatal(err)
		}
	}
	l, err := transports[1].Listen(address)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	dialled := make(chan error)
	go func() {
		c, err := transports[0].Dial(b.Context(), l.Address())
		from = c
		dialled <- err
	}()
	to, err = l.Accept(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	if err := <-dialled; err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { from.Close(); to.Close() })
	return from, to
}
