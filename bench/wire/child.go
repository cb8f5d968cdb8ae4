package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
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

// lines answers every line of standard input until it ends.
func lines(answer func(line string) (numbers []float64, err error)) error {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		numbers, err := answer(in.Text())
		if err != nil {
			fmt.Println("error", strings.ReplaceAll(err.Error(), "\n", "; "))
			continue
		}
		text := make([]string, len(numbers))
		for i, x := range numbers {
			text[i] = fmt.Sprintf("%.9g", x)
		}
		fmt.Println(strings.Join(text, " "))
	}
	return in.Err()
}

// serverLines is a server's side of the talk; computes is told how many goroutines are going to compute.
func serverLines(port int, computes func(n int)) error {
	load := burners{told: computes}
	defer load.set(0)
	return lines(func(line string) ([]float64, error) {
		var n int
		switch _, err := fmt.Sscanf(line, "compute %d", &n); {
		case err == nil:
			return load.set(n), nil
		case line == "port":
			return []float64{float64(port)}, nil
		case line == "usage":
			return []float64{pair.CPUTime().Seconds(), allocations()}, nil
		}
		return nil, fmt.Errorf("a server does not know %q", line)
	})
}

// driverLines is a driver's side. drive does a duty and, where only one request is in flight, notes how long each took.
func driverLines(drive func(d duty, latencies []time.Duration) error, computes func(n int)) error {
	load := burners{told: computes}
	defer load.set(0)
	return lines(func(line string) ([]float64, error) {
		var n int
		if _, err := fmt.Sscanf(line, "compute %d", &n); err == nil {
			return load.set(n), nil
		}
		var d duty
		if _, err := fmt.Sscanf(line, "%s %d %d %d", &d.kind, &d.size, &d.window, &d.count); err != nil {
			return nil, fmt.Errorf("a driver does not know %q", line)
		}
		return timed(d, drive)
	})
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
