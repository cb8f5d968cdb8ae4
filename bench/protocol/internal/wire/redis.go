package wire

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"bellows/bench/internal/pair"
)

// redis is a redis-server of our own, without persistence, on a port or socket of its own.
type redis struct {
	command *exec.Cmd
	where   []string // how redis-benchmark finds it
}

// errNoRedis says that there is no peer to measure.
var errNoRedis = errors.New("redis-server and redis-benchmark are not on the PATH: apt-get install redis-server")

// redisWait bounds how long the server may take to listen.
const redisWait = 10 * time.Second

// startRedis starts the server at an address and waits until it listens.
func startRedis(address string) *redis {
	for _, program := range []string{"redis-server", "redis-benchmark"} {
		if _, err := exec.LookPath(program); err != nil {
			pair.Check(errNoRedis)
		}
	}
	network, place, _ := strings.Cut(address, ":")
	r := &redis{where: []string{"-s", place}}
	args := []string{"--port", "0", "--unixsocket", place}
	if network == "tcp" {
		port := freePort()
		place = net.JoinHostPort("127.0.0.1", port)
		r.where = []string{"-h", "127.0.0.1", "-p", port}
		args = []string{"--port", port, "--bind", "127.0.0.1"}
	}
	r.command = exec.Command("redis-server", append([]string{"--save", "", "--appendonly", "no", "--daemonize", "no"}, args...)...)
	r.command.Dir = os.TempDir()
	pair.Check(r.command.Start())
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		c, err := net.Dial(network, place)
		if err == nil {
			pair.Check(c.Close())
			return r
		}
		if time.Since(began) > redisWait {
			pair.Check(errors.Join(fmt.Errorf("redis-server does not listen at %s after %v: %w", place, redisWait, err), r.close()))
		}
	}
}

// freePort returns a port that nobody used a moment ago.
func freePort() string {
	l := pair.Must(net.Listen("tcp", "127.0.0.1:0"))
	_, port, err := net.SplitHostPort(l.Addr().String())
	pair.Check(errors.Join(err, l.Close()))
	return port
}

// close ends the server and waits for it.
func (r *redis) close() error {
	if err := r.command.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return r.command.Wait()
}

// side runs redis-benchmark for one command with values of 1 KiB: so many clients, so many requests each in flight. Its
// wall time is what redis-benchmark says of itself, without its start; it has no CPU time.
func (r *redis) side(command string, clients, pipeline, count int) pair.Side {
	args := append([]string{"--csv", "-t", command, "-d", "1024", "-n", strconv.Itoa(count),
		"-c", strconv.Itoa(clients), "-P", strconv.Itoa(pipeline)}, r.where...)
	name := fmt.Sprintf("redis, %d x %d", clients, pipeline)
	return pair.Side{Name: name, Run: func() pair.Turn {
		out, _ := pair.RunProgram("redis-benchmark", "redis-benchmark", nil, args...)
		return pair.Turn{Work: float64(count), Wall: pair.Seconds(float64(count) / pair.Must(rateOf(out)))}
	}}
}

// rateOf returns the requests per second in what redis-benchmark --csv prints: "test","rps",... and a line such as
// "GET","52631.58",...
func rateOf(printed []byte) (float64, error) {
	lines, err := csv.NewReader(bytes.NewReader(printed)).ReadAll()
	if err == nil && len(lines) == 2 && len(lines[1]) > 1 {
		if rate, err := strconv.ParseFloat(lines[1][1], 64); err == nil && rate > 0 {
			return rate, nil
		}
	}
	return 0, fmt.Errorf("redis-benchmark printed no rate: %q", printed)
}
