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
	"bellows/transport"
	"bellows/transport/sock"
	"bellows/wire"
)

// BenchmarkPush sends pushes of one size one way, as nodes do: encoded, batched, written, read, decoded, freed. Beside it
// runs the loop that copies the same number of bytes with plain writes and reads of that size. The ratio of the two is
// what frames cost; cpu-s/GB is of both sides together.
func BenchmarkPush(b *testing.B) {
	for _, address := range []string{"tcp:127.0.0.1:0", "unix:"} {
		for _, size := range []int{1 << 10, 64 << 10, 1 << 20} {
			network, _, _ := strings.Cut(address, ":")
			if network == "unix" {
				address = "unix:" + filepath.Join(b.TempDir(), "s", "s")
			}
			b.Run(fmt.Sprintf("%s/%dKiB/frames", network, size>>10), func(b *testing.B) { pushFrames(b, address, size) })
			b.Run(fmt.Sprintf("%s/%dKiB/copy", network, size>>10), func(b *testing.B) { copyBytes(b, network, size) })
		}
	}
}

// batch is how many small pushes leave in one write.
func batch(size int) int { return max(1, 32<<10/size) }

func pushFrames(b *testing.B, address string, size int) {
	from, to := connected(b, address)
	values := make([]float32, size/4)
	push := wire.New[wire.Push]()
	push.Chunks = append(push.Chunks, wire.Chunk{Values: values})
	envelope := wire.Envelope{To: wire.Address{Node: 2, Role: wire.Lane}, Message: push}
	measure(b, size, func(n int) error {
		var out wire.Batch
		for n > 0 {
			for range min(n, batch(size)) {
				if err := out.Add(envelope); err != nil {
					return err
				}
				n--
			}
			if err := from.WriteFrames(out.Buffers()); err != nil {
				return err
			}
			out.Reset()
		}
		return nil
	}, func(n int) error {
		for range n {
			h, payload, err := to.ReadFrame()
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
	})
}

func copyBytes(b *testing.B, network string, size int) {
	place := "127.0.0.1:0"
	if network == "unix" {
		place = filepath.Join(b.TempDir(), "s")
	}
	l, err := net.Listen(network, place)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	from, err := net.Dial(network, l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer from.Close()
	to, err := l.Accept()
	if err != nil {
		b.Fatal(err)
	}
	defer to.Close()
	out, in := make([]byte, size), make([]byte, size)
	measure(b, size, func(n int) error {
		for range n {
			if _, err := from.Write(out); err != nil {
				return err
			}
		}
		return nil
	}, func(n int) error {
		for range n {
			if _, err := io.ReadFull(to, in); err != nil {
				return err
			}
		}
		return nil
	})
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

// processorTime is what this process has used of its processors.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// connected is both ends of a connection from node 1 to node 2.
func connected(b *testing.B, address string) (from, to transport.Conn) {
	b.Helper()
	transports := [2]transport.Transport{}
	for i := range transports {
		t, err := sock.New(node(bellows.NodeID(i + 1)))
		if err != nil {
			b.Fatal(err)
		}
		transports[i] = t
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
