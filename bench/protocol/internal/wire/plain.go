package wire

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
	"unsafe"

	"bellows/bench/internal/pair"
	"bellows/bench/protocol/internal/wire/internal/duty"
	"bellows/vec"
)

// The plain loop is the least that moving and using the bytes takes: whole buffers of one size, one after the other,
// with neither headers nor checksums nor answers. For a push the server adds each buffer to its table; for a pull it
// copies the table into the buffer. Those two are the one touch of memory besides the system's own copies.

const (
	plainPush byte = 1 + iota
	plainPull
)

// servePlain runs the server's process.
func servePlain(address string) {
	network, place, _ := strings.Cut(address, ":")
	l := pair.Must(net.Listen(network, place))
	duty.Serve(network+":"+l.Addr().String(), l, func() error {
		c, err := l.Accept()
		if err == nil {
			err = plainServer(c)
		}
		return err
	}, nil)
}

// plainServer runs duties until the connection ends.
func plainServer(c net.Conn) error {
	var head [13]byte
	for {
		if _, err := io.ReadFull(c, head[:]); err != nil {
			return err
		}
		size, count := binary.LittleEndian.Uint32(head[1:]), binary.LittleEndian.Uint64(head[5:])
		rows, buffer := make([]float32, size/4), make([]float32, size/4)
		bytes := bytesOf(buffer)
		for range count {
			if head[0] == plainPull {
				copy(buffer, rows)
				if _, err := c.Write(bytes); err != nil {
					return err
				}
				continue
			}
			if _, err := io.ReadFull(c, bytes); err != nil {
				return err
			}
			vec.Add(buffer, rows)
		}
		if _, err := c.Write(head[:1]); err != nil { // the job is done
			return err
		}
	}
}

// drivePlain runs the driver's process.
func drivePlain(address string) {
	network, place, _ := strings.Cut(address, ":")
	c := pair.Must(net.Dial(network, place))
	duty.Drive(func(d duty.Duty, _ []time.Duration) error { return plainDriver(c, d) }, nil)
	pair.Check(c.Close())
}

func plainDriver(c net.Conn, d duty.Duty) error {
	head := [13]byte{0: plainPush}
	switch d.Kind {
	case "push":
	case "pull":
		head[0] = plainPull
	default:
		return fmt.Errorf("%s: %w", d.Kind, duty.ErrKind)
	}
	binary.LittleEndian.PutUint32(head[1:], uint32(d.Size))
	binary.LittleEndian.PutUint64(head[5:], uint64(d.Count))
	if _, err := c.Write(head[:]); err != nil {
		return err
	}
	buffer := bytesOf(make([]float32, d.Size/4))
	for range d.Count {
		var err error
		if head[0] == plainPull {
			_, err = io.ReadFull(c, buffer)
		} else {
			_, err = c.Write(buffer)
		}
		if err != nil {
			return err
		}
	}
	_, err := io.ReadFull(c, head[:1])
	return err
}

// bytesOf returns the memory of numbers.
func bytesOf(v []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 4*len(v))
}
