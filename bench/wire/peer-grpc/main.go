// Command peer-grpc moves the same bytes as bench/wire over one bidirectional gRPC stream with a codec that copies
// nothing. It has a module of its own, so that gRPC is no dependency of the project. bench/wire builds and runs it: as
// "serve ADDRESS" it answers the lines "port" and "usage", as "drive ADDRESS" lines such as "push 65536 32 1000".
//
// A push is a message of that size, which the server copies into its table (less work than adding it), and an answer of
// 16 bytes. A pull is a message of 16 bytes, and an answer of that size, which the server has copied out of its table.
package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
)

// raw passes messages through as they are.
type raw struct{}

type message struct{ data mem.BufferSlice }

func (raw) Name() string { return "raw" }

func (raw) Marshal(v any) (mem.BufferSlice, error) { return v.(*message).data, nil }

func (raw) Unmarshal(data mem.BufferSlice, v any) error {
	data.Ref()
	v.(*message).data = data
	return nil
}

// Windows and buffers are gRPC's own, which follow the connection; larger ones were no faster.
const (
	messageMax = 4 << 20
	small      = 16 // bytes of what is not a payload
)

func main() {
	if len(os.Args) != 3 {
		fail(errors.New("use: peer-grpc serve|drive ADDRESS"))
	}
	network, place, _ := strings.Cut(os.Args[2], ":")
	switch os.Args[1] {
	case "serve":
		fail(serve(network, place))
	case "drive":
		fail(drive(network, place))
	default:
		fail(fmt.Errorf("%q is neither serve nor drive", os.Args[1]))
	}
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "peer-grpc:", err)
		os.Exit(1)
	}
}

// lines answers every line of standard input until it ends.
func lines(answer func(line string) (string, error)) error {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		text, err := answer(in.Text())
		if err != nil {
			text = "error " + strings.ReplaceAll(err.Error(), "\n", "; ")
		}
		fmt.Println(text)
	}
	return in.Err()
}

var desc = grpc.ServiceDesc{ServiceName: "raw", HandlerType: (*any)(nil), Streams: []grpc.StreamDesc{
	{StreamName: "push", Handler: push, ClientStreams: true, ServerStreams: true},
	{StreamName: "pull", Handler: pull, ClientStreams: true, ServerStreams: true},
}}

func serve(network, place string) error {
	l, err := net.Listen(network, place)
	if err != nil {
		return err
	}
	s := grpc.NewServer(grpc.ForceServerCodecV2(raw{}), grpc.MaxRecvMsgSize(messageMax), grpc.MaxSendMsgSize(messageMax))
	s.RegisterService(&desc, nil)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	port := 0
	if a, ok := l.Addr().(*net.TCPAddr); ok {
		port = a.Port
	}
	if err := lines(func(line string) (string, error) { return serverAnswer(line, port) }); err != nil {
		return err
	}
	s.Stop()
	return <-ended
}

func serverAnswer(line string, port int) (string, error) {
	switch line {
	case "port":
		return fmt.Sprint(port), nil
	case "usage":
		return fmt.Sprintf("%.9g %d", processorSeconds(), allocations()), nil
	}
	return "", fmt.Errorf("a server does not know %q", line)
}

// push takes payloads and answers each.
func push(_ any, stream grpc.ServerStream) error {
	var table []byte
	answer := make([]byte, small)
	for {
		var m message
		if err := stream.RecvMsg(&m); err != nil {
			return ended(err)
		}
		if n := m.data.Len(); len(table) < n {
			table = make([]byte, n)
		}
		m.data.CopyTo(table)
		m.data.Free()
		if err := stream.SendMsg(&message{mem.BufferSlice{mem.SliceBuffer(answer)}}); err != nil {
			return err
		}
	}
}

// pull answers with as many bytes as it is asked for.
func pull(_ any, stream grpc.ServerStream) error {
	table := make([]byte, messageMax)
	pool := mem.DefaultBufferPool()
	var ask [small]byte
	for {
		var m message
		if err := stream.RecvMsg(&m); err != nil {
			return ended(err)
		}
		m.data.CopyTo(ask[:])
		m.data.Free()
		size := int(min(binary.LittleEndian.Uint64(ask[:]), messageMax))
		b := pool.Get(size)
		copy(*b, table)
		if err := stream.SendMsg(&message{mem.BufferSlice{mem.NewBuffer(b, pool)}}); err != nil {
			return err
		}
	}
}

func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func drive(network, place string) error {
	target := "passthrough:///" + place
	if network == "unix" {
		target = "unix:" + place
	}
	c, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(raw{}), grpc.MaxCallRecvMsgSize(messageMax), grpc.MaxCallSendMsgSize(messageMax)))
	if err != nil {
		return err
	}
	streams := map[string]grpc.ClientStream{}
	for _, s := range desc.Streams {
		if streams[s.StreamName], err = c.NewStream(context.Background(), &s, "/raw/"+s.StreamName); err != nil {
			return err
		}
	}
	if err := lines(func(line string) (string, error) { return driverAnswer(line, streams) }); err != nil {
		return err
	}
	return c.Close()
}

func driverAnswer(line string, streams map[string]grpc.ClientStream) (string, error) {
	var kind string
	var size, inFlight, count int
	if _, err := fmt.Sscanf(line, "%s %d %d %d", &kind, &size, &inFlight, &count); err != nil {
		return "", fmt.Errorf("a driver does not know %q", line)
	}
	stream := streams[kind]
	if stream == nil || size < small || size > messageMax || inFlight < 1 {
		return "", fmt.Errorf("%q: no such kind of request", line)
	}
	made, cpu, wall := allocations(), processorSeconds(), time.Now()
	if err := requests(stream, kind, size, inFlight, count); err != nil {
		return "", err
	}
	took, used := time.Since(wall).Seconds(), processorSeconds()-cpu
	return fmt.Sprintf("%d %.9g %.9g %d 0 0", count, took, used, allocations()-made), nil
}

// requests sends count of them, so many in flight.
func requests(stream grpc.ClientStream, kind string, size, inFlight, count int) error {
	out := make([]byte, size)
	if kind == "pull" {
		out = make([]byte, small)
		binary.LittleEndian.PutUint64(out, uint64(size))
	}
	places, answered := make(chan struct{}, inFlight), make(chan error, 1)
	go func() {
		for range count {
			var m message
			if err := stream.RecvMsg(&m); err != nil {
				answered <- err
				return
			}
			m.data.Free()
			<-places
		}
		answered <- nil
	}()
	for range count {
		select {
		case places <- struct{}{}:
		case err := <-answered:
			return err
		}
		if err := stream.SendMsg(&message{mem.BufferSlice{mem.SliceBuffer(out)}}); err != nil {
			return err
		}
	}
	return <-answered
}

func processorSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

func allocations() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}
