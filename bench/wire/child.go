package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"bellows/bench/internal/pair"
	"bellows/vec"
)

// The processes of a contender are two: a server, which answers "port" and "usage", and a driver, which answers a job,
// such as "push 65536 32 1000". Both take "compute N". Each answer is one line of numbers.

// duty is a driver's job: a number of requests of one kind and size, so many at a time.
type duty struct {
	kind   string // push, pull or list
	size   int    // bytes of values
	window int    // requests in flight
	count  int
}

// serve is a server's process: it accepts one connection, and talks until its input ends.
func serve(address string, listening io.Closer, accept func() error, computes func(n int)) {
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

// drive is a driver's talk. A duty notes how long each request took where only one is in flight.
func drive(do func(d duty, latencies []time.Duration) error, computes func(n int)) {
	talk(computes, func(line string) ([]float64, error) {
		var d duty
		if _, err := fmt.Sscanf(line, "%s %d %d %d", &d.kind, &d.size, &d.window, &d.count); err != nil {
			return nil, fmt.Errorf("a driver does not know %q", line)
		}
		return timed(d, do)
	})
}

// talk answers "compute N" itself; computes, if there is one, is told how many goroutines are going to compute.
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

// timed does a duty and returns requests, wall and CPU seconds, allocations, and the median and 99th percentile in
// seconds of a request, which are 0 where several are in flight.
func timed(d duty, drive func(duty, []time.Duration) error) ([]float64, error) {
	var latencies []time.Duration
	if d.window == 1 {
		latencies = make([]time.Duration, d.count)
	}
	before := allocations()
	turn, err := pair.Measure(func() (float64, error) { return float64(d.count), drive(d, latencies) })()
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
	told    func(n int) // nil: nobody
	running int
	stop    *atomic.Bool
	ended   chan struct{}
}

// set changes how many there are, and says so.
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

// errKind is a job that a contender cannot do.
var errKind = errors.New("no such kind of request")
