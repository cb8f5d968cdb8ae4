// Command peer-grpc moves the bytes of bench/protocol --only wire over one bidirectional gRPC stream, with a codec that
// copies nothing. It has a module of its own, so that gRPC is no dependency of the project. bench/protocol --only wire
// builds it and calls it with "serve ADDRESS" and "drive ADDRESS"; what the two answer is said in package duty.
//
// A push is a message of that size, which the server copies into its table (less work than adding it), and an answer of
// 16 bytes. A pull is a message of 16 bytes, and an answer of that size, which the server has copied out of its table.
package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"bellows/bench/internal/pair"
	"bellows/bench/protocol/internal/wire/internal/duty"

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
	pair.Exit(pair.Attempt(func() {
		if len(os.Args) != 3 {
			pair.Check(errors.New("use: peer-grpc serve|drive ADDRESS"))
		}
		network, place, _ := strings.Cut(os.Args[2], ":")
		switch os.Args[1] {
		case "serve":
			serve(network, place)
		case "drive":
			drive(network, place)
		default:
			pair.Check(fmt.Errorf("%q is neither serve nor drive", os.Args[1]))
		}
	}))
}

var desc = grpc.ServiceDesc{ServiceName: "raw", HandlerType: (*any)(nil), Streams: []grpc.StreamDesc{
	{StreamName: "push", Handler: push, ClientStreams: true, ServerStreams: true},
	{StreamName: "pull", Handler: pull, ClientStreams: true, ServerStreams: true},
}}

// closer ends a server.
type closer func()

func (c closer) Close() error { c(); return nil }

func serve(network, place string) {
	l := pair.Must(net.Listen(network, place))
	s := grpc.NewServer(grpc.ForceServerCodecV2(raw{}), grpc.MaxRecvMsgSize(messageMax), grpc.MaxSendMsgSize(messageMax))
	s.RegisterService(&desc, nil)
	duty.Serve(network+":"+l.Addr().String(), closer(s.Stop), func() error { return s.Serve(l) }, nil)
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

func drive(network, place string) {
	target := "passthrough:///" + place
	if network == "unix" {
		target = "unix:" + place
	}
	c := pair.Must(grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(raw{}), grpc.MaxCallRecvMsgSize(messageMax), grpc.MaxCallSendMsgSize(messageMax))))
	streams := map[string]grpc.ClientStream{}
	for _, s := range desc.Streams {
		streams[s.StreamName] = pair.Must(c.NewStream(context.Background(), &s, "/raw/"+s.StreamName))
	}
	duty.Drive(func(d duty.Duty, _ []time.Duration) error {
		if streams[d.Kind] == nil || d.Size < small || d.Size > messageMax || d.Window < 1 {
			return fmt.Errorf("%s of %d bytes: %w", d.Kind, d.Size, duty.ErrKind)
		}
		return requests(streams[d.Kind], d)
	}, nil)
	pair.Check(c.Close())
}

// requests runs a duty.
func requests(stream grpc.ClientStream, d duty.Duty) error {
	out := make([]byte, d.Size)
	if d.Kind == "pull" {
		out = make([]byte, small)
		binary.LittleEndian.PutUint64(out, uint64(d.Size))
	}
	places, answered := make(chan struct{}, d.Window), make(chan error, 1)
	go func() {
		for range d.Count {
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
	for range d.Count {
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
