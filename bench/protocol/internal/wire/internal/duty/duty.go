// Package duty is the protocol by which bench/protocol --only wire directs its processes and those of the gRPC program
// compared with it. The compared program is of another module. A server answers "port" and "usage". A driver answers a
// duty, such as "push 65536 32 1000". Both take "compute N". Each answer is one line of numbers.
//
// The caller calls Serve or Drive, once, and ends when it returns. An error ends the process as in package pair: under
// pair.Attempt.
//
// The package measures only one process: the caller adds up both.
package duty

import (
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"bellows/bench/internal/pair"
	"bellows/vec"
)

// Duty is a driver's job: a number of requests of one kind and size, so many at a time.
type Duty struct {
	Kind   string // push, pull or list
	Size   int    // bytes of values
	Window int    // requests in flight
	Count  int
}

// ErrKind is a duty that a contender cannot do.
var ErrKind = errors.New("no such kind of request")

// Serve runs a server's process: it accepts one connection at an address such as tcp:HOST:PORT, and talks until its
// input ends. computes, if set, is called with the number of goroutines that will compute.
func Serve(address string, listening io.Closer, accept func() error, computes func(n int)) {
	ended := make(chan error, 1)
	go func() { ended <- accept() }()
	talk(computes, func(line string) ([]float64, error) {
		switch line {
		case "port":
			return []float64{float64(portOf(address))}, nil
		case "usage":
			return []float64{pair.CPUTime().Seconds(), allocations()}, nil
		}
		return nil, fmt.Errorf("a server does not know %q", line)
	})
	pair.Check(listening.Close())
	if err := <-ended; !errors.Is(err, net.ErrClosed) && !errors.Is(err, io.EOF) {
		pair.Check(err)
	}
}

// portOf returns the port of an address tcp:HOST:PORT; 0 where it has none.
func portOf(address string) int {
	port, err := strconv.Atoi(address[strings.LastIndexByte(address, ':')+1:])
	if err != nil {
		return 0
	}
	return port
}

// Drive runs a driver's process. do does a duty, and notes how long each request took if only one is in flight.
func Drive(do func(d Duty, latencies []time.Duration) error, computes func(n int)) {
	talk(computes, func(line string) ([]float64, error) {
		var d Duty
		if _, err := fmt.Sscanf(line, "%s %d %d %d", &d.Kind, &d.Size, &d.Window, &d.Count); err != nil {
			return nil, fmt.Errorf("a driver does not know %q", line)
		}
		return timed(d, do)
	})
}

// talk answers "compute N" itself.
func talk(computes func(n int), answer func(line string) ([]float64, error)) {
	load := burners{told: computes}
	defer load.set(0)
	pair.Check(pair.Answer(func(line string) ([]float64, error) {
		var n int
		if _, err := fmt.Sscanf(line, "compute %d", &n); err == nil {
			return load.set(n), nil
		}
		return answer(line)
	}))
}

// timed runs a duty and returns requests, wall and CPU seconds, allocations, and the median and 99th percentile in
// seconds of a request, which are 0 if several are in flight.
func timed(d Duty, do func(Duty, []time.Duration) error) ([]float64, error) {
	var latencies []time.Duration
	if d.Window == 1 {
		latencies = make([]time.Duration, d.Count)
	}
	before := allocations()
	var err error
	turn := pair.Measure(func() float64 {
		err = do(d, latencies)
		return float64(d.Count)
	})()
	if err != nil {
		return nil, err
	}
	made := allocations() - before
	slices.Sort(latencies)
	at := func(share float64) float64 {
		if len(latencies) == 0 {
			return 0
		}
		return latencies[int(share*float64(len(latencies)-1))].Seconds()
	}
	return []float64{turn.Work, turn.Wall.Seconds(), turn.CPU.Seconds(), made, at(0.5), at(0.99)}, nil
}

func allocations() float64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.Mallocs)
}

// burners are goroutines that multiply matrices without a pause, as tasks of a job do.
type burners struct {
	told    func(n int) // nil: not called
	running int
	stop    *atomic.Bool
	ended   chan struct{}
}

// set changes their number, and reports it.
func (b *burners) set(n int) []float64 {
	if b.running > 0 {
		b.stop.Store(true)
		for range b.running {
			<-b.ended
		}
	}
	b.running, b.stop, b.ended = n, new(atomic.Bool), make(chan struct{})
	if b.told != nil {
		b.told(n)
	}
	for range n {
		go burn(b.stop, b.ended)
	}
	return []float64{float64(n)}
}

// burn multiplies a mini-batch of 128 by a layer of 256, about 200 us at a time.
func burn(stop *atomic.Bool, ended chan<- struct{}) {
	const m, n, k = 128, 256, 256
	x, w, y := make([]float32, m*k), make([]float32, k*n), make([]float32, m*n)
	for !stop.Load() {
		vec.GemmNN(m, n, k, 1, x, k, w, n, 0, y, n)
	}
	ended <- struct{}{}
}
